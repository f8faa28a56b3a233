package server

import (
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/internal/shown"
	"tenure/kv"
	"tenure/server/archive"
	"tenure/server/audit"
	"tenure/server/backup/target"
	"tenure/server/transport"
	"tenure/server/watch"
	"tenure/server/web"
)

// Address is where a member of the static list listens for its peers.
type Address struct {
	Node ballot.NodeID
	Addr string // host:port
}

// Archive is where the cluster is archived, and how.
type Archive struct {
	Target   target.Target // stays the caller's to close
	Schedule archive.Schedule
	Readable bool // this node can read what is written there, and so verify it: see archiver.Config
	// KeepLogBytes is the size up to which log.db is kept for what is not archived yet; 0: 1 GiB.
	KeepLogBytes int64
}

// FounderWait is the time within which a reachable member looks for a node that was started again.
const FounderWait = transport.SeekTime

// Config is fixed for a run of a node. docs/operations.md has the flags of kvnode that fill it.
type Config struct {
	// Node is 0 if a cluster is to give this node its id: with Join, in a data directory that is nobody's yet.
	Node ballot.NodeID
	// Cluster is the list of a bootstrap, with this node in it; one entry founds itself. Once the data directory is a
	// member's it only hints at addresses, and may be empty; with Join it must be.
	Cluster      []Address
	Data         string // data directory, created if missing
	ClientAddr   string // HTTP
	PeerAddr     string // peers; may be empty for a cluster of one that nobody is to join
	PeerOptional bool   // a cluster of one does without PeerAddr if somebody else listens there
	// FounderWait is how long a founder, while alone in its cluster, serves nobody after a start. A member of another
	// cluster can then find it first. The constant FounderWait is long enough.
	FounderWait   time.Duration
	AdminAddr     string // pprof; empty is off
	RedisAddr     string // the Redis protocol; empty is off
	RedisFlush    bool   // FLUSHALL and FLUSHDB work also without tokens beyond loopback
	HealthAddr    string // health checks and metrics alone, without TLS and tokens; empty is off
	LeaseTime     time.Duration
	MaxLeaseTime  time.Duration
	ClockDriftPPM int64 // ρ in parts per million
	LeaseMargin   time.Duration
	MaxValueBytes int
	SlowRequest   time.Duration // requests of clients that take longer have a line in the log; 0: none has
	SessionTTLMin time.Duration // the shortest TTL of a session; 0: 10 s
	QuotaBytes    int64         // 0: none
	Limits        Limits        // of what clients can take
	// CompareEvery is about how often a checkpoint is made so that replicas can compare digests; 0: 10 s.
	CompareEvery time.Duration
	MaxLeases    int  // bound on the named leases that this node remembers; 0: 2,000,000
	Insecure     bool // listeners beyond loopback are allowed without TLS and tokens
	// ACL has requests refused that no token allows; the same on all nodes.
	ACL bool
	// Audit is where a line is written for each write and administrative act. An empty Path: nowhere.
	Audit audit.Config
	// AllowedHosts are names by which clients address this node, beside those of its addresses and of the machine. A
	// request for another name is refused: it may be a web page's.
	AllowedHosts []string
	TLS          TLS
	// Reload has the files of TLS read again at once, as far as they have changed, and calls what it received when that is
	// done. May be nil.
	Reload <-chan func()
	// Told is called, by one goroutine at a time, when the node's Stage has changed: of what is not Ready, at most once a
	// second. May be nil.
	Told func(Stage)
	// WatchHistoryBytes bounds the newest changes that are remembered for watches. 0: 4 MiB.
	WatchHistoryBytes int64
	// Guardian is the command line that runs guardian.Main in a process of its own (P7). Empty: a crash costs the rest
	// of the lease, and NoGuardian says to people why that is so.
	Guardian   []string
	NoGuardian string
	// NodeName is what the node is called where Consul's clients expect a name: in sessions, and by /v1/agent/self.
	// Empty: node-N.
	NodeName string
	// PeerAdvertise and ClientAdvertise are the addresses at which others reach this node, host:port with names allowed,
	// which are resolved when a connection is made. Empty: PeerAddr, or the own address in Cluster; ClientAddr.
	PeerAdvertise, ClientAdvertise string
	// Join is the peer address of a member whose cluster this node joins, if its data directory is nobody's yet. The
	// next fields say in which role. With none of them it becomes a voter as soon as it has caught up. With Replace it
	// succeeds the silent voter of that name. With NonVoter it stays a non-voter. A Spare is a non-voter that takes the
	// place of a voter not heard for ReplaceAfter (0: never by itself).
	Join            string
	Replace         string
	NonVoter, Spare bool
	ReplaceAfter    time.Duration
	// Rejoin lets a node of Cluster with an unused data directory take its place again, if the cluster was formed
	// before. The node joins as the successor of the silent voter with its name.
	Rejoin bool
	// JoinCluster is the only cluster that the node joins when it takes its own place again. Zero: any. StartedAs is
	// the id with which its operator starts it; the new directory notes it. 0: the id that the cluster assigns.
	JoinCluster ident.ClusterID
	StartedAs   ballot.NodeID

	// Archive is where the cluster is archived while this node is the master. Nil Target: nowhere.
	Archive Archive

	// StopWait bounds how long a node that is told to stop waits until the others can elect a master without it. 0: it
	// does not wait.
	StopWait time.Duration

	// UpgradeAfter is for how long all members must have known a feature level before the master raises the cluster's to it
	// by itself. 0: never.
	UpgradeAfter time.Duration

	Version  string
	Revision string // the commit that was built, or ""
	// Settings are those that were given and are no defaults, by name, for the log. There must be no secrets among
	// them.
	Settings map[string]string
	Logger   zerolog.Logger
}

