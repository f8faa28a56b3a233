package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func isTxn(r clienttest.Request) bool { return r.Path == "/v1/txn" }

// TestUnlockLeavesAllButTheLock: value, flags, and a session that others use too.
func TestUnlockLeavesAllButTheLock(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		s := startSession(t, w, time.Hour)
		l, err := s.Lock(ctx, "job", client.LockOptions{Value: []byte("me"), Flags: 7})
		if err != nil || l.Key() != "job" || l.Session() != s || s.Locks() != 1 {
			t.Fatalf("%v: key %q, %d locks", err, l.Key(), s.Locks())
		}
		if err := l.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		e, _, err := w.client.Get(ctx, "job", client.ReadOptions{})
		if err != nil || string(e.Value) != "me" || e.Flags != 7 || e.Session != "" {
			t.Errorf("%+v, %v", e, err)
		}
		if s.Err() != nil || isLost(s) || len(w.Sessions()) != 1 || s.Locks() != 0 {
			t.Errorf("the session: %v, %d locks", s.Err(), s.Locks())
		}
		_ = s.Close(ctx)
	})
}

// TestUnlockOfWhatIsNotHeld changes nothing: the key was deleted, or another session has it by now.
func TestUnlockOfWhatIsNotHeld(t *testing.T) {
	for name, f := range map[string]func(w *world, mine, theirs string){
		"deleted": func(w *world, _, _ string) { w.Delete("job") },
		"taken": func(w *world, mine, theirs string) {
			_, _ = w.client.Locks().UnlockKey(context.Background(), "job", []byte("v"), mine, client.WriteOptions{})
			_, _ = w.client.Locks().LockKey(context.Background(), "job", []byte("theirs"), theirs, client.WriteOptions{})
		},
	} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			ctx := context.Background()
			mine, theirs := startSession(t, w, time.Hour), startSession(t, w, time.Hour)
			l, err := mine.Lock(ctx, "job", client.LockOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// The monitor, which would tell, hears nothing: reads hang until the unlock reads.
			time.Sleep(time.Second)
			unlocking := false
			w.Inject(func(r clienttest.Request) clienttest.Fault {
				if isTxn(r) {
					t.Errorf("%s: a key that is not held is written", name)
				}
				if readsJob(r) && unlocking {
					unlocking = false
					f(w, mine.ID(), theirs.ID())
				}
				return clienttest.None
			})
			unlocking = true
			if err := l.Unlock(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if e, _, err := w.client.Get(ctx, "job", client.ReadOptions{}); name == "taken" && (err != nil || e.Session != theirs.ID() || string(e.Value) != "theirs") {
				t.Errorf("%s: %+v, %v", name, e, err)
			}
			_, _ = mine.Close(ctx), theirs.Close(ctx)
		})
	}
}

// TestUnlockThatFails says so, whichever of its steps it was.
func TestUnlockThatFails(t *testing.T) {
	for _, x := range []struct {
		name  string
		match func(clienttest.Request) bool
		fault clienttest.Fault
		want  error
	}{
		{"the read", readsJob, clienttest.Busy, client.ErrUnavailable},
		{"the write", isTxn, clienttest.Busy, client.ErrNotApplied},
		{"the write, perhaps", isTxn, clienttest.Unknown, client.ErrUnknown},
		{"the end of the session", func(r clienttest.Request) bool { return strings.HasPrefix(r.Path, "/v1/session/destroy") }, clienttest.Busy, client.ErrNotApplied},
	} {
		inWorld(t, 1, client.Config{Timeout: 3 * time.Second}, func(t *testing.T, w *world) {
			l := lock(t, w, "job", client.LockOptions{})
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if x.match(r) {
					return x.fault
				}
				return clienttest.None
			})
			if err := l.Unlock(context.Background()); !errors.Is(err, x.want) {
				t.Errorf("%s: %v, want %v", x.name, err, x.want)
			}
			w.inject(noFaults)
		})
	}
}

