package main

import (
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"tenure/internal/ballot"
	"tenure/internal/days"
	"tenure/server"
)

const (
	defaultClient = "127.0.0.1:8500"
	defaultPeer   = "127.0.0.1:8300"
)

// settings has everything that an operator can set. Its flag set is the only table of names, for flags, variables and
// files.
type settings struct {
	flags *pflag.FlagSet
	// origin tells for each setting that was given where it was, in a user's words.
	origin     map[string]string
	ofServices []string // variables that look like settings, and that Kubernetes has set

	// Read from the data directory, for settings missing on the command line. known: id is from there; member: the node
	// has been in a cluster; alone: that cluster has never had another member.
	known, member, alone bool
	peerOptional         bool // nobody asked for peer
	// Set by rejoin only. anew: the directory is set aside, whatever is in it; giveUp: its cluster does not matter;
	// givenName: the node's name if the command line has one.
	anew, giveUp bool
	givenName    string

	config      string
	id          ballot.NodeID
	cluster     []server.Address
	data        string
	client      string
	peer        string
	admin       string
	redis       string
	health      string
	leaseTime   time.Duration
	maxLease    time.Duration
	driftPPM    int64
	margin      time.Duration
	maxValue    int64
	slowRequest time.Duration
	ttlMin      time.Duration
	quota       int64
	history     int64
	maxLeases   int
	headerBytes int64
	logLevel    zerolog.Level
	logFormat   string
	insecure    bool
	hosts       []string
	tls         tlsSettings
	access      accessSettings
	limits      server.Limits
	nodeName    string
	guardian    bool
	batch       bool
	realtime    bool
	adapt       bool
	slack       time.Duration

	archive            string
	archiveRecipients  []string
	archiveIdentity    string
	archiveFullEvery   time.Duration
	archiveKeep        time.Duration
	archiveVerifyEvery time.Duration

	join            string
	replace         string
	rejoins         bool
	nonVoter        bool
	spare           bool
	replaceAfter    time.Duration
	upgradeAfter    time.Duration
	advertisePeer   string
	advertiseClient string
}

func newSettings() *settings {
	s := &settings{flags: pflag.NewFlagSet("kvnode", pflag.ContinueOnError), origin: map[string]string{}}
	f := s.flags
	f.SortFlags = false
	f.Var(setting(&s.id, "1", "number", parseNodeID), "id", "this node's number in --cluster, 1 to 65535 (default: "+
		"that of the data directory, else 1; --join is given one)")
	f.Var(setting(&s.cluster, "", "list", parseCluster), "cluster",
		"all nodes of the cluster as ID=HOST:PORT,…, at most 7, with the addresses for peers (default: a single "+
			"node, 1)")
	f.Var(setting(&s.nodeName, "", "name", parseText), "node-name",
		"name of this node (default: that of its certificate, else node-N for node N)")
	f.Var(setting(&s.data, "./kvnode-data", "dir", parseDir), "data", "data directory; created if it does not exist")
	f.Var(setting(&s.client, defaultClient, "addr", parseListener), "client", "address to listen on for clients (HTTP)")
	f.Var(setting(&s.peer, "", "addr", parseListener), "peer",
		"address to listen on for peers (default: this node's address in --cluster, else "+defaultPeer+")")
	f.Var(setting(&s.advertisePeer, "", "addr", parseReachable), "advertise-peer",
		"address at which the other nodes reach this one (default: its address in --cluster, else that of --peer)")
	f.Var(setting(&s.advertiseClient, "", "addr", parseReachable), "advertise-client",
		"address at which clients reach this node (default: that of --client, on the host of --advertise-peer if it is "+
			"a wildcard)")
	s.addJoin()
	s.addTLS()
	s.addAccess()
	s.addLimits()
	s.addArchive()
	f.Var(setting(&s.config, "", "file", parseText), "config",
		"TOML or YAML file with settings under the names of these flags")
	f.Var(setting(&s.leaseTime, "500ms", "duration", parseDuration), "lease-time",
		"how long the master lease lasts unless renewed; the same on all nodes")
	f.Var(setting(&s.maxLease, "30s", "duration", parseDuration), "max-lease-time",
		"longest lease that a client can acquire; the same on all nodes")
	f.Var(setting(&s.driftPPM, "1%", "rate", parseDrift), "clock-drift",
		"bound on the error of clock rates, 0 to 10%; the same on all nodes")
	f.Var(setting(&s.margin, "10ms", "duration", parseDuration), "lease-margin",
		"time added to every exclusion and quarantine; the same on all nodes")
	f.Var(setting(&s.maxValue, "512KiB", "bytes", parseBytes), "max-value-bytes", "largest value, at most 16MiB")
	f.Var(setting(&s.slowRequest, "250ms", "duration", parseDuration), "slow-request",
		"requests of clients that take longer have a line in the log that says where the time went (0: none)")
	f.Var(setting(&s.ttlMin, "10s", "duration", parseDuration), "session-ttl-min",
		"shortest TTL of a session, 100ms to 24h")
	f.Var(setting(&s.quota, "0", "bytes", parseBytes), "quota-bytes",
		"refuse writes once this much of log.db and state.db is in use, not counting the journal, the reserve file "+
			"and unused pages (0: no quota)")
	f.Var(setting(&s.history, "4MiB", "bytes", parseBytes), "watch-history-bytes",
		"memory for the newest changes, kept for watches, 64KiB to 1GiB; used even if nobody watches")
	f.Var(setting(&s.maxLeases, "2000000", "number", parseCount), "max-leases",
		"most named leases to remember, some 130 bytes each if their names are short, 1 to 268435456")
	f.Var(setting(&s.upgradeAfter, "24h", "duration", parseDuration), "upgrade-after",
		"how long all members must have run a new release before the master raises the cluster's feature level to it; "+
			"there is no way back then (0: only kvctl upgrade finish does)")
	f.Var(setting(&s.guardian, "true", "bool", parseBool), "guardian",
		"run a small second process that releases the master lease if this one crashes; false: the cluster waits for "+
			"the lease's end")
	f.Var(setting(&s.batch, "true", "bool", parseBool), "batch-scheduling",
		"do not preempt other threads on wake-up (SCHED_BATCH): more throughput on shared processors; false: lower "+
			"latency there")
	f.Var(setting(&s.realtime, "false", "bool", parseBool), "realtime",
		"run before all normally scheduled programs (SCHED_RR, needs CAP_SYS_NICE), to renew the lease in time on an "+
			"overloaded machine")
	f.Var(setting(&s.adapt, "true", "bool", parseBool), "adapt-processors",
		"start with one processor for Go's scheduler and add more when they are needed; false: all from the start "+
			"(GOMAXPROCS in the environment takes precedence)")
	f.Var(setting(&s.slack, "500us", "duration", parseDuration), "monitor-slack",
		"timer slack of Go's monitor thread, 0 to 10ms; 0: the system's")
	f.Var(setting(&s.admin, "", "addr", parseListener), "admin", "address to listen on for pprof (default: off)")
	f.Var(setting(&s.redis, "", "addr", parseListener), "redis",
		"address to listen on for clients of Redis (default: off)")
	f.Var(setting(&s.health, "", "addr", parseHealth), "health",
		"address to listen on for health checks and metrics alone, without TLS and tokens, for load balancers and "+
			"Prometheus; a port alone is on 127.0.0.1 (default: off)")
	f.Var(setting(&s.logLevel, "info", "level", parseLevel), "log-level", "trace, debug, info, warn or error")
	f.Var(setting(&s.logFormat, "", "format", parseFormat), "log-format",
		"json or console (default: console on a terminal, else json)")
	f.Var(setting(&s.insecure, "false", "bool", parseBool), "insecure",
		"allow listening on addresses beyond loopback without TLS and tokens")
	f.Var(setting(&s.hosts, "", "list", parseList), "allowed-hosts",
		"names, NAME,…, by which clients may address this node beside localhost, its own names and its addresses; requests "+
			"for others are refused, since web pages can have a browser send them")
	f.VisitAll(allowBareBool)
	return s
}

