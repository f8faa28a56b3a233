package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/workload"
)

// Config says how to flood.
type Config struct {
	Floods  []string      // by name; empty: all
	Nodes   int           // of the cluster that speaks plain HTTP
	Clients int           // of the load
	Every   time.Duration // each of them begins an operation so often
	Time    time.Duration // of a flood at a time, at the cluster and at the idle program
	Rounds  int           // how often both are flooded
	Lease   time.Duration // lease time of the nodes
	Arrival time.Duration // that headers may take to arrive at a node, and bodies after them
	Seed    uint64        // of the load's choices
	// Short is for machines that are busy with other things: nothing is compared with an idle program.
	Short bool
	// Sink is the command line of a program that calls ServeSink.
	Sink []string
	Dir  string // programs, data, logs
	Out  io.Writer
}

const (
	opTimeout    = 4 * time.Second
	checkTimeout = 60 * time.Second
	betweenSides = 500 * time.Millisecond // for what one flood has left to be over
	longest      = 10                     // times Config.Time, if the load gets nowhere before
)

// Run floods, and returns what came of it. An error is the harness's own; what a node did wrong is in the Report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	floods, err := byName(cfg.Floods)
	if err != nil {
		return nil, err
	}
	bin, err := cluster.Build(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return nil, err
	}
	kvctl, err := cluster.BuildKvctl(ctx, filepath.Join(cfg.Dir, "bin"))
	if err != nil {
		return nil, err
	}
	r := &Report{Short: cfg.Short, Began: time.Now().UTC()}
	for _, kind := range bedKinds {
		mine := slices.DeleteFunc(slices.Clone(floods), func(f *Flood) bool { return f.on != kind })
		cases := kind == plain || kind == secure
		if len(mine) == 0 && !cases {
			continue
		}
		start := func() (*bed, error) { return startBed(ctx, &cfg, kind, bin, kvctl) }
		if err := r.on(ctx, &cfg, mine, cases, start); err != nil {
			return r, err
		}
	}
	r.Took = time.Since(r.Began)
	return r, ctx.Err()
}

// on plays floods, and single connections if there are cases, on one bed.
func (r *Report) on(ctx context.Context, cfg *Config, floods []*Flood, cases bool, start func() (*bed, error)) error {
	b, err := start()
	if err != nil {
		return err
	}
	defer b.stop()
	var idle *sink
	if !cfg.Short {
		if idle, err = startSink(ctx, cfg.Sink); err != nil {
			return err
		}
		defer idle.end()
	}
	for _, f := range floods {
		row, err := b.play(ctx, cfg, f, idle)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		fmt.Fprintln(cfg.Out, row.line())
		r.Rows = append(r.Rows, row)
	}
	if !cases {
		return nil
	}
	played, err := b.cases(ctx)
	for _, c := range played {
		fmt.Fprintln(cfg.Out, c.line())
	}
	r.Cases = append(r.Cases, played...)
	return err
}

// side is what was flooded from when to when.
type side struct {
	idle     bool
	from, to time.Duration
	// Processor time that was taken meanwhile by all nodes, and by the idle program if that was flooded.
	nodes, sink time.Duration
}

// play floods the bed in one way, and the idle program too unless idle is nil, beside the load.
func (b *bed) play(ctx context.Context, cfg *Config, f *Flood, idle *sink) (*Row, error) {
	before, err := b.master(ctx)
	if err != nil {
		return nil, err
	}
	rec := history.NewRecorder()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- workload.Paced(loading, b.load(cfg), rec, f.Name, cfg.Every) }()
	cluster.Pause(ctx, betweenSides)
	row := &Row{Flood: f}
	var sides []side
	for range max(1, cfg.Rounds) {
		if idle != nil {
			sides = append(sides, b.idleSide(ctx, cfg, rec, f, idle))
		}
		if before, err = b.kept(ctx, before, &row.IdleChanges); err != nil {
			break
		}
		s, wrong := b.flood(ctx, cfg, rec, f, before, row)
		sides = append(sides, s)
		if before, err = b.kept(ctx, before, &row.Changes); err != nil || wrong != nil {
			err = errors.Join(err, wrong)
			break
		}
	}
	stop()
	if err := errors.Join(err, <-done); err != nil {
		return row, err
	}
	row.judge(cfg, rec.Ops(), sides)
	return row, ctx.Err()
}

// idleSide floods the idle program. The nodes are looked at as they are while they are flooded: that costs the load
// something, too.
func (b *bed) idleSide(ctx context.Context, cfg *Config, rec *history.Recorder, f *Flood, idle *sink) side {
	before := processor(idle.pid)
	out := b.side(ctx, cfg, rec, newAttack(f, []string{idle.port(f)}, b.flooder), &seen{})
	out.idle, out.sink = true, processor(idle.pid)-before
	return out
}

// flood floods the cluster.
func (b *bed) flood(ctx context.Context, cfg *Config, rec *history.Recorder, f *Flood, m mastership,
	row *Row) (side, error) {
	limited, err := b.limited(ctx, f)
	if err != nil {
		return side{}, err
	}
	a := newAttack(f, b.targets(f, m.node), b.flooder)
	s := b.side(ctx, cfg, rec, a, &row.seen)
	row.add(a)
	now, err := b.limited(ctx, f)
	row.Limited += now - limited
	return s, err
}

// kept returns who is master now, and counts a change if that is not as before.
func (b *bed) kept(ctx context.Context, before mastership, changes *int) (mastership, error) {
	now, err := b.master(ctx)
	if err == nil && now != before {
		*changes++
	}
	return now, err
}

// side floods one side for a while and, on a machine that is too busy, until the load has done something beside it. s
// collects the nodes' state meanwhile.
func (b *bed) side(ctx context.Context, cfg *Config, rec *history.Recorder, a *attack, s *seen) side {
	out := side{from: rec.Now()}
	before := b.processor()
	flooding, cancel := context.WithTimeout(ctx, longest*cfg.Time)
	defer cancel()
	done := rec.Len()
	go func() {
		defer cancel()
		for cluster.Pause(flooding, cfg.Time) && rec.Len() < done+2*leastOps {
		}
	}()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		b.watch(flooding, s)
	}()
	a.run(flooding)
	<-flooding.Done()
	out.to, out.nodes = rec.Now(), b.processor()-before
	<-watched
	cluster.Pause(ctx, betweenSides)
	return out
}

// checked returns what is wrong in a history.
func checked(ops []history.Op) error {
	found := check.RegisterProblems(ops, checkTimeout)
	var wrong error
	for _, p := range found.Problems {
		wrong = errors.Join(wrong, fmt.Errorf("%s: %s", p.Kind, p.Reason))
	}
	if found.Undecided > 0 {
		wrong = errors.Join(wrong, fmt.Errorf("%d keys could not be decided", found.Undecided))
	}
	return wrong
}
