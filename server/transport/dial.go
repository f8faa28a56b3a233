package transport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tenure/server/wire"
)

// dialAll starts to connect to the members with higher ids, of which an address is known.
func (s *peers) dialAll() {
	for _, p := range s.list {
		if p.node < s.cfg.Self {
			continue
		}
		if p.addr == "" {
			const text = "no address is known for this member: add it to --cluster"
			p.setProblem(text)
			s.log.Warn().Uint64("peer", uint64(p.node)).Msg(text)
			continue
		}
		for _, kind := range wire.Kinds {
			s.sockets.start(func() { s.keepConnected(p, kind) })
		}
	}
}

// keepConnected makes one kind of connection to a peer, again whenever it ends, until the sockets are closed.
func (s *peers) keepConnected(p *peer, kind wire.Kind) {
	for wait := retryMin; ; {
		began := time.Now()
		err := s.connect(p, kind)
		if s.sockets.ended() {
			return
		}
		next := min(2*wait, retryMax)
		var r *Refusal
		switch {
		case errors.As(err, &r) && r.Reason != wire.ReasonNotReady:
			wait = retryRefused
		case err == nil && time.Since(began) >= steadyAfter:
			wait, next = retryMin, retryMin
		}
		if !s.sockets.pause(jitter(wait)) {
			return
		}
		wait = next
	}
}

// jitter returns a random duration between half and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// connect makes a connection and serves it until it ends. An error says why there was none.
func (s *peers) connect(p *peer, kind wire.Kind) error {
	c, err := s.sockets.dial(s.sockets.ctx, p.addr)
	if err != nil {
		p.setProblem(fmt.Sprintf("cannot be reached: %v", err))
		s.log.rarely(fmt.Sprint("dial", p.node), func() {
			s.log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("peer cannot be reached")
		})
		return err
	}
	defer s.sockets.drop(c.nc)
	hello, err := s.handshake.dialled(c, p.node, kind)
	if err == nil {
		err = s.serve(c, p, kind, hello)
	}
	if err == nil {
		return nil
	}
	p.setProblem(err.Error())
	if s.sockets.ended() {
		return err
	}
	var r *Refusal
	if errors.As(err, &r) {
		s.log.refusal(c.remote(), r)
		return err
	}
	s.log.rarely(fmt.Sprint("handshake", p.node), func() {
		s.log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("the handshake with this peer did not finish")
	})
	return err
}
