package client_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// onFirst calls f at the first request for which is holds, before a node takes it. f may ask the cluster something.
func (w *world) onFirst(is func(clienttest.Request) bool, f func()) {
	var done atomic.Bool
	w.Inject(func(r clienttest.Request) clienttest.Fault {
		if is(r) && !done.Swap(true) {
			f()
		}
		return clienttest.None
	})
}

func readsJob(r clienttest.Request) bool { return r.Path == "/v1/kv/job" && !r.IsWrite() }

// TestLockWithoutASession fails as creating the session does.
func TestLockWithoutASession(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Busy })
		l, err := w.client.Locks().Acquire(context.Background(), "job", client.LockOptions{})
		if l != nil || kindOf(t, err) != client.ErrNotApplied {
			t.Fatalf("%v, %v", l, err)
		}
		w.inject(noFaults)
	})
}

// TestLockOfAnEndedSession: the cluster has ended the session, which the process has not heard of yet. The lock's
// failure tells, at once and for the whole session.
func TestLockOfAnEndedSession(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		w.EndSession(s.ID())
		began := time.Now()
		_, err := s.Lock(context.Background(), "job", client.LockOptions{})
		if kindOf(t, err) != client.ErrLost || time.Since(began) > 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if text := err.Error(); !strings.HasPrefix(text, `lock "job": lost: `) || !strings.Contains(text, "answers 500") {
			t.Errorf("it says %q", text)
		}
		if s.Err() == nil || !isLost(s) {
			t.Error("the session is taken to live")
		}
		_ = s.Close(context.Background())
	})
}

// TestLocksEndWithTheirSession, at the same moment, also when nobody can be asked about the key.
func TestLocksEndWithTheirSession(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, 20*time.Second)
		l, err := s.Lock(context.Background(), "job", client.LockOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Hang })
		<-s.Lost()
		if !isLost(l) || kindOf(t, errorOnly(l.Err())) != client.ErrLost || !strings.Contains(l.Err().Error(), "its session is lost") {
			t.Errorf("the session is lost, the lock is not: %v", l.Err())
		}
		w.inject(noFaults)
		_ = s.Close(context.Background())
		_ = l.Unlock(context.Background())
	})
}

// TestBusyLockSaysWho holds it.
func TestBusyLockSaysWho(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{})
		s := startSession(t, w, time.Hour)
		_, err := s.Lock(context.Background(), "job", client.LockOptions{Try: true})
		if want := `lock "job": condition failed: it is held by session ` + l.Session().ID(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s …", err, want)
		}
		ctx, cancel := within(time.Minute)
		defer cancel()
		_, err = s.Lock(ctx, "job", client.LockOptions{})
		if !errors.Is(err, client.ErrCondition) || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), l.Session().ID()) {
			t.Errorf("after a minute: %v", err)
		}
		if err := errors.Join(l.Unlock(context.Background()), s.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
}

// TestLockIsReadBeforeItIsTold: that the key was locked says nothing about now. Between the lock and the read of it the
// key may be deleted, or unlocked and locked by another session.
func TestLockIsReadBeforeItIsTold(t *testing.T) {
	for _, try := range []bool{true, false} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			ctx := context.Background()
			mine, theirs := startSession(t, w, time.Hour), startSession(t, w, time.Hour)
			w.onFirst(readsJob, func() { w.Delete("job") })
			l, err := mine.Lock(ctx, "job", client.LockOptions{Try: try})
			if try && kindOf(t, err) != client.ErrCondition {
				t.Errorf("a key that is deleted: %v", err)
			}
			if !try && (err != nil || l.Err() != nil) {
				t.Errorf("a key that was deleted is not locked again: %v", err)
			}
			if l != nil { // its monitor reads the key, too
				if err := l.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
			w.onFirst(readsJob, func() {
				_, err := w.client.Locks().UnlockKey(ctx, "job", nil, mine.ID(), client.WriteOptions{})
				if _, other := w.client.Locks().LockKey(ctx, "job", nil, theirs.ID(), client.WriteOptions{}); err != nil || other != nil {
					t.Error(err, other)
				}
			})
			short, cancel := within(time.Minute)
			defer cancel()
			began := time.Now()
			if _, err = mine.Lock(short, "job", client.LockOptions{Try: try}); kindOf(t, err) != client.ErrCondition || !strings.Contains(err.Error(), theirs.ID()) {
				t.Errorf("a key that another session holds: %v", err)
			}
			if took := time.Since(began); try != (took < time.Second) {
				t.Errorf("try %v: given up after %v", try, took)
			}
			_, _ = mine.Close(ctx), theirs.Close(ctx)
		})
	}
}

