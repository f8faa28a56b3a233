package main

import (
	"time"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/cmd/kvctl/bench"
)

// benchVerbs are the operations with what their help says.
var benchVerbs = []struct{ op, short, long string }{
	{bench.Put, "Measure writes", "put writes random keys, whatever they hold."},
	{bench.Get, "Measure reads", "get reads random keys, which are written first."},
	{bench.Mixed, "Measure reads and writes together", "mixed reads random keys, and writes one now and then."},
	{bench.CAS, "Measure conditional writes",
		"cas writes random keys, each if it is still at the index last seen of it. That it is not, because another client wrote\n" +
			"it meanwhile, is a failure by the kind \"condition failed\"; the key is then read, which is not measured."},
	{bench.Lease, "Measure acquisitions of leases", "lease acquires a lease of a new name each time, and leaves it to run out after --ttl."},
	{bench.Keepalive, "Measure renewals of leases",
		"keepalive acquires --keys leases and then renews random ones, one with each request. One that has run out since it was not\n" +
			"renewed within --ttl is a failure by the kind \"condition failed\"; it is then acquired again, which is not measured."},
}

const benchHelp = "Closed loop: each of --clients sends its next request when the last one is answered. With --rate, open loop: requests\n" +
	"are due at that rate whatever happens, and latency counts from when a request was due (coordinated omission is corrected);\n" +
	"--clients is then how many may be under way at once. Requests are plain: no idempotency key, no second try. Ctrl-C ends\n" +
	"the run and prints what was measured so far, with exit code 1."

const benchKeysStay = "\n\nThe keys stay: kvctl prune bench/ deletes them."

func newBench(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Load the cluster and measure how it answers",
		Long:    "bench loads the cluster and measures throughput and latency. " + benchHelp + benchKeysStay,
		Example: "  kvctl bench put --clients 64\n  kvctl bench get --mode stale --keys 100000\n  kvctl bench mixed --read-share 0.95 --rate 2000 --json",
	}
	var verbs []*cobra.Command
	for _, v := range benchVerbs {
		verbs = append(verbs, newBenchOp(a, v.op, v.short, v.long))
	}
	return group(cmd, append(verbs, movedBench("sweep", "sweep"), movedBench("plot", "sweep draw"))...)
}

// movedBench stands for a verb that is in the test harness now.
func movedBench(verb, harness string) *cobra.Command {
	return &cobra.Command{
		Use:                verb,
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usage("kvctl bench %s is in the test harness now; in a checkout of the repository: go run ./jepsen %s --help", verb, harness)
		},
	}
}

// benchRun is one run's flags.
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
		Args:  cobra.NoArgs,
		RunE:  b.run,
	}
	f, c := cmd.Flags(), &b.cfg
	f.SortFlags = false
	f.IntVar(&c.Clients, "clients", 64, "requests under way at once, at most")
	f.IntVar(&c.Conns, "conns", 0, "connections that the clients share (0: one each)")
	leases := op == bench.Lease || op == bench.Keepalive
	switch op {
	case bench.Lease:
		c.Keys = 1
	case bench.Keepalive:
		f.IntVar(&c.Keys, "keys", 1000, "number of leases, each as likely as the others")
	default:
		f.IntVar(&c.Keys, "keys", 10_000, "number of keys, each as likely as the others")
		f.IntVar(&c.ValueSize, "value-size", 256, "bytes of a value, random")
	}
	if leases {
		cmd.Long = long + "\n\n" + benchHelp
		f.DurationVar(&c.TTL, "ttl", 10*time.Second, "how long a lease lasts without being renewed")
	}
	f.DurationVar(&c.Duration, "duration", 10*time.Second, "how long to measure")
	f.DurationVar(&c.Warmup, "warmup", 2*time.Second, "how long to run before that")
	f.Float64Var(&c.Rate, "rate", 0, "operations a second of an open loop (0: closed loop)")
	if op == bench.Mixed {
		f.Float64Var(&c.ReadShare, "read-share", 0.9, "part of the operations that are reads")
	}
	if op == bench.Get || op == bench.Mixed {
		f.StringVar(&c.Mode, "mode", bench.Default, "how to read: default, consistent or stale")
	}
	if c.Fill = op == bench.Keepalive; !leases {
		f.BoolVar(&c.Fill, "fill", op != bench.Put, "write every key once before")
	}
	f.StringVar(&b.spread, "spread", "all", "which endpoints to load: all or one, the first")
	f.StringVar(&c.Prefix, "prefix", "bench/", "what the keys or names start with")
	f.Uint64Var(&c.Seed, "seed", 1, "of keys and values")
	f.DurationVar(&c.Timeout, "timeout", 10*time.Second, "longest time for one request")
	return cmd
}

func (b *benchRun) run(cmd *cobra.Command, _ []string) error {
	if err := b.settle(cmd); err != nil {
		return err
	}
	c, err := b.app.client()
	if err != nil {
		return err
	}
	if takeSurvey(cmd.Context(), c).refused() {
		return client.ErrRefused
	}
	show := b.app.benchProgress(b.cfg)
	b.cfg.Watch = show.tell
	r, err := bench.Run(cmd.Context(), b.cfg)
	show.end()
	if err != nil {
		return err
	}
	return b.app.printBench(r)
}

// settle brings the flags together.
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
	all, err := b.app.client()
	if err != nil {
		return err
	}
	switch c.Endpoints = all.Endpoints(); b.spread {
	case "all":
	case "one":
		c.Endpoints = c.Endpoints[:1]
	default:
		return usage("--spread %q: must be all or one", b.spread)
	}
	if err := c.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}
