package transport

import (
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// peer is another member: what is known of it, and the connections to it.
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
	link    atomic.Pointer[link] // the newest connection, nil if there is none
	traffic traffic
}

// traffic counts what has passed over one kind of connection to a peer since the start.
type traffic struct {
	start                            time.Time
	heard                            atomic.Int64 // ns from start to the last bytes, plus one; 0: never
	sent, received, dropped, ignored atomic.Uint64
	unknown                          [256]atomic.Bool // types of frames that are ignored and have been logged
}

func newPeer(node ballot.NodeID, addr string) *peer {
	p := &peer{node: node, addr: addr}
	for i := range p.ends {
		p.ends[i].traffic.start = time.Now()
	}
	return p
}

func (p *peer) end(k wire.Kind) *end { return &p.ends[k-1] }

// setProblem notes why there is no connection.
func (p *peer) setProblem(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = problem
}

// introduce takes what the peer said of itself when it connected.
func (p *peer) introduce(h *wire.Hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inc, p.clientAddr, p.problem = h.Incarnation, h.ClientAddr, ""
}

// run serves l until it ends, in place of the link of its kind before it, and returns why it ended.
func (p *peer) run(l *link, h Handler) error {
	defer close(l.finished)
	end := p.end(l.kind)
	if old := end.link.Swap(l); old != nil {
		old.close(errReplaced)
		<-old.finished
	}
	defer end.link.CompareAndSwap(l, nil)
	defer l.close(ErrClosed)
	for i := range p.ends {
		if o := p.ends[i].link.Load(); o != nil && o.inc.Restart < l.inc.Restart {
			o.close(errOldRun)
		}
	}
	select {
	case <-l.done: // a newer one was faster
		return l.cause
	default:
	}
	h.Connected(p.node, l.kind)
	defer h.Disconnected(p.node, l.kind)
	return l.run(h)
}

// LinkState is one kind of connection to a peer. Counters run from the start of this node.
type LinkState struct {
	Connected   bool
	LastHeard   time.Duration // age of the last bytes, keepalives included; -1: never in this run
	Sent        uint64        // frames written
	Received    uint64        // frames handed to the Handler
	Dropped     uint64        // frames not written because too many waited or they were too large
	Ignored     uint64        // frames of a type that this version does not know, and malformed keepalives
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

func (p *peer) state() PeerState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PeerState{
		Node: p.node, Addr: p.addr, ClientAddr: p.clientAddr, Incarnation: p.inc, Problem: p.problem,
		Lease: p.end(wire.KindLease).state(), Log: p.end(wire.KindLog).state(), Named: p.end(wire.KindNamed).state(),
	}
}

func (e *end) state() LinkState {
	t := &e.traffic
	st := LinkState{
		LastHeard: -1, Sent: t.sent.Load(), Received: t.received.Load(),
		Dropped: t.dropped.Load(), Ignored: t.ignored.Load(),
	}
	if at := t.heard.Load(); at > 0 {
		st.LastHeard = max(0, time.Since(t.start)-time.Duration(at))
	}
	if l := e.link.Load(); l != nil {
		st.Connected = true
		st.QueueFrames, st.QueueBytes = l.queue.size()
	}
	return st
}

// hear notes that bytes arrived.
func (t *traffic) hear(now time.Time) { t.heard.Store(int64(now.Sub(t.start)) + 1) }

// ignore counts a frame of an unknown type. It reports whether that is the first one of its type.
func (t *traffic) ignore(typ byte) (first bool) {
	t.ignored.Add(1)
	return !t.unknown[typ].Swap(true)
}