// TestLockOutlastsFaults: neither a write nor a read that fails for a time ends the wait for a lock, not even of one
// that does not wait for its holder.
func TestLockOutlastsFaults(t *testing.T) {
	for name, fails := range map[string]func(clienttest.Request) bool{
		"reads":  readsJob,
		"writes": func(r clienttest.Request) bool { return r.Path == "/v1/kv/job" && r.IsWrite() },
	} {
		for _, f := range []clienttest.Fault{clienttest.Busy, clienttest.Hang, clienttest.UnknownApplied} {
			inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
				until := time.Now().Add(10 * time.Second)
				w.inject(func(r clienttest.Request) clienttest.Fault {
					if fails(r) && time.Now().Before(until) {
						return f
					}
					return clienttest.None
				})
				s := startSession(t, w, time.Hour)
				ctx, cancel := within(time.Minute)
				defer cancel()
				l, err := s.Lock(ctx, "job", client.LockOptions{Try: true})
				if err != nil || l.Err() != nil || time.Now().Before(until) {
					t.Fatalf("%s, fault %d: %v", name, f, err)
				}
				if err := errors.Join(l.Unlock(ctx), s.Close(ctx)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestLockThatCannotBeReadIsUnknown: the session may hold it.
func TestLockThatCannotBeReadIsUnknown(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if readsJob(r) {
				return clienttest.Busy
			}
			return clienttest.None
		})
		ctx, cancel := within(10 * time.Second)
		defer cancel()
		_, err := s.Lock(ctx, "job", client.LockOptions{Try: true})
		if kindOf(t, err) != client.ErrUnknown || !strings.HasPrefix(err.Error(), `lock "job": outcome unknown: `) {
			t.Errorf("%v", err)
		}
		w.inject(noFaults)
		_ = s.Close(context.Background())
	})
}

// TestLockRefusedForGood is not tried again.
func TestLockRefusedForGood(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == "/v1/kv/job" && r.IsWrite() {
				return clienttest.TooLarge
			}
			return clienttest.None
		})
		began := time.Now()
		if _, err := s.Lock(context.Background(), "job", client.LockOptions{}); kindOf(t, err) != client.ErrTooLarge || time.Since(began) > 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		_ = s.Close(context.Background())
	})
}

// TestLockOfUnknownOutcomeStaysUnknown, though another session holds the key later: a copy of the write may be under
// way. Of a write that was certainly not applied there is none.
func TestLockOfUnknownOutcomeStaysUnknown(t *testing.T) {
	for f, want := range map[clienttest.Fault]error{
		clienttest.Unknown: client.ErrUnknown,
		clienttest.Hang:    client.ErrUnknown,
		clienttest.Busy:    client.ErrCondition,
	} {
		inWorld(t, 1, client.Config{Timeout: 2 * time.Second}, func(t *testing.T, w *world) {
			l := lock(t, w, "job", client.LockOptions{})
			s := startSession(t, w, time.Hour)
			until := time.Now().Add(3 * time.Second)
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if r.Path == "/v1/kv/job" && r.IsWrite() && time.Now().Before(until) {
					return f
				}
				return clienttest.None
			})
			if _, err := s.Lock(context.Background(), "job", client.LockOptions{Try: true}); kindOf(t, err) != want {
				t.Errorf("fault %d: %v, want %v", f, err, want)
			}
			if time.Now().Before(until) {
				t.Errorf("fault %d: it was not tried again", f)
			}
			w.inject(noFaults)
			_, _ = s.Close(context.Background()), l.Unlock(context.Background())
		})
	}
}

// TestLockWhoseTimeEnds while its writes fail says what is known of all of them, and not that somebody holds the key:
// no node has said so.
func TestLockWhoseTimeEnds(t *testing.T) {
	for _, x := range []struct {
		first, then clienttest.Fault // of the first write, and of the others
		want        error
	}{
		{clienttest.Busy, clienttest.Busy, client.ErrNotApplied},
		{clienttest.Unknown, clienttest.Unknown, client.ErrUnknown},
		{clienttest.Unknown, clienttest.Busy, client.ErrUnknown},
		{clienttest.Busy, clienttest.Unknown, client.ErrUnknown},
	} {
		for after := 500 * time.Millisecond; after < 6*time.Second; after += 500 * time.Millisecond {
			lockUntil(t, x.first, x.then, after, x.want)
		}
	}
}

// lockUntil locks a key for so long, while its first write and the others end in these faults. want is the error's
// kind.
func lockUntil(t *testing.T, first, then clienttest.Fault, after time.Duration, want error) {
	t.Helper()
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		s := startSession(t, w, time.Hour)
		fault := first
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path != "/v1/kv/job" || !r.IsWrite() {
				return clienttest.None
			}
			f := fault
			fault = then
			return f
		})
		ctx, cancel := within(after)
		defer cancel()
		if _, err := s.Lock(ctx, "job", client.LockOptions{}); kindOf(t, err) != want {
			t.Errorf("faults %d, %d for %v: %v, want %v", first, then, after, err, want)
		}
		w.inject(noFaults)
		_ = s.Close(context.Background())
	})
}

// TestBusyLockThatCannotBeRead is busy all the same: the refusal said so.
func TestBusyLockThatCannotBeRead(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{})
		s := startSession(t, w, time.Hour)
		time.Sleep(time.Second) // the monitor of l reads now, and waits
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if readsJob(r) {
				return clienttest.Busy
			}
			return clienttest.None
		})
		ctx, cancel := within(time.Minute)
		defer cancel()
		began := time.Now()
		_, err := s.Lock(ctx, "job", client.LockOptions{Try: true})
		if kindOf(t, err) != client.ErrCondition || time.Since(began) > 2*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.inject(noFaults)
		_, _ = s.Close(context.Background()), l.Unlock(context.Background())
	})
}
