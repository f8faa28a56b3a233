package transport

import (
	"errors"
	"io"
	"net"
	"time"

	"tenure/server/wire"
)

// accept takes inbound connections until Close.
func (t *Transport) accept() {
	wait := time.Duration(0)
	for {
		nc, err := t.listener.Accept()
		if err == nil {
			wait = 0
			if t.track(nc) {
				t.admit(nc)
				t.wg.Go(func() { t.inbound(nc) })
			}
			continue
		}
		if t.ctx.Err() != nil {
			return
		}
		t.complain("accept", func() { t.cfg.Log.Error().Err(err).Msg("cannot accept connections from peers") })
		wait = min(2*wait+time.Millisecond, acceptPauseMax)
		if !t.pause(wait) {
			return
		}
	}
}

// admit puts nc on the list of those whose handshake is not finished. When the list is full the oldest goes: an
// honest handshake takes milliseconds, so those that idle make space for it and not the other way round.
func (t *Transport) admit(nc net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) >= maxPending {
		t.pending[0].Close()
		t.pending = t.pending[1:]
		t.evicted.Add(1)
	}
	t.pending = append(t.pending, nc)
}

// inbound serves one connection that somebody made.
func (t *Transport) inbound(nc net.Conn) {
	defer t.drop(nc)
	c := newConn(nc, time.Now().Add(t.cfg.HandshakeTimeout))
	m, err := c.receive()
	if err == nil {
		switch m := m.(type) {
		case *wire.HelloMsg:
			err = t.inboundHello(c, m)
		case *wire.AskMsg:
			err = t.answerAsk(c, m)
		case *wire.ReleaseMsg:
			err = t.takeReleases(c, m)
		default:
			err = unexpected(m)
		}
	}
	var v *wire.VersionError
	if errors.As(err, &v) {
		err = t.versionRefusal(c, v)
	}
	t.blame(nc, err)
}

func (t *Transport) inboundHello(c *conn, m *wire.HelloMsg) error {
	s := t.service.Load()
	if s == nil {
		r := refuse(wire.ReasonNotReady, "node %d takes no part in a cluster yet", t.cfg.Self)
		c.refuse(r)
		return r
	}
	l, err := t.answerHello(c, s, m)
	if err == nil {
		t.serve(s, l)
		return nil
	}
	var r *Refusal
	if p := s.peer(m.Hello.Node); p != nil && errors.As(err, &r) {
		p.note(r.Text)
	}
	return err
}

// blame logs what came of an inbound connection.
func (t *Transport) blame(nc net.Conn, err error) {
	if err == nil || t.ctx.Err() != nil {
		return
	}
	remote := nc.RemoteAddr().String()
	var r *Refusal
	if errors.As(err, &r) {
		t.logRefusal(remote, r)
		return
	}
	t.garbage.Add(1)
	if errors.Is(err, io.EOF) { // somebody looked whether the port is open
		t.cfg.Log.Debug().Str("remote", remote).Msg("a connection to the peer port was closed in its handshake")
		return
	}
	t.complain("garbage", func() {
		t.cfg.Log.Warn().Str("remote", remote).Err(err).Msg("a connection to the peer port did not finish the handshake")
	})
}
