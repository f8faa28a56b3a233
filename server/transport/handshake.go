package transport

import (
	"errors"
	"fmt"
	"net"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// conn is a connection on which the handshake or bootstrap is spoken.
type conn struct {
	nc     net.Conn
	idle   *idleReader
	frames *wire.FrameReader
}

// newConn returns a connection on which the handshake may take until the deadline.
func newConn(nc net.Conn, deadline time.Time) *conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetNoDelay(true)
	}
	nc.SetDeadline(deadline)
	idle := &idleReader{nc: nc}
	return &conn{nc: nc, idle: idle, frames: wire.NewFrameReader(idle, wire.MaxHandshakeBytes)}
}

func (c *conn) send(m wire.HandshakeMsg) error {
	_, err := c.nc.Write(wire.AppendFrame(nil, wire.EncodeHandshake(m)))
	return err
}

// receive returns the next message. A refusal comes as an error, as a *Refusal by the peer.
func (c *conn) receive() (wire.HandshakeMsg, error) {
	body, err := c.frames.Next()
	if err != nil {
		return nil, err
	}
	m, err := wire.DecodeHandshake(body)
	if err != nil {
		return nil, err
	}
	if r, ok := m.(*wire.RefuseMsg); ok {
		return nil, &Refusal{Reason: r.Reason, Text: r.Text, ByPeer: true}
	}
	return m, nil
}

// refuse tells the other side; that it may not hear it changes nothing.
func (c *conn) refuse(r *Refusal) { _ = c.send(&wire.RefuseMsg{Reason: r.Reason, Text: r.Text}) }

// unexpected is the error for a message that has no place here.
func unexpected(m wire.HandshakeMsg) error {
	return fmt.Errorf("%w: unexpected %T", wire.ErrHandshake, m)
}

// greet is the dialler's side: hello, their hello, ready. The link is not yet running.
func (t *Transport) greet(c *conn, s *service, p *peer, kind wire.Kind) (*link, error) {
	ours := t.cfg.Hello()
	if err := c.send(&wire.HelloMsg{Kind: kind, To: p.node, Hello: ours}); err != nil {
		return nil, err
	}
	m, err := c.receive()
	var v *wire.VersionError
	if errors.As(err, &v) {
		err = t.versionRefusal(c, v)
	}
	if err != nil {
		return nil, err
	}
	hello, ok := m.(*wire.HelloMsg)
	if !ok || hello.Kind != kind {
		return nil, unexpected(m)
	}
	if r := t.examine(&ours, &hello.Hello, s, p.node, hello.Hello.Node); r != nil {
		c.refuse(r)
		return nil, r
	}
	if err := c.send(&wire.ReadyMsg{}); err != nil {
		return nil, err
	}
	return t.establish(c, p, kind, &hello.Hello)
}

// answerHello is the listener's side. An error is about the peer and worth a line in the log.
func (t *Transport) answerHello(c *conn, s *service, m *wire.HelloMsg) (*link, error) {
	ours := t.cfg.Hello()
	if r := t.examine(&ours, &m.Hello, s, m.To, ours.Node); r != nil {
		c.refuse(r)
		return nil, r
	}
	if m.Hello.Node > ours.Node {
		return nil, fmt.Errorf("%w: node %d dials node %d, but the lower id dials", wire.ErrHandshake, m.Hello.Node, ours.Node)
	}
	if err := c.send(&wire.HelloMsg{Kind: m.Kind, To: m.Hello.Node, Hello: ours}); err != nil {
		return nil, err
	}
	ready, err := c.receive()
	if err != nil {
		return nil, err
	}
	if _, ok := ready.(*wire.ReadyMsg); !ok {
		return nil, unexpected(ready)
	}
	return t.establish(c, s.peer(m.Hello.Node), m.Kind, &m.Hello)
}

// examine is all that can be said against a connection.
func (t *Transport) examine(ours, theirs *wire.Hello, s *service, dialled, answered ballot.NodeID) *Refusal {
	if r := judge(ours, theirs, s.members, dialled, answered); r != nil {
		return r
	}
	return t.seen.check(theirs)
}

// establish remembers what the peer said. It may still refuse: another connection of a newer run may have come
// meanwhile.
func (t *Transport) establish(c *conn, p *peer, kind wire.Kind, h *wire.Hello) (*link, error) {
	if r := t.seen.admit(h); r != nil {
		return nil, r
	}
	if err := c.nc.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	t.settled(c.nc)
	p.greet(h)
	return t.newLink(p, kind, h.Incarnation, c), nil
}

// versionRefusal tells a peer of another version so.
func (t *Transport) versionRefusal(c *conn, v *wire.VersionError) *Refusal {
	r := refuse(wire.ReasonVersion, "node %d speaks version %d of the protocol between nodes, and %s speaks version %d: run releases that speak the same",
		t.cfg.Self, wire.Version, c.nc.RemoteAddr(), v.Theirs)
	c.refuse(r)
	return r
}

// serve runs an established link and logs its beginning and end.
func (t *Transport) serve(s *service, l *link) {
	log := t.cfg.Log.With().Uint64("peer", uint64(l.peer.node)).Stringer("kind", l.kind).Stringer("incarnation", l.inc).Logger()
	log.Info().Stringer("remote", l.nc.RemoteAddr()).Msg("peer connected")
	cause := l.run(s.handler)
	if t.ctx.Err() == nil {
		log.Info().AnErr("cause", cause).Msg("peer disconnected")
	}
}

// logRefusal logs a refusal by either side, the same one only now and then.
func (t *Transport) logRefusal(remote string, r *Refusal) {
	if r.Reason == wire.ReasonNotReady {
		t.cfg.Log.Debug().Str("remote", remote).Bool("by_peer", r.ByPeer).Msg(r.Text)
		return
	}
	if !r.ByPeer {
		t.refused.Add(1)
	}
	t.complain(fmt.Sprint(r.Reason, r.ByPeer, r.Text), func() {
		t.cfg.Log.Warn().Str("remote", remote).Bool("by_peer", r.ByPeer).Str("reason", r.Text).Msg("connection refused")
	})
}