// Validate refuses a configuration under which no node may run; nothing has been touched then. Errors wrap ErrConfig
// and say what to change.
func (c Config) Validate() error {
	if err := c.timing().Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if c.SessionTTLMin != 0 && (c.SessionTTLMin < api.MinSessionTTL || c.SessionTTLMin > api.MaxSessionTTL) {
		return fmt.Errorf("%w: --session-ttl-min %v: must be from %v to %v", ErrConfig, c.SessionTTLMin, api.MinSessionTTL,
			api.MaxSessionTTL)
	}
	if n := c.WatchHistoryBytes; n != 0 && (n < watch.MinHistoryBytes || n > watch.MaxHistoryBytes) {
		return fmt.Errorf("%w: --watch-history-bytes %d: must be from %d to %d", ErrConfig, n, watch.MinHistoryBytes,
			watch.MaxHistoryBytes)
	}
	if c.MaxLeases < 0 || c.MaxLeases > MostLeases {
		return fmt.Errorf("%w: --max-leases %d: must be from 1 to %d", ErrConfig, c.MaxLeases, MostLeases)
	}
	if len(c.NodeName) > kv.MaxSessionNameBytes || !shown.Plain(c.NodeName) {
		return fmt.Errorf("%w: --node-name %.80q: must be at most %d bytes of UTF-8 without control or invisible characters",
			ErrConfig, c.NodeName, kv.MaxSessionNameBytes)
	}
	if c.Archive.KeepLogBytes < 0 {
		return fmt.Errorf("%w: Archive.KeepLogBytes is %d: give a size in bytes, or 0 for 1 GiB", ErrConfig,
			c.Archive.KeepLogBytes)
	}
	if s := c.Archive.Schedule; c.Archive.Target != nil && (s.FullEvery <= 0 || s.Keep <= 0 || s.VerifyEvery <= 0) {
		return fmt.Errorf("%w: --archive-full-every, --archive-keep and --archive-verify-every must be positive", ErrConfig)
	}
	if c.Data == "" {
		return fmt.Errorf("%w: no data directory: name one with --data", ErrConfig)
	}
	if err := c.validateCluster(); err != nil {
		return err
	}
	if err := c.validateJoin(); err != nil {
		return err
	}
	if err := c.TLS.validate(); err != nil {
		return err
	}
	if err := c.Limits.validate(); err != nil {
		return err
	}
	guarded := c.TLS.Clients.Cert != "" && c.ACL
	for _, l := range []listenerFlag{
		{"--client", c.ClientAddr, guarded}, {"--peer", c.PeerAddr, !c.TLS.Peers.IsZero()},
		{"--admin", c.AdminAddr, false}, {"--redis", c.RedisAddr, guarded},
	} {
		if err := c.validateListener(l); err != nil {
			return err
		}
	}
	if err := c.validateHealth(); err != nil {
		return err
	}
	if err := c.Audit.Validate(); c.Audit.Path != "" && err != nil {
		return fmt.Errorf("%w: --audit: %w", ErrConfig, err)
	}
	for _, name := range c.AllowedHosts {
		if err := web.ValidateHost(name); err != nil {
			return fmt.Errorf("%w: --allowed-hosts %w", ErrConfig, err)
		}
	}
	return nil
}

// validateHealth refuses a port for health checks without a host. The port authenticates nobody, so other machines
// reach it only if the operator names a host.
func (c Config) validateHealth() error {
	host, _, err := net.SplitHostPort(c.HealthAddr)
	if c.HealthAddr != "" && (err != nil || host == "") {
		return fmt.Errorf("%w: --health %q is not host:port: give 127.0.0.1, or the address at which others are to reach it",
			ErrConfig, c.HealthAddr)
	}
	return nil
}

