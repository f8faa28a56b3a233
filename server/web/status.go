package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"

	"tenure/internal/ballot"
)

// maxTransferBytes bounds the body of a transfer.
const maxTransferBytes = 4 << 10

// show answers a read that has no query names of its own with v as JSON.
func (s *Server) show(x *exchange, v func() any) {
	q, err := parseQuery(x.r.URL.RawQuery, &plainRules)
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
	s.show(x, func() any {
		st := s.backend.Status()
		if st.Peers == nil {
			st.Peers = []PeerStatus{}
		}
		return st
	})
}

// statusLeader is the master's peer address as a JSON string, empty if none is known.
func (s *Server) statusLeader(x *exchange) { s.show(x, func() any { return s.backend.Leader() }) }

// statusPeers is the members' peer addresses.
func (s *Server) statusPeers(x *exchange) {
	s.show(x, func() any { return append([]string{}, s.backend.Peers()...) })
}

// nodeName is what a node is called where Consul's clients expect a name.
func nodeName(n ballot.NodeID) string { return "node-" + strconv.FormatUint(uint64(n), 10) }

// agentSelf is as much of Consul's as its clients look at: they ask it for the node's name, datacenter
// and version, and for the shortest TTL of a session, in nanoseconds.
func (s *Server) agentSelf(x *exchange) {
	s.show(x, func() any {
		st := s.backend.Status()
		name := nodeName(st.Node)
		host, port, _ := net.SplitHostPort(s.Addr())
		portNumber, _ := strconv.Atoi(port)
		type object = map[string]any
		return map[string]object{
			"Config": {"Datacenter": Datacenter, "PrimaryDatacenter": Datacenter, "NodeName": name, "NodeID": "",
				"Server": true, "Revision": "", "Version": s.cfg.Version, "SessionTTLMin": s.cfg.SessionTTLMin},
			"Member": {"Name": name, "Addr": host, "Port": portNumber, "Status": 1,
				"Tags": map[string]string{"dc": Datacenter, "role": "consul", "tenure": st.Role}},
			"Stats": {"tenure": object{"cluster": st.Cluster, "version": s.cfg.Version}},
			"Meta":  {},
		}
	})
}

// masterTransfer asks the master to hand over: a body of {"Node":N} names the node to try, none lets it choose.
func (s *Server) masterTransfer(x *exchange) {
	to, err := transferTarget(x)
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

func transferTarget(x *exchange) (ballot.NodeID, error) {
	if _, err := parseQuery(x.r.URL.RawQuery, &plainWriteRules); err != nil {
		return 0, err
	}
	var body struct{ Node ballot.NodeID }
	d := json.NewDecoder(http.MaxBytesReader(x.w, x.r.Body, maxTransferBytes))
	d.DisallowUnknownFields() // a mistyped "Node" must not mean "any"
	err := d.Decode(&body)
	if errors.Is(err, io.EOF) {
		return 0, nil // no body
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		return 0, &refusal{code: http.StatusRequestEntityTooLarge, close: true, text: "request body too large: at most " + byteCount(maxTransferBytes) + " are accepted"}
	case err != nil:
		return 0, badRequest(`bad body (%v): send {"Node":N} with the id of a node, or no body`, err)
	case body.Node > ballot.MaxNodeID:
		return 0, badRequest("node %d: ids go from 1 to %d", body.Node, ballot.MaxNodeID)
	}
	return body.Node, nil
}
