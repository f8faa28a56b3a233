package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func acquire(t *testing.T, w *world, name string, o client.LeaseOptions) *client.Lease {
	t.Helper()
	l, err := w.client.AcquireLease(context.Background(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func noFaults(clienttest.Request) clienttest.Fault { return clienttest.None }

func isLease(r clienttest.Request) bool { return strings.HasPrefix(r.Path, "/v1/lease") }

func isAcquire(r clienttest.Request) bool { return strings.HasSuffix(r.Path, "/acquire") }

func TestLease(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l := acquire(t, w, "a/b c", client.LeaseOptions{Owner: "me", TTL: 5 * time.Second})
		owner, token := w.Lease("a/b c")
		if !l.Held() || l.Owner() != "me" || owner != "me" || l.Token() != token || token == 0 ||
			l.Fence() != (client.Fence{Name: "lease/a/b c", Token: token}) || l.Remaining() > 5*time.Second {
			t.Fatalf("held %v, owner %q, token %d, %v remain; the cluster has %q, %d", l.Held(), l.Owner(), l.Token(), l.Remaining(), owner, token)
		}
		_, err := w.client.AcquireLease(ctx, "a/b c", client.LeaseOptions{Owner: "you"})
		var busy *client.BusyError
		if kindOf(t, err) != client.ErrBusy || !errors.As(err, &busy) || busy.Owner != "me" || busy.RetryAfter <= 0 || busy.RetryAfter > 5*time.Second {
			t.Fatalf("a second one: %v", err)
		}
		time.Sleep(10 * time.Minute)
		if !l.Held() || isLost(l) || l.Err() != nil || l.Token() != token {
			t.Fatalf("lost: %v, token %d", l.Err(), l.Token())
		}
		if n := w.LeaseRequests("renew-all"); n < 360 || n > 500 {
			t.Errorf("%d renewals in 10 minutes of a TTL of 5 s", n)
		}
		if err := l.Release(ctx); err != nil || l.Held() || !isLost(l) || len(w.Leases()) != 0 || l.Remaining() != 0 {
			t.Fatalf("release: %v, held %v", err, l.Held())
		}
		next := acquire(t, w, "a/b c", client.LeaseOptions{})
		if next.Token() <= token {
			t.Fatalf("tokens %d, then %d", token, next.Token())
		}
		if err := next.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if err := next.Release(ctx); kindOf(t, err) != client.ErrLost {
			t.Fatalf("a second release: %v", err)
		}
	})
}

func TestLeaseUsage(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		for _, x := range []struct {
			name string
			o    client.LeaseOptions
		}{
			{"", client.LeaseOptions{}},
			{strings.Repeat("n", 257), client.LeaseOptions{}},
			{"\xff", client.LeaseOptions{}},
			{"n", client.LeaseOptions{Owner: strings.Repeat("o", 129)}},
			{"n", client.LeaseOptions{Owner: "\xff"}},
			{"n", client.LeaseOptions{TTL: 99 * time.Millisecond}},
			{"n", client.LeaseOptions{TTL: 25 * time.Hour}}, // which the cluster says
			{"n", client.LeaseOptions{Wait: -2}},
			{"n", client.LeaseOptions{Acquisition: "mine"}},
		} {
			if _, err := w.client.AcquireLease(context.Background(), x.name, x.o); kindOf(t, err) != client.ErrInvalid {
				t.Errorf("%q, %+v: %v", x.name, x.o, err)
			}
		}
		for _, g := range []client.LeaseGrant{{Name: "n"}, {Grant: "g"}, {Name: "n", Grant: "g", TTL: -1}} {
			_, err := w.client.RenewLease(context.Background(), g)
			_, all := w.client.RenewLeases(context.Background(), []client.LeaseGrant{g})
			if kindOf(t, err) != client.ErrInvalid || kindOf(t, all) != client.ErrInvalid {
				t.Errorf("%+v: %v, %v", g, err, all)
			}
		}
	})
}

