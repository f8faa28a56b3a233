package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
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

// Handler gets what peers say. For each peer and kind the calls come one after the other from one goroutine:
// Connected, frames, Disconnected, and so on; for different peers and wire.Kinds they come at the same time. A call
// that takes long holds up its connection, and one that takes IdleTimeout loses it. Bodies are the handler's to keep.
// No method may call Close.
type Handler interface {
	LeaseFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte)
	// LogFrame: more tells that another frame of this connection is here already and follows at once.
	LogFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool)
	// NamedFrame is LogFrame for a connection of named leases.
	NamedFrame(from ballot.NodeID, inc ballot.Incarnation, body []byte, more bool)
	Connected(peer ballot.NodeID, kind wire.Kind)
	Disconnected(peer ballot.NodeID, kind wire.Kind)
	// CrashReleased is the word of a guardian that owner, an incarnation of another member, has died (see
	// wire.Release). It may come at any time, from any goroutine, more than once, and when a later incarnation is
	// connected.
	CrashReleased(owner ballot.Incarnation, counters []uint64)
}

// Transport is a node's end of all its connections to peers. Its methods are safe for concurrent use.
type Transport struct {
	cfg      Config
	listener net.Listener // nil without an address
	start    time.Time
	ctx      context.Context // ends at Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	quiet    quiet
	seen     seen

	service   atomic.Pointer[service]   // nil until Serve
	bootstrap atomic.Pointer[bootstrap] // nil until Bootstrap

	garbage, refused, evicted atomic.Uint64

	mu      sync.Mutex
	closed  bool
	open    map[net.Conn]struct{} // every connection, so that Close can end them
	pending []net.Conn            // inbound, handshake not finished, oldest first
}

// service is what Serve adds.
type service struct {
	handler Handler
	members ident.Membership
	peers   []*peer // by rising id, without this node
}

func (s *service) peer(node ballot.NodeID) *peer {
	for _, p := range s.peers {
		if p.node == node {
			return p
		}
	}
	return nil
}

// Listen binds the address and answers peers from then on: with the state of bootstrap if Bootstrap was called, and
// else that this node is not ready. The caller must Close.
func Listen(cfg Config) (*Transport, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &Transport{cfg: cfg.withDefaults(), start: time.Now(), open: make(map[net.Conn]struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	if cfg.Addr == "" {
		return t, nil
	}
	l, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		t.cancel()
		return nil, explainListen(cfg.Addr, err)
	}
	t.listener = l
	t.wg.Go(t.accept)
	return t, nil
}

func explainListen(addr string, err error) error {
	hint := "give an address of this machine with --peer"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "another process listens there, perhaps another kvnode: stop it or choose another port with --peer"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "this machine has no such address: choose one of its own with --peer"
	case errors.Is(err, syscall.EACCES):
		hint = "ports below 1024 need a privilege: choose another port with --peer"
	}
	return fmt.Errorf("%w on %s: %w; %s", ErrListen, addr, err, hint)
}

// Addr is where peers are listened for, nil if nowhere.
func (t *Transport) Addr() net.Addr {
	if t.listener == nil {
		return nil
	}
	return t.listener.Addr()
}

// Serve starts to connect to the other members and to hand h what they say. It is called once, when this node is a
// member. addrs are hints: only nodes with a higher id are dialled, and one without an address is not.
func (t *Transport) Serve(h Handler, membership ident.Membership, addrs map[ballot.NodeID]string) {
	if t.cfg.Hello == nil {
		panic("transport: Serve without Config.Hello")
	}
	s := &service{handler: h, members: membership}
	for _, m := range membership.Members {
		if m.Node != t.cfg.Self {
			s.peers = append(s.peers, newPeer(m.Node, addrs[m.Node]))
		}
	}
	if !t.service.CompareAndSwap(nil, s) {
		panic("transport: Serve called twice")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	for _, p := range s.peers {
		if p.node < t.cfg.Self {
			continue
		}
		if p.addr == "" {
			p.note("no address is known for it: add it to --cluster")
			t.cfg.Log.Warn().Uint64("peer", uint64(p.node)).Msg("no address is known for this member: add it to --cluster")
			continue
		}
		for _, kind := range wire.Kinds {
			t.wg.Go(func() { t.dialLoop(s, p, kind) })
		}
	}
}

// SendLease puts a lease message in line for a peer and never waits. False: the peer is not connected or body is too
// large. When too much is in line, the oldest messages are forgotten. Body must not change afterwards, may be sent to
// several peers, and must be of package wire and no keepalive.
func (t *Transport) SendLease(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindLease, wire.MaxLeaseBytes, body)
}

