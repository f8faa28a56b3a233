package web

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// operatorHandler answers what Consul's tools ask about the servers of a cluster: `consul operator raft list-peers`,
// `consul operator autopilot state` and `consul catalog nodes`, say. It has as much of Consul's answers as these look
// at. A server is a member, its raft address the peer address.
type operatorHandler struct {
	version string
}

// maxTrailing is how many slots a member may lag and be called healthy: Consul's default.
const maxTrailing = 250

type raftServer struct {
	ID, Node, Address, ProtocolVersion string
	Leader, Voter                      bool
	LastIndex                          uint64
}

type raftConfiguration struct {
	Servers []raftServer
	Index   uint64
}

// raft answers with the members.
func (h *operatorHandler) raft(x *exchange) error {
	return x.found(&consulRules, func() (any, error) {
		l, err := x.req.ListMembers()
		out := raftConfiguration{Servers: []raftServer{}, Index: max(1, l.Change)}
		for _, m := range l.Members {
			out.Servers = append(out.Servers, raftServer{ID: nodeText(m.Node), Node: m.Name, Address: m.PeerAddress,
				ProtocolVersion: "3", Leader: m.Node == l.Master, Voter: m.Voter, LastIndex: m.Applied})
		}
		return out, err
	})
}

type serverHealth struct {
	ID, Name, Address, SerfStatus, Version, LastContact string
	Leader, Healthy, Voter                              bool
	LastTerm, LastIndex                                 uint64
	StableSince                                         time.Time
}

type healthReply struct {
	Healthy          bool
	FailureTolerance int
	Servers          []serverHealth
}

// health says which members are alive and follow, and how many voters may fail. As in Consul the status is 429 if not
// all is well.
func (h *operatorHandler) health(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &consulRules)
	if err != nil {
		return err
	}
	l, err := x.req.ListMembers()
	if err != nil {
		return err
	}
	out := h.healthOf(&l)
	if !out.Healthy {
		x.send(http.StatusTooManyRequests, api.CodeNotReady, jsonType, marshal(out))
		return nil
	}
	x.pretty(&q, out)
	return nil
}

func (h *operatorHandler) healthOf(l *api.MemberList) healthReply {
	out := healthReply{Healthy: l.Master != 0, Servers: []serverHealth{}}
	voters, well := 0, 0
	for _, m := range l.Members {
		s := serverHealth{ID: nodeText(m.Node), Name: m.Name, Address: m.PeerAddress, SerfStatus: "alive",
			Version: h.version, LastContact: (time.Duration(max(0, m.LastHeardMS)) * time.Millisecond).String(),
			Leader: m.Node == l.Master, Healthy: m.Connected && m.Lag <= maxTrailing, Voter: m.Voter, LastIndex: m.Applied}
		if !m.Connected {
			s.SerfStatus = "failed"
		}
		if m.Voter {
			voters++
		}
		if m.Voter && s.Healthy {
			well++
		}
		out.Healthy = out.Healthy && s.Healthy
		out.Servers = append(out.Servers, s)
	}
	out.FailureTolerance = max(0, well-(voters/2+1))
	return out
}

type catalogNode struct {
	ID, Node, Address, Datacenter string
	TaggedAddresses, Meta         map[string]string
	CreateIndex, ModifyIndex      uint64
}

// nodes answers with the members as the nodes of Consul's catalog.
func (h *operatorHandler) nodes(x *exchange) error {
	return x.found(&consulRules, func() (any, error) {
		l, err := x.req.ListMembers()
		if err != nil {
			return nil, err
		}
		x.w.Header()[api.HeaderIndex] = []string{strconv.FormatUint(max(1, l.Change), 10)} // its clients look for it
		out := []catalogNode{}
		for _, m := range l.Members {
			host, _, _ := net.SplitHostPort(m.PeerAddress)
			out = append(out, catalogNode{Node: m.Name, Address: host, Datacenter: Datacenter,
				TaggedAddresses: map[string]string{"lan": host, "wan": host}, Meta: map[string]string{},
				CreateIndex: max(1, l.Change), ModifyIndex: max(1, l.Change)})
		}
		return out, nil
	})
}

func nodeText(node uint64) string { return strconv.FormatUint(node, 10) }