func (c Config) validateCluster() error {
	if len(c.Cluster) == 0 { // the data directory knows the members, or the cluster that is joined
		return nil
	}
	if len(c.Cluster) > quorum.MaxVoters {
		return fmt.Errorf("%w: a cluster has 1 to %d voters, --cluster lists %d", ErrConfig, quorum.MaxVoters,
			len(c.Cluster))
	}
	seen, own := map[ballot.NodeID]bool{}, false
	for _, a := range c.Cluster {
		if a.Node == 0 || a.Node > ballot.MaxNodeID {
			return fmt.Errorf("%w: node id %d is not in 1 to %d", ErrConfig, a.Node, ballot.MaxNodeID)
		}
		if seen[a.Node] {
			return fmt.Errorf("%w: --cluster lists node %d twice", ErrConfig, a.Node)
		}
		seen[a.Node], own = true, own || a.Node == c.Node
	}
	if !own {
		return fmt.Errorf("%w: --id %d is not in --cluster", ErrConfig, c.Node)
	}
	if c.PeerAddr == "" && len(c.Cluster) > 1 {
		return fmt.Errorf("%w: a cluster of %d needs --peer", ErrConfig, len(c.Cluster))
	}
	return nil
}

// validateJoin refuses what only a node that joins may be told, and contradictions of it.
func (c Config) validateJoin() error {
	for _, a := range []struct{ flag, addr string }{
		{"--join", c.Join}, {"--advertise-peer", c.PeerAdvertise}, {"--advertise-client", c.ClientAdvertise},
	} {
		if _, _, err := net.SplitHostPort(a.addr); a.addr != "" && err != nil {
			return fmt.Errorf("%w: %s %q is not host:port", ErrConfig, a.flag, a.addr)
		}
	}
	if c.Join == "" {
		if c.Node == 0 || c.Replace != "" || c.NonVoter || c.Spare || c.ReplaceAfter != 0 {
			return fmt.Errorf("%w: a node id, or --join HOST:PORT, must be given, and --replace, --non-voter, --spare and "+
				"--replace-after need --join", ErrConfig)
		}
		return nil
	}
	switch {
	case c.Rejoin:
		return fmt.Errorf("%w: --rejoin is for a node with --cluster", ErrConfig)
	case len(c.Cluster) > 0:
		return fmt.Errorf("%w: --join and --cluster exclude each other: the cluster tells a node that joins its members",
			ErrConfig)
	case c.PeerAddr == "":
		return fmt.Errorf("%w: --join needs --peer", ErrConfig)
	case c.Replace != "" && (c.NonVoter || c.Spare):
		return fmt.Errorf("%w: --replace makes a voter, --non-voter and --spare do not: give one of them", ErrConfig)
	case c.ReplaceAfter < 0 || c.ReplaceAfter > 0 && !c.Spare:
		return fmt.Errorf("%w: --replace-after %v needs --spare", ErrConfig, c.ReplaceAfter)
	}
	return nil
}

// listenerFlag is a listener and whether it asks who comes: peers for their certificate, clients over TLS for a token.
// TLS alone keeps nobody from reading and writing, and a token without TLS can be read by the network.
type listenerFlag struct {
	flag, addr string
	asks       bool
}

// validateListener refuses a listener that others can reach and that does not protect itself, unless --insecure is given.
func (c Config) validateListener(l listenerFlag) error {
	if l.addr == "" {
		return nil
	}
	if _, _, err := net.SplitHostPort(l.addr); err != nil {
		return fmt.Errorf("%w: %s %q is not host:port", ErrConfig, l.flag, l.addr)
	}
	if c.Insecure || isLoopback(l.addr) {
		return nil
	}
	return l.protected()
}

// isLoopback reports whether addr is one that no other machine can reach.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// protected returns an error unless other machines may reach the listener. It alone decides what that takes.
func (l listenerFlag) protected() error {
	switch {
	case l.asks:
		return nil
	case l.flag == "--admin":
		return fmt.Errorf("%w: %s %s is not a loopback address, and the profiler has no TLS: use 127.0.0.1, or --insecure "+
			"on a network you trust", ErrConfig, l.flag, l.addr)
	}
	give := "--tls-cert, --tls-key and --tls-ca"
	if l.flag == "--client" || l.flag == "--redis" {
		give = "--tls-cert, --tls-key and --acl"
	}
	return fmt.Errorf("%w: %s %s is not a loopback address, and whoever reaches it could read and write: give %s (kvctl ca "+
		"makes the files), use 127.0.0.1, or --insecure on a network you trust", ErrConfig, l.flag, l.addr, give)
}
