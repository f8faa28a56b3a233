package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// peer is another member.
type peer struct {
	node ballot.NodeID
	addr string // hint; may be empty
	ends [len(wire.Kinds)]end

	mu         sync.Mutex
	inc        ballot.Incarnation
	clientAddr string
	problem    string
}

// end is this node's end of one kind of connection to a peer, across reconnections.
type end struct {
	link                             atomic.Pointer[link] // the newest connection, nil if there is none
	heard                            atomic.Int64         // ns from the transport's start to the last bytes, plus one; 0: never
	sent, received, dropped, ignored atomic.Uint64
}

func newPeer(node ballot.NodeID, addr string) *peer { return &peer{node: node, addr: addr} }

func (p *peer) end(k wire.Kind) *end { return &p.ends[k-1] }

// note keeps why there is no connection.
func (p *peer) note(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = problem
}

// greet keeps what the peer said of itself.
func (p *peer) greet(h *wire.Hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inc, p.clientAddr, p.problem = h.Incarnation, h.ClientAddr, ""
}

// LinkState is one kind of connection to a peer. Counters run from the start of this node.
type LinkState struct {
	Connected   bool
	LastHeard   time.Duration // age of the last bytes, keepalives included; -1: never in this run
	Sent        uint64        // frames written
	Received    uint64        // frames handed to the Handler
	Dropped     uint64        // frames not written because too much was in line or they were too large
	Ignored     uint64        // frames of a type that this version does not know
	QueueFrames int
	QueueBytes  int
}

// PeerState is another member as this node sees it.
type PeerState struct {
	Node        ballot.NodeID
	Addr        string             // where it is dialled, a hint; may be empty
	ClientAddr  string             // "" until it has connected once
	Incarnation ballot.Incarnation // of its last connection, zero if there was none
	Problem     string             // why there is no connection, if known
	Lease, Log  LinkState
	Named       LinkState
}

// Peers are the other members by rising id; none before Serve. It never waits for I/O.
func (t *Transport) Peers() []PeerState {
	s := t.service.Load()
	if s == nil {
		return nil
	}
	out := make([]PeerState, 0, len(s.peers))
	for _, p := range s.peers {
		p.mu.Lock()
		st := PeerState{Node: p.node, Addr: p.addr, ClientAddr: p.clientAddr, Incarnation: p.inc, Problem: p.problem}
		p.mu.Unlock()
		st.Lease, st.Log, st.Named = t.linkState(p.end(wire.KindLease)), t.linkState(p.end(wire.KindLog)), t.linkState(p.end(wire.KindNamed))
		out = append(out, st)
	}
	return out
}

func (t *Transport) linkState(e *end) LinkState {
	st := LinkState{LastHeard: -1, Sent: e.sent.Load(), Received: e.received.Load(), Dropped: e.dropped.Load(), Ignored: e.ignored.Load()}
	if at := e.heard.Load(); at > 0 {
		st.LastHeard = max(0, time.Since(t.start)-time.Duration(at))
	}
	if l := e.link.Load(); l != nil {
		st.Connected = true
		st.QueueFrames, st.QueueBytes = l.queue.size()
	}
	return st
}

// CountIgnored counts a frame whose type the handler does not know.
func (t *Transport) CountIgnored(from ballot.NodeID, kind wire.Kind) {
	if s := t.service.Load(); s != nil {
		if p := s.peer(from); p != nil {
			p.end(kind).ignored.Add(1)
		}
	}
}