// SendNamed is SendLease for messages of named leases.
func (t *Transport) SendNamed(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindNamed, wire.MaxNamedBytes, body)
}

// SendLog is SendLease for a message of the log, except that when too much is in line this message is refused.
func (t *Transport) SendLog(to ballot.NodeID, body []byte) bool {
	return t.send(to, wire.KindLog, t.cfg.MaxLogFrameBytes, body)
}

func (t *Transport) send(to ballot.NodeID, kind wire.Kind, limit int, body []byte) bool {
	if wire.IsKeepalive(body) {
		panic("transport: a body without a type")
	}
	s := t.service.Load()
	if s == nil {
		return false
	}
	p := s.peer(to)
	if p == nil {
		return false
	}
	end := p.end(kind)
	l := end.link.Load()
	if l == nil {
		return false
	}
	if len(body) > limit {
		end.dropped.Add(1)
		t.complain("large", func() {
			t.cfg.Log.Error().Uint64("peer", uint64(to)).Stringer("kind", kind).Int("bytes", len(body)).Int("limit", limit).
				Msg("a message above the limit was not sent")
		})
		return false
	}
	ok, dropped := l.queue.push(body)
	if !ok {
		dropped++
	}
	if dropped > 0 {
		end.dropped.Add(uint64(dropped))
	}
	return ok
}

// Flush waits until what is in line for peers has been given to the kernel, or its connection has ended, or ctx has.
// It is for the last words before Close, which writes nothing more.
func (t *Transport) Flush(ctx context.Context) error {
	s := t.service.Load()
	if s == nil {
		return nil
	}
	for _, p := range s.peers {
		for _, k := range wire.Kinds {
			l := p.end(k).link.Load()
			if l == nil {
				continue
			}
			select {
			case <-l.queue.drained():
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// Stats counts what strangers did, since the start.
type Stats struct {
	Garbage uint64 // connections that did not speak the protocol
	Refused uint64 // handshakes that this node refused
	Evicted uint64 // connections that had to make space for newer ones before their handshake was done
}

// Stats is safe to call at any time.
func (t *Transport) Stats() Stats {
	return Stats{Garbage: t.garbage.Load(), Refused: t.refused.Load(), Evicted: t.evicted.Load()}
}

// Close ends all connections and goroutines and returns when they are gone; the handler is not called afterwards.
func (t *Transport) Close() {
	t.cancel()
	t.mu.Lock()
	t.closed = true
	if t.listener != nil {
		t.listener.Close()
	}
	for nc := range t.open {
		nc.Close()
	}
	t.mu.Unlock()
	t.wg.Wait()
}

// track notes an open connection; false: the transport was closed, and so is nc.
func (t *Transport) track(nc net.Conn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		nc.Close()
		return false
	}
	t.open[nc] = struct{}{}
	return true
}

// drop closes a connection and forgets it.
func (t *Transport) drop(nc net.Conn) {
	nc.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, nc)
	t.settleLocked(nc)
}

// settled takes a connection off the list of those whose handshake is not finished.
func (t *Transport) settled(nc net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settleLocked(nc)
}

func (t *Transport) settleLocked(nc net.Conn) {
	if i := slices.Index(t.pending, nc); i >= 0 {
		t.pending = slices.Delete(t.pending, i, i+1)
	}
}

// pause waits for d, or is false if the transport was closed before.
func (t *Transport) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-t.ctx.Done():
		return false
	}
}

// complain runs log unless the same complaint was logged a moment ago.
func (t *Transport) complain(what string, log func()) {
	if t.quiet.allow(what, time.Now()) {
		log()
	}
}
