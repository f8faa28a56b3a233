package alerts

import (
	"context"
	"errors"
	"syscall"
	"time"

	"tenure/jepsen/cluster"
)

// machines is a cluster on machines of their own, as far as networks and clocks go.
type machines struct {
	*bed
	network  *cluster.Namespaces
	clocks   *cluster.Clocks
	follower *cluster.Node
	other    string // kvnode of another version
}

func playMachines(ctx context.Context, b *bed) error {
	if err := cluster.NamespacesAvailable(); err != nil {
		b.say("left out: %v", err)
		return nil
	}
	bin, err := cluster.BuildTestClock(ctx, b.dir)
	if err != nil {
		return err
	}
	x := &machines{bed: b}
	if x.other, err = cluster.BuildVersion(ctx, b.dir, "v0.0.0-other"); err != nil {
		return err
	}
	if x.network, err = cluster.NewNamespaces(3); err != nil {
		return err
	}
	b.atEnd(func() { _ = x.network.Close() })
	if x.clocks, err = cluster.NewClocks(b.dir, 3); err != nil {
		return err
	}
	if err := b.start(ctx, cluster.Config{Binaries: bin, Network: x.network, Env: x.clocks.Env}, nil); err != nil {
		return err
	}
	return b.all(ctx, append(x.faults(), x.versions(bin.Kvnode)))
}

func (x *machines) faults() []fault {
	nothing := func(context.Context) error { return nil }
	return []fault{
		{says: "a follower is cut off from the others", alerts: []string{"TenurePeerNotConnected", "TenureBareMajority"},
			begin: x.with(func(context.Context) error {
				var ways []cluster.Way
				for _, n := range x.c.Nodes() {
					if n != x.follower {
						ways = append(ways, cluster.Way{From: n.ID, To: x.follower.ID}, cluster.Way{From: x.follower.ID, To: n.ID})
					}
				}
				return x.network.Cut(ways...)
			}),
			mend: func(context.Context) error { return x.network.Heal() }},
		{says: "the clock of a follower is 0.8 % fast", alerts: []string{"TenureClocksDiffer"},
			begin: x.with(x.rate(8_000)), mend: x.rate(0)},
		{says: "the clock of a follower is 5 % fast", alerts: []string{"TenureClockNotTrusted"},
			begin: x.with(x.rate(50_000)), mend: x.rate(0)},
		{says: "a follower stands still for 300 ms, again and again", alerts: []string{"TenureMachineOverloaded"},
			begin: x.with(nothing),
			during: func(ctx context.Context) error {
				if err := x.follower.Pause(); err != nil {
					return err
				}
				cluster.Pause(ctx, 300*time.Millisecond)
				defer cluster.Pause(ctx, 200*time.Millisecond)
				return x.follower.Resume()
			}},
		{says: "the guardian of a follower is killed as soon as it is there", alerts: []string{"TenureNoGuardian"},
			begin: x.with(nothing),
			during: func(ctx context.Context) error {
				if s, err := x.c.Status(ctx, x.follower); err == nil && s.Guardian.PID > 0 {
					if err := syscall.Kill(s.Guardian.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
						return err
					}
				}
				cluster.Pause(ctx, 20*time.Millisecond)
				return nil
			}},
	}
}

// versions runs a follower of another version, and then the one of before again.
func (x *machines) versions(same string) fault {
	run := func(binary string) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := x.follower.Terminate(10 * time.Second); err != nil {
				return err
			}
			x.follower.Run(binary)
			return x.c.Start(ctx)
		}
	}
	return fault{says: "a follower is of another version", alerts: []string{"TenureVersionsDiffer"},
		begin: x.with(run(x.other)), mend: run(same)}
}

// with calls f after it has chosen a follower.
func (x *machines) with(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if _, x.follower, err = x.roles(ctx); err != nil {
			return err
		}
		return f(ctx)
	}
}

// rate makes the follower's clock run faster by so many millionths.
func (x *machines) rate(ppm int64) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		e := x.clocks.Get(x.follower.ID)
		e.RatePPM = ppm
		return x.clocks.Set(ctx, x.follower.ID, e)
	}
}
