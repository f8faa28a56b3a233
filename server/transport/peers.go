package transport

import (
	"context"
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// peers are the other members and the connections to them.
type peers struct {
	cfg       *Config
	handler   Handler
	list      []*peer // by rising id
	handshake handshaker
	sockets   *sockets
	log       *rareLog
}

func newPeers(
	cfg *Config, h Handler, m ident.Membership, addrs map[ballot.NodeID]string, past *history, s *sockets, log *rareLog,
) *peers {
	p := &peers{cfg: cfg, handler: h, sockets: s, log: log}
	p.handshake = handshaker{hello: cfg.Hello, membership: m, history: past}
	for _, x := range m.Members {
		if x.Node != cfg.Self {
			p.list = append(p.list, newPeer(x.Node, addrs[x.Node]))
		}
	}
	return p
}

// get returns the peer of that id, nil if there is none.
func (s *peers) get(node ballot.NodeID) *peer {
	for _, p := range s.list {
		if p.node == node {
			return p
		}
	}
	return nil
}

// accepted serves a connection that a peer made, after its hello.
func (s *peers) accepted(c *conn, m *wire.HelloMsg) error {
	p := s.get(m.Hello.Node)
	hello, err := s.handshake.accepted(c, m)
	if err == nil {
		return s.serve(c, p, m.Kind, hello)
	}
	var r *Refusal
	if p != nil && errors.As(err, &r) {
		p.setProblem(r.Text)
	}
	return err
}

// serve serves a connection on which the handshake has succeeded until it ends. An error says that it could not be
// served at all.
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
	cause := p.run(l, s.handler)
	if !s.sockets.ended() {
		log.Info().AnErr("cause", cause).Msg("peer disconnected")
	}
	return nil
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
		s.log.rarely("large", func() {
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
	for _, p := range s.list {
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
func (s *peers) ignored() (n uint64) {
	for _, p := range s.list {
		for i := range p.ends {
			n += p.ends[i].traffic.ignored.Load()
		}
	}
	return n
}
