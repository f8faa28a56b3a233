package compat

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/hashicorp/consul/api/watch"

	"tenure/jepsen/cluster"
)

// TestLocksOutliveTheMaster takes a lock and a place in a semaphore with the library's own helpers, as they are without
// any options for retries, and kills the master twice. The holder must not be told that it lost anything, and nobody
// else may get in before it lets go.
func TestLocksOutliveTheMaster(t *testing.T) {
	c := start(t)
	_, others := roles(t, c)
	holder, rival := dial(t, others[0]), dial(t, others[1])
	lock, err := holder.LockKey("service/leader")
	must(t, err)
	lost, err := lock.Lock(nil)
	must(t, err)
	seat, err := holder.SemaphorePrefix("service/seats", 1)
	must(t, err)
	unseated, err := seat.Acquire(nil)
	must(t, err)

	var in atomic.Bool // the rival has either
	rivals := make(chan error, 2)
	rivalLock, err := rival.LockOpts(&api.LockOptions{Key: "service/leader", LockWaitTime: time.Minute})
	must(t, err)
	rivalSeat, err := rival.SemaphorePrefix("service/seats", 1)
	must(t, err)
	go func() {
		_, err := rivalLock.Lock(nil)
		in.Store(true)
		rivals <- err
	}()
	go func() {
		_, err := rivalSeat.Acquire(nil)
		in.Store(true)
		rivals <- err
	}()
	eventually(t, func() bool { // both wait: each has its session, and the second contender for the seat has its key
		ids, _, err := holder.Session().List(nil)
		must(t, err)
		seats, _, err := holder.KV().Keys("service/seats/", "", nil)
		must(t, err)
		return len(ids) == 4 && len(seats) == 3
	})
	for round := range 2 {
		killOnly(t, c, others)
		must(t, second(holder.KV().Put(&api.KVPair{Key: fmt.Sprintf("service/work/%d", round)}, nil)))
		select {
		case <-lost:
			t.Fatalf("round %d: the lock was lost", round)
		case <-unseated:
			t.Fatalf("round %d: the seat was lost", round)
		case err := <-rivals:
			t.Fatalf("round %d: a rival got in: %v", round, err)
		default:
		}
	}
	if in.Load() {
		t.Fatal("a rival got in beside the holder")
	}
	must(t, lock.Unlock())
	must(t, seat.Release())
	for range 2 {
		select {
		case err := <-rivals:
			must(t, err)
		case <-time.After(soon):
			t.Fatal("the rival does not get in, although nobody is")
		}
	}
}

// promote makes the one node that is not among these master. A client of the library knows one node only, and that one
// has to stay when the master is killed.
func promote(t *testing.T, c *cluster.Cluster, stay []*cluster.Node) *cluster.Node {
	t.Helper()
	victim := c.Nodes()[slices.IndexFunc(c.Nodes(), func(n *cluster.Node) bool { return !slices.Contains(stay, n) })]
	must(t, c.WaitReady(within(t, startFor), victim))
	for {
		master, _ := roles(t, c)
		if master == victim {
			return victim
		}
		transfer(t, master, victim)
	}
}

// killOnly makes the one node that is not among these master, and kills it.
func killOnly(t *testing.T, c *cluster.Cluster, stay []*cluster.Node) {
	t.Helper()
	promote(t, c, stay)
	killMaster(t, c)
}

