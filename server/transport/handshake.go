package transport

import (
	"errors"
	"fmt"
	"net"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/frame"
)

// wire is a connection on which the handshake or genesis is spoken.
type wire struct {
	nc     net.Conn
	idle   *idleReader
	frames *frame.Reader
}

// newWire gives the handshake on nc until the deadline.
func newWire(nc net.Conn, deadline time.Time) *wire {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetNoDelay(true)
	}
	nc.SetDeadline(deadline)
	idle := &idleReader{nc: nc}
	return &wire{nc: nc, idle: idle, frames: frame.NewReader(idle, maxHandshakeBytes)}
}

func (w *wire) send(m any) error {
	f := frame.NewWriter(w.nc)
	f.Add(encodeMsg(m))
	return f.Flush()
}

// receive is the next message. A refusal comes as an error, as a *Refusal by the peer.
func (w *wire) receive() (any, error) {
	body, err := w.frames.Next()
	if err != nil {
		return nil, err
	}
	m, err := decodeMsg(body)
	if err != nil {
		return nil, err
	}
	if r, ok := m.(*refuseMsg); ok {
		return nil, &Refusal{Reason: r.Reason, Text: r.Text, ByPeer: true}
	}
	return m, nil
}

// refuse tells the other side; that it may not hear it changes nothing.
func (w *wire) refuse(r *Refusal) { _ = w.send(&refuseMsg{Reason: r.Reason, Text: r.Text}) }

// unexpected is the error for a message that has no place here.
func unexpected(m any) error { return fmt.Errorf("%w: unexpected %T", errMalformed, m) }

// greet is the dialler's side: hello, their hello, ready. The link is not yet running.
func (t *Transport) greet(w *wire, s *service, p *peer, kind Kind) (*link, error) {
	ours := t.cfg.Hello()
	if err := w.send(&helloMsg{Kind: kind, To: p.node, Hello: ours}); err != nil {
		return nil, err
	}
	m, err := w.receive()
	var v *versionError
	if errors.As(err, &v) {
		err = t.versionRefusal(w, v)
	}
	if err != nil {
		return nil, err
	}
	hello, ok := m.(*helloMsg)
	if !ok || hello.Kind != kind {
		return nil, unexpected(m)
	}
	if r := t.examine(&ours, &hello.Hello, s, p.node, hello.Hello.Node); r != nil {
		w.refuse(r)
		return nil, r
	}
	if err := w.send(&readyMsg{}); err != nil {
		return nil, err
	}
	return t.establish(w, p, kind, &hello.Hello)
}

// answerHello is the listener's side. An error is about the peer and worth a line in the log.
func (t *Transport) answerHello(w *wire, s *service, m *helloMsg) (*link, error) {
	ours := t.cfg.Hello()
	if r := t.examine(&ours, &m.Hello, s, m.To, ours.Node); r != nil {
		w.refuse(r)
		return nil, r
	}
	if m.Hello.Node > ours.Node {
		return nil, fmt.Errorf("%w: node %d dials node %d, but the lower id dials", errMalformed, m.Hello.Node, ours.Node)
	}
	if err := w.send(&helloMsg{Kind: m.Kind, To: m.Hello.Node, Hello: ours}); err != nil {
		return nil, err
	}
	ready, err := w.receive()
	if err != nil {
		return nil, err
	}
	if _, ok := ready.(*readyMsg); !ok {
		return nil, unexpected(ready)
	}
	return t.establish(w, s.peer(m.Hello.Node), m.Kind, &m.Hello)
}

// examine is all that can be said against a connection.
func (t *Transport) examine(ours, theirs *Hello, s *service, dialled, answered ballot.NodeID) *Refusal {
	if r := judge(ours, theirs, s.members, dialled, answered); r != nil {
		return r
	}
	return t.seen.check(theirs)
}

// establish remembers what the peer said. It may still refuse: another connection of a newer run may have come
// meanwhile.
func (t *Transport) establish(w *wire, p *peer, kind Kind, h *Hello) (*link, error) {
	if r := t.seen.admit(h); r != nil {
		return nil, r
	}
	if err := w.nc.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	t.settled(w.nc)
	p.greet(h)
	return t.newLink(p, kind, h.Incarnation, w), nil
}

// versionRefusal tells a peer of another version so.
func (t *Transport) versionRefusal(w *wire, v *versionError) *Refusal {
	r := refuse(ReasonVersion, "node %d speaks version %d of the protocol between nodes, and %s speaks version %d: run releases that speak the same",
		t.cfg.Self, Version, w.nc.RemoteAddr(), v.theirs)
	w.refuse(r)
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
	if r.Reason == ReasonNotReady {
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
