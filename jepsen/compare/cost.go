package compare

import (
	"context"
	"time"
)

// Cost is what an algorithm costs when nobody disturbs it. Messages are those between nodes, and rounds are requests to
// all voters, with their answers. Times are true.
type Cost struct {
	Core            string
	AcquireMessages float64
	AcquireRounds   float64
	AcquireTime     time.Duration // median
	Renews          bool
	RenewMessages   float64
	RenewRounds     float64
	// Of a change of owner after the owner's node was lost, from the loss to the next owner, the tries of the other two
	// nodes while the lease ran out among them.
	FailoverMessages float64
	FailoverRounds   float64
	FailoverTime     time.Duration // median
	FailoverWorst    time.Duration // 99 of 100
	FailoverNone     int           // runs in which nobody owned any more within five lease times
	LeaveTime        time.Duration // median: the owner gives up its lease on purpose
	RestartWait      time.Duration // how long a voter that was restarted keeps silent
}

func always(int, int) int { return -1 }

func (o Options) costs(ctx context.Context, events *int) ([]Cost, error) {
	var out []Cost
	for _, c := range cores(o.Params) {
		k := Cost{Core: c.name, RestartWait: c.restart, Renews: c.renews}
		if err := o.quiet(ctx, c, &k, events); err != nil {
			return out, err
		}
		if err := o.failover(ctx, c, &k, events); err != nil {
			return out, err
		}
		out = append(out, k)
	}
	return out, nil
}

// quiet is one contender for ten lease times.
func (o Options) quiet(ctx context.Context, c core, k *Cost, events *int) error {
	ts, err := o.each(ctx, c, events, func(seed uint64) *schedule {
		s := newSchedule(o.Params, seed, voters, 10*o.Params.Lease)
		s.begin = s.begin[:1]
		s.renewals = always
		return s
	})
	var acquire, renew struct{ messages, rounds, n int }
	var took []time.Duration
	for _, t := range ts {
		took = append(took, t.took)
		if !c.renews {
			acquire.messages, acquire.rounds, acquire.n = acquire.messages+t.messages, acquire.rounds+t.rounds,
				acquire.n+t.won
			continue
		}
		acquire.messages, acquire.rounds, acquire.n = acquire.messages+t.first.messages, acquire.rounds+t.first.rounds,
			acquire.n+1
		renew.messages, renew.rounds, renew.n = renew.messages+t.messages-t.first.messages,
			renew.rounds+t.rounds-t.first.rounds, renew.n+t.renewed
	}
	k.AcquireMessages, k.AcquireRounds = share(acquire.messages, acquire.n), share(acquire.rounds, acquire.n)
	k.RenewMessages, k.RenewRounds = share(renew.messages, renew.n), share(renew.rounds, renew.n)
	k.AcquireTime = quantile(took, 0.5)
	return err
}

// failover has the owner of three contenders lost, or leave, at some point of its lease.
func (o Options) failover(ctx context.Context, c core, k *Cost, events *int) error {
	for _, kind := range [...]faultKind{faultStrike, faultLeave} {
		ts, err := o.each(ctx, c, events, func(seed uint64) *schedule {
			s := newSchedule(o.Params, seed, voters, 8*o.Params.Lease)
			s.renewals = always
			s.begin = []time.Duration{0, o.Params.Lease / 4, o.Params.Lease / 4}
			s.faults = []fault{{at: 2*o.Params.Lease + between(s.ask(askFault, 0, 0), 0, o.Params.Lease), kind: kind}}
			return s
		})
		if err != nil {
			return err
		}
		var took []time.Duration
		messages, rounds, none := 0, 0, 0
		for _, t := range ts {
			if t.failover < 0 {
				none++
				continue
			}
			took = append(took, t.failover)
			messages, rounds = messages+t.over.messages, rounds+t.over.rounds
		}
		if kind == faultLeave {
			k.LeaveTime = quantile(took, 0.5)
			continue
		}
		k.FailoverMessages, k.FailoverRounds = share(messages, len(took)), share(rounds, len(took))
		k.FailoverTime, k.FailoverWorst, k.FailoverNone = quantile(took, 0.5), quantile(took, 0.99), none
	}
	return nil
}
