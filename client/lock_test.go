package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func lock(t *testing.T, w *world, key string, o client.LockOptions) *client.Lock {
	t.Helper()
	l, err := w.client.Locks().Acquire(context.Background(), key, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLock(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l := lock(t, w, "job", client.LockOptions{Value: []byte("me"), Flags: 7})
		e, _, err := w.client.Get(ctx, "job", client.ReadOptions{})
		if err != nil || e.Session != l.Session().ID() || string(e.Value) != "me" || e.Flags != 7 || l.Fence() != (client.Fence{Name: "kv/job", Token: e.ModifyIndex}) {
			t.Fatalf("%+v, %v, fence %v", e, err, l.Fence())
		}
		_, err = w.client.Locks().Acquire(ctx, "job", client.LockOptions{Try: true})
		if kindOf(t, err) != client.ErrCondition || len(w.Sessions()) != 1 {
			t.Fatalf("a second one: %v, sessions %v", err, w.Sessions())
		}
		w.Set("job", "progress")
		time.Sleep(10 * time.Minute)
		if l.Err() != nil || isLost(l) {
			t.Fatalf("lost: %v", l.Err())
		}
		if err := l.Unlock(ctx); err != nil || !isLost(l) || len(w.Sessions()) != 0 {
			t.Fatalf("unlock: %v, sessions %v", err, w.Sessions())
		}
		e, _, err = w.client.Get(ctx, "job", client.ReadOptions{})
		if err != nil || e.Session != "" || string(e.Value) != "progress" {
			t.Fatalf("afterwards: %+v, %v", e, err)
		}
		next := lock(t, w, "job", client.LockOptions{Try: true})
		if next.Fence().Token <= l.Fence().Token {
			t.Fatalf("tokens %d, then %d", l.Fence().Token, next.Fence().Token)
		}
		if err := errors.Join(next.Unlock(ctx)); err != nil {
			t.Fatal(err)
		}
		if err := next.Unlock(ctx); kindOf(t, err) != client.ErrLost {
			t.Fatalf("a second unlock: %v", err)
		}
	})
}

// TestUnlockKeepsWhatOthersWrote: somebody writes the key between the unlock's read of it and its write. That value
// stays, and so do its flags.
func TestUnlockKeepsWhatOthersWrote(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l := lock(t, w, "job", client.LockOptions{Value: []byte("me"), Flags: 7})
		writes := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == "/v1/txn" && writes < 3 {
				writes++
				w.Set("job", fmt.Sprint("theirs ", writes))
			}
			return clienttest.None
		})
		if err := l.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		e, _, err := w.client.Get(ctx, "job", client.ReadOptions{})
		if err != nil || writes != 3 || string(e.Value) != "theirs 3" || e.Session != "" {
			t.Fatalf("after %d writes of others: %+v, %v", writes, e, err)
		}
	})
}

// TestLockWaits until the holder lets go, and takes over at once.
func TestLockWaits(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{})
		began, unlocked := time.Now(), make(chan error, 1)
		after(5*time.Minute, func() { unlocked <- l.Unlock(context.Background()) })
		next := lock(t, w, "job", client.LockOptions{})
		if waited := time.Since(began); waited != 5*time.Minute {
			t.Errorf("locked after %v", waited)
		}
		if err := <-unlocked; err != nil {
			t.Error(err)
		}
		_ = next.Unlock(context.Background())
	})
}

// TestLockDelay: the holder's session ends without a release.
func TestLockDelay(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{LockDelay: 20 * time.Second}})
		w.EndSession(l.Session().ID())
		began := time.Now()
		next := lock(t, w, "job", client.LockOptions{})
		if took := time.Since(began); took < 20*time.Second || took > 22*time.Second {
			t.Errorf("locked after %v", took)
		}
		if !isLost(l) || kindOf(t, errorOnly(l.Err())) != client.ErrLost {
			t.Errorf("the first one: %v", l.Err())
		}
		if err := l.Unlock(context.Background()); kindOf(t, errorOnly(err)) != client.ErrLost {
			t.Errorf("its unlock: %v", err)
		}
		if next.Err() != nil {
			t.Error(next.Err())
		}
		_ = next.Unlock(context.Background())
	})
}

// TestLockIsLost when the key says so, long before the session is.
func TestLockIsLost(t *testing.T) {
	for name, f := range map[string]func(*world, *client.Lock){
		"deleted": func(w *world, l *client.Lock) { w.Delete("job") },
		"unlocked": func(w *world, l *client.Lock) {
			_, _ = w.client.Locks().UnlockKey(context.Background(), "job", nil, l.Session().ID(), client.WriteOptions{})
		},
		"session ended": func(w *world, l *client.Lock) { w.EndSession(l.Session().ID()) },
		"closed":        func(w *world, l *client.Lock) { _ = l.Session().Close(context.Background()) },
	} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			l := lock(t, w, "job", client.LockOptions{Session: client.SessionOptions{TTL: time.Hour}})
			time.Sleep(time.Minute)
			began := time.Now()
			f(w, l)
			<-l.Lost()
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: lost after %v", name, took)
			}
			_ = l.Unlock(context.Background())
		})
	}
}

