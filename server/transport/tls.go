package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/internal/shown"
	"tenure/internal/wrongport"
	"tenure/server/wire"
)

// side is this node's end of a connection.
type side bool

const (
	dialling  side = false
	listening side = true
)

// The time and bytes for the last answer to a refused peer: closing at once would discard the answer.
const (
	lingerTimeout  = 500 * time.Millisecond
	maxLingerBytes = 64 << 10
)

// secureConn is a connection over TLS between nodes.
type secureConn struct {
	*tls.Conn
	files  *certs.Files
	http   bool                   // the other side has offered to speak HTTP above TLS
	forget atomic.Pointer[func()] // has the files forget it; nil before they know it
}

// overTLS returns nc with TLS above it, or nc itself if files is nil. The handshake is still to come.
func overTLS(nc net.Conn, files *certs.Files, s side) net.Conn {
	switch {
	case files == nil:
		return nc
	case s == listening:
		c := &secureConn{files: files}
		cfg := files.PeerListener()
		cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			c.http = slices.Contains(hello.SupportedProtos, "http/1.1")
			return nil, nil
		}
		c.Conn = tls.Server(nc, cfg)
		return c
	}
	return &secureConn{Conn: tls.Client(nc, files.PeerDialler()), files: files}
}

// Close closes the connection at once. Close of tls.Conn may wait for a peer that does not read, to announce the end;
// frames need no such announcement. The goroutine that serves the connection calls Close last.
func (c *secureConn) Close() error {
	if forget := c.forget.Swap(nil); forget != nil {
		(*forget)()
	}
	return c.NetConn().Close()
}

// authenticate performs the handshake of TLS within the deadline of c, and checks that the other side is a node of this
// cluster before anything is read from it. Without TLS it does nothing. An error is a *Refusal if the reason is a
// certificate, or TLS on one side only; the other side has been told.
func (c *conn) authenticate(ctx context.Context) error {
	if c.secure == nil {
		return nil
	}
	if err := c.secure.HandshakeContext(ctx); err != nil {
		return c.noTLS(err)
	}
	id, forget, err := c.secure.files.AdmitPeer(c.secure.NetConn(), c.secure.ConnectionState(), time.Now())
	if err != nil && c.secure.http {
		_, _ = c.nc.Read(make([]byte, 1)) // clients take no answer that comes before their request
		err = c.wrongPort(c.nc, wrongport.HTTP)
		c.linger()
		return err
	}
	if err != nil {
		r := c.refuse(refuse(wire.ReasonCertificate, "%s, with the certificate of %s, takes no connection with a node at %s: %v",
			called(c.self), c.secure.files.Identity(), c.host(), err))
		c.linger()
		return r
	}
	c.secure.forget.Store(&forget)
	c.cert = id.Name
	return nil
}

// noTLS returns the error for a failed handshake of TLS. It tells a peer without TLS.
func (c *conn) noTLS(err error) error {
	var record tls.RecordHeaderError
	if !errors.As(err, &record) {
		return err
	}
	if p := wrongport.Of(record.RecordHeader[:]); p != wrongport.Unknown && record.Conn != nil {
		return c.wrongPort(record.Conn, p)
	}
	r := refuse(wire.ReasonCertificate, "%s speaks TLS with its peers, and the node at %s does not: start all nodes with --tls-cert, "+
		"--tls-key and --tls-ca, or none", called(c.self), c.host())
	if record.Conn != nil { // only on the listening side, and nothing has been written to it yet
		_, _ = record.Conn.Write(wire.AppendFrame(nil, wire.EncodeHandshake(&wire.RefuseMsg{Reason: r.Reason, Text: r.Text})))
	}
	return r
}

// linger lets the peer read the last answer: a connection closed with unread bytes is reset.
func (c *conn) linger() {
	c.nc.SetDeadline(time.Now().Add(lingerTimeout))
	raw := c.secure.NetConn()
	if tcp, ok := raw.(*net.TCPConn); ok && tcp.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, raw, maxLingerBytes)
	}
}

// checkName returns the refusal of a node that claims the id node with the certificate cert, nil if none is due.
// Without TLS none is due, nor for an id that m does not list: this node may be behind.
func checkName(node ballot.NodeID, cert string, m ident.Membership, self ballot.NodeID) *Refusal {
	x, _, listed := m.Find(node)
	if cert == "" || !listed || nameOf(x) == cert {
		return nil
	}
	return refuse(wire.ReasonCertificate, "node %d comes with the certificate of %s, but membership %s, which node %d has, "+
		"lists it as %s: start it with a certificate of that name, from: %s", node, cert, m, self, shown.Word(nameOf(x)),
		certs.CommandForNode(nameOf(x), nil))
}
