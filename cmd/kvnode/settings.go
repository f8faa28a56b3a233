package main

import (
	"slices"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"tenure/api"
	"tenure/server"
	"tenure/server/admission"
	"tenure/server/watch"
	"tenure/server/web"
)

const (
	defaultClient = "127.0.0.1:8500"
	defaultPeer   = "127.0.0.1:8300"
	defaultData   = "./kvnode-data"
)

// settings has everything that an operator can set.
type settings struct {
	sources

	// Read from the data directory, for settings that the command line lacks:
	known  bool // the node's id is from the directory
	member bool // the node has been in a cluster
	alone  bool // no other node has ever been a member of that cluster

	// Set by validate:
	unseen bool // the data directory is not looked at

	// Set by rejoin:
	anew      bool   // the files in the directory are set aside
	giveUp    bool   // the node may join another cluster than the directory's
	givenName string // the node's name on the command line, if it has one
	onlyReady bool   // the node stops once it is ready

	cfg     server.Config // the settings as they were given; build adds the rest
	tls     tlsSettings
	archive archiveSettings
	process processSettings
}

// processSettings are about the process and its log.
type processSettings struct {
	guardian  bool
	batch     bool
	realtime  bool
	adapt     bool
	slack     time.Duration
	logLevel  zerolog.Level
	logFormat string
}

// row is a row of the table of settings: a flag, where its value goes, and its text in --help.
type row struct {
	name  string
	value pflag.Value
	usage string
}

// newSettings returns the defaults. The rows are in the order of --help.
func newSettings() *settings {
	s := &settings{sources: newSources()}
	c := &s.cfg
	for _, r := range slices.Concat(
		addressRows(c), joinRows(c), s.tls.rows(), accessRows(c), limitRows(&c.Limits), s.archive.rows(),
		s.sources.rows(), stateRows(c), s.process.rows(), listenerRows(c), s.process.logRows(), exposureRows(c),
	) {
		s.flags.Var(r.value, r.name, r.usage)
	}
	s.flags.VisitAll(allowBareBool)
	return s
}

// addressRows say which node this is and where it is reached.
func addressRows(c *server.Config) []row {
	return []row{
		{"id", setting(&c.Node, "1", "number", parseNodeID), "this node's number in --cluster, 1 to 65535 (default: " +
			"that of the data directory, else 1; --join is given one)"},
		{"cluster", setting(&c.Cluster, "", "list", parseCluster), "all nodes of the cluster as ID=HOST:PORT,…, at " +
			"most 7, with the addresses for peers (default: a single node, 1)"},
		{"node-name", text(&c.NodeName, "name"), "name of this node (default: that of its certificate, else node-N " +
			"for node N)"},
		{"data", setting(&c.Data, defaultData, "dir", parseDir), "data directory; created if it does not exist"},
		{"client", listen(&c.ClientAddr, defaultClient), "address to listen on for clients (HTTP)"},
		{"peer", listen(&c.PeerAddr, ""), "address to listen on for peers (default: this node's address in " +
			"--cluster, else " + defaultPeer + ")"},
		{"advertise-peer", reachable(&c.PeerAdvertise), "address at which the other nodes reach this one (default: " +
			"its address in --cluster, else that of --peer)"},
		{"advertise-client", reachable(&c.ClientAdvertise), "address at which clients reach this node (default: that " +
			"of --client, on the host of --advertise-peer if it is a wildcard)"},
	}
}

// joinRows say as what a node joins a cluster.
func joinRows(c *server.Config) []row {
	return []row{
		{"join", reachable(&c.Join), "join the cluster of which a member has this address for peers, unless the data " +
			"directory is a member's already"},
		{"replace", text(&c.Replace, "name"), "with --join: take the place of the voter of this name, which must be " +
			"silent"},
		{"rejoin", boolean(&c.Rejoin, "false"), "with --cluster: if the data directory is empty and the cluster was " +
			"formed before, join it and take the place that this node had"},
		{"non-voter", boolean(&c.NonVoter, "false"), "with --join: follow the log and answer reads, but never vote"},
		{"spare", boolean(&c.Spare, "false"), "with --join: a non-voter that may take the place of a voter that is " +
			"lost (see --replace-after)"},
		{"replace-after", duration(&c.ReplaceAfter, "0"), "with --spare: how long a voter must not have been heard " +
			"before the spare takes its place (0: never by itself)"},
	}
}