// TestAcquisitionIsOne: whatever is lost on the way, the tries are one acquisition with one grant, through any node.
func TestAcquisitionIsOne(t *testing.T) {
	for _, f := range []clienttest.Fault{
		clienttest.Busy, clienttest.Unknown, clienttest.UnknownApplied, clienttest.Drop, clienttest.DropApplied,
		clienttest.Hang, clienttest.HangApplied, clienttest.Late, clienttest.Garbage, clienttest.Partitioned,
	} {
		for n := 1; n <= 4; n++ {
			inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
				w.on(n, isAcquire, f)
				l := acquire(t, w, "job", client.LeaseOptions{})
				owner, token := w.Lease("job")
				if owner != l.Owner() || token != l.Token() || token != 1<<32+1 {
					t.Errorf("fault %d, %d times: token %d, the cluster has %q, %d", f, n, l.Token(), owner, token)
				}
				time.Sleep(time.Minute)
				if !l.Held() {
					t.Errorf("fault %d, %d times: %v", f, n, l.Err())
				}
				_ = l.Release(context.Background())
			})
		}
	}
}

// TestAcquisitionThatIsGivenUp leaves nothing behind, if one node at least takes its release.
func TestAcquisitionThatIsGivenUp(t *testing.T) {
	for _, x := range []struct {
		f         clienttest.Fault
		onRelease clienttest.Fault
		kind      error
		left      int
	}{
		{clienttest.Busy, clienttest.Drop, client.ErrNotApplied, 0},
		{clienttest.UnknownApplied, clienttest.None, client.ErrNotApplied, 0},
		{clienttest.DropApplied, clienttest.None, client.ErrNotApplied, 0},
		{clienttest.HangApplied, clienttest.None, client.ErrNotApplied, 0},
		{clienttest.DropApplied, clienttest.DropApplied, client.ErrUnknown, 0},
		{clienttest.DropApplied, clienttest.Drop, client.ErrUnknown, 1},
	} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if isAcquire(r) {
					return x.f
				}
				return x.onRelease
			})
			ctx, cancel := within(5 * time.Second)
			defer cancel()
			began := time.Now()
			_, err := w.client.AcquireLease(ctx, "job", client.LeaseOptions{TTL: time.Minute})
			if took := time.Since(began); kindOf(t, errorOnly(err)) != x.kind || len(w.Leases()) != x.left || took > 7*time.Second {
				t.Errorf("%+v: %v after %v, left %v", x, err, took, w.Leases())
			}
		})
	}
}

// TestLateAcquisition: a copy of an acquisition that was given up is applied afterwards. It keeps the name for one TTL, and
// nobody here believes to hold it.
func TestLateAcquisition(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.on(1, isAcquire, clienttest.Late)
		ctx, cancel := within(time.Second)
		defer cancel()
		_, err := w.client.AcquireLease(ctx, "job", client.LeaseOptions{TTL: 5 * time.Second})
		if kindOf(t, errorOnly(err)) != client.ErrNotApplied {
			t.Fatal(err)
		}
		l := acquire(t, w, "job", client.LeaseOptions{Wait: 10 * time.Second})
		_ = l.Release(context.Background())
	})
}

// TestLeaseIsKept through faults that pass.
func TestLeaseIsKept(t *testing.T) {
	for _, f := range []clienttest.Fault{
		clienttest.None, clienttest.Busy, clienttest.BusyLater, clienttest.Unknown, clienttest.UnknownApplied, clienttest.Drop,
		clienttest.DropApplied, clienttest.Hang, clienttest.HangApplied, clienttest.Garbage, clienttest.Partitioned,
	} {
		for _, ttl := range []time.Duration{100 * time.Millisecond, 5 * time.Second} {
			inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
				l := acquire(t, w, "job", client.LeaseOptions{TTL: ttl})
				n := 0
				w.inject(func(clienttest.Request) clienttest.Fault {
					if n++; n%3 != 0 {
						return f
					}
					return clienttest.None
				})
				time.Sleep(100 * ttl)
				if !l.Held() || isLost(l) {
					t.Errorf("fault %d, TTL %v: %v", f, ttl, l.Err())
				}
				w.inject(noFaults)
				_ = l.Release(context.Background())
			})
		}
	}
}

