package takeover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tenure/internal/leasehold"
	"tenure/jepsen/bench"
	"tenure/jepsen/workload"
)

// How owners end.
const (
	Death   = "death"
	Release = "release"
)

// sample is what one trial showed.
type sample struct {
	beyond   time.Duration   // D_A, of a death; the call of the release
	renewals []time.Duration // how long each took
}

// lane does one trial after the other.
type lane struct {
	cfg     Config
	end     string
	random  *rand.Rand
	owner   *workload.LeaseConn
	waiting []*workload.LeaseConn
	start   time.Time
	prefix  string
}

func newLane(c Config, endpoints []string, end string, contenders, number int) *lane {
	l := &lane{cfg: c, end: end, random: c.random(contenders, number), start: time.Now(),
		prefix: fmt.Sprintf("%s/%d", end, contenders)}
	l.owner = bench.Connect(endpoints, l.random.IntN(len(endpoints)))
	first := l.random.IntN(len(endpoints))
	for i := range contenders {
		l.waiting = append(l.waiting, bench.Connect(endpoints, first+i))
	}
	return l
}

func (l *lane) close() {
	l.owner.Close()
	for _, c := range l.waiting {
		c.Close()
	}
}

func (l *lane) now() time.Duration { return time.Since(l.start) }

// won is the first grant to a contender.
type won struct {
	mu sync.Mutex
	by string
	at time.Duration // when its client was told
}

// trial has one owner live for a while, and end.
func (l *lane) trial(ctx context.Context, number int) (s sample, err error) {
	name := fmt.Sprintf("%s/%d", l.prefix, number)
	ctx, cancel := context.WithTimeout(ctx, 20*l.cfg.TTL+trialGrace)
	defer cancel()
	var hold leasehold.Hold
	grant, asked, err := l.own(ctx, name, &hold)
	if err != nil {
		return s, err
	}
	contending, stop := context.WithCancel(ctx)
	var first won
	var wg sync.WaitGroup
	for i := range l.waiting {
		wg.Go(func() { l.contend(contending, stop, name, fmt.Sprintf("contender %d", i), l.waiting[i], &first) })
	}
	defer wg.Wait()
	defer stop()
	last := l.now()
	for end := last + l.cfg.TTL + time.Duration(l.random.Int64N(int64(2*l.cfg.TTL))); l.now() < end; {
		time.Sleep(time.Until(l.start.Add(asked + l.cfg.TTL/3)))
		asked = l.now()
		if grant, err = l.owner.Renew(ctx, name, workload.LeaseAsk{Owner: ownerName, Grant: grant.Grant}); err != nil {
			return s, fmt.Errorf("%s: renew: %w", name, err)
		}
		last = l.now()
		s.renewals = append(s.renewals, last-asked)
		if !hold.Take(last, leasehold.Reply{Asked: asked, TTL: l.cfg.TTL, Token: grant.Token, Renewal: true}) {
			return s, fmt.Errorf("%s: a renewal took %v, longer than its lease: the machine is too busy to measure",
				name, last-asked)
		}
	}
	base := last
	if l.end == Release {
		hold.Release()
		base = l.now()
		if err := l.owner.Release(ctx, name, workload.LeaseAsk{Owner: ownerName, Grant: grant.Grant}); err != nil {
			return s, fmt.Errorf("%s: release: %w", name, err)
		}
	} else if d, err := bench.Timing(l.cfg.TTL).Exclusion(l.cfg.TTL); err == nil {
		base += d
	}
	<-contending.Done()
	first.mu.Lock()
	defer first.mu.Unlock()
	switch {
	case first.by == "":
		return s, fmt.Errorf("%s: nobody came to own it: %w", name, ctx.Err())
	case hold.Held(first.at):
		return s, fmt.Errorf("%s: two owners: granted %v before the last one's time was over", name,
			hold.Deadline()-first.at)
	}
	s.beyond = first.at - base
	return s, nil
}

const ownerName = "owner"

// own has the owner come to own the name. A cluster that has just begun may need a moment.
func (l *lane) own(ctx context.Context, name string, hold *leasehold.Hold) (g workload.LeaseGrant, asked time.Duration,
	err error) {
	for !hold.Held(l.now()) {
		asked = l.now()
		if g, err = l.owner.Acquire(ctx, name,
			workload.LeaseAsk{Owner: ownerName, TTL: l.cfg.TTL.String(), Acquisition: ownerName}); err == nil {
			hold.Take(l.now(), leasehold.Reply{Asked: asked, TTL: l.cfg.TTL, Token: g.Token})
			continue
		}
		if ctx.Err() != nil {
			return g, 0, fmt.Errorf("%s: acquire: %w", name, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return g, asked, nil
}

// contend waits for the name until it, or another contender, owns it.
func (l *lane) contend(ctx context.Context, stop func(), name, who string, conn *workload.LeaseConn, first *won) {
	ask := workload.LeaseAsk{Owner: who, TTL: l.cfg.TTL.String(), Acquisition: who, Wait: time.Minute.String()}
	for ctx.Err() == nil {
		g, err := conn.Acquire(ctx, name, ask)
		at := l.now()
		switch {
		case err == nil:
			first.mu.Lock()
			if first.by == "" {
				first.by, first.at = who, at
			}
			first.mu.Unlock()
			stop()
			// The name is not used again; this only makes space.
			_ = conn.Release(context.WithoutCancel(ctx), name, workload.LeaseAsk{Owner: who, Grant: g.Grant})
			return
		case !errors.Is(err, workload.ErrLeaseBusy):
			time.Sleep(time.Millisecond)
		}
	}
}
