package transport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/hostname"
	"tenure/server/wire"
)

// Limits that no setting changes. Those of single messages are in package wire.
const (
	maxPending = 128 // inbound connections that have not finished their handshake
	maxUnknown = 16  // peers that a membership newer than this node's may list

	leaseQueueFrames = 1024
	leaseQueueBytes  = 1 << 20
	namedQueueFrames = 4096
	namedQueueBytes  = 16 << 20

	flushBytes       = 4 << 20 // a flush stops taking frames from the queue here
	slowestLinkBytes = 1 << 20 // a flush of n bytes may take IdleTimeout and n/slowestLinkBytes seconds

	retryMin    = 20 * time.Millisecond  // before a peer is dialled again
	retryMax    = 500 * time.Millisecond // after a peer could not be reached for a while
	maxJoins    = 4                      // nodes that Config.Join lets in at a time
	maxJoinHops = 4                      // nodes that one Join asks
	joinTimeout = 10 * time.Second       // for an answer to a JoinMsg

	retryRefused   = time.Second            // after a peer refused, or was refused
	steadyAfter    = time.Second            // a connection that lasted this long starts the backoff anew
	bootstrapRetry = 150 * time.Millisecond // between two rounds of questions
	logEvery       = 10 * time.Second       // the same line of a rareLog is written once in this time
	maxLines       = 64                     // different lines of one share of a rareLog in this time
	maxShares      = 256                    // of a rareLog in this time; what is beyond has that of strangers
	acceptPauseMax = time.Second            // while the listener fails, for want of file descriptors say
)

// Config is fixed for a run. A field with a default may be zero.
type Config struct {
	// Self is 0 as long as the node has no id. Then it answers that it takes no part yet.
	Self ballot.NodeID
	// Addr is the address on which to listen for peers. Empty: none, for a cluster of one.
	Addr string
	// TLS has this node's certificate and the authorities for connections between nodes, which then all use mutual TLS.
	// Nil: connections are neither encrypted nor authenticated. Files are read anew for each connection.
	TLS *certs.Files
	// Hello returns this node's current description of itself. It is called from Serve on, at each handshake and each
	// keepalive of a log connection, from several goroutines. It must not wait for disk or for locks held across I/O.
	// It may be nil until Serve is called, never after. It need not fill Membership and Change: the handshake uses the
	// membership given to Serve and SetMembership.
	Hello func() wire.Hello
	Log   zerolog.Logger
	// Removed is called when a member that this node has dialled says that this node was removed: text is for the
	// operator. It may be called more than once, by any goroutine, and must not wait. May be nil.
	Removed func(text string)
	// Join admits a node to the cluster, or names another node to ask. It may wait until ctx ends, and is called by
	// several goroutines, from Serve on. The joining node gets a *Refusal unchanged, and any other error as a temporary
	// refusal. A node that has asked before gets the same id again. If Join is nil, no node is admitted.
	Join func(ctx context.Context, m wire.JoinMsg) (wire.JoinedMsg, error)

	MaxLogFrameBytes int           // largest body on a log connection; default 64 MiB
	QueueFrames      int           // log frames that may wait for one peer; default 4096
	QueueBytes       int           // bytes that may wait for one peer, at least a frame; default 64 MiB
	IdleTimeout      time.Duration // silence after which a connection is given up; default 4 s
	HandshakeTimeout time.Duration // for dialling and handshake together; default 3 s
	// DialBack is how long the node with the higher id waits for the other to dial; then it dials. Default 1 s.
	DialBack time.Duration
}

// ErrConfig is wrapped by errors about a Config or BootstrapConfig that cannot work.
var ErrConfig = errors.New("invalid transport configuration")

// Validate returns an error if c cannot work.
func (c *Config) Validate() error {
	if c.Self > ballot.MaxNodeID {
		return fmt.Errorf("%w: node id %d is not in 0 to %d", ErrConfig, c.Self, ballot.MaxNodeID)
	}
	if c.Addr != "" {
		if err := checkAddr(c.Addr); err != nil {
			return fmt.Errorf("%w: peer address: %w", ErrConfig, err)
		}
	}
	if c.MaxLogFrameBytes < 0 || c.QueueFrames < 0 || c.QueueBytes < 0 || c.IdleTimeout < 0 || c.HandshakeTimeout < 0 ||
		c.DialBack < 0 {
		return fmt.Errorf("%w: a limit is negative", ErrConfig)
	}
	if c.TLS != nil && (c.TLS.Identity().Role != certs.RoleNode || c.TLS.Pool() == nil) {
		return fmt.Errorf("%w: TLS between nodes needs a node's certificate and the authorities of the others", ErrConfig)
	}
	d := c.withDefaults()
	if d.QueueBytes < d.MaxLogFrameBytes {
		return fmt.Errorf("%w: a queue of %d bytes cannot hold a frame of %d",
			ErrConfig, d.QueueBytes, d.MaxLogFrameBytes)
	}
	return nil
}

// withDefaults returns c with its zero fields filled.
func (c Config) withDefaults() Config {
	c.MaxLogFrameBytes = cmp.Or(c.MaxLogFrameBytes, 64<<20)
	c.QueueFrames = cmp.Or(c.QueueFrames, 4096)
	c.QueueBytes = cmp.Or(c.QueueBytes, max(64<<20, c.MaxLogFrameBytes))
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 4*time.Second)
	c.HandshakeTimeout = cmp.Or(c.HandshakeTimeout, 3*time.Second)
	c.DialBack = cmp.Or(c.DialBack, time.Second)
	return c
}

// checkAddr returns an error unless addr can be HOST:PORT.
func checkAddr(addr string) error {
	if len(addr) > wire.MaxAddrBytes {
		return fmt.Errorf("%.20q… is longer than %d bytes", addr, wire.MaxAddrBytes)
	}
	if !hostname.ValidAddress(addr) {
		return fmt.Errorf("%q is not HOST:PORT", addr)
	}
	return nil
}
