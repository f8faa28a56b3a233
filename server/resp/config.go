package resp

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"tenure/server/resp/proto"
	"tenure/server/service"
)

// Config is fixed for a run. A zero in any field after TLS means the default written beside it.
type Config struct {
	service.Config
	// Addr is the host:port to listen on.
	Addr string
	// Advertised is the host:port at which clients reach Addr; empty: Addr.
	Advertised string
	// Version is told to clients that ask.
	Version string
	// TLS is the configuration with which clients are served over TLS; nil: plain.
	TLS *tls.Config
	// RefuseFlush has the node refuse to delete all keys in one command.
	RefuseFlush bool
	// SendTimeout bounds how long replies may take to be sent, and each 64 KiB of a command to arrive. 30 s.
	SendTimeout time.Duration
	// ListingTimeout bounds how long a command on many keys holds its view of the state. 2 min.
	ListingTimeout time.Duration
	// MaxUnreadBytes bounds, for all connections together, the replies that clients have not taken yet and the commands
	// that wait for EXEC. What is small does not count. 128 MiB.
	MaxUnreadBytes int64
	// Heartbeat is how often TENURE.WATCH says how far it has come. 15 s.
	Heartbeat time.Duration
}

func (c Config) withDefaults() Config {
	c.Config = c.Config.WithDefaults()
	c.Advertised = cmp.Or(c.Advertised, c.Addr)
	c.SendTimeout = cmp.Or(c.SendTimeout, 30*time.Second)
	c.ListingTimeout = cmp.Or(c.ListingTimeout, 2*time.Minute)
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
	case c.SendTimeout < 0 || c.Heartbeat < 0 || c.MaxUnreadBytes < 0 || c.ListingTimeout < 0:
		return errors.New("resp: timeouts and bounds must be more than 0")
	}
	if err := c.Config.Validate(); err != nil {
		return fmt.Errorf("resp: %w", err)
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
