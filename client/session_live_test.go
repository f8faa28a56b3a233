package client_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func startSession(t *testing.T, w *world, ttl time.Duration) *client.LiveSession {
	t.Helper()
	s, err := w.client.Sessions().Start(context.Background(), client.SessionOptions{TTL: ttl})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func isLost(s interface{ Lost() <-chan struct{} }) bool {
	select {
	case <-s.Lost():
		return true
	default:
		return false
	}
}

// TestSessionIsKept through faults that pass.
func TestSessionIsKept(t *testing.T) {
	for _, f := range []clienttest.Fault{
		clienttest.None, clienttest.Busy, clienttest.BusyLater, clienttest.Unknown, clienttest.Drop, clienttest.DropApplied, clienttest.Hang,
	} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			s := startSession(t, w, 12*time.Second)
			n := 0
			w.inject(func(clienttest.Request) clienttest.Fault {
				if n++; n%3 != 0 {
					return f
				}
				return clienttest.None
			})
			time.Sleep(10 * time.Minute)
			if s.Err() != nil || isLost(s) || !slices.Contains(w.Sessions(), s.ID()) {
				t.Fatalf("fault %d: %v", f, s.Err())
			}
			w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
			if err := s.Close(context.Background()); err != nil || len(w.Sessions()) != 0 || !isLost(s) {
				t.Fatalf("fault %d: closed: %v, %v", f, err, w.Sessions())
			}
		})
	}
}

// TestLostBeforeItHasEnded: whatever goes wrong and when, Lost is closed before the session ends at the cluster, which
// here is the very moment that its TTL is over.
func TestLostBeforeItHasEnded(t *testing.T) {
	faults := []clienttest.Fault{clienttest.Busy, clienttest.Unknown, clienttest.Drop, clienttest.DropApplied, clienttest.Hang, clienttest.HangApplied, clienttest.Garbage}
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			r := rand.New(rand.NewPCG(seed, 0))
			f := faults[r.IntN(len(faults))]
			s := startSession(t, w, 10*time.Second)
			time.Sleep(rand.N(time.Minute))
			bad := 1 + r.IntN(4) // of 4 requests
			w.inject(func(clienttest.Request) clienttest.Fault {
				if r.IntN(4) < bad {
					return f
				}
				return clienttest.None
			})
			for range 3000 {
				if isLost(s) {
					break
				}
				if !slices.Contains(w.Sessions(), s.ID()) {
					t.Fatalf("seed %d, fault %d: the session has ended and is not lost", seed, f)
				}
				if s.Remaining() > 10*time.Second {
					t.Fatalf("seed %d, fault %d: %v remain", seed, f, s.Remaining())
				}
				time.Sleep(100 * time.Millisecond)
			}
			if bad == 4 && f != clienttest.DropApplied && f != clienttest.HangApplied && !isLost(s) {
				t.Fatalf("seed %d, fault %d: no renewal succeeds, and it is not lost", seed, f)
			}
			w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
			_ = s.Close(context.Background())
		})
	}
}

// TestALifeBeginsWhenTheRenewalIsSent, not when its answer comes.
func TestALifeBeginsWhenTheRenewalIsSent(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.on(10, writes, clienttest.Slow)
		s := startSession(t, w, 10*time.Second)
		time.Sleep(12 * time.Second)
		w.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.Hang })
		for !isLost(s) {
			if !slices.Contains(w.Sessions(), s.ID()) {
				t.Fatal("the session has ended and is not lost")
			}
			time.Sleep(10 * time.Millisecond)
		}
		w.Inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
		_ = s.Close(context.Background())
	})
}

func TestSessionThatHasEnded(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, 30*time.Second)
		time.Sleep(time.Minute)
		w.EndSession(s.ID())
		began := time.Now()
		<-s.Lost()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("noticed after %v", took)
		}
		if err := s.Err(); kindOf(t, errorOnly(err)) != client.ErrLost || s.Remaining() != 0 {
			t.Errorf("%v, %v remain", err, s.Remaining())
		}
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// errorOnly is err without what caused it, which may be of another kind.
func errorOnly(err error) error {
	var e *client.Error
	if errors.As(err, &e) {
		return &client.Error{Op: e.Op, Key: e.Key, Kind: e.Kind}
	}
	return err
}

// TestSleep: the machine sleeps for longer than the session has left. Timers have not counted that time; Err knows at
// once, and Lost soon.
func TestSleep(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, 20*time.Second)
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.Hang })
		time.Sleep(time.Second)
		w.slept.Store(int64(time.Minute))
		time.Sleep(1500 * time.Millisecond)
		if !isLost(s) || s.Err() == nil {
			t.Errorf("Lost closed: %v, %v", isLost(s), s.Err())
		}
		w.inject(func(clienttest.Request) clienttest.Fault { return clienttest.None })
		_ = s.Close(context.Background())
	})
}

func TestStartSessionFails(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		_, err := w.client.Sessions().Start(context.Background(), client.SessionOptions{TTL: time.Second})
		if kindOf(t, err) != client.ErrInvalid {
			t.Errorf("a bad TTL: %v", err)
		}
	})
}

// TestRenewalOfASessionThatIsTooLate: the machine sleeps while a renewal is on its way, until the session's time is
// over. The answer does not take that back: the session is lost when it comes.
func TestRenewalOfASessionThatIsTooLate(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		s := startSession(t, w, 16*time.Second)
		var renewed atomic.Bool
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if strings.HasPrefix(r.Path, "/v1/session/renew/") {
				renewed.Store(true)
				w.slept.Store(int64(11 * time.Second))
			}
			return clienttest.None
		})
		for !renewed.Load() {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if !isLost(s) || kindOf(t, errorOnly(s.Err())) != client.ErrLost {
			t.Errorf("Lost closed: %v, %v", isLost(s), s.Err())
		}
		w.inject(noFaults)
		_ = s.Close(context.Background())
	})
}

// TestSessionsAreListedWhole, those without a TTL among them.
func TestSessionsAreListedWhole(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx, want := context.Background(), map[string]time.Duration{}
		for _, ttl := range []time.Duration{0, 20 * time.Second, 0, 30 * time.Second} {
			id, err := w.client.Sessions().Create(ctx, client.SessionOptions{TTL: ttl})
			if err != nil {
				t.Fatal(err)
			}
			want[id] = ttl
		}
		list, _, err := w.client.Sessions().List(ctx, client.ReadOptions{})
		got := map[string]time.Duration{}
		for _, s := range list {
			got[s.ID] = s.TTL
		}
		if err != nil || len(list) != len(want) || !maps.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	})
}

// TestRenewalThatNamesNoSession, or several, is not understood: it may have been done.
func TestRenewalThatNamesNoSession(t *testing.T) {
	for _, body := range []string{`[]`, `[{"ID":"a"},{"ID":"s"}]`, `{}`} {
		inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
			serveOne(t, w, func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("X-Tenure-Node", "1")
				_, _ = io.WriteString(rw, body)
			})
			if s, err := w.client.Sessions().Renew(context.Background(), "s"); kindOf(t, err) != client.ErrUnknown {
				t.Errorf("%s: %+v, %v", body, s, err)
			}
		})
	}
}
