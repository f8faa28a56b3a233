package transport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

var (
	// ErrListen is wrapped by Listen's errors about the address.
	ErrListen = errors.New("cannot listen for peers")
	// ErrClosed: the Transport was closed.
	ErrClosed = errors.New("transport closed")
)

// Handler receives the frames of peers. For each peer and kind of connection one goroutine at a time calls the methods:
// Connected, frames, Disconnected, and so on. Calls for different peers and kinds are concurrent. A long call holds up
// its connection, and a call of IdleTimeout loses it. The handler may keep the bodies. No method may call Close.
type Handler interface {
	LeaseFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte)
	// LogFrame: more reports that another frame of this connection has arrived already and follows at once.
	LogFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool)
	// NamedFrame is LogFrame for a connection of named leases.
	NamedFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool)
	Connected(peer ballot.NodeID, kind wire.Kind)
	Disconnected(peer ballot.NodeID, kind wire.Kind)
	// CrashReleased: a guardian reports that owner, an incarnation of another member, has died (see wire.Release). It
	// may be called at any time, by any goroutine, more than once, and while a later incarnation is connected.
	CrashReleased(owner ballot.Incarnation, counters []uint64)
}

// Transport is a node's end of all its connections to peers. Its methods are safe for concurrent use.
type Transport struct {
	cfg       Config
	listener  *listener // nil without an address
	sockets   *sockets
	rareLog   rareLog
	histories History
	required  atomic.Uint64 // see RequireLevel
	sought    sought
	served    atomic.Pointer[time.Time] // when Serve was called

	early struct { // what SetMembership, SetRoster and Dismiss got before Serve
		sync.Mutex
		dismissed  uint64
		membership ident.Membership
		roster     ident.Roster
		hints      map[ballot.NodeID]string
	}
	peers     atomic.Pointer[peers]    // nil until Serve
	bootstrap atomic.Pointer[answerer] // nil until Bootstrap
}

// Listen binds the address and answers peers from then on: with the state of the bootstrap if Bootstrap was called, and
// else that this node is not ready. The caller must Close.
func Listen(cfg Config) (*Transport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	t := &Transport{cfg: cfg, sockets: newSockets(cfg.Self, cfg.TLS, cfg.HandshakeTimeout), rareLog: rareLog{Logger: cfg.Log}}
	if cfg.Addr == "" {
		return t, nil
	}
	l, err := bind(cfg.Addr)
	if err != nil {
		t.sockets.close()
		return nil, err
	}
	t.listener = &listener{Listener: l, sockets: t.sockets, log: &t.rareLog, answer: t.answer}
	t.sockets.start(t.listener.run)
	return t, nil
}

// Addr returns the address on which the node listens for peers, nil if none.
func (t *Transport) Addr() net.Addr {
	if t.listener == nil {
		return nil
	}
	return t.listener.Addr()
}

// Serve starts to connect to the other members and to pass their frames to h. It is called once, when this node is a
// member. addrs are hints: a member's address is taken from the membership, else from addrs. A member without an
// address is not dialled. Of two nodes the one with the lower id dials, and the other only if it hears nothing for a
// while. Names are resolved at each dial.
func (t *Transport) Serve(h Handler, membership ident.Membership, addrs map[ballot.NodeID]string) {
	if t.cfg.Hello == nil || t.cfg.Self == 0 {
		panic("transport: Serve without Config.Hello or Config.Self")
	}
	t.early.Lock()
	defer t.early.Unlock()
	if t.early.membership.Newer(membership) {
		membership, addrs = t.early.membership, t.early.hints
	}
	p := newPeers(&t.cfg, h, membership, addrs, &t.histories, &t.required, t.sockets, &t.rareLog, &t.sought)
	p.setRoster(t.early.roster)
	p.dismiss(t.early.dismissed)
	if !t.peers.CompareAndSwap(nil, p) {
		panic("transport: Serve called twice")
	}
	t.served.Store(new(time.Now()))
	p.dialAll()
}

// SetMembership changes the peers to those of m, before Serve or while this node serves. It ignores m unless it is
// newer than the membership before. Removed members stay peers until Dismiss is called for m. The Handler hears of new
// members when they connect. A node that m does not list may connect with a newer membership before this node learns of
// it. It stays a peer until this node has a membership as new that does not list it. For members without an address in
// m, addrs has hints.
func (t *Transport) SetMembership(m ident.Membership, addrs map[ballot.NodeID]string) {
	t.early.Lock()
	defer t.early.Unlock()
	p := t.peers.Load()
	if p == nil {
		t.early.membership, t.early.hints = m, addrs
		return
	}
	p.replace(m, addrs)
	p.dialAll()
}

// SetRoster sets the members' record, before Serve or while this node serves. Unlisted ids below the record's next id
// are refused, and so are certificates of removed names. Open connections of such nodes end, unless other nodes may
// still need the node (Dismiss). The record may be older or newer than this node's membership. The next id only rises:
// a lower one leaves it unchanged.
func (t *Transport) SetRoster(r ident.Roster) {
	t.early.Lock()
	defer t.early.Unlock()
	r.NextNode = max(r.NextNode, t.early.roster.NextNode)
	t.early.roster = r
	if p := t.peers.Load(); p != nil {
		p.setRoster(r)
	}
}

