package web

import (
	"net"
	"strconv"
	"time"

	"tenure/server/service"
)

// agentHandler answers what clients of Consul ask its agent.
type agentHandler struct {
	cluster           service.Cluster
	name              func() string // see nodeName
	addr              func() string // where the server listens
	version, revision string
	minTTL            time.Duration // of a session
}

// nodeName returns what the node is called where Consul's clients expect a name: configured, or made of its number.
func nodeName(configured string, c service.Cluster) string {
	if configured != "" {
		return configured
	}
	return "node-" + strconv.FormatUint(c.Status().Node, 10)
}

// self answers with as much of Consul's as its clients look at: they ask for the node's name, datacenter and version,
// and for the shortest TTL of a session, in nanoseconds.
func (h *agentHandler) self(x *exchange) error {
	return x.found(&consulRules, func() (any, error) {
		if err := x.req.NeedAgent(h.name()); err != nil {
			return nil, err
		}
		st := h.cluster.Status()
		name := h.name()
		host, port, _ := net.SplitHostPort(h.addr())
		portNumber, _ := strconv.Atoi(port)
		type object = map[string]any
		return map[string]object{
			"Config": {"Datacenter": Datacenter, "PrimaryDatacenter": Datacenter, "NodeName": name, "NodeID": "",
				"Server": true, "Revision": h.revision, "Version": h.version, "SessionTTLMin": h.minTTL},
			"Member": {"Name": name, "Addr": host, "Port": portNumber, "Status": 1,
				"Tags": map[string]string{"dc": Datacenter, "role": "consul", "tenure": st.Role}},
			"Stats": {"tenure": object{"cluster": st.Cluster, "version": h.version}},
			"Meta":  {},
		}, nil
	})
}
