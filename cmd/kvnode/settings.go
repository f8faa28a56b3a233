package main

import (
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"tenure/internal/ballot"
	"tenure/server"
)

const (
	defaultClient = "127.0.0.1:8500"
	defaultPeer   = "127.0.0.1:8300"
)

// settings is everything that an operator can set. Its flag set is the one table of names: of flags, of variables
// and in files.
type settings struct {
	flags *pflag.FlagSet
	// origin tells where a setting that is not at its default came from, as a user would name the place.
	origin map[string]string

	config    string
	id        ballot.NodeID
	cluster   []server.Address
	data      string
	client    string
	peer      string
	admin     string
	leaseTime time.Duration
	maxLease  time.Duration
	driftPPM  int64
	margin    time.Duration
	maxValue  int64
	ttlMin    time.Duration
	quota     int64
	history   int64
	maxLeases int
	logLevel  zerolog.Level
	logFormat string
	insecure  bool
	nodeName  string
	guardian  bool
	batch     bool
	realtime  bool
	adapt     bool
	slack     time.Duration
}

func newSettings() *settings {
	s := &settings{flags: pflag.NewFlagSet("kvnode", pflag.ContinueOnError), origin: map[string]string{}}
	f := s.flags
	f.SortFlags = false
	f.Var(setting(&s.id, "1", "number", parseNodeID), "id", "this node's number in --cluster, 1 to 65535")
	f.Var(setting(&s.cluster, "", "list", parseCluster), "cluster",
		"all nodes as ID=HOST:PORT,…, at most 7; HOST:PORT is where a node listens for its peers (default: this node alone)")
	f.Var(setting(&s.nodeName, "", "name", parseText), "node-name",
		"what this node is called in sessions and by /v1/agent/self (default: node-N, N being its number)")
	f.Var(setting(&s.data, "./kvnode-data", "dir", parseDir), "data", "data directory, made if missing")
	f.Var(setting(&s.client, defaultClient, "addr", parseListener), "client", "where to listen for clients (HTTP)")
	f.Var(setting(&s.peer, "", "addr", parseListener), "peer",
		"where to listen for peers (default: this node's address in --cluster, else "+defaultPeer+")")
	f.Var(setting(&s.config, "", "file", parseText), "config", "TOML or YAML file of these same names")
	f.Var(setting(&s.leaseTime, "500ms", "duration", parseDuration), "lease-time",
		"how long a mastership lasts unless renewed; the same on all nodes")
	f.Var(setting(&s.maxLease, "30s", "duration", parseDuration), "max-lease-time",
		"the longest lease that a client may take; the same on all nodes")
	f.Var(setting(&s.driftPPM, "1%", "rate", parseDrift), "clock-drift",
		"bound on the error of a clock's rate, 0 to 10%; the same on all nodes")
	f.Var(setting(&s.margin, "10ms", "duration", parseDuration), "lease-margin",
		"slack added to every exclusion and quarantine; the same on all nodes")
	f.Var(setting(&s.maxValue, "512KiB", "bytes", parseBytes), "max-value-bytes", "largest value, at most 16MiB")
	f.Var(setting(&s.ttlMin, "10s", "duration", parseDuration), "session-ttl-min", "shortest TTL that a session may have, 100ms to 24h")
	f.Var(setting(&s.quota, "0", "bytes", parseBytes), "quota-bytes",
		"refuse writes when so much of log.db and state.db is in use (journal, reserve file and unused pages not counted); 0: none")
	f.Var(setting(&s.history, "4MiB", "bytes", parseBytes), "watch-history-bytes",
		"remember so much of the newest changes for watches, 64KiB to 1GiB; it costs this memory, also if nobody watches")
	f.Var(setting(&s.maxLeases, "2000000", "number", parseCount), "max-leases",
		"remember at most so many named leases, some 130 bytes each if their names are short, 1 to 268435456")
	f.Var(setting(&s.guardian, "true", "bool", parseBool), "guardian",
		"run a small second process that releases the lease if this one crashes; false: a crash costs the rest of the lease")
	f.Lookup("guardian").NoOptDefVal = "true"
	f.Var(setting(&s.batch, "true", "bool", parseBool), "batch-scheduling",
		"take no processor from a running thread when woken (SCHED_BATCH): more throughput where processors are shared; false: shorter waits there")
	f.Lookup("batch-scheduling").NoOptDefVal = "true"
	f.Var(setting(&s.realtime, "false", "bool", parseBool), "realtime",
		"run before all programs that are scheduled in the usual way (SCHED_RR, needs CAP_SYS_NICE): the lease is renewed in time on a machine that is overloaded")
	f.Lookup("realtime").NoOptDefVal = "true"
	f.Var(setting(&s.adapt, "true", "bool", parseBool), "adapt-processors",
		"let Go's scheduler use one processor until that is used up, then more; false: all from the start (GOMAXPROCS in the environment wins)")
	f.Lookup("adapt-processors").NoOptDefVal = "true"
	f.Var(setting(&s.slack, "500us", "duration", parseDuration), "monitor-slack",
		"how much later than it asks Go's monitor thread may be woken, 0 to 10ms; 0 leaves it as it is")
	f.Var(setting(&s.admin, "", "addr", parseListener), "admin", "where to listen for pprof (default: off)")
	f.Var(setting(&s.logLevel, "info", "level", parseLevel), "log-level", "trace, debug, info, warn or error")
	f.Var(setting(&s.logFormat, "", "format", parseFormat), "log-format", "json or console (default: console on a terminal, else json)")
	f.Var(setting(&s.insecure, "false", "bool", parseBool), "insecure", "listen beyond loopback, although there is no TLS")
	f.Lookup("insecure").NoOptDefVal = "true"
	return s
}

// name is how the operator set this one: "--lease-time", "KVNODE_LEASE_TIME", "lease-time in node.toml".
func (s *settings) name(flag string) string {
	if o := s.origin[flag]; o != "" {
		return o
	}
	return "--" + flag
}

// given tells whether the operator set this one at all.
func (s *settings) given(flag string) bool { return s.origin[flag] != "" }
