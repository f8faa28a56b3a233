package transport

import (
	"errors"
	"fmt"
	"net"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

// conn is a connection on which messages of the handshake or of the bootstrap are exchanged.
type conn struct {
	self   ballot.NodeID // this node
	nc     net.Conn
	secure *secureConn // nc, nil without TLS
	cert   string      // the name in the peer's certificate, "" without TLS
	idle   *idleReader
	frames *wire.FrameReader
}

// newConn returns a connection of node self that may be used until the deadline.
func newConn(nc net.Conn, self ballot.NodeID, deadline time.Time) *conn {
	if tcp, ok := nc.(*net.TCPConn); ok {
		tcp.SetNoDelay(true)
	}
	nc.SetDeadline(deadline)
	idle := &idleReader{nc: nc}
	secure, _ := nc.(*secureConn)
	return &conn{self: self, nc: nc, secure: secure, idle: idle,
		frames: wire.NewFrameReader(idle, wire.MaxHandshakeBytes)}
}

func (c *conn) remote() string { return c.nc.RemoteAddr().String() }

// host returns the address of the peer without its port, for texts: with it each connection would have a text, and so a
// line of the log, of its own.
func (c *conn) host() string {
	host, _, err := net.SplitHostPort(c.remote())
	if err != nil {
		return c.remote()
	}
	return host
}

func (c *conn) send(m wire.HandshakeMsg) error {
	_, err := c.nc.Write(wire.AppendFrame(nil, wire.EncodeHandshake(m)))
	return err
}

// refuse sends r to the peer and returns it. Whether the peer receives it makes no difference.
func (c *conn) refuse(r *Refusal) *Refusal {
	_ = c.send(&wire.RefuseMsg{Reason: r.Reason, Text: r.Text})
	return r
}

// receive returns the next message. A refusal by the peer is returned as an error, a *Refusal. A peer of another
// version is refused, which is the error then.
func (c *conn) receive() (wire.HandshakeMsg, error) {
	body, err := c.frames.Next()
	if errors.Is(err, wire.ErrTooLarge) {
		return nil, c.foreign(err)
	}
	if err != nil {
		return nil, err
	}
	m, err := wire.DecodeHandshake(body)
	var v *wire.VersionError
	if errors.As(err, &v) {
		return nil, c.refuse(refuse(wire.ReasonVersion, "node %d speaks version %d of the protocol between nodes, "+
			"and %s speaks version %d: run releases that speak the same", c.self, wire.Version, c.remote(), v.Theirs))
	}
	if err != nil {
		return nil, err
	}
	if r, ok := m.(*wire.RefuseMsg); ok {
		return nil, &Refusal{Reason: r.Reason, Text: r.Text, ByPeer: true}
	}
	return m, nil
}

// expect returns the next message of c, which must be of type M.
func expect[M wire.HandshakeMsg](c *conn) (M, error) {
	m, err := c.receive()
	if err != nil {
		var none M
		return none, err
	}
	want, ok := m.(M)
	if !ok {
		return want, unexpected(m)
	}
	return want, nil
}

// unexpected returns the error for a message that may not come at this point.
func unexpected(m wire.HandshakeMsg) error {
	return fmt.Errorf("%w: unexpected %T", wire.ErrHandshake, m)
}

// idleReader gives up a connection on which nothing has arrived for a while. Until the connection is established, it
// leaves the deadlines to the handshake.
type idleReader struct {
	nc    net.Conn
	limit time.Duration
	heard func(time.Time)
	set   time.Time // when the deadline was last moved
}

// established starts to limit the silence. heard is called with the time at which bytes have arrived.
func (r *idleReader) established(limit time.Duration, heard func(time.Time)) {
	r.limit, r.heard = limit, heard
	heard(time.Now())
}

// Read moves the deadline only when an eighth of it has passed, to save the system call.
func (r *idleReader) Read(p []byte) (int, error) {
	if r.heard == nil {
		return r.nc.Read(p)
	}
	if now := time.Now(); now.Sub(r.set) > r.limit/8 {
		if err := r.nc.SetReadDeadline(now.Add(r.limit)); err != nil {
			return 0, err
		}
		r.set = now
	}
	n, err := r.nc.Read(p)
	if n > 0 {
		r.heard(time.Now())
	}
	return n, err
}