// addJoin adds the flags that say as what a node joins a cluster.
func (s *settings) addJoin() {
	f := s.flags
	f.Var(setting(&s.join, "", "addr", parseReachable), "join",
		"join the cluster of which a member has this address for peers, unless the data directory is a member's already")
	f.Var(setting(&s.replace, "", "name", parseText), "replace",
		"with --join: take the place of the voter of this name, which must be silent")
	f.Var(setting(&s.rejoins, "false", "bool", parseBool), "rejoin",
		"with --cluster: if the data directory is empty and the cluster was formed before, join it and take the place that "+
			"this node had")
	f.Var(setting(&s.nonVoter, "false", "bool", parseBool), "non-voter",
		"with --join: follow the log and answer reads, but never vote")
	f.Var(setting(&s.spare, "false", "bool", parseBool), "spare",
		"with --join: a non-voter that may take the place of a voter that is lost (see --replace-after)")
	f.Var(setting(&s.replaceAfter, "0", "duration", parseDuration), "replace-after",
		"with --spare: how long a voter must not have been heard before the spare takes its place (0: never by itself)")
}

// addArchive adds the flags of the archive.
func (s *settings) addArchive() {
	f := s.flags
	f.Var(setting(&s.archive, "", "target", parseText), "archive",
		"archive the cluster to this directory or bucket (s3://BUCKET/PREFIX), one node at a time of those that are told so")
	f.Var(setting(&s.archiveRecipients, "", "list", parseList), "archive-recipient",
		"with --archive: encrypt to these age recipients, age1…,…; the same on all nodes")
	f.Var(setting(&s.archiveIdentity, "", "file", parseText), "archive-identity",
		"with --archive-recipient: file of age identities, without which this node cannot verify what it has encrypted")
	f.Var(setting(&s.archiveFullEvery, "24h", "duration", days.Parse), "archive-full-every",
		"with --archive: time between two full copies, 1m or more")
	f.Var(setting(&s.archiveKeep, "7d", "duration", days.Parse), "archive-keep",
		"with --archive: how far back every revision can be restored")
	f.Var(setting(&s.archiveVerifyEvery, "24h", "duration", days.Parse), "archive-verify-every",
		"with --archive: time between two verifications, which restore the newest full copy and what came after it, 1m or more")
}

// allowBareBool lets a boolean flag be given without a value: --insecure is --insecure=true.
func allowBareBool(f *pflag.Flag) {
	if f.Value.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
}

// name returns where a setting was given: "--lease-time", "KVNODE_LEASE_TIME" or "lease-time in node.toml".
func (s *settings) name(flag string) string {
	if o := s.origin[flag]; o != "" {
		return o
	}
	return "--" + flag
}

// given reports whether a setting was given at all.
func (s *settings) given(flag string) bool { return s.origin[flag] != "" }
