package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/bench"
)

// benchCommands are the operations with their help texts.
var benchCommands = []struct{ op, short, long string }{
	{bench.Put, "Measure writes", "Write random keys, whatever they hold."},
	{bench.Get, "Measure reads", "Read random keys, which are written first."},
	{bench.Mixed, "Measure reads and writes together", "Read random keys, and write one now and then."},
	{bench.CAS, "Measure conditional writes",
		"Write random keys, each if it is still at the index last seen. If another client has written it\n" +
			"meanwhile, the failure counts as \"condition failed\"; the key is then read, which is not measured."},
	{bench.Lease, "Measure acquisitions of leases",
		"Acquire a lease of a new name each time, and let it end after --ttl."},
	{bench.Keepalive, "Measure renewals of leases",
		"Acquire --keys leases and then renew random ones, one with each request. A lease that was not\n" +
			"renewed within --ttl has ended; the failure counts as \"condition failed\", and the lease is acquired\n" +
			"again, which is not measured."},
}

const benchHelp = "Closed loop: each of --clients sends its next request when the last one is answered. Open loop,\n" +
	"with --rate: requests are due at that rate whatever happens, and latency counts from when a\n" +
	"request was due, so that coordinated omission is corrected; --clients bounds how many are in\n" +
	"flight. A request has no idempotency key and is not repeated. Each client has an endpoint, in turn;\n" +
	"writes go to the master once answers name it, as those of the Go client do (--near). For figures of\n" +
	"one node: --spread one. The output says which nodes answered. Ctrl-C ends the run and prints what\n" +
	"was measured until then, with exit code 1."

const benchKeysStay = "\n\nThe keys stay; kvctl prune bench/ deletes them."

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Load the cluster and measure throughput and latency",
		Long:  "Load the cluster and measure throughput and latency.\n\n" + benchHelp + benchKeysStay,
		Example: "  kvctl bench put --clients 64\n  kvctl bench get --mode stale --keys 100000\n" +
			"  kvctl bench mixed --read-share 0.95 --rate 2000 --json",
	}
	var verbs []*cobra.Command
	for _, v := range benchCommands {
		verbs = append(verbs, newBenchOp(a, v.op, v.short, v.long))
	}
	return group(cmd, append(verbs, movedBench("sweep", "sweep"), movedBench("plot", "sweep draw"))...)
}

// movedBench is a command that only says that the test harness has it.
func movedBench(name, harness string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usage("kvctl bench %s is part of the test harness; in a checkout of the repository: "+
				"go run ./jepsen %s --help", name, harness)
		},
	}
}

// benchRun has the flags of one run.
type benchRun struct {
	app    *app
	cfg    bench.Config
	spread string
}

func newBenchOp(a *app, op, short, long string) *cobra.Command {
	b := &benchRun{app: a, cfg: bench.Config{Op: op, Mode: bench.Default}}
	cmd := &cobra.Command{
		Use:   op,
		Short: short,
		Long:  long + "\n\n" + benchHelp + benchKeysStay,
		Args:  arguments(0, 0),
		RunE:  b.run,
	}
	f, c := cmd.Flags(), &b.cfg
	f.SortFlags = false
	f.IntVar(&c.Clients, "clients", 64, "how many requests are in flight at most")
	f.IntVar(&c.Conns, "conns", 0, "connections that the clients share (0: one for each client)")
	leases := op == bench.Lease || op == bench.Keepalive
	switch op {
	case bench.Lease:
		c.Keys = 1
	case bench.Keepalive:
		f.IntVar(&c.Keys, "keys", 1000, "number of leases, chosen at random with equal chance")
	default:
		f.IntVar(&c.Keys, "keys", 10_000, "number of keys, chosen at random with equal chance")
		f.IntVar(&c.ValueSize, "value-size", 256, "size of the values in bytes; their content is random")
	}
	if leases {
		cmd.Long = long + "\n\n" + benchHelp
		ttlVar(f, &c.TTL, 10*time.Second, "how long a lease lasts unless it is renewed")
	}
	durationVar(f, &c.Duration, "duration", 10*time.Second, "how long to measure")
	durationVar(f, &c.Warmup, "warmup", 2*time.Second, "how long to run before measuring")
	f.Float64Var(&c.Rate, "rate", 0, "operations a second, as an open loop (0: closed loop)")
	if op == bench.Mixed {
		f.Float64Var(&c.ReadShare, "read-share", 0.9, "share of the operations that are reads")
	}
	if op == bench.Get || op == bench.Mixed {
		f.StringVar(&c.Mode, "mode", bench.Default, "how to read: default, consistent or stale")
	}
	if c.Fill = op == bench.Keepalive; !leases {
		f.BoolVar(&c.Fill, "fill", op != bench.Put, "first write every key once")
	}
	f.StringVar(&b.spread, "spread", "all", "endpoints to load: all, or one (the first), which then gets everything\n"+
		"unless --near is given too")
	if !leases {
		f.StringVar(&c.Near, "near", bench.NearWrites, "what goes to the master, once answers name it: none, writes,\n"+
			"or all (reads that are not stale too)")
	}
	f.StringVar(&c.Prefix, "prefix", "bench/", "prefix of the keys or names")
	f.Uint64Var(&c.Seed, "seed", 1, "seed of keys and values")
	durationVar(f, &c.Timeout, "timeout", 10*time.Second, "time limit of one request")
	return cmd
}

