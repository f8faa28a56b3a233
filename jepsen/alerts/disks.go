package alerts

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
)

// disks is a cluster whose disks fail on command.
type disks struct {
	*bed
	of               []*faultfs.FS // by id − 1
	master, follower *cluster.Node
}

func playDisks(ctx context.Context, b *bed) error {
	if err := faultfs.Available(); err != nil {
		b.say("left out: %v", err)
		return nil
	}
	all, dataDir, unmount, err := cluster.FaultyDisks(b.dir, 3)
	if err != nil {
		return err
	}
	b.atEnd(func() { _ = unmount() }) // a mount that stays fails nothing
	if err := b.start(ctx, cluster.Config{DataDir: dataDir}, nil); err != nil {
		return err
	}
	x := &disks{bed: b, of: all}
	return b.all(ctx, x.faults())
}

func (x *disks) faults() []fault {
	const long = firesWithin + time.Minute
	stall := func(n **cluster.Node, d time.Duration) func(context.Context) error {
		return func(context.Context) error { x.of[(*n).ID-1].Stall(d); return nil }
	}
	whole := func(context.Context) error {
		for _, d := range x.of {
			d.Resume()
		}
		return nil
	}
	return []fault{
		{says: "the disk of a follower does not answer", alerts: []string{"TenureDiskSilent"},
			begin: x.with(stall(&x.follower, long)), mend: whole},
		{says: "a follower is killed, and the disk of the master does not answer",
			alerts: []string{"TenureNoMaster", "TenureNodeStandsBack"},
			begin: x.with(func(ctx context.Context) error {
				if err := x.follower.Kill(); err != nil {
					return err
				}
				return stall(&x.master, long)(ctx)
			}),
			mend: func(ctx context.Context) error {
				if err := whole(ctx); err != nil {
					return err
				}
				return x.c.Start(ctx)
			}},
		{says: "the disk of a follower does not answer, and clients write without a pause", alerts: []string{"TenureNodeBehind"},
			begin:  x.with(stall(&x.follower, long)),
			during: func(ctx context.Context) error { return x.burst(ctx, 64, 1000, 10) }, mend: whole},
		{says: "each sync of a follower takes up to 200 ms", alerts: []string{"TenureDiskSlow"},
			begin: x.with(func(context.Context) error { return nil }),
			during: func(ctx context.Context) error {
				x.of[x.follower.ID-1].Stall(200 * time.Millisecond)
				cluster.Pause(ctx, 210*time.Millisecond)
				return nil
			}, mend: whole},
		{says: "each sync of both followers takes up to a second", alerts: []string{"TenureWritesSlow"},
			begin: x.with(func(context.Context) error { return nil }),
			during: func(ctx context.Context) error {
				for _, n := range x.c.Nodes() {
					if n != x.master {
						x.of[n.ID-1].Stall(time.Second)
					}
				}
				cluster.Pause(ctx, 1010*time.Millisecond)
				return nil
			}, mend: whole},
		{says: "the disk of a follower has one and a half times its reserve left", alerts: []string{"TenureDiskNearlyFull"},
			begin: x.with(func(ctx context.Context) error {
				reserve, err := x.reserve(ctx)
				x.of[x.follower.ID-1].SetFree(reserve * 3 / 2)
				return err
			}),
			mend: func(context.Context) error { x.of[x.follower.ID-1].SetFree(-1); return nil }},
	}
}

// with calls f after it has looked who is master.
func (x *disks) with(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if x.master, x.follower, err = x.roles(ctx); err != nil {
			return err
		}
		return f(ctx)
	}
}

// reserve returns the space that the nodes keep free, in bytes.
func (x *disks) reserve(ctx context.Context) (int64, error) {
	data, err := x.p.query(ctx, "max(tenure_disk_reserve_bytes)")
	if err != nil || len(data) == 0 {
		return 0, errors.Join(err, errors.New("the nodes do not say what their reserve is"))
	}
	v, err := strconv.ParseFloat(fmt.Sprint(data[0].Value[1]), 64)
	return int64(v), err
}
