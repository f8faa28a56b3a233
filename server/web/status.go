package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/ballot"
)

// maxTransferBytes bounds the body of a transfer.
const maxTransferBytes = 4 << 10

// show answers a read that has no query names of its own with v as JSON.
func (s *Server) show(x *exchange, rules *rules, v func() any) {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	if err != nil {
		x.fail(err, false)
		return
	}
	value := v()
	var b []byte
	if q.has(nPretty) {
		b, err = json.MarshalIndent(value, "", "    ")
		b = append(b, '\n')
	} else {
		b, err = json.Marshal(value)
	}
	if err != nil {
		panic(err) // our own plain types
	}
	x.json(b)
}

// status is the node's view of itself.
func (s *Server) status(x *exchange) {
	s.show(x, &plainRules, func() any {
		st := s.backend.Status()
		if st.Peers == nil {
			st.Peers = []api.PeerStatus{}
		}
		return st
	})
}

// statusLeader is the master's peer address as a JSON string, empty if none is known.
func (s *Server) statusLeader(x *exchange) {
	s.show(x, &consulRules, func() any { return s.backend.Leader() })
}

// statusPeers is the members' peer addresses.
func (s *Server) statusPeers(x *exchange) {
	s.show(x, &consulRules, func() any { return append([]string{}, s.backend.Peers()...) })
}

// nodeName returns what this node is called where Consul's clients expect a name.
func (s *Server) nodeName() string {
	if s.cfg.NodeName != "" {
		return s.cfg.NodeName
	}
	return "node-" + strconv.FormatUint(s.backend.Status().Node, 10)
}

// agentSelf is as much of Consul's as its clients look at: they ask it for the node's name, datacenter
// and version, and for the shortest TTL of a session, in nanoseconds.
func (s *Server) agentSelf(x *exchange) {
	s.show(x, &consulRules, func() any {
		st := s.backend.Status()
		name := s.nodeName()
		host, port, _ := net.SplitHostPort(s.Addr())
		portNumber, _ := strconv.Atoi(port)
		type object = map[string]any
		return map[string]object{
			"Config": {"Datacenter": Datacenter, "PrimaryDatacenter": Datacenter, "NodeName": name, "NodeID": "",
				"Server": true, "Revision": s.cfg.Revision, "Version": s.cfg.Version, "SessionTTLMin": s.cfg.SessionTTLMin},
			"Member": {"Name": name, "Addr": host, "Port": portNumber, "Status": 1,
				"Tags": map[string]string{"dc": Datacenter, "role": "consul", "tenure": st.Role}},
			"Stats": {"tenure": object{"cluster": st.Cluster, "version": s.cfg.Version}},
			"Meta":  {},
		}
	})
}

// masterTransfer asks the master to hand over: a body of {"Node":N} names the node to try, none lets it choose.
func (s *Server) masterTransfer(x *exchange) {
	to, err := s.transferTarget(x)
	if err != nil {
		x.fail(err, false)
		return
	}
	ctx, cancel := context.WithTimeout(x.r.Context(), s.patience(x.r))
	defer cancel()
	if err := s.backend.Transfer(ctx, to); err != nil {
		x.fail(err, true)
		return
	}
	x.json(bodyTrue)
}

func (s *Server) transferTarget(x *exchange) (ballot.NodeID, error) {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules); err != nil {
		return 0, err
	}
	var body api.Transfer
	if err := s.readJSON(x, maxTransferBytes, &body); err != nil {
		return 0, fmt.Errorf(`%w: send {"Node":N} with the id of a node, or no body`, err)
	}
	if body.Node > uint64(ballot.MaxNodeID) {
		return 0, badRequest("node %d: ids go from 1 to %d", body.Node, ballot.MaxNodeID)
	}
	return ballot.NodeID(body.Node), s.checkMember(body.Node)
}

// checkMember refuses a node that is not a member, as far as the members are known here. 0 is none.
func (s *Server) checkMember(id uint64) error {
	st := s.backend.Status()
	if id == 0 || id == st.Node || len(st.Peers) == 0 {
		return nil
	}
	members := []string{strconv.FormatUint(st.Node, 10)}
	for _, p := range st.Peers {
		if p.Node == id {
			return nil
		}
		members = append(members, strconv.FormatUint(p.Node, 10))
	}
	return badRequest("node %d is not a member: members are %s: nothing was changed", id, strings.Join(members, ", "))
}
