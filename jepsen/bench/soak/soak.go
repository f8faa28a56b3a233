// Package soak runs a cluster of real processes under full load for a long time and reports whether it stays stable. It
// compares the disk use of each node with its bound, and the latency of writes in the second half with the first. With
// an archive it also reports the archive's lag, and whether restored states equal the states that a reader saw.
//
//	soak.go    the configuration, and the whole measurement
//	load.go    kvctl bench at full load, and a few clients that do every other kind of write
//	sample.go  disk use and archive lag during the run
//	bound.go   the bound of a node's disk use
//	seen.go    listings of a reader, and their comparison with restored states
//	report.go  the results as text
//	plot.go    the results as a chart
package soak

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// Config configures a run.
type Config struct {
	bench.Setup
	Time      time.Duration // duration of the full load, in two halves
	Clients   int           // number of clients of the full load
	Keys      int           // number of keys that the full load overwrites at random
	ValueSize int           // bytes
	Archive   bool          // whether the nodes archive to a directory
	Restores  int           // number of revisions to restore from the archive afterwards
	Plot      string        // file for the plot of disk use; "" for none
	Results   string        // file for the samples as JSON lines; "" for none
}

const (
	sampleEvery  = 2 * time.Second
	lookEvery    = 5 * time.Second // a reader lists everything that the few clients write
	stopGrace    = 10 * time.Second
	archiveGrace = 30 * time.Second // how long the archive may take after the load to catch up

	// Short enough that an hour has several of each, and that a restore reads at most fullEvery of segments.
	fullEvery, verifyEvery = 10 * time.Minute, 15 * time.Minute
)

// Validate returns an error that tells what is out of range.
func (c Config) Validate() error {
	switch {
	case c.Time < 10*time.Second || c.Clients < 1 || c.Clients > 1000 || c.Nodes < 1 || c.Nodes > bench.MaxNodes:
		return fmt.Errorf("%v of load by %d clients on %d nodes: 10s or more by 1 to 1000 on 1 to %d", c.Time,
			c.Clients, c.Nodes, bench.MaxNodes)
	case c.Keys < 1 || c.Keys > 10_000_000 || c.ValueSize < 0 || c.ValueSize > 512<<10:
		return fmt.Errorf("%d keys of %d bytes: 1 to 10000000 of at most %d", c.Keys, c.ValueSize, 512<<10)
	case c.Restores < 0 || c.Restores > 100:
		return fmt.Errorf("%d revisions to restore: at most 100", c.Restores)
	}
	return nil
}

// Run runs the measurement. It also returns an error if Report.Check does.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	if err := c.Build(ctx); err != nil {
		return r, err
	}
	kvctl, err := cluster.BuildKvctl(ctx, c.Bin())
	if err != nil {
		return r, err
	}
	var flags []string
	archive := filepath.Join(c.Dir, "archive")
	if c.Archive {
		if err := os.MkdirAll(archive, 0o755); err != nil { // a node makes none
			return r, err
		}
		flags = append(flags, "--archive", "file://"+archive, "--archive-full-every", fullEvery.String(),
			"--archive-verify-every", verifyEvery.String())
	}
	nodes, err := c.Cluster(flags)
	if err != nil {
		return r, err
	}
	if err := bench.Start(ctx, nodes); err != nil {
		return r, err
	}
	defer nodes.Stop(stopGrace)
	m := &measurement{cfg: c, nodes: nodes, kvctl: kvctl, archive: archive}
	return m.run(ctx)
}

// measurement is a cluster under load.
type measurement struct {
	cfg     Config
	nodes   *cluster.Cluster
	kvctl   string
	archive string // directory
}

func (m *measurement) say(format string, args ...any) { fmt.Fprintf(m.cfg.Out, format+"\n", args...) }

func (m *measurement) run(ctx context.Context) (r Report, err error) {
	r = Report{Head: bench.NewHead(), Clients: m.cfg.Clients, Keys: m.cfg.Keys, ValueSize: m.cfg.ValueSize,
		Took: m.cfg.Time, Archive: m.cfg.Archive}
	samples, err := m.startSampling(ctx)
	if err != nil {
		return r, err
	}
	beside, err := m.startFew(ctx)
	if err != nil {
		samples.end()
		return r, err
	}
	r.Halves, err = m.load(ctx)
	seen, fewErr := beside.end()
	if err == nil {
		err = fewErr
	}
	if err == nil && m.cfg.Archive {
		err = m.archived(ctx, samples)
	}
	r.Samples, r.Files = samples.end()
	if err != nil {
		return r, err
	}
	r.Looks = len(seen)
	if m.cfg.Archive {
		m.nodes.Stop(stopGrace) // the processors are for the restores
		if r.Restored, err = m.restoreAll(ctx, seen); err != nil {
			return r, err
		}
	}
	if err := m.write(r); err != nil {
		return r, err
	}
	return r, r.Check()
}
