package transport

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// peers are the other members and the connections to them.
type peers struct {
	cfg       *Config
	handler   Handler
	handshake handshaker
	sockets   *sockets
	log       *rareLog
	now       atomic.Pointer[table]
	left      atomic.Uint64 // frames of unknown types from peers that were removed

	joining chan struct{} // holds a token for each call of Config.Join

	mu sync.Mutex // held while now is replaced
}

// newPeers returns the peers of m.
func newPeers(
	cfg *Config, h Handler, m ident.Membership, addrs map[ballot.NodeID]string, past *History, required *atomic.Uint64, s *sockets,
	log *rareLog,
	sought *sought,
) *peers {
	p := &peers{cfg: cfg, handler: h, sockets: s, log: log, joining: make(chan struct{}, maxJoins)}
	p.handshake = handshaker{say: cfg.Hello, now: p.now.Load, history: past, required: required, sought: sought}
	p.now.Store(&table{})
	p.replace(m, addrs)
	return p
}

// accepted serves a connection that a peer made, after its hello.
func (s *peers) accepted(c *conn, m *wire.HelloMsg) error {
	p := s.get(m.Hello.Node)
	hello, err := s.handshake.accepted(c, m, s.dials(p) && !m.Hello.Has().Newer(s.membership()))
	if hello != nil && p != nil && p.tell(hello.PeerAddr) {
		s.log.Info().Uint64("peer", uint64(p.node)).Str("says", hello.PeerAddr).Str("listed", p.listed()).
			Msg("this peer was started at another address than it is looked for at")
	}
	if err != nil {
		s.refused(p, err)
		return err // also if it says that this node is removed: anybody may connect and say so
	}
	if p, err = s.admit(hello, c.cert); err != nil {
		return err
	}
	return s.serve(c, p, m.Kind, hello)
}

// dials reports whether this node dials p, which may be nil, and need not be dialled by p. The caller ignores the
// result while p has a newer membership than this node: then this node may have an old address of p, or none.
func (s *peers) dials(p *peer) bool { return p != nil && p.node > s.cfg.Self && p.address() != "" }

// refused notes that a handshake with p, which may be nil, was refused, by this node or by the peer. It reports false if
// err is something else, or passes by itself.
func (s *peers) refused(p *peer, err error) bool {
	var r *Refusal
	if !errors.As(err, &r) || r.Reason == wire.ReasonNotReady {
		return false
	}
	if p != nil {
		p.setRefusal(r.Text)
	}
	return true
}

// toldRemoved reports the refusal of a dialled member that says this node was removed.
func (s *peers) toldRemoved(err error) {
	var r *Refusal
	if errors.As(err, &r) && r.Reason == wire.ReasonRemoved && r.ByPeer && s.cfg.Removed != nil {
		s.cfg.Removed(r.Text)
	}
}

// serve serves a connection after a successful handshake until it ends. An error means that it could not be served at
// all.
func (s *peers) serve(c *conn, p *peer, kind wire.Kind, h *wire.Hello) error {
	if err := c.nc.SetDeadline(time.Time{}); err != nil {
		return err
	}
	s.sockets.established(c.nc)
	p.introduce(h)
	log := s.log.With().Uint64("peer", uint64(p.node)).Stringer("kind", kind).
		Stringer("incarnation", h.Incarnation).Logger()
	log.Info().Str("remote", c.remote()).Msg("peer connected")
	l := newLink(s.cfg, h.Incarnation, kind, c, &p.end(kind).traffic, s.handshake.history, log)
	l.level, l.required = h.Level, s.handshake.required
	l.barred = func() bool { return s.now.Load().bars(p.node, l.cert, p.goesBy()) }
	cause := p.run(l, s.handler)
	if !s.sockets.ended() {
		log.Info().AnErr("cause", cause).Msg("peer disconnected")
	}
	return nil
}

// dropOlder ends the connections to peers that do not know the feature level that is required by now.
func (s *peers) dropOlder() {
	for _, p := range s.list() {
		for i := range p.ends {
			if l := p.ends[i].link.Load(); l != nil && l.older() {
				l.close(errOlder)
			}
		}
	}
}

// send puts a body in the queue for a peer. It reports false if the peer is not connected, or the body is larger than
// limit or finds no space.
func (s *peers) send(to ballot.NodeID, kind wire.Kind, limit int, body []byte) bool {
	p := s.get(to)
	if p == nil {
		return false
	}
	end := p.end(kind)
	l := end.link.Load()
	if l == nil {
		return false
	}
	if len(body) > limit {
		end.traffic.dropped.Add(1)
		s.log.rarely(ofMember(to), "large", func() {
			s.log.Error().Uint64("peer", uint64(to)).Stringer("kind", kind).Int("bytes", len(body)).Int("limit", limit).
				Msg("a message above the limit was not sent")
		})
		return false
	}
	ok, dropped := l.queue.push(body)
	if !ok {
		dropped++
	}
	if dropped > 0 {
		end.traffic.dropped.Add(uint64(dropped))
	}
	return ok
}

// flush waits until all queues have been written or their connections have ended.
func (s *peers) flush(ctx context.Context) error {
	for _, p := range s.list() {
		for i := range p.ends {
			l := p.ends[i].link.Load()
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

// ignored returns the number of frames of unknown types that peers have sent.
func (s *peers) ignored() uint64 {
	n := s.left.Load()
	for _, p := range s.list() {
		n += p.ignored()
	}
	return n
}