// TestRenewalOutlivesTheMaster keeps a session of two seconds alive over two changes of master.
func TestRenewalOutlivesTheMaster(t *testing.T) {
	const ttl = 2 * time.Second
	c := start(t, "--session-ttl-min", "1s")
	_, others := roles(t, c)
	s := dial(t, others[0]).Session()
	id, _, err := s.CreateNoChecks(&api.SessionEntry{TTL: ttl.String(), Behavior: api.SessionBehaviorDelete}, nil)
	must(t, err)
	stop, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.RenewPeriodic(ttl.String(), id, nil, stop) }()
	for range 2 {
		killOnly(t, c, others)
		select {
		case err := <-ended:
			t.Fatalf("the renewal ended: %v", err)
		case <-time.After(ttl):
		}
	}
	e, _, err := s.Info(id, nil)
	if err != nil || e == nil {
		t.Errorf("the session: %+v, %v", e, err)
	}
	close(stop)
	must(t, <-ended)
	if e, _, err := s.Info(id, nil); err != nil || e != nil {
		t.Errorf("a session that was given back: %+v, %v", e, err)
	}
}

// TestRenewalsOutliveTheMaster renews sessions without a pause through the nodes that stay, while the mastership moves
// to the third, and that one is killed. Every renewal must be granted: there are programs that take one failure for the
// loss of their session.
func TestRenewalsOutliveTheMaster(t *testing.T) {
	c := start(t)
	_, others := roles(t, c)
	stop := make(chan struct{})
	var group sync.WaitGroup
	var renewed atomic.Uint64
	for _, n := range others {
		s := dial(t, n).Session()
		id, _, err := s.CreateNoChecks(nil, nil)
		must(t, err)
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if e, _, err := s.Renew(id, nil); err != nil || e == nil {
					t.Errorf("after %d renewals: %+v, %v", renewed.Load(), e, err)
				}
				renewed.Add(1)
			}
		})
	}
	const each = 50 // renewals under each master
	for round := range 4 {
		eventually(t, func() bool { return renewed.Load() >= uint64(each*(round+1)) })
		if round < 3 {
			killOnly(t, c, others)
		}
	}
	close(stop)
	group.Wait()
}

// TestWatchesOutliveTheMaster runs watch plans on a key and on a prefix, and kills the master between the changes. Each
// plan must see every state that lasts, in order, and no index may go back.
func TestWatchesOutliveTheMaster(t *testing.T) {
	c := start(t)
	_, others := roles(t, c)
	client, writer := dial(t, others[0]), dial(t, others[1])
	seen := map[string]chan string{"key": make(chan string, 100), "prefix": make(chan string, 100)}
	var back atomic.Uint64
	newest := map[string]uint64{}
	run := func(kind string, params map[string]any, show func(any) string) {
		plan, err := watch.Parse(params)
		must(t, err)
		plan.Handler = func(index uint64, v any) {
			if index < newest[kind] {
				back.Add(1)
			}
			newest[kind] = index
			seen[kind] <- show(v)
		}
		go func() { _ = plan.RunWithClientAndHclog(client, nil) }()
		t.Cleanup(plan.Stop)
	}
	run("key", map[string]any{"type": "key", "key": "config/x"}, func(v any) string {
		if p, ok := v.(*api.KVPair); ok && p != nil {
			return string(p.Value)
		}
		return ""
	})
	run("prefix", map[string]any{"type": "keyprefix", "prefix": "config/"}, func(v any) string {
		if ps, _ := v.(api.KVPairs); len(ps) > 0 {
			return string(ps[0].Value)
		}
		return ""
	})
	await := func(want string) {
		t.Helper()
		deadline := time.After(soon)
		for kind, ch := range seen {
			for got := "none"; got != want; {
				select {
				case got = <-ch:
				case <-deadline:
					t.Fatalf("the %s plan does not see %q; its last was %q", kind, want, got)
				}
			}
		}
	}
	await("")
	for i := range 6 {
		value := strconv.Itoa(i)
		must(t, second(writer.KV().Put(&api.KVPair{Key: "config/x", Value: []byte(value)}, nil)))
		await(value)
		if i%2 == 1 {
			killOnly(t, c, others)
		}
	}
	must(t, second(writer.KV().DeleteTree("config/", nil)))
	await("")
	if n := back.Load(); n > 0 {
		t.Errorf("an index went back %d times", n)
	}
}
