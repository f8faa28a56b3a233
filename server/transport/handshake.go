package transport

import (
	"sync/atomic"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// handshaker performs the handshake between members, on either side: hello, hello, ready.
type handshaker struct {
	say      func() wire.Hello // of this node, now, without the membership
	now      func() *table
	history  *History
	required *atomic.Uint64 // feature level, as Transport.RequireLevel
	sought   *sought
}

// hello returns this node's hello.
func (h *handshaker) hello() wire.Hello {
	ours := h.say()
	m := h.now().membership
	ours.Membership, ours.Change = m.Number, m.Change
	ours.ClusterLevel = max(ours.ClusterLevel, h.required.Load())
	return ours
}

// dialled performs the handshake on a connection that this node made to node to. It returns the peer's hello.
func (h *handshaker) dialled(c *conn, to ballot.NodeID, kind wire.Kind) (*wire.Hello, error) {
	ours := h.hello()
	m := h.now().membership
	if r := checkName(to, c.cert, m, ours.Node); r != nil { // before a word of it counts, also of a refusal
		return nil, c.refuse(r)
	}
	if err := c.send(&wire.HelloMsg{Kind: kind, To: to, Hello: ours}); err != nil {
		return nil, err
	}
	answer, err := expect[*wire.HelloMsg](c)
	if err != nil {
		return nil, err
	}
	if answer.Kind != kind {
		return nil, unexpected(answer)
	}
	if r := h.check(&ours, &answer.Hello, to, answer.Hello.Node, c.cert); r != nil {
		return nil, c.refuse(r)
	}
	if err := c.send(&wire.ReadyMsg{}); err != nil {
		return nil, err
	}
	return h.admit(&answer.Hello)
}

// accepted performs the handshake on a connection from a peer, after its hello, and returns that hello. If dials is
// true, this node dials the peer itself and refuses the connection; the checked hello comes with the refusal.
func (h *handshaker) accepted(c *conn, m *wire.HelloMsg, dials bool) (*wire.Hello, error) {
	ours := h.hello()
	if r := h.check(&ours, &m.Hello, m.To, ours.Node, c.cert); r != nil {
		h.sought.note(r)
		return nil, c.refuse(r)
	}
	if dials {
		return &m.Hello, c.refuse(refuse(wire.ReasonNotReady, "node %d dials node %d itself, and has not reached it yet",
			ours.Node, m.Hello.Node))
	}
	if err := c.send(&wire.HelloMsg{Kind: m.Kind, To: m.Hello.Node, Hello: ours}); err != nil {
		return nil, err
	}
	if _, err := expect[*wire.ReadyMsg](c); err != nil {
		return nil, err
	}
	return h.admit(&m.Hello)
}

// check returns the refusal of a connection, nil if none is due. cert is the name in the peer's certificate, "" without
// TLS.
func (h *handshaker) check(
	ours, theirs *wire.Hello, dialled, answered ballot.NodeID, cert string,
) *Refusal {
	t := h.now()
	if r := checkHello(ours, theirs, t, dialled, answered); r != nil {
		return r
	}
	if r := checkName(theirs.Node, cert, t.membership, ours.Node); r != nil {
		return r
	}
	if r := t.checkRemoved(theirs, cert, ours.Node); r != nil {
		return r
	}
	return h.history.Check(theirs)
}

// admit remembers the peer's hello. It may still refuse: a newer run of the peer may have connected meanwhile.
func (h *handshaker) admit(theirs *wire.Hello) (*wire.Hello, error) {
	if r := h.history.Admit(theirs); r != nil {
		return nil, r
	}
	return theirs, nil
}
