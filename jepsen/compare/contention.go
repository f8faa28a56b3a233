package compare

import (
	"context"
	"time"
)

// contenders are how many nodes want the lease at once.
var contenders = [...]int{3, 5, 9}

// leaseTimes is how long a run with contenders lasts, in lease times.
const leaseTimes = 20

// Contention is what becomes of an algorithm when several nodes want the lease all the time, and try again at random.
type Contention struct {
	Core       string
	Contenders int
	// All begin within a millisecond, as they would at a hint that the lease is free.
	First        time.Duration // median until somebody owns
	FirstWorst   time.Duration // 99 of 100
	FirstBlocked float64       // share of the runs in which it took more than half a lease time: votes had to run out
	// Each lease runs out and is contended for anew.
	Idle     float64       // share of the time in which nobody owned
	Leases   float64       // in a run
	Attempts float64       // for each lease
	Messages float64       // for each lease
	Gap      time.Duration // median from a lease's end to the next owner
	Worst    time.Duration // 99 of 100
	Blocked  float64       // share of the gaps that were longer than half a lease time
	// The owner renews as long as it can, while the others go on trying.
	Renews       bool
	KeepIdle     float64
	KeepLost     float64 // leases lost by an owner that lived, in 100 lease times
	KeepMessages float64 // in a lease time
}

func (o Options) contention(ctx context.Context, events *int) ([]Contention, error) {
	var out []Contention
	for _, n := range contenders {
		for _, c := range cores(o.Params) {
			k := Contention{Core: c.name, Contenders: n, Renews: c.renews}
			if err := o.atOnce(ctx, c, &k, events); err != nil {
				return out, err
			}
			if err := o.anew(ctx, c, &k, events); err != nil {
				return out, err
			}
			if c.renews {
				if err := o.keep(ctx, c, &k, events); err != nil {
					return out, err
				}
			}
			out = append(out, k)
		}
	}
	return out, nil
}

// total adds tallies up.
func total(ts []tally) (sum tally) {
	for _, t := range ts {
		sum.messages += t.messages
		sum.attempts += t.attempts
		sum.won += t.won
		sum.lost += t.lost
		sum.idle += t.idle
		sum.span += t.span
		sum.gaps = append(sum.gaps, t.gaps...)
	}
	return sum
}

// longer counts those that are longer than half a lease time.
func (o Options) longer(ds []time.Duration) int {
	n := 0
	for _, d := range ds {
		if d > o.Params.Lease/2 {
			n++
		}
	}
	return n
}

func (o Options) atOnce(ctx context.Context, c core, k *Contention, events *int) error {
	until := leaseTimes * o.Params.Lease
	ts, err := o.each(ctx, c, events, func(seed uint64) *schedule {
		s := newSchedule(o.Params, seed, k.Contenders, until)
		for i := range s.begin {
			s.begin[i] = between(s.ask(askBegin, i, 1), 0, time.Millisecond)
		}
		s.onlyFirst = true
		return s
	})
	var took []time.Duration
	for _, t := range ts {
		if t.firstAt < 0 {
			t.firstAt = until
		}
		took = append(took, t.firstAt)
	}
	k.First, k.FirstWorst, k.FirstBlocked = quantile(took, 0.5), quantile(took, 0.99), share(o.longer(took), len(took))
	return err
}

func (o Options) anew(ctx context.Context, c core, k *Contention, events *int) error {
	ts, err := o.each(ctx, c, events, func(seed uint64) *schedule {
		return newSchedule(o.Params, seed, k.Contenders, leaseTimes*o.Params.Lease)
	})
	t := total(ts)
	k.Idle, k.Leases = share(t.idle, t.span), share(t.won, len(ts))
	k.Attempts, k.Messages = share(t.attempts, t.won), share(t.messages, t.won)
	k.Gap, k.Worst, k.Blocked = quantile(t.gaps, 0.5), quantile(t.gaps, 0.99), share(o.longer(t.gaps), len(t.gaps))
	return err
}

func (o Options) keep(ctx context.Context, c core, k *Contention, events *int) error {
	ts, err := o.each(ctx, c, events, func(seed uint64) *schedule {
		s := newSchedule(o.Params, seed, k.Contenders, leaseTimes*o.Params.Lease)
		s.renewals = always
		return s
	})
	t := total(ts)
	k.KeepIdle = share(t.idle, t.span)
	k.KeepLost = 100 * share(t.lost, len(ts)*leaseTimes)
	k.KeepMessages = share(t.messages, len(ts)*leaseTimes)
	return err
}