// TestLockGivesUp when its context ends, and leaves nothing behind.
func TestLockGivesUp(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.None, clienttest.DropApplied, clienttest.Busy} {
		inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
			l := lock(t, w, "job", client.LockOptions{})
			s := startSession(t, w, 0)
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if r.Path == "/v1/kv/job" && r.IsWrite() {
					return f
				}
				return clienttest.None
			})
			ctx, cancel := within(time.Minute)
			defer cancel()
			began := time.Now()
			if _, err := s.Lock(ctx, "job", client.LockOptions{}); err == nil || time.Since(began) > time.Minute {
				t.Errorf("fault %d: %v after %v", f, err, time.Since(began))
			}
			w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
			if err := errors.Join(s.Close(context.Background()), l.Unlock(context.Background())); err != nil {
				t.Error(err)
			}
			if n := len(w.Sessions()); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// TestLockOfASessionThatEnds while it waits.
func TestLockOfASessionThatEnds(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		l := lock(t, w, "job", client.LockOptions{})
		s := startSession(t, w, 0)
		after(time.Minute, func() { w.EndSession(s.ID()) })
		if _, err := s.Lock(context.Background(), "job", client.LockOptions{}); kindOf(t, errorOnly(err)) != client.ErrLost {
			t.Errorf("%v", err)
		}
		_, _ = s.Close(context.Background()), l.Unlock(context.Background())
	})
}

// TestLockExcludes: many want it, through faults, and never two have it at once; a counter that they raise by reading
// and writing loses nothing.
func TestLockExcludes(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		n := 0
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if n++; n%7 == 0 && r.Method != "HEAD" {
				return []clienttest.Fault{clienttest.Busy, clienttest.UnknownApplied, clienttest.DropApplied}[n%3]
			}
			return clienttest.None
		})
		const workers, rounds = 4, 5
		held, count := 0, 0
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for range rounds {
					l, err := w.client.Locks().Acquire(context.Background(), "job", client.LockOptions{})
					if err != nil {
						t.Errorf("lock: %v", err)
						return
					}
					if held++; held != 1 {
						t.Errorf("%d hold the lock", held)
					}
					was := count
					time.Sleep(time.Second)
					count = was + 1
					held--
					if err := l.Unlock(context.Background()); err != nil {
						t.Errorf("unlock: %v", err)
					}
				}
			})
		}
		all.Wait()
		if count != workers*rounds {
			t.Errorf("counted %d of %d", count, workers*rounds)
		}
	})
}

// A key that the lock made goes with it, if nobody else has use for it; one that was there stays.
func TestLockRemovesWhatItMade(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		for _, x := range []struct {
			name    string
			before  func()
			remove  bool
			during  func()
			remains bool
		}{
			{"made here", func() {}, true, func() {}, false},
			{"nobody asked", func() {}, false, func() {}, true},
			{"there before", func() { w.Set("k", "v") }, true, func() {}, true},
			{"written meanwhile", func() {}, true, func() { w.Set("k", "other") }, true},
		} {
			x.before()
			l, err := w.client.Locks().Acquire(ctx, "k", client.LockOptions{RemoveMade: x.remove})
			if err != nil {
				t.Fatal(x.name, err)
			}
			x.during()
			if err := l.Unlock(ctx); err != nil {
				t.Fatal(x.name, err)
			}
			if _, there := w.Value("k"); there != x.remains {
				t.Errorf("%s: the key is there: %v", x.name, there)
			}
			if e, _, err := w.client.Get(ctx, "k", client.ReadOptions{}); err == nil && e.Session != "" {
				t.Errorf("%s: %+v", x.name, e)
			}
			w.Delete("k")
		}
	})
}

// Whoever finds a lock held is told by whom.
func TestBusyLockNamesItsHolder(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		l, err := w.client.Locks().Acquire(ctx, "k", client.LockOptions{Session: client.SessionOptions{Name: "me@here", Node: "rack 7"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Unlock(ctx) }()
		short, cancel := within(300 * time.Millisecond)
		defer cancel()
		_, tried := w.client.Locks().Acquire(ctx, "k", client.LockOptions{Try: true})
		_, waited := w.client.Locks().Acquire(short, "k", client.LockOptions{})
		for how, err := range map[string]error{"try": tried, "wait": waited} {
			var h *client.HolderError
			if !errors.As(err, &h) || h.Session != l.Session().ID() || h.Name != "me@here" || h.Node != "rack 7" ||
				!strings.Contains(err.Error(), `("me@here" of rack 7)`) || !errors.Is(err, client.ErrCondition) {
				t.Errorf("%s: %v", how, err)
			}
		}
	})
}
