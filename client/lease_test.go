package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func acquire(t *testing.T, w *world, name string, o client.LeaseOptions) *client.Lease {
	t.Helper()
	l, err := w.client.Leases().Acquire(context.Background(), name, o)
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
		_, err := w.client.Leases().Acquire(ctx, "a/b c", client.LeaseOptions{Owner: "you"})
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
			if _, err := w.client.Leases().Acquire(context.Background(), x.name, x.o); kindOf(t, err) != client.ErrInvalid {
				t.Errorf("%q, %+v: %v", x.name, x.o, err)
			}
		}
		for _, g := range []client.LeaseGrant{{Name: "n"}, {Grant: "g"}, {Name: "n", Grant: "g", TTL: -1}} {
			_, err := w.client.Leases().Renew(context.Background(), g)
			_, all := w.client.Leases().RenewAll(context.Background(), []client.LeaseGrant{g})
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
			_, err := w.client.Leases().Acquire(ctx, "job", client.LeaseOptions{TTL: time.Minute})
			if took := time.Since(began); kindOf(t, errorOnly(err)) != x.kind || len(w.Leases()) != x.left || took > 7*time.Second {
				t.Errorf("%+v: %v after %v, left %v", x, err, took, w.Leases())
			}
		})
	}
}

// TestLateAcquisition: a copy of an acquisition that was given up is applied afterwards. It keeps the name for one TTL,
// and nobody here believes to hold it.
func TestLateAcquisition(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.on(1, isAcquire, clienttest.Late)
		ctx, cancel := within(time.Second)
		defer cancel()
		_, err := w.client.Leases().Acquire(ctx, "job", client.LeaseOptions{TTL: 5 * time.Second})
		if kindOf(t, errorOnly(err)) != client.ErrNotApplied {
			t.Fatal(err)
		}
		l := acquire(t, w, "job", client.LeaseOptions{Wait: 10 * time.Second})
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
					l, err := w.client.Leases().Acquire(context.Background(), "job", client.LeaseOptions{TTL: 2 * time.Second, Wait: wait})
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
			_, err := w.client.Leases().Acquire(ctx, "job", client.LeaseOptions{Wait: x.wait})
			if took := time.Since(began); kindOf(t, errorOnly(err)) != client.ErrBusy || !strings.Contains(err.Error(), `"me"`) || took < x.least || took > x.least+time.Second {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			_ = l.Release(context.Background())
		})
	}
}

// TestGrantThatHadToWait has about all of its time, whether the node tells for how long it waited or not.
func TestGrantThatHadToWait(t *testing.T) {
	for _, tell := range []bool{false, true} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			if tell {
				w.TellWaits()
			}
			first := acquire(t, w, "job", client.LeaseOptions{TTL: 2 * time.Second})
			released := make(chan error, 1)
			after(1800*time.Millisecond, func() { released <- first.Release(context.Background()) })
			before := w.LeaseRequests("acquire")
			l := acquire(t, w, "job", client.LeaseOptions{TTL: 2 * time.Second, Wait: time.Minute})
			if left := l.Remaining(); left < 1800*time.Millisecond || left > 1875*time.Millisecond {
				t.Errorf("told %v: %v are left", tell, left)
			}
			want := 2 // not told, the client asks again
			if tell {
				want = 1
			}
			if n := w.LeaseRequests("acquire") - before; n != want {
				t.Errorf("told %v: %d requests, want %d", tell, n, want)
			}
			if err := <-released; err != nil {
				t.Error(err)
			}
			_ = l.Release(context.Background())
		})
	}
}

// After a restart of the nodes an acquisition without a wait fails at once and says how long to wait. An acquisition
// with a wait reports the silence, and gets the lease when it is over.
func TestLeaseAfterARestartOfTheNodes(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		const silence = 12 * time.Second
		w.SilenceLeases(silence)
		began := time.Now()
		for what, try := range map[string]func() error{
			"AcquireLease": func() error { _, err := w.client.Leases().Acquire(ctx, "n", client.LeaseOptions{}); return err },
			"GrantLease": func() error {
				_, err := w.client.Leases().Grant(ctx, "n", client.LeaseOptions{Acquisition: "a"})
				return err
			},
		} {
			err := try()
			var quarantine *client.QuarantineError
			if kindOf(t, err) != client.ErrBusy || !errors.As(err, &quarantine) || quarantine.Remaining != silence {
				t.Errorf("%s: %v", what, err)
			}
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %v", d)
		}
		var told []time.Duration
		_, err := w.client.Leases().Acquire(ctx, "n", client.LeaseOptions{Wait: 3 * time.Second, OnQuarantine: func(e *client.QuarantineError) { told = append(told, e.Remaining) }})
		if d := time.Since(began); kindOf(t, err) != client.ErrBusy || !errors.As(err, new(*client.QuarantineError)) || d < 2*time.Second || d > 4*time.Second {
			t.Errorf("a wait of 3 s ends after %v: %v", d, err)
		}
		if len(told) == 0 || told[0] != silence {
			t.Errorf("told %v", told)
		}
		l := acquire(t, w, "n", client.LeaseOptions{Wait: client.NoWaitLimit})
		if d := time.Since(began); d < silence || d > silence+time.Second || !l.Held() {
			t.Errorf("acquired after %v, of a silence of %v", d, silence)
		}
		if err := l.Release(ctx); err != nil {
			t.Error(err)
		}
	})
}

// TestGrantThatIsNotConfirmed: a grant that had to wait for too long is asked for again. Until a node has granted it
// again it does not count, whatever else the next one answers: here the cluster has forgotten it meanwhile.
func TestGrantThatIsNotConfirmed(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.Busy, clienttest.Unknown, clienttest.Drop, clienttest.Garbage} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			first := acquire(t, w, "job", client.LeaseOptions{TTL: 2 * time.Second})
			released := make(chan error, 1)
			after(1800*time.Millisecond, func() { released <- first.Release(context.Background()) })
			asked := 0
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if !isAcquire(r) {
					return clienttest.None
				}
				if asked++; asked != 2 {
					return clienttest.None
				}
				w.EndLease("job")
				return f
			})
			l := acquire(t, w, "job", client.LeaseOptions{TTL: 2 * time.Second, Wait: time.Minute})
			if _, token := w.Lease("job"); token != l.Token() || asked < 3 {
				t.Errorf("fault %d: token %d after %d requests, the cluster has %d", f, l.Token(), asked, token)
			}
			if err := <-released; err != nil {
				t.Error(err)
			}
			_ = l.Release(context.Background())
		})
	}
}

// TestShortSilenceIsWaitedOut and no longer: nodes say when leases begin.
func TestShortSilenceIsWaitedOut(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		const silence = 100 * time.Millisecond
		w.SilenceLeases(silence)
		began := time.Now()
		l := acquire(t, w, "job", client.LeaseOptions{Wait: time.Minute})
		if took := time.Since(began); took < silence || took > 2*silence {
			t.Errorf("acquired after %v, of a silence of %v", took, silence)
		}
		_ = l.Release(context.Background())
	})
}
