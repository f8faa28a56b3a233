package run

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
	"tenure/jepsen/nemesis"
	"tenure/jepsen/workload"
)

// clusterDir has data and logs, below the run's directory.
const clusterDir = "cluster"

const smallDiskBytes = 160 << 20

// Missing returns an error that tells why a nemesis cannot work on this machine, or nil.
func Missing(n nemesis.Nemesis) error {
	var missing error
	if n.Loss {
		missing = errors.Join(missing, cluster.NamespacesAvailable())
	}
	if n.Faulty {
		missing = errors.Join(missing, faultfs.Available())
	}
	if n.Small {
		missing = errors.Join(missing, cluster.SmallDisksAvailable())
	}
	return missing
}

// bed is a cluster with what a nemesis needs, and the functions that remove it all.
type bed struct {
	nemesis.Bed
	where   string // the network, in words
	closers []func() error
}

// newBed makes network, disks, clocks and processes; nothing runs yet. If it fails, nothing is left.
func newBed(ctx context.Context, cfg Config, w workload.Workload, n nemesis.Nemesis) (*bed, error) {
	b := &bed{Bed: nemesis.Bed{Random: rand.New(rand.NewPCG(cfg.Seed, 0)), Out: map[int]bool{}}, where: "loopback"}
	if err := b.up(ctx, cfg, w, n); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bed) up(ctx context.Context, cfg Config, w workload.Workload, n nemesis.Nemesis) (err error) {
	cc := cluster.Config{Binaries: cfg.Binaries, Dir: filepath.Join(cfg.Dir, clusterDir), Nodes: cfg.Nodes,
		Spares: n.Spares, Redis: w.Redis, TLS: n.TLS, ACL: n.ACL, Flags: slices.Concat(n.Flags, w.Flags, cfg.Flags)}
	if _, err := os.Stat(cc.Dir); err == nil {
		return fmt.Errorf("%s is of an earlier run, which would go on in this one: remove it", cc.Dir)
	}
	if err := b.binaries(ctx, &cc, cfg, n); err != nil {
		return err
	}
	if err := b.network(&cc, cfg, n); err != nil {
		return err
	}
	if err := b.disks(&cc, n); err != nil {
		return err
	}
	b.Cluster, err = cluster.New(cc)
	if err == nil {
		b.closers = append(b.closers, func() error { b.Cluster.Stop(stopGrace); return nil })
	}
	return err
}

// network: namespaces if they can be had; loopback with proxies if links must be slow, or cut without namespaces.
func (b *bed) network(cc *cluster.Config, cfg Config, n nemesis.Nemesis) error {
	switch {
	case n.Delay || (n.Links && (cfg.Loopback || cluster.NamespacesAvailable() != nil)):
		p, err := cluster.NewProxied(cfg.Nodes + n.Spares)
		if err != nil {
			return err
		}
		b.closers = append(b.closers, p.Close)
		cc.Network, b.Proxied, b.Links, b.where = p, p, p, "loopback, a proxy between each two nodes"
	case !cfg.Loopback && cluster.NamespacesAvailable() == nil:
		p, err := cluster.NewNamespaces(cfg.Nodes + n.Spares)
		if err != nil {
			return err
		}
		b.closers = append(b.closers, p.Close)
		cc.Network, b.Namespaces, b.Links, b.where = p, p, p, "a network namespace for each node"
	}
	return nil
}

func (b *bed) disks(cc *cluster.Config, n nemesis.Nemesis) error {
	dir := filepath.Join(cc.Dir, "disks")
	switch {
	case n.Faulty:
		disks, data, unmount, err := cluster.FaultyDisks(dir, cc.Nodes)
		if err != nil {
			return err
		}
		b.closers = append(b.closers, unmount)
		b.Faulty, cc.DataDir = disks, data
	case n.Small:
		small, err := cluster.NewSmallDisks(dir, cc.Nodes, smallDiskBytes)
		if err != nil {
			return err
		}
		b.closers = append(b.closers, small.Close)
		b.Small, cc.DataDir = small, small.DataDir
	}
	return nil
}

func (b *bed) binaries(ctx context.Context, cc *cluster.Config, cfg Config, n nemesis.Nemesis) (err error) {
	dir := filepath.Join(cfg.Dir, "bin")
	switch {
	case n.Clocks:
		if cc.Binaries = cfg.TestClock; cc.Binaries.Kvnode == "" {
			cc.Binaries, err = cluster.BuildTestClock(ctx, dir)
		}
		if err == nil {
			b.Clocks, err = cluster.NewClocks(filepath.Join(cc.Dir, "clocks"), cc.Nodes)
		}
		if err == nil {
			cc.Env = b.Clocks.Env
		}
	case cc.Binaries.Kvnode == "":
		cc.Binaries, err = cluster.Build(ctx, dir)
	}
	return err
}

// heal ends the faults that an interrupted nemesis may have left.
func (b *bed) heal() error {
	var failed error
	if b.Links != nil {
		failed = errors.Join(failed, b.Links.Heal())
	}
	for _, n := range b.Cluster.Nodes() {
		if n.Paused() {
			failed = errors.Join(failed, n.Resume())
		}
	}
	return failed
}

// recovered waits until all nodes are ready that are not out.
func (b *bed) recovered(ctx context.Context) error {
	var nodes []*cluster.Node
	for _, n := range b.Cluster.Nodes() {
		if b.Out[n.ID] {
			continue
		}
		if !n.Running() {
			return fmt.Errorf("node %d does not run; see %s", n.ID, n.Log)
		}
		nodes = append(nodes, n)
	}
	return within(ctx, startTimeout, func(ctx context.Context) error { return b.Cluster.WaitReady(ctx, nodes...) })
}

// close removes everything, in reverse order.
func (b *bed) close() error {
	var failed error
	for i := len(b.closers) - 1; i >= 0; i-- {
		failed = errors.Join(failed, b.closers[i]())
	}
	b.closers = nil
	return failed
}

func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}