// Bounds of limitRows.
const (
	maxCount       = 1 << 20
	maxHeaderBytes = 1 << 20
	maxArrival     = time.Minute
)

// limitRows bound what clients can take of the node. Their own bounds refuse what would leave every client unserved, or
// bound nothing at all.
func limitRows(l *server.Limits) []row {
	counted := func(to *int, def, most int) pflag.Value { return within(count(to, def), 1, most) }
	return []row{
		{"max-connections", counted(&l.Conns, admission.DefaultConns, maxCount), "most open connections of clients; fewer if " +
			"the system lets this process open fewer files"},
		{"max-connections-per-source", counted(&l.ConnsPerSource, admission.DefaultConnsPerSource, maxCount),
			"most open connections from one IPv4 address or IPv6 /64; not from loopback (see --limit-loopback)"},
		{"max-requests", counted(&l.Requests, admission.DefaultRequests, server.MostRequests), "most requests in " +
			"flight, not counting those that wait for a change"},
		{"max-requests-per-source", counted(&l.RequestsPerSource, admission.DefaultRequestsPerSource, server.MostRequests),
			"most requests in flight from one address, likewise"},
		{"reserved-for-operators", count(&l.Reserved, 0), "how many connections and requests are kept for status, " +
			"health, metrics and members (0: an eighth, at most 256)"},
		{"max-waiting", counted(&l.MaxWaiting, watch.DefaultWaiting, maxCount), "most queries and watches that wait for a " +
			"change"},
		{"max-waiting-per-client", counted(&l.WaitingPerClient, admission.DefaultWaitingPerClient, maxCount), "most of " +
			"one client that wait"},
		{"limit-loopback", boolean(&l.Loopback, "false"), "apply the limits for each address and client to this " +
			"machine's own too"},
		{"request-rate-mode", setting(&l.Rate.Mode, "off", "mode", admission.ParseMode), "what becomes of requests " +
			"that come faster than --request-rate: nothing (off), counted and logged (permissive), or refused " +
			"(enforcing)"},
		{"request-rate", counted(&l.Rate.PerSecond, admission.DefaultRate, maxCount), "requests a second that one client " +
			"may send"},
		{"request-burst", count(&l.Rate.Burst, 0), "requests that one client may send at once after a pause (0: " +
			"twice --request-rate)"},
		{"max-header-bytes", advised(within(size(&l.MaxHeaderBytes, web.DefaultMaxHeaderBytes), api.MaxURLBytes,
			maxHeaderBytes)), "longest request line and headers together, 16KiB to 1MiB"},
		{"header-timeout", upTo(duration(&l.HeaderTimeout, web.DefaultHeaderTimeout.String()), maxArrival), "how long the " +
			"headers of a request may take to arrive, at most 1m"},
		{"body-timeout", upTo(duration(&l.BodyTimeout, web.DefaultBodyTimeout.String()), maxArrival), "how long the body " +
			"may take after that, at most 1m"},
	}
}

