package transport

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// peer is another member, with its connections.
type peer struct {
	node ballot.NodeID
	cert string          // if it was no member: the name in the certificate with which it came, "" without TLS
	ctx  context.Context // ends when the peer is removed, and with the sockets
	drop context.CancelFunc
	ends [len(wire.Kinds)]end

	dialled bool // it is being dialled; under peers.mu

	mu         sync.Mutex
	addr       string           // where the members or --cluster have it; may be empty
	told       string           // where it says that it is; "": it did not
	moved      bool             // it is dialled at told, because it could not be reached at addr
	reached    string           // where it was dialled and answered since it has said told; "": nowhere
	has        ident.Membership // its membership, as wire.Hello.Has
	inc        ballot.Incarnation
	name       string // as a member; "" if the membership does not list it
	clientAddr string
	redisAddr  string
	problem    string
	refusal    string // problem, if it is that of a handshake that was refused
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

func newPeer(ctx context.Context, node ballot.NodeID) *peer {
	p := &peer{node: node}
	p.ctx, p.drop = context.WithCancel(ctx)
	for i := range p.ends {
		p.ends[i].traffic.start = time.Now()
	}
	return p
}

func (p *peer) end(k wire.Kind) *end { return &p.ends[k-1] }

// remove ends the connections to the peer, for good.
func (p *peer) remove() {
	p.drop()
	for i := range p.ends {
		if l := p.ends[i].link.Load(); l != nil {
			l.close(errRemoved)
		}
	}
}

// setName takes the name that the membership has for the peer, and ends the connections on which it has shown the
// certificate of another.
func (p *peer) setName(name string) {
	p.mu.Lock()
	p.name = name
	p.mu.Unlock()
	for i := range p.ends {
		if l := p.ends[i].link.Load(); l != nil && p.misnamed(l) {
			l.close(errNamed)
		}
	}
}

// misnamed reports whether the certificate that was shown on l is not of the name that the peer has as a member.
func (p *peer) misnamed(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.cert != "" && p.name != "" && l.cert != p.name
}

// connected reports whether there is any connection to the peer.
func (p *peer) connected() bool {
	for i := range p.ends {
		if p.ends[i].link.Load() != nil {
			return true
		}
	}
	return false
}

// ignored returns the number of frames of unknown types that came from the peer.
func (p *peer) ignored() (n uint64) {
	for i := range p.ends {
		n += p.ends[i].traffic.ignored.Load()
	}
	return n
}

// address returns where the peer is dialled, "" if nowhere.
func (p *peer) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialledAt()
}

// dialledAt is address with mu held.
func (p *peer) dialledAt() string {
	if p.moved {
		return p.told
	}
	return p.addr
}

// listed returns where the members or --cluster have the peer, "" if nowhere.
func (p *peer) listed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr
}

// setAddress sets where the members or --cluster have the peer from now on.
func (p *peer) setAddress(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr != p.addr {
		p.addr, p.moved = addr, false
	}
}

// tell takes where the peer says that it is, and reports whether that is news and not where it is looked for.
func (p *peer) tell(addr string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr == p.told {
		return false
	}
	p.told, p.moved, p.reached = addr, false, ""
	return addr != "" && p.addr != "" && addr != p.addr
}

// answers notes that the peer has answered at addr.
func (p *peer) answers(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reached = addr
}

// unreached notes that nobody answers at addr as this peer: it is dialled at its other address next, if it has one.
func (p *peer) unreached(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr == p.dialledAt() && p.addr != "" && p.told != "" && p.told != p.addr {
		p.moved = !p.moved
	}
}

// goesBy returns the membership that the peer went by when it last connected, as wire.Hello.Has.
func (p *peer) goesBy() ident.Membership {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.has
}

// setProblem notes why there is no connection.
func (p *peer) setProblem(problem string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem, p.refusal = problem, ""
}

// setRefusal notes why there is no connection: this node or the peer refuses it.
func (p *peer) setRefusal(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem, p.refusal = why, why
}

// introduce takes what the peer said of itself when it connected.
func (p *peer) introduce(h *wire.Hello) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inc, p.clientAddr, p.redisAddr = h.Incarnation, h.ClientAddr, h.RedisAddr
	p.problem, p.refusal, p.has = "", "", h.Has()
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
	case <-p.ctx.Done(): // remove may have come before end.link.Swap
		l.close(errRemoved)
		return l.cause
	default:
	}
	if l.older() { // the level may have been required before end.link.Swap
		l.close(errOlder)
		return l.cause
	}
	if l.barred() { // setRoster may have come before end.link.Swap
		l.close(errRemoved)
		return l.cause
	}
	if p.misnamed(l) { // setName may have come before end.link.Swap
		l.close(errNamed)
		return l.cause
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
	Moved       bool               // Addr is where the peer says that it is, because it was not reached where it is listed
	Proven      bool               // the peer was reached at Addr, or says itself that it is there
	Told        string             // where the peer says that it is, "" if it did not say so
	ClientAddr  string             // "" until it has connected once
	RedisAddr   string             // the same for clients of Redis; "" also if it does not serve them
	Incarnation ballot.Incarnation // of its last connection, zero if there was none
	Problem     string             // why there is no connection, if known
	Refusal     string             // the same, if this node or the peer has refused the last one
	Lease, Log  LinkState
	Named       LinkState
}

func (p *peer) state() PeerState {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.dialledAt()
	return PeerState{
		Node: p.node, Addr: at, Moved: p.moved, Proven: at != "" && (at == p.reached || at == p.told),
		Told: p.told, ClientAddr: p.clientAddr, RedisAddr: p.redisAddr, Incarnation: p.inc, Problem: p.problem,
		Refusal: p.refusal,
		Lease:   p.end(wire.KindLease).state(), Log: p.end(wire.KindLog).state(), Named: p.end(wire.KindNamed).state(),
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