// Dismiss says that nodes in no membership from that number on are no longer needed. It takes effect if this node's
// membership has at most that number. Then the connections of unlisted nodes end, except for nodes with a newer
// membership; the Handler gets Disconnected for each, perhaps after Dismiss has returned. An unlisted node that
// connects with an older membership is told that it was removed. The first membership needs no Dismiss.
func (t *Transport) Dismiss(number uint64) {
	t.early.Lock()
	defer t.early.Unlock()
	if p := t.peers.Load(); p != nil {
		p.dismiss(number)
		return
	}
	t.early.dismissed = max(t.early.dismissed, number)
}

// RequireLevel ends the connections to peers that do not know the feature level, and refuses new ones. It may be called
// before Serve. A lower level than before admits the peers again. It does not wait.
func (t *Transport) RequireLevel(level uint64) {
	t.required.Store(level)
	if p := t.peers.Load(); p != nil {
		p.dropOlder()
	}
}

// answer serves an inbound connection, which begins with one of four messages.
func (t *Transport) answer(c *conn) error {
	m, err := c.receive()
	if err != nil {
		return err
	}
	p, b := t.peers.Load(), t.bootstrap.Load()
	switch m := m.(type) {
	case *wire.HelloMsg:
		if p == nil {
			return c.refuse(refuse(wire.ReasonNotReady, "%s takes no part in a cluster yet", called(t.cfg.Self)))
		}
		return p.accepted(c, m)
	case *wire.AskMsg:
		if b == nil {
			return c.refuse(refuse(wire.ReasonNotReady, "%s is still starting", called(t.cfg.Self)))
		}
		return b.answer(c, m)
	case *wire.ReleaseMsg:
		if p == nil {
			return nil // nothing of that owner can be recorded here
		}
		return p.released(c, m)
	case *wire.JoinMsg:
		if p == nil || t.cfg.Join == nil {
			return c.refuse(refuse(wire.ReasonNotReady, "%s takes no part in a cluster yet", called(t.cfg.Self)))
		}
		return p.joins(c, m)
	}
	return unexpected(m)
}

// SendLease puts a lease message into the queue for a peer and never waits. It returns false if the peer is not
// connected or the body is too large. When the queue is full, the oldest messages are dropped. The body must not change
// afterwards, may be sent to several peers, and must be of package wire and no keepalive.
func (t *Transport) SendLease(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindLease, wire.MaxLeaseBytes, body)
}

// SendNamed is SendLease for messages of named leases.
func (t *Transport) SendNamed(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindNamed, wire.MaxNamedBytes, body)
}

// SendLog is SendLease for a message of the log, except that when the queue is full this message is refused.
func (t *Transport) SendLog(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindLog, t.cfg.MaxLogFrameBytes, body)
}

func (t *Transport) send(to ballot.NodeID, kind wire.Kind, limit int, body []byte) bool {
	if wire.IsKeepalive(body) {
		panic("transport: a body without a type")
	}
	p := t.peers.Load()
	return p != nil && p.send(to, kind, limit, body)
}

// Flush waits until the queue of each peer has been given to the kernel, or its connection has ended, or ctx has ended.
// It is for the last messages before Close, which writes nothing more.
func (t *Transport) Flush(ctx context.Context) error {
	if p := t.peers.Load(); p != nil {
		return p.flush(ctx)
	}
	return nil
}

// Peers returns the other members, and nodes with newer memberships that have connected, by rising id; none before
// Serve. It never waits for I/O.
func (t *Transport) Peers() []PeerState {
	p := t.peers.Load()
	if p == nil {
		return nil
	}
	list := p.list()
	out := make([]PeerState, 0, len(list))
	for _, x := range list {
		out = append(out, x.state())
	}
	return out
}

// Stats counts unserved connections and frames since the start.
type Stats struct {
	Garbage uint64 // connections that did not speak the protocol
	Refused uint64 // handshakes that this node refused
	Evicted uint64 // connections that were closed for newer ones before their handshake was done
	Ignored uint64 // frames of peers of a type that this version does not know, and malformed keepalives
}

// Stats may be called at any time.
func (t *Transport) Stats() Stats {
	s := Stats{Refused: t.rareLog.refused.Load(), Evicted: t.sockets.pending.Evicted()}
	if t.listener != nil {
		s.Garbage = t.listener.garbage.Load()
	}
	if p := t.peers.Load(); p != nil {
		s.Ignored = p.ignored()
	}
	return s
}

// Close ends all connections and goroutines and returns when they are gone; the handler is not called afterwards.
func (t *Transport) Close() {
	t.sockets.close()
	if t.listener != nil {
		t.listener.Close()
	}
	t.sockets.wait()
}
