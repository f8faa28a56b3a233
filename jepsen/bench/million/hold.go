package million

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/workload"
)

// crowd is the clients that own the leases.
type crowd struct {
	conns  []*workload.LeaseConn
	grants []string // by number of the lease
}

const (
	renewTogether = 1024 // in one call
	renewers      = 4    // calls at a time
	renewFor      = "1s"
	callTimeout   = 30 * time.Second
	callTries     = 20
	sampled       = 20 // names that are looked at after the end
)

func newCrowd(c Config, endpoints []string) *crowd {
	out := &crowd{}
	for i := range c.Clients {
		out.conns = append(out.conns, bench.Connect(endpoints, i))
	}
	return out
}

func owner(client int) string { return fmt.Sprintf("client %d", client) }

// each has the clients call do for all numbers below n, step of them at a time.
func (c *crowd) each(ctx context.Context, clients, n, step int,
	do func(ctx context.Context, client, from int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(int64(step))) - step
				if from >= n {
					return
				}
				if err := again(ctx, func(ctx context.Context) error { return do(ctx, client, from) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// again repeats a call, which must be safe to repeat.
func again(ctx context.Context, call func(context.Context) error) (err error) {
	for try := range callTries {
		in, cancel := context.WithTimeout(ctx, callTimeout)
		err = call(in)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, errFinal) {
			return err
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
	return err
}

// errFinal marks an error that repeating does not help.
var errFinal = errors.New("a lease was lost")

// acquire has leases 0 to n−1 granted. Client i%clients owns lease i.
func (c *crowd) acquire(ctx context.Context, prefix string, n int, ttl func() time.Duration) error {
	c.grants = make([]string, n)
	return c.each(ctx, len(c.conns), n, 1, func(ctx context.Context, client, i int) error {
		name := fmt.Sprintf("%s%d", prefix, i)
		g, err := c.conns[client].Acquire(ctx, name,
			workload.LeaseAsk{Owner: owner(i % len(c.conns)), TTL: ttl().String(), Acquisition: name})
		if err != nil {
			return fmt.Errorf("acquire %s: %w", name, err)
		}
		c.grants[i] = g.Grant
		return nil
	})
}

// renew renews all of the million.
func (c *crowd) renew(ctx context.Context) error {
	return c.each(ctx, min(renewers, len(c.conns)), len(c.grants), renewTogether,
		func(ctx context.Context, client, from int) error {
			var asks []workload.LeaseAsk
			for i := from; i < min(from+renewTogether, len(c.grants)); i++ {
				asks = append(asks, workload.LeaseAsk{Name: fmt.Sprintf("million/%d", i),
					Owner: owner(i % len(c.conns)),
					Grant: c.grants[i], TTL: renewFor})
			}
			all, err := c.conns[client].RenewAll(ctx, asks)
			if err != nil {
				return fmt.Errorf("renew from %d: %w", from, err)
			}
			for i, g := range all {
				switch {
				case g.Lost:
					return fmt.Errorf("%w: %s, while it was held: %s", errFinal, asks[i].Name, g.Error)
				case g.Error != "":
					return fmt.Errorf("renew %s: %s", asks[i].Name, g.Error)
				}
				c.grants[from+i] = g.Grant
			}
			return nil
		})
}

// free acquires some of the names for others, and returns how long after end the last of them was granted.
func (c *crowd) free(ctx context.Context, end time.Time) (time.Duration, error) {
	last := time.Duration(0)
	for k := range sampled {
		name := fmt.Sprintf("million/%d", k*(len(c.grants)/sampled))
		for {
			_, err := c.conns[0].Acquire(ctx, name,
				workload.LeaseAsk{Owner: "another", TTL: "100ms", Acquisition: "another"})
			if err == nil {
				break
			}
			if time.Since(end) > goneTimeout || ctx.Err() != nil {
				return 0, fmt.Errorf("%s cannot be acquired %v after its end: %w", name, time.Since(end), err)
			}
			time.Sleep(time.Millisecond)
		}
		last = max(last, time.Since(end))
	}
	return last, nil
}