// stateRows are about leases and the replicated state.
func stateRows(c *server.Config) []row {
	return []row{
		{"lease-time", advised(atLeast(duration(&c.LeaseTime, "500ms"), minLeaseTime)), "how long the master lease " +
			"lasts unless renewed; the same on all nodes"},
		{"max-lease-time", advised(atMost(duration(&c.MaxLeaseTime, "30s"), maxLeaseTimeLimit)), "longest lease that a " +
			"client can acquire; the same on all nodes"},
		{"clock-drift", setting(&c.ClockDriftPPM, "1%", "rate", parseDrift), "bound on the error of clock rates, 0 " +
			"to 10%; the same on all nodes"},
		{"lease-margin", advised(atMost(duration(&c.LeaseMargin, "10ms"), maxLeaseMargin)), "time added to every " +
			"exclusion and quarantine; the same on all nodes"},
		{"max-value-bytes", advised(within(size(&c.MaxValueBytes, api.DefaultMaxValueBytes), 1, api.MaxValueBytes)),
			"largest value, at most 16MiB"},
		{"slow-request", duration(&c.SlowRequest, "250ms"), "requests of clients that take longer have a line in the " +
			"log that says where the time went (0: none)"},
		{"session-ttl-min", advised(within(duration(&c.SessionTTLMin, api.DefaultMinSessionTTL.String()),
			api.MinSessionTTL, api.MaxSessionTTL)), "shortest TTL of a session, 100ms to 24h"},
		{"quota-bytes", size(&c.QuotaBytes, 0), "refuse writes once this much of log.db and state.db is in use, " +
			"not counting the journal, the reserve file and unused pages (0: no quota)"},
		{"watch-history-bytes", advised(within(size(&c.WatchHistoryBytes, watch.DefaultHistoryBytes), watch.MinHistoryBytes,
			watch.MaxHistoryBytes)), "memory for the newest changes, kept for watches, 64KiB to 1GiB; used even if " +
			"nobody watches"},
		{"max-leases", advised(within(count(&c.MaxLeases, server.DefaultLeases), 1, server.MostLeases)), "most named " +
			"leases to remember, some 130 bytes each if their names are short, 1 to 268435456"},
		{"stop-wait", duration(&c.StopWait, "8s"), "how long a node that is told to stop waits until the others can elect " +
			"a master without it, if that is a matter of time (0: it stops at once)"},
		{"upgrade-after", duration(&c.UpgradeAfter, "24h"), "how long all members must have run a new release before " +
			"the master raises the cluster's feature level to it; there is no way back then (0: only kvctl upgrade " +
			"finish does)"},
	}
}

// rows are about how the process runs.
func (p *processSettings) rows() []row {
	return []row{
		{"guardian", boolean(&p.guardian, "true"), "run a small second process that releases the master lease if " +
			"this one crashes; false: the cluster waits for the lease's end"},
		{"batch-scheduling", boolean(&p.batch, "true"), "do not preempt other threads on wake-up (SCHED_BATCH): more " +
			"throughput on shared processors; false: lower latency there"},
		{"realtime", boolean(&p.realtime, "false"), "run before all normally scheduled programs (SCHED_RR, needs " +
			"CAP_SYS_NICE), to renew the lease in time on an overloaded machine"},
		{"adapt-processors", boolean(&p.adapt, "true"), "start with one processor for Go's scheduler and add more " +
			"when they are needed; false: all from the start (GOMAXPROCS in the environment takes precedence)"},
		{"monitor-slack", duration(&p.slack, "500us"), "timer slack of Go's monitor thread, 0 to 10ms; 0: the " +
			"system's"},
	}
}

// listenerRows are the listeners that are off unless they are given.
func listenerRows(c *server.Config) []row {
	return []row{
		{"admin", listen(&c.AdminAddr, ""), "address to listen on for pprof (default: off)"},
		{"redis", listen(&c.RedisAddr, ""), "address to listen on for clients of Redis (default: off)"},
		{"redis-flush", boolean(&c.RedisFlush, "false"), "let clients of Redis delete every key with FLUSHALL and " +
			"FLUSHDB, although there are no tokens and --redis is not on loopback"},
		{"health", setting(&c.HealthAddr, "", "addr", parseHealth), "address to listen on for health checks and " +
			"metrics alone, without TLS and tokens, for load balancers and Prometheus; a port alone is on 127.0.0.1 " +
			"(default: off)"},
	}
}

func (p *processSettings) logRows() []row {
	return []row{
		{"log-level", setting(&p.logLevel, "info", "level", parseLevel), "trace, debug, info, warn or error"},
		{"log-format", setting(&p.logFormat, "", "format", parseFormat), "json, or text: for people, with the message " +
			"first (default: text on a terminal and in the journal, else json)"},
	}
}

// exposureRows say who may address this node.
func exposureRows(c *server.Config) []row {
	return []row{
		{"insecure", boolean(&c.Insecure, "false"), "allow listening on addresses beyond loopback without TLS and " +
			"tokens"},
		{"allowed-hosts", setting(&c.AllowedHosts, "", "list", parseList), "names, NAME,…, by which clients may " +
			"address this node beside localhost, its own names and its addresses; requests for others are refused, " +
			"since web pages can have a browser send them"},
	}
}

// allowBareBool lets a boolean flag be given without a value: --insecure is --insecure=true.
func allowBareBool(f *pflag.Flag) {
	if f.Value.Type() == "bool" {
		f.NoOptDefVal = "true"
	}
}