// TestLeaseOutlivesNodes: which node hangs, hears no other or is dead does not matter to a lease, nor how long its TTL is.
func TestLeaseOutlivesNodes(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.Hang, clienttest.HangApplied, clienttest.Partitioned, clienttest.Drop} {
		for _, ttl := range []time.Duration{100 * time.Millisecond, time.Second, 30 * time.Second} {
			for bad := range uint64(3) {
				inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
					l := acquire(t, w, "job", client.LeaseOptions{TTL: ttl})
					time.Sleep(2 * ttl)
					w.inject(func(r clienttest.Request) clienttest.Fault {
						if r.Node != bad+1 {
							return f
						}
						return clienttest.None
					})
					least := ttl
					for range 400 {
						time.Sleep(ttl / 20)
						least = min(least, l.Remaining())
					}
					if !l.Held() || least < ttl/4 {
						t.Errorf("fault %d, TTL %v, all but node %d: %v left at one time, %v", f, ttl, bad+1, least, l.Err())
					}
					w.inject(noFaults)
					_ = l.Release(context.Background())
				})
			}
		}
	}
}

// TestLeaseIsLostBeforeItHasEnded, whatever goes wrong and when: the cluster here ends it at the very moment that its TTL is over.
func TestLeaseIsLostBeforeItHasEnded(t *testing.T) {
	faults := []clienttest.Fault{
		clienttest.Busy, clienttest.Unknown, clienttest.Drop, clienttest.DropApplied, clienttest.Hang, clienttest.HangApplied, clienttest.Garbage,
		clienttest.Slow, clienttest.Late, clienttest.Partitioned,
	}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			r := rand.New(rand.NewPCG(seed, 1))
			f := faults[r.IntN(len(faults))]
			ttl := []time.Duration{200 * time.Millisecond, 2 * time.Second, 10 * time.Second}[r.IntN(3)]
			l := acquire(t, w, "job", client.LeaseOptions{TTL: ttl})
			time.Sleep(rand.N(10 * ttl))
			bad := 1 + r.IntN(4) // of 4 requests
			w.inject(func(clienttest.Request) clienttest.Fault {
				if r.IntN(4) < bad {
					return f
				}
				return clienttest.None
			})
			for range 3000 {
				if isLost(l) {
					break
				}
				if owner, token := w.Lease("job"); owner != l.Owner() || token < l.Token() {
					t.Fatalf("seed %d, fault %d: the lease has ended and is not lost", seed, f)
				}
				time.Sleep(ttl / 100)
			}
			if bad == 4 && !l.Held() && !isLost(l) {
				t.Fatalf("seed %d, fault %d: not held, and not lost", seed, f)
			}
			w.inject(noFaults)
			_ = l.Release(context.Background())
		})
	}
}

// TestLeaseEndsInTime: without any renewal it is lost a sixteenth of the TTL before its end, and not much sooner.
func TestLeaseEndsInTime(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		began := time.Now()
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 16 * time.Second})
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Hang })
		if in := time.Until(l.Deadline()); in > 15*time.Second || in < 14*time.Second {
			t.Errorf("the deadline is in %v", in)
		}
		<-l.Lost()
		if took := time.Since(began); took != 15*time.Second || l.Held() {
			t.Errorf("lost after %v", took)
		}
		if err := l.Err(); kindOf(t, errorOnly(err)) != client.ErrLost || !strings.Contains(err.Error(), "no answer") {
			t.Errorf("%v", err)
		}
		w.inject(noFaults)
		if err := l.Release(context.Background()); kindOf(t, errorOnly(err)) != client.ErrLost || len(w.Leases()) != 0 {
			t.Errorf("release: %v, left %v", err, w.Leases())
		}
	})
}

