package bench

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The operations.
const (
	Put   = "put"   // write a key, whatever it holds
	Get   = "get"   // read a key
	Mixed = "mixed" // reads, and writes as in Put
	CAS   = "cas"   // write a key if it is still at the index that was last seen of it

	Lease     = "lease"     // acquire a lease of a new name
	Keepalive = "keepalive" // renew one of as many leases as there are keys
)

// Ops lists the operations.
var Ops = []string{Put, Get, Mixed, CAS, Lease, Keepalive}

// The read modes.
const (
	Default    = "default"
	Consistent = "consistent"
	Stale      = "stale"
)

// Modes lists the read modes.
var Modes = []string{Default, Consistent, Stale}

// The bounds of a Config.
const (
	MaxClients    = 16_384
	MaxKeys       = 100_000_000
	MaxCASKeys    = 10_000_000 // eight bytes of memory each
	MaxLeases     = 1_000_000  // some hundred bytes each
	MinTTL        = 100 * time.Millisecond
	MaxTTL        = 24 * time.Hour
	MaxValueBytes = 16 << 20 // the largest value that any cluster may be told to take
	MaxDuration   = 24 * time.Hour
	MinDuration   = 10 * time.Millisecond
	MaxWarmup     = time.Hour
	MaxRate       = 1_000_000
	MaxPrefix     = 100 // bytes
)

// Config describes one run. No field has a default.
type Config struct {
	Op        string
	Mode      string // of reads
	ReadShare float64
	Endpoints []string // "http://host:port", or all "https://…"; client i begins with the i-th, round and round
	Members   []uint64 // the numbers of their nodes, as many; 0: not known. Empty: none is
	Near      string   // what goes to the master; needs Members
	Clients   int      // that send at once, at most
	Conns     int      // connections that they share; 1 to Clients
	Keys      int      // Prefix00000000 to that of Keys-1, each as likely as the others
	Prefix    string
	ValueSize int           // bytes, random
	TTL       time.Duration // of leases
	Rate      float64       // operations a second of an open loop; 0: closed loop
	Warmup    time.Duration // under load, before the window
	Duration  time.Duration // of the window
	Timeout   time.Duration // of one request
	Fill      bool          // write every key once before the warm-up
	Seed      uint64        // of keys, values and the order of reads and writes

	// Token is the secret of the token that requests carry; "": none.
	Token string
	// Dial opens connections; nil is plain TCP. It speaks TLS if the endpoints are https://.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Sleep waits for about d; nil is as exact as the system can. It is called by one goroutine at a time.
	Sleep func(d time.Duration)
	// Watch, if not nil, is told a few times a second how far the run is, from one goroutine.
	Watch func(Progress)
}

// Validate returns an error that says what is wrong with c, or nil.
func (c Config) Validate() error {
	switch {
	case !slices.Contains(Ops, c.Op):
		return fmt.Errorf("operation %q: must be one of %s", c.Op, strings.Join(Ops, ", "))
	case !slices.Contains(Modes, c.Mode):
		return fmt.Errorf("--mode %q: must be one of %s", c.Mode, strings.Join(Modes, ", "))
	case c.Mode != Default && !c.reads():
		return fmt.Errorf("--mode %s: is about reading, and %s only writes; leave it out", c.Mode, c.Op)
	case !slices.Contains(Nears, c.Near):
		return fmt.Errorf("--near %q: must be one of %s", c.Near, strings.Join(Nears, ", "))
	case len(c.Members) > 0 && len(c.Members) != len(c.Endpoints):
		return fmt.Errorf("%d endpoints with %d numbers of nodes", len(c.Endpoints), len(c.Members))
	case c.leases() && (c.TTL < MinTTL || c.TTL > MaxTTL):
		return fmt.Errorf("--ttl %v: must be %v to %v", c.TTL, MinTTL, MaxTTL)
	case c.Op == Keepalive && (c.Keys > MaxLeases || !c.Fill):
		return fmt.Errorf("--keys %d: %s renews leases that it has acquired itself, %d at most", c.Keys, c.Op, MaxLeases)
	case c.Clients < 1 || c.Clients > MaxClients:
		return fmt.Errorf("--clients %d: must be 1 to %d", c.Clients, MaxClients)
	case c.Conns < 1 || c.Conns > c.Clients:
		return fmt.Errorf("--conns %d: must be 1 to --clients (%d)", c.Conns, c.Clients)
	case c.Keys < 1 || c.Keys > MaxKeys:
		return fmt.Errorf("--keys %d: must be 1 to %d", c.Keys, MaxKeys)
	case c.Op == CAS && c.Keys > MaxCASKeys:
		return fmt.Errorf("--keys %d: must be at most %d for cas, which remembers an index for each", c.Keys, MaxCASKeys)
	case c.ValueSize < 0 || c.ValueSize > MaxValueBytes:
		return fmt.Errorf("--value-size %d: must be 0 to %d bytes", c.ValueSize, MaxValueBytes)
	case c.Duration < MinDuration || c.Duration > MaxDuration:
		return fmt.Errorf("--duration %v: must be %v to %v", c.Duration, MinDuration, MaxDuration)
	case c.Warmup < 0 || c.Warmup > MaxWarmup:
		return fmt.Errorf("--warmup %v: must be 0 to %v", c.Warmup, MaxWarmup)
	case !(c.Rate >= 0 && c.Rate <= MaxRate):
		return fmt.Errorf("--rate %v: must be 0 (closed loop) to %d operations a second", c.Rate, MaxRate)
	case !(c.ReadShare >= 0 && c.ReadShare <= 1):
		return fmt.Errorf("--read-share %v: must be 0 to 1", c.ReadShare)
	case c.Timeout <= 0:
		return fmt.Errorf("--timeout %v: must be above 0", c.Timeout)
	case len(c.Endpoints) == 0:
		return fmt.Errorf("--endpoints: name at least one node")
	}
	if err := checkPrefix(c.Prefix); err != nil {
		return err
	}
	for _, e := range c.Endpoints {
		if _, err := hostOf(e); err != nil {
			return err
		}
		if c.tls() != strings.HasPrefix(e, "https://") || c.tls() && c.Dial == nil {
			return fmt.Errorf("endpoint %q: bench speaks TLS with all endpoints or with none", e)
		}
	}
	return nil
}

// tls reports whether the endpoints speak TLS.
func (c *Config) tls() bool { return strings.HasPrefix(c.Endpoints[0], "https://") }

// reads reports whether some operations are reads; leases, whether they are about leases.
func (c *Config) reads() bool  { return c.Op == Get || c.Op == Mixed }
func (c *Config) leases() bool { return c.Op == Lease || c.Op == Keepalive }

// checkPrefix allows only what needs no escape in a path, because keys are put into requests as they are.
func checkPrefix(p string) error {
	if len(p) > MaxPrefix {
		return fmt.Errorf("--prefix: has %d bytes, must have at most %d", len(p), MaxPrefix)
	}
	for _, r := range p {
		if !strings.ContainsRune("/-_.~", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return fmt.Errorf("--prefix %q: may have letters, digits and /-_.~", p)
		}
	}
	return nil
}

// hostOf returns the host:port of an endpoint.
func hostOf(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" {
		return "", fmt.Errorf("endpoint %q: bench needs http://host:port or https://host:port", endpoint)
	}
	return u.Host, nil
}
