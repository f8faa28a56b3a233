package resp

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/server/access"
	"tenure/server/admission"
	"tenure/server/audit"
	"tenure/server/resp/proto"
	"tenure/server/slow"
	"tenure/server/watch"
)

// Config is fixed for a run. A zero in any field after Hub means the default written beside it.
type Config struct {
	// Addr is the host:port to listen on.
	Addr string
	// Advertised is the host:port at which clients reach Addr; empty: Addr.
	Advertised string
	// Version is told to clients that ask.
	Version string
	Logger  zerolog.Logger
	// TLS is the configuration with which clients are served over TLS; nil: plain.
	TLS *tls.Config
	// Hub is where the node's changes go, for those who subscribe to them. Nil: one that never hears of any.
	Hub *watch.Hub
	// MaxValueBytes bounds a value. 512 KiB; at most api.MaxValueBytes.
	MaxValueBytes int
	// Access decides what commands may do. Nil: there are no tokens, and everybody may do everything.
	Access *access.Decider
	// Slow is told how long writes took. Nil: nobody is.
	Slow *slow.Log
	// Audit is where each write is written down. Nil: nowhere.
	Audit *audit.Log
	// Admission bounds what clients can take, and may be shared with the listeners of other protocols. Nil: one of this
	// server's own, with the defaults.
	Admission *admission.Control
	// ClientTimeout bounds how long a batch waits for the node. 10 s.
	ClientTimeout time.Duration
	// SendTimeout bounds how long replies may take to be sent, and each 64 KiB of a command to arrive. 30 s.
	SendTimeout time.Duration
	// ListingTimeout bounds how long a command on many keys holds its view of the state. 2 min.
	ListingTimeout time.Duration
	// MaxUnreadBytes bounds what reads have taken from the state and clients have not taken yet, of all connections
	// together, except small replies. 128 MiB.
	MaxUnreadBytes int64
	// MaxLeaseTime bounds the TTL of a lease. 30 s.
	MaxLeaseTime time.Duration
	// Heartbeat is how often TENURE.WATCH says how far it has come. 15 s.
	Heartbeat time.Duration
}

func (c Config) withDefaults() Config {
	if c.Hub == nil {
		c.Hub = watch.New(watch.DefaultLimits)
	}
	c.Advertised = cmp.Or(c.Advertised, c.Addr)
	c.MaxValueBytes = cmp.Or(c.MaxValueBytes, api.DefaultMaxValueBytes)
	if c.Admission == nil {
		c.Admission = admission.NewControl(admission.Limits{}, c.Logger, admission.NewMetrics())
	}
	c.ClientTimeout = cmp.Or(c.ClientTimeout, 10*time.Second)
	c.SendTimeout = cmp.Or(c.SendTimeout, 30*time.Second)
	c.ListingTimeout = cmp.Or(c.ListingTimeout, 2*time.Minute)
	c.MaxLeaseTime = cmp.Or(c.MaxLeaseTime, 30*time.Second)
	c.MaxUnreadBytes = cmp.Or(c.MaxUnreadBytes, 128<<20)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	return c
}

// Validate returns an error that says in one line what is wrong with c and how to mend it.
func (c Config) Validate() error {
	c = c.withDefaults()
	switch {
	case c.Addr == "":
		return errors.New("resp: no address to listen on")
	case c.MaxValueBytes < 1 || c.MaxValueBytes > api.MaxValueBytes:
		return fmt.Errorf("resp: largest value of %d bytes: must be from 1 to %d", c.MaxValueBytes, api.MaxValueBytes)
	case c.ClientTimeout < 0 || c.SendTimeout < 0 || c.Heartbeat < 0 || c.MaxLeaseTime < 0 || c.MaxUnreadBytes < 0 ||
		c.ListingTimeout < 0:
		return errors.New("resp: timeouts and bounds must be more than 0")
	}
	return nil
}

// maxClients returns how many connections there may be: no more than that of all protocols, less those for operators.
func (c *Config) maxClients() int { return c.Admission.Limits.Conns - c.Admission.Limits.Reserved }

// limits returns what one command may have.
func (c Config) limits() proto.Limits {
	return proto.Limits{Args: maxArgs, Bulk: c.MaxValueBytes, Command: max(maxBatchBytes, 2*c.MaxValueBytes)}
}

// The bounds of what one connection asks for at a time.
const (
	maxArgs       = 1 << 13 // of one command: more than any takes here
	maxSteps      = 1 << 10 // of one batch
	maxBatchBytes = 1 << 20 // of the arguments in one batch; a larger command is a batch of its own
	maxQueued     = 1 << 12 // commands between MULTI and EXEC
	maxQueuedArgs = 1 << 16 // arguments of these together

	maxSubscriptions = 1 << 10 // of one connection
	maxChannelBytes  = 1 << 11 // of a channel's name, or a pattern: more than the channel of the longest key has
	maxPatternsBytes = 1 << 15 // of all patterns of one connection: each change is matched with all of them
	maxChannelsBytes = 1 << 18 // of all that one connection subscribes to
)
