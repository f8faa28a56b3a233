package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"tenure/server/wire"
)

// dialAll starts to connect to the members with a known address.
func (s *peers) dialAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	for _, p := range now.list {
		_, _, listed := now.membership.Find(p.node)
		switch {
		case p.dialled || !listed:
		case p.address() != "":
			p.dialled = true
			for _, kind := range wire.Kinds {
				s.sockets.start(func() { s.keepConnected(p, kind) })
			}
		case p.node > s.cfg.Self:
			const text = "no address is known for this member: add it to --cluster"
			p.setProblem(text)
			s.log.Warn().Uint64("peer", uint64(p.node)).Msg(text)
		}
	}
}

// keepConnected makes one kind of connection to a peer, again whenever it ends, until the peer is removed or the
// sockets are closed.
func (s *peers) keepConnected(p *peer, kind wire.Kind) {
	failed := false
	for wait := retryMin; s.missing(p, kind, failed); {
		began := time.Now()
		err := s.connect(p, kind)
		if p.ctx.Err() != nil {
			return
		}
		next := min(2*wait, retryMax)
		var r *Refusal
		refused := errors.As(err, &r)
		failed = err != nil && !(refused && r.Reason == wire.ReasonNotReady)
		switch {
		case refused && failed:
			wait = retryRefused
		case err == nil && time.Since(began) >= steadyAfter:
			wait, next = retryMin, retryMin
		}
		if !pause(p.ctx, jitter(wait)) {
			return
		}
		wait = next
	}
}

// missing waits until this node should dial the peer: no connection of that kind exists, and a peer with a lower id has
// not dialled for about DialBack. Such a peer may not know this node yet. Or it knows of this node's removal, and
// reports it when it is dialled. With failed missing does not wait: this node has dialled the peer without success
// since the last connection. If the peer was removed, missing reports false.
func (s *peers) missing(p *peer, kind wire.Kind, failed bool) bool {
	for p.ctx.Err() == nil {
		if l := p.end(kind).link.Load(); l != nil {
			select {
			case <-l.finished:
			case <-p.ctx.Done():
			}
			failed = false
			continue
		}
		if p.node > s.cfg.Self || failed {
			return true
		}
		if pause(p.ctx, jitter(s.cfg.DialBack)) && p.end(kind).link.Load() == nil {
			return true
		}
	}
	return false
}

// pause waits for d. It reports false as soon as ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// jitter returns a random duration between half and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// connect makes a connection and serves it until it ends. An error says why there was none.
func (s *peers) connect(p *peer, kind wire.Kind) error {
	addr := p.address()
	c, err := s.sockets.dial(p.ctx, addr)
	var r *Refusal
	if errors.As(err, &r) { // for its certificate
		p.unreached(addr)
		s.refused(p, err)
		s.log.refusal(ofMember(p.node), addr, r)
		return err
	}
	if err != nil {
		p.unreached(addr)
		p.setProblem(fmt.Sprintf("cannot be reached: %v", err))
		s.log.rarely(ofMember(p.node), fmt.Sprint("dial", p.node), func() {
			s.log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("peer cannot be reached")
		})
		return err
	}
	defer s.sockets.drop(c.nc)
	hello, err := s.handshake.dialled(c, p.node, kind)
	if err == nil {
		p.tell(hello.PeerAddr)
		p.answers(addr)
		err = s.serve(c, p, kind, hello)
	}
	if err == nil {
		return nil
	}
	if !s.refused(p, err) {
		p.setProblem(err.Error())
	}
	if p.ctx.Err() != nil {
		return err
	}
	p.unreached(addr)
	s.toldRemoved(err)
	if errors.As(err, &r) {
		s.log.refusal(ofMember(p.node), c.remote(), r)
		return err
	}
	s.log.rarely(ofMember(p.node), fmt.Sprint("handshake", p.node), func() {
		s.log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("the handshake with this peer did not finish")
	})
	return err
}
