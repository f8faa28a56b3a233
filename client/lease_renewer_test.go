package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

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

// TestLeaseOutlivesNodes: which node hangs, hears no other or is dead does not matter to a lease, nor how long its TTL
// is.
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

// TestLeaseIsLostBeforeItHasEnded, whatever goes wrong and when: the cluster here ends it at the very moment that its
// TTL is over.
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

// TestClockJumps: the machine sleeps for longer than the lease has left. Timers have not counted that time; Held knows
// at once, Lost soon, and no answer that comes late takes it back.
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

// TestTimeCountsFromBeforeTheRenewal, not from its answer.
func TestTimeCountsFromBeforeTheRenewal(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 5 * time.Second})
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Slow })
		time.Sleep(12 * time.Second)
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Hang })
		for !isLost(l) {
			if owner, _ := w.Lease("job"); owner == "" {
				t.Fatal("the lease has ended and is not lost")
			}
			time.Sleep(10 * time.Millisecond)
		}
		w.inject(noFaults)
		_ = l.Release(context.Background())
	})
}

// TestRenewalThatIsTooLate: the machine sleeps while a renewal is on its way, beyond the end of the lease but not
// beyond that of the renewal. Somebody may have seen the lease lost, so it stays so.
func TestRenewalThatIsTooLate(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 16 * time.Second})
		w.on(1, func(r clienttest.Request) bool { return r.Path == "/v1/leases/renew" }, clienttest.Slow)
		time.Sleep(16*time.Second/3 + 500*time.Millisecond)
		w.slept.Store(int64(10 * time.Second))
		time.Sleep(time.Second)
		if w.LeaseRequests("renew-all") != 1 || l.Held() || !isLost(l) {
			t.Errorf("%d renewals; held %v, %v", w.LeaseRequests("renew-all"), l.Held(), l.Err())
		}
		_ = l.Release(context.Background())
	})
}

// TestReleaseDuringARenewal: the node that answers the renewal is as good as before, so the release goes to it.
func TestReleaseDuringARenewal(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 6 * time.Second})
		var mu sync.Mutex
		var nodes []uint64
		w.Inject(func(r clienttest.Request) clienttest.Fault {
			mu.Lock()
			nodes = append(nodes, r.Node)
			mu.Unlock()
			if r.Path == "/v1/leases/renew" {
				time.Sleep(300 * time.Millisecond)
			}
			return clienttest.None
		})
		time.Sleep(2*time.Second + 100*time.Millisecond)
		if err := l.Release(context.Background()); err != nil {
			t.Error(err)
		}
		if len(nodes) != 2 || nodes[0] != nodes[1] {
			t.Errorf("nodes asked for a renewal, then a release: %v", nodes)
		}
	})
}

// TestRenewalThatIsOverWhenItComes: a node whose answers are of no use any more when they come is no reason to come
// near a lease's end: the next one is asked.
func TestRenewalThatIsOverWhenItComes(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		node := w.Node(1).Handler()
		serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/leases/renew" {
				node.ServeHTTP(rw, r)
				return
			}
			time.Sleep(10 * time.Millisecond)
			owner, token := w.Lease("job")
			rw.Header().Set("X-Tenure-Node", "1")
			_, _ = fmt.Fprintf(rw, `[{"Name":"job","Owner":%q,"Token":%d,"TTL":"5ms","Grant":"short"}]`, owner, token)
		})
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 3 * time.Second})
		least := l.Remaining()
		for range 200 {
			time.Sleep(100 * time.Millisecond)
			least = min(least, l.Remaining())
		}
		if !l.Held() || least < 1500*time.Millisecond {
			t.Errorf("%v left at one time, %v", least, l.Err())
		}
		_ = l.Release(context.Background())
	})
}

// TestLostLeaseSaysWhy: the error of a lease whose renewals were cut says so.
func TestLostLeaseSaysWhy(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		l := acquire(t, w, "job", client.LeaseOptions{TTL: 2 * time.Second})
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Drop })
		<-l.Lost()
		if err := l.Err(); kindOf(t, errorOnly(err)) != client.ErrLost || !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		w.inject(noFaults)
		_ = l.Release(context.Background())
	})
}