// TestNothingCountsAfterTheRelease: a renewal that is on its way when the lease is released is void.
func TestNothingCountsAfterTheRelease(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 6 * time.Second})
		w.on(1, func(r clienttest.Request) bool { return r.Path == "/v1/leases/renew" }, clienttest.Slow)
		time.Sleep(2*time.Second + 100*time.Millisecond)
		if n := w.LeaseRequests("renew-all"); n != 1 {
			t.Fatalf("%d renewals", n)
		}
		if err := l.Release(context.Background()); err != nil || l.Held() {
			t.Fatal(err)
		}
		next := acquire(t, w, "job", client.LeaseOptions{})
		time.Sleep(3 * time.Second)
		if l.Held() || l.Err() == nil || !next.Held() {
			t.Errorf("the first: %v, the next: %v", l.Err(), next.Err())
		}
		_ = next.Release(context.Background())
	})
}

// TestLeaseThatIsGone: the cluster says so at the next renewal.
func TestLeaseThatIsGone(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 30 * time.Second})
		other := acquire(t, w, "other", client.LeaseOptions{TTL: 30 * time.Second})
		time.Sleep(time.Minute)
		w.EndLease("job")
		began := time.Now()
		<-l.Lost()
		if took := time.Since(began); took > 10*time.Second || !strings.Contains(l.Err().Error(), "acquire it anew") {
			t.Errorf("noticed after %v: %v", took, l.Err())
		}
		if !other.Held() {
			t.Error(other.Err())
		}
		_ = l.Release(context.Background())
		_ = other.Release(context.Background())
	})
}

// TestClockJumps: the machine sleeps for longer than the lease has left. Timers have not counted that time; Held knows at once,
// Lost soon, and no answer that comes late takes it back.
func TestClockJumps(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 20 * time.Second})
		time.Sleep(time.Second)
		w.slept.Store(int64(10 * time.Second)) // a renewal is overdue
		time.Sleep(1500 * time.Millisecond)
		if !l.Held() || l.Remaining() < 15*time.Second {
			t.Errorf("after a short sleep: %v remain, %v", l.Remaining(), l.Err())
		}
		w.slept.Store(int64(time.Minute))
		if l.Held() || l.Err() == nil {
			t.Error("held after a long sleep")
		}
		time.Sleep(1500 * time.Millisecond)
		if !isLost(l) || l.Held() {
			t.Errorf("Lost closed: %v, %v", isLost(l), l.Err())
		}
		_ = l.Release(context.Background())
	})
}

// TestSleepIsNoticed without anybody asking.
func TestSleepIsNoticed(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 30 * time.Second})
		time.Sleep(time.Second)
		w.slept.Store(int64(time.Minute))
		time.Sleep(1500 * time.Millisecond)
		if !isLost(l) {
			t.Error("not lost")
		}
		_ = l.Release(context.Background())
	})
}

// TestTokensGrow with renewals, and the lease's is the largest of them.
func TestTokensGrow(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		w.GrowTokens()
		l := acquire(t, w, "job", client.LeaseOptions{TTL: time.Second})
		first, last := l.Token(), uint64(0)
		for range 100 {
			time.Sleep(100 * time.Millisecond)
			if now := l.Token(); now < last {
				t.Fatalf("token %d after %d", now, last)
			} else {
				last = now
			}
		}
		if _, token := w.Lease("job"); last != token || last <= first || !l.Held() {
			t.Errorf("token %d, then %d; the cluster has %d", first, last, token)
		}
		_ = l.Release(context.Background())
	})
}

