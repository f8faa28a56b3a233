package transport

import (
	"errors"
	"fmt"
	"io"

	"tenure/internal/wrongport"
	"tenure/server/wire"
)

// errWrongPort is the error for a connection between a client and a port for peers, or a node and another port.
var errWrongPort = errors.New("wrong port")

// foreign returns the error for first bytes that are too large for a frame. A client of another protocol is told.
func (c *conn) foreign(tooLarge error) error {
	switch p := c.frames.Foreign(); {
	case p == wrongport.TLS && c.secure == nil:
		return c.refuse(refuse(wire.ReasonCertificate, "%s speaks no TLS with its peers, and the node at %s does: start "+
			"all nodes with --tls-cert, --tls-key and --tls-ca, or none. A client belongs to the port of --client",
			called(c.self), c.host()))
	case p == wrongport.HTTP || p == wrongport.Redis:
		return c.wrongPort(c.nc, p)
	case c.frames.ForeignAnswer() == wrongport.HTTP:
		return fmt.Errorf("%w: what answers there is a port for clients: give the address of the node's port for peers, as "+
			"its --peer has it: %w", errWrongPort, tooLarge)
	}
	return tooLarge
}

// wrongPort answers a client of the protocol p over w, and returns the error. Whether the client gets the answer makes
// no difference.
func (c *conn) wrongPort(w io.Writer, p wrongport.Protocol) error {
	_, _ = w.Write(wrongport.Answer(p, wrongport.Peers))
	return fmt.Errorf("%w: the client at %s speaks %s, and this is the port for peers: give it that for %s",
		errWrongPort, c.host(), p, wrongport.For(p))
}