// TestUnlockGivesUp when others write the key each time between its read and its write.
func TestUnlockGivesUp(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		l, err := s.Lock(context.Background(), "job", client.LockOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tries := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if isTxn(r) {
				tries++
				w.Set("job", fmt.Sprint(tries))
			}
			return clienttest.None
		})
		if err := l.Unlock(context.Background()); kindOf(t, err) != client.ErrCondition || tries < 8 || tries > 64 {
			t.Errorf("%v after %d tries", err, tries)
		}
		_ = s.Close(context.Background())
	})
}

// TestLockIsWatchedThroughFaults: reads that fail for a time lose nothing, and afterwards the end of the lock is
// noticed as before. A key that is written often is not asked about more often than it is written.
func TestLockIsWatchedThroughFaults(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		l, err := s.Lock(context.Background(), "job", client.LockOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var reads atomic.Int32
		var bad atomic.Bool
		bad.Store(true)
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if !readsJob(r) {
				return clienttest.None
			}
			if reads.Add(1); bad.Load() {
				return clienttest.Busy
			}
			return clienttest.None
		})
		w.Set("job", "wakes the monitor") // whose next reads fail
		time.Sleep(20 * time.Second)
		if l.Err() != nil || isLost(l) || reads.Load() < 5 {
			t.Fatalf("after %d reads that failed: %v", reads.Load(), l.Err())
		}
		bad.Store(false)
		reads.Store(0)
		for range 10 {
			time.Sleep(time.Minute)
			w.Set("job", "progress")
		}
		time.Sleep(time.Minute)
		if reads.Load() > 40 || l.Err() != nil {
			t.Errorf("%d reads of a key that was written 10 times in 11 minutes, %v", reads.Load(), l.Err())
		}
		w.Delete("job")
		<-l.Lost()
		if want := `lock "job": lost: the key was deleted`; l.Err().Error() != want {
			t.Errorf("%v, want %s", l.Err(), want)
		}
		if s.Err() != nil || s.Locks() != 0 {
			t.Errorf("the session: %v, %d locks", s.Err(), s.Locks())
		}
		_ = s.Close(context.Background())
	})
}

// TestWaitingForALockThroughFaults: a wait outlasts reads that fail, without asking all the time.
func TestWaitingForALockThroughFaults(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{TTL: time.Hour}})
		s := startSession(t, w, time.Hour)
		var requests atomic.Int64 // the unlock is still under way when it is read
		began := time.Now()
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path != "/v1/kv/job" {
				return clienttest.None
			}
			requests.Add(1)
			if since := time.Since(began); readsJob(r) && since > 10*time.Second && since < 40*time.Second {
				return clienttest.Busy
			}
			return clienttest.None
		})
		after(11*time.Second, func() { w.Set("job", "wakes those who wait") })
		unlocked := make(chan error, 1)
		after(5*time.Minute, func() { unlocked <- l.Unlock(ctx) })
		next, err := s.Lock(ctx, "job", client.LockOptions{})
		if took := time.Since(began); err != nil || took < 5*time.Minute || took > 5*time.Minute+5*time.Second {
			t.Fatalf("%v after %v", err, took)
		}
		if n := requests.Load(); n > 400 {
			t.Errorf("%d requests in five minutes", n)
		}
		if err := errors.Join(<-unlocked, next.Unlock(ctx), s.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
}

// TestLockDelayIsAskedAboutNowAndThen, about once a second: its end is no change that could be waited for.
func TestLockDelayIsAskedAboutNowAndThen(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{LockDelay: time.Minute}})
		w.EndSession(l.Session().ID())
		s := startSession(t, w, time.Hour)
		tries := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == "/v1/kv/job" && r.IsWrite() {
				tries++
			}
			return clienttest.None
		})
		next, err := s.Lock(context.Background(), "job", client.LockOptions{})
		if err != nil || tries < 47 || tries > 75 {
			t.Errorf("%d tries in a minute, %v", tries, err)
		}
		_ = next.Unlock(context.Background())
		_ = s.Close(context.Background())
		_ = l.Unlock(context.Background())
	})
}
