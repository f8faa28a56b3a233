package show

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const leaseRestarts = 5

// leasesRestart kills all nodes while a lease is held, and starts them again. Who tries then is told at once for how
// long nobody can own one: about as long as the longest lease of late, not --max-lease-time (N4). Nobody owns while the
// owner before does.
func leasesRestart(ctx context.Context, s *stage) error {
	c, err := s.cluster(ctx)
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	var t leaseTrial
	for i := range leaseRestarts {
		if err := t.play(ctx, c, 2*time.Second); err != nil {
			return fmt.Errorf("restart %d: %w", i+1, err)
		}
	}
	s.say("%d kills of all three while a lease of 2 s was held: %d tries were refused, each within %d ms, the first "+
		"with %q",
		leaseRestarts, t.refused, t.slowest.Milliseconds(), t.said)
	s.say("the next owner came %.1f to %.1f s after the kill, always after the one before, with a larger token; "+
		"--max-lease-time is 30 s",
		t.least.Seconds(), t.most.Seconds())
	if t.refused < leaseRestarts || t.most > 15*time.Second || t.slowest > 2*time.Second {
		return fmt.Errorf("%+v: the silence was not told, or too long", t)
	}
	long := leaseTrial{token: t.token}
	if err := long.play(ctx, c, 8*time.Second); err != nil {
		return fmt.Errorf("a longer lease: %w", err)
	}
	s.say("with a lease of 8 s it was %.1f s", long.most.Seconds())
	if long.least < 8*time.Second {
		return errors.New("that is less than the lease lasts")
	}
	return nil
}

// leaseTrial is what some restarts of all nodes have shown.
type leaseTrial struct {
	token       uint64
	refused     int
	slowest     time.Duration // refusal
	said        string
	least, most time.Duration // from the kill to the next owner
}

func (t *leaseTrial) play(ctx context.Context, c *cluster.Cluster, ttl time.Duration) error {
	before, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer before.Close()
	old, err := before.Leases().Acquire(ctx, "leader", client.LeaseOptions{Owner: "old", TTL: ttl, Wait: time.Minute})
	if err != nil {
		return err
	}
	if old.Token() <= t.token {
		return fmt.Errorf("token %d after %d", old.Token(), t.token)
	}
	var kills sync.WaitGroup
	killed := time.Now()
	for _, n := range c.Nodes() {
		kills.Go(func() { _ = n.Kill() })
	}
	kills.Wait()
	for _, n := range c.Nodes() {
		if err := n.Start(); err != nil {
			return err
		}
	}
	after, err := connect(c, 3*time.Second)
	if err != nil {
		return err
	}
	defer after.Close()
	for {
		asked := time.Now()
		next, err := after.Leases().Acquire(ctx, "leader", client.LeaseOptions{Owner: "new", TTL: ttl})
		if err == nil {
			return t.succeeded(ctx, old, next, time.Since(killed))
		}
		var silent *client.QuarantineError
		if errors.As(err, &silent) {
			t.refused++
			t.slowest = max(t.slowest, time.Since(asked))
			if t.said == "" {
				t.said = silent.Error()
			}
		}
		if ctx.Err() != nil || time.Since(killed) > time.Minute {
			return fmt.Errorf("nobody owns a minute after the restart: %w", err)
		}
		cluster.Pause(ctx, 20*time.Millisecond)
	}
}

// succeeded takes down a change of owner, and ends it.
func (t *leaseTrial) succeeded(ctx context.Context, old, next *client.Lease, took time.Duration) error {
	if old.Held() {
		return fmt.Errorf("two owners: the one before owns for another %v", old.Remaining())
	}
	if next.Token() <= old.Token() {
		return fmt.Errorf("token %d after %d", next.Token(), old.Token())
	}
	t.token, t.most = next.Token(), max(t.most, took)
	if t.least == 0 || took < t.least {
		t.least = took
	}
	return next.Release(ctx)
}