func (b *benchRun) run(cmd *cobra.Command, _ []string) error {
	if err := b.settle(cmd); err != nil {
		return err
	}
	c, err := b.app.client(cmd.Context())
	if err != nil {
		return err
	}
	survey := takeSurvey(cmd.Context(), c)
	if err := survey.unreachable(); err != nil {
		return err
	}
	b.cfg.Members = survey.numbers(b.cfg.Endpoints)
	show := b.app.benchProgress(b.cfg)
	b.cfg.Watch = show.tell
	r, err := bench.Run(cmd.Context(), b.cfg)
	show.end()
	if err != nil {
		return err
	}
	return b.app.printBench(r)
}

// settle checks the flags and completes the configuration.
func (b *benchRun) settle(cmd *cobra.Command) error {
	c, f := &b.cfg, cmd.Flags()
	if b.app.stale || b.app.consistent {
		mode, err := b.app.mode()
		switch {
		case err != nil:
			return err
		case f.Changed("mode"):
			return usage("--mode and --stale or --consistent contradict each other: give one of them")
		}
		c.Mode = bench.Consistent
		if mode == client.Stale {
			c.Mode = bench.Stale
		}
	}
	if !f.Changed("conns") {
		c.Conns = c.Clients
	}
	all, err := b.app.client(cmd.Context())
	if err != nil {
		return err
	}
	c.Near = cmp.Or(c.Near, bench.NearNone)
	switch c.Endpoints = all.Endpoints(); b.spread {
	case "all":
	case "one":
		c.Endpoints = c.Endpoints[:1]
		if !f.Changed("near") {
			c.Near = bench.NearNone
		}
	default:
		return usage("--spread %q: must be all or one", b.spread)
	}
	if c.Token, err = b.app.secret(cmd.Context()); err != nil {
		return err
	}
	if strings.HasPrefix(c.Endpoints[0], "https://") {
		if err := b.dialTLS(); err != nil {
			return err
		}
	}
	if err := c.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// dialTLS has the run speak TLS.
func (b *benchRun) dialTLS() error {
	settings, err := b.app.clientTLS()
	if err != nil {
		return err
	}
	if settings == nil {
		settings = &client.TLS{}
	}
	b.cfg.Dial, err = settings.Dialler()
	return err
}

// numbers returns those of the nodes at the endpoints, which are all of one cluster; 0: of that one it is not known.
func (s survey) numbers(endpoints []string) []uint64 {
	out := make([]uint64, len(endpoints))
	if len(s.clusters()) != 1 {
		return out
	}
	for i, e := range endpoints {
		if at := slices.IndexFunc(s, func(n nodeView) bool { return n.endpoint == e && n.answers() }); at >= 0 {
			out[i] = s[at].status.Node
		}
	}
	return out
}
