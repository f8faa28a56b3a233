package nemesis

import (
	"context"
	"fmt"
	"time"

	"tenure/jepsen/cluster"
)

// The bounds that the nodes are told, and how near the clocks go. They are wider than the defaults, so that it takes
// real errors to break them, and no more than the tests' own timing can tell apart.
const (
	driftFlag  = "5%"
	ratePPM    = 49_000 // of the 50,000 that the flag allows
	marginFlag = "100ms"
	jump       = 40 * ms // one node back, the others forward: 80 ms of the margin's 100
	leaseTime  = 500 * ms
)

// rates makes the master's clock as slow and the others' as fast as allowed, or the other way round, and then cuts the
// master off. The master believes in its lease for as long as it can, while the others wait as briefly as they can.
func rates(ctx context.Context, b *Bed) error {
	return b.wrongClocks(ctx, "clock-rate", func(now cluster.ClockError, sign int64) cluster.ClockError {
		now.RatePPM = sign * ratePPM
		return now
	})
}

// jumps sets the master's clock back and the others' forward, or the other way round, within the margin.
func jumps(ctx context.Context, b *Bed) error {
	return b.wrongClocks(ctx, "clock-jump", func(now cluster.ClockError, sign int64) cluster.ClockError {
		now.Jumped += time.Duration(sign) * jump
		return now
	})
}

// wild makes clocks err far beyond every bound.
func wild(ctx context.Context, b *Bed) error {
	return b.wrongClocks(ctx, "clock-wild", func(now cluster.ClockError, sign int64) cluster.ClockError {
		now.RatePPM = sign * b.Random.Int64N(500_000)
		now.Jumped += time.Duration(sign) * b.between(0, 3000*ms)
		return now
	})
}

// wrongClocks sets all clocks wrong, the master's to one side and the others' to the other, and cuts the master off for
// a while; which comes first is chance. No clock jumps twice within a lease.
func (b *Bed) wrongClocks(ctx context.Context, name string,
	next func(now cluster.ClockError, sign int64) cluster.ClockError) error {
	for ctx.Err() == nil {
		m := b.master(ctx)
		if m == nil {
			break
		}
		sign := int64(-1) // of the master's clock: slow, three times of four
		if b.Random.IntN(4) == 0 {
			sign = 1
		}
		var failed error
		set, first := func() {
			for _, n := range b.Cluster.Nodes() {
				s := -sign
				if n == m {
					s = sign
				}
				if err := b.wrongClock(name, n.ID, next(b.Clocks.Get(n.ID), s)); err != nil {
					failed = err
				}
			}
		}, b.Random.IntN(2) == 0
		if first {
			set()
		}
		if err := b.cutFor("partition-master", split(b, map[int]bool{m.ID: true}), func() {
			if !first {
				set()
			}
			cluster.Pause(ctx, b.between(2*leaseTime, 4*leaseTime))
		}); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		cluster.Pause(ctx, b.between(2*leaseTime, 3*leaseTime))
	}
	return nil
}

// wrongClock makes one clock wrong and measures that it is.
func (b *Bed) wrongClock(name string, id int, e cluster.ClockError) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	end := b.Log.begin(name, id)
	before, err := b.Clocks.Read(id)
	if err != nil {
		return err
	}
	if err := b.Clocks.Set(ctx, id, e); err != nil {
		return err
	}
	after, err := b.Clocks.Read(id)
	if err != nil {
		return err
	}
	gained := (after.Shown - before.Shown) - (after.True - before.True)
	seen := fmt.Sprintf("rate %+d ppm, %v gained in %v", e.RatePPM, gained, after.True-before.True)
	if e.RatePPM == before.Error.RatePPM && gained == 0 {
		seen = ""
	}
	end(seen)
	return nil
}
