package transport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"tenure/server/wire"
)

// dialLoop keeps one kind of connection to a peer until Close.
func (t *Transport) dialLoop(s *service, p *peer, kind wire.Kind) {
	for wait := retryMin; ; {
		began := time.Now()
		err := t.connect(s, p, kind)
		if t.ctx.Err() != nil {
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
		if !t.pause(jitter(wait)) {
			return
		}
		wait = next
	}
}

// jitter is between half and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// connect makes a connection and serves it to its end. An error says why there was none.
func (t *Transport) connect(s *service, p *peer, kind wire.Kind) error {
	c, err := t.dial(t.ctx, p.addr)
	if err != nil {
		p.note(fmt.Sprintf("cannot be reached: %v", err))
		t.complain(fmt.Sprint("dial", p.node), func() {
			t.cfg.Log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("peer cannot be reached")
		})
		return err
	}
	defer t.drop(c.nc)
	l, err := t.greet(c, s, p, kind)
	if err != nil {
		p.note(err.Error())
		t.logGreeting(c, p, err)
		return err
	}
	t.serve(s, l)
	return nil
}

func (t *Transport) logGreeting(c *conn, p *peer, err error) {
	if t.ctx.Err() != nil {
		return
	}
	var r *Refusal
	if errors.As(err, &r) {
		t.logRefusal(c.nc.RemoteAddr().String(), r)
		return
	}
	t.complain(fmt.Sprint("greet", p.node), func() {
		t.cfg.Log.Info().Uint64("peer", uint64(p.node)).Err(err).Msg("the handshake with this peer did not finish")
	})
}

// dial connects to addr. The caller must drop the connection.
func (t *Transport) dial(ctx context.Context, addr string) (*conn, error) {
	deadline := time.Now().Add(t.cfg.HandshakeTimeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if !t.track(nc) {
		return nil, ErrClosed
	}
	return newConn(nc, deadline), nil
}