// TestLeaseQueue: those who wait get it in turn, also when that takes longer than their TTL.
func TestLeaseQueue(t *testing.T) {
	for _, wait := range []time.Duration{10 * time.Minute, client.NoWaitLimit} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			held, last := 0, uint64(0)
			var all sync.WaitGroup
			for i := range 5 {
				all.Go(func() {
					l, err := w.client.AcquireLease(context.Background(), "job", client.LeaseOptions{TTL: 2 * time.Second, Wait: wait})
					if err != nil {
						t.Errorf("%d: %v", i, err)
						return
					}
					if held++; held != 1 || l.Token() <= last || !l.Held() {
						t.Errorf("%d hold it; token %d after %d; held %v", held, l.Token(), last, l.Held())
					}
					last = l.Token()
					time.Sleep(30 * time.Second)
					if held--; !l.Held() {
						t.Errorf("%d: %v", i, l.Err())
					}
					if err := l.Release(context.Background()); err != nil {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
			began := time.Now()
			all.Wait()
			if took := time.Since(began); took > 155*time.Second {
				t.Errorf("five times 30 s took %v", took)
			}
		})
	}
}

func TestWaitThatIsOver(t *testing.T) {
	for name, x := range map[string]struct{ wait, limit, least time.Duration }{
		"no wait":         {0, time.Hour, 0},
		"its own":         {40 * time.Second, time.Hour, 40 * time.Second},
		"the context's":   {client.NoWaitLimit, 40 * time.Second, 39 * time.Second},
		"the context's 2": {time.Hour, 40 * time.Second, 39 * time.Second},
	} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			l := acquire(t, w, "job", client.LeaseOptions{Owner: "me"})
			ctx, cancel := within(x.limit)
			defer cancel()
			began := time.Now()
			_, err := w.client.AcquireLease(ctx, "job", client.LeaseOptions{Wait: x.wait})
			if took := time.Since(began); kindOf(t, errorOnly(err)) != client.ErrBusy || !strings.Contains(err.Error(), `"me"`) || took < x.least || took > x.least+time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			_ = l.Release(context.Background())
		})
	}
}

// TestManyLeases: one client holds ten thousand, with a handful of requests in each third of a TTL.
func TestManyLeases(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 2500
	}
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		leases := make([]*client.Lease, n)
		for i := range leases {
			leases[i] = acquire(t, w, fmt.Sprint("job ", i), client.LeaseOptions{TTL: 10 * time.Second, Owner: "me"})
			if i%100 == 0 {
				time.Sleep(rand.N(20 * time.Millisecond))
			}
		}
		time.Sleep(10 * time.Second) // so that they have come together
		before := w.LeaseRequests("renew-all")
		time.Sleep(30 * time.Second)
		rounds, batches := 10, (n+client.MaxLeaseRenewals-1)/client.MaxLeaseRenewals
		if asked := w.LeaseRequests("renew-all") - before; asked > rounds*(batches+4) {
			t.Errorf("%d requests in %d rounds of %d batches", asked, rounds, batches)
		}
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Node == 1 {
				return clienttest.Hang
			}
			return clienttest.None
		})
		time.Sleep(30 * time.Second)
		w.inject(noFaults)
		for i, l := range leases {
			if !l.Held() {
				t.Fatalf("lease %d: %v", i, l.Err())
			}
		}
		if got := len(w.Leases()); got != n {
			t.Fatalf("%d of %d are held", got, n)
		}
		for _, l := range leases {
			if err := l.Release(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Leases(); len(got) != 0 {
			t.Errorf("%d are left", len(got))
		}
	})
}

// TestCloseLosesLeases, so that nothing goes on behind the back of a program that has closed its client.
func TestCloseLosesLeases(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{})
		w.client.Close()
		if !isLost(l) || l.Held() || kindOf(t, errorOnly(l.Err())) != client.ErrLost {
			t.Errorf("%v", l.Err())
		}
		before := w.LeaseRequests("renew-all")
		time.Sleep(time.Minute)
		if w.LeaseRequests("renew-all") != before {
			t.Error("it is renewed")
		}
	})
}

// TestGrants: the calls below a Lease.
func TestGrants(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		o := client.LeaseOptions{Owner: "me", TTL: 5 * time.Second, Acquisition: "the first"}
		g, err := w.client.GrantLease(ctx, "job", o)
		if err != nil || g.Name != "job" || g.Owner != "me" || g.TTL != 5*time.Second || g.Token == 0 || g.Left <= 4*time.Second || g.Left > 5*time.Second {
			t.Fatalf("%+v, %v", g, err)
		}
		again, err := w.client.GrantLease(ctx, "job", o)
		if err != nil || again.Token != g.Token {
			t.Fatalf("again: %+v, %v", again, err)
		}
		info, err := w.client.ShowLease(ctx, "job")
		if err != nil || info.Owner != "me" || info.Token != g.Token || info.Remaining <= 0 || info.Remaining > 5*time.Second {
			t.Fatalf("show: %+v, %v", info, err)
		}
		time.Sleep(4 * time.Second)
		next, err := w.client.RenewLease(ctx, g)
		if err != nil || next.Grant == g.Grant || next.Left <= 4*time.Second {
			t.Fatalf("renew: %+v, %v", next, err)
		}
		g.TTL = 0
		if next, err = w.client.RenewLease(ctx, g); err != nil || next.TTL != 5*time.Second || next.Left <= 4*time.Second {
			t.Fatalf("renew with its own TTL: %+v, %v", next, err)
		}
		if err := w.client.ReleaseLease(ctx, g); err != nil || len(w.Leases()) != 0 {
			t.Fatalf("release by the first grant: %v", err)
		}
		if err := w.client.ReleaseLease(ctx, g); err != nil {
			t.Fatalf("a second release: %v", err)
		}
		if _, err := w.client.RenewLease(ctx, next); kindOf(t, errorOnly(err)) != client.ErrLost {
			t.Fatalf("renew what is gone: %v", err)
		}
		if _, err := w.client.ShowLease(ctx, "job"); kindOf(t, err) != client.ErrNotFound {
			t.Fatalf("show what is free: %v", err)
		}
	})
}

// TestGrantWithAnAcquisition is not released when it is given up: its owner may come back for it.
func TestGrantWithAnAcquisition(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.DropApplied })
		ctx, cancel := within(time.Second)
		defer cancel()
		o := client.LeaseOptions{TTL: time.Minute, Acquisition: "the first"}
		if _, err := w.client.GrantLease(ctx, "job", o); kindOf(t, errorOnly(err)) != client.ErrUnknown || len(w.Leases()) != 1 {
			t.Fatalf("%v, left %v", err, w.Leases())
		}
		w.inject(noFaults)
		g, err := w.client.GrantLease(context.Background(), "job", o)
		if _, token := w.Lease("job"); err != nil || g.Token != token || token != 1<<32+1 {
			t.Fatalf("%+v, %v", g, err)
		}
	})
}

func TestRenewLeases(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		var list []client.LeaseGrant
		for i := range 2500 {
			g, err := w.client.GrantLease(ctx, fmt.Sprint("job ", i), client.LeaseOptions{TTL: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, g)
		}
		if text := client.Renewals(slices.Repeat([]client.LeaseGrant{{Name: strings.Repeat("\x01", 256), Grant: "g"}}, 1024)); len(text) > 1<<20 {
			t.Errorf("a request of %d bytes, which no node reads", len(text))
		}
		w.EndLease("job 7")
		w.EndLease("job 2222")
		w.on(2, isLease, clienttest.Drop)
		done, err := w.client.RenewLeases(ctx, list)
		if err != nil || len(done) != len(list) || w.LeaseRequests("renew-all") != 3 {
			t.Fatalf("%d of %d, %v, with %d requests", len(done), len(list), err, w.LeaseRequests("renew-all"))
		}
		var lost []string
		for i, d := range done {
			switch {
			case errors.Is(d.Err, client.ErrLost):
				lost = append(lost, list[i].Name)
			case d.Err != nil || d.Name != list[i].Name || d.Grant == list[i].Grant || d.Left <= 50*time.Second:
				t.Fatalf("%d: %+v", i, d)
			}
		}
		if !slices.Equal(lost, []string{"job 7", "job 2222"}) {
			t.Errorf("lost: %v", lost)
		}
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Drop })
		done, err = w.client.RenewLeases(ctx, list)
		if kindOf(t, errorOnly(err)) != client.ErrUnknown || len(done) != len(list) || done[0].Err == nil || done[2499].Err == nil {
			t.Errorf("without a node: %v", err)
		}
	})
}
