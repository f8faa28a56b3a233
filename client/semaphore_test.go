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

// Never more than the limit hold a place, and all get one in turn; nothing is left.
func TestSemaphore(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		var mu sync.Mutex
		now, most := 0, 0
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() {
				m, err := w.client.Locks().AcquireSemaphore(ctx, "sem/", client.SemaphoreOptions{Limit: 3, RemoveMade: true})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				if err := m.Release(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most != 3 {
			t.Errorf("%d held it at a time", most)
		}
		if keys, _, err := w.client.Keys(ctx, "", client.ListOptions{}); err != nil || len(keys) != 0 || len(w.Sessions()) != 0 {
			t.Errorf("left: %q, sessions %v, %v", keys, w.Sessions(), err)
		}
	})
}

func TestSemaphoreThatIsFull(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		o := client.SemaphoreOptions{Limit: 1, Value: []byte("me@here")}
		m, err := w.client.Locks().AcquireSemaphore(ctx, "sem", o)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := within(300 * time.Millisecond)
		defer cancel()
		_, waited := w.client.Locks().AcquireSemaphore(short, "sem", o)
		try := o
		try.Try = true
		_, tried := w.client.Locks().AcquireSemaphore(ctx, "sem/", try) // the same one
		for _, err := range []error{waited, tried} {
			if !errors.Is(err, client.ErrCondition) || !strings.Contains(err.Error(), `all places are held (1): "me@here"`) {
				t.Error(err)
			}
		}
		other := o
		other.Limit = 2
		if _, err := w.client.Locks().AcquireSemaphore(ctx, "sem", other); !errors.Is(err, client.ErrCondition) || !strings.Contains(err.Error(), "limit of 1, not 2") {
			t.Error(err)
		}
		if _, err := w.client.Locks().AcquireSemaphore(ctx, "", o); !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
		w.Set("plain/.lock", "x")
		if _, err := w.client.Locks().AcquireSemaphore(ctx, "plain", o); !errors.Is(err, client.ErrCondition) || !strings.Contains(err.Error(), "not that of a semaphore") {
			t.Error(err)
		}
		if m.Err() != nil || len(w.Sessions()) != 1 {
			t.Errorf("%v, %d sessions", m.Err(), len(w.Sessions()))
		}
		// The place of a session that has ended is free, and its holder hears of it.
		w.EndSession(m.Session().ID())
		next, err := w.client.Locks().AcquireSemaphore(ctx, "sem", try)
		if err != nil {
			t.Fatal(err)
		}
		<-m.Lost()
		if !errors.Is(m.Err(), client.ErrLost) || !errors.Is(m.Release(ctx), client.ErrLost) {
			t.Error(m.Err())
		}
		// So does one whose place is taken off the list.
		w.Delete("sem/.lock")
		<-next.Lost()
		if err := next.Release(ctx); !errors.Is(err, client.ErrLost) || len(w.Sessions()) != 0 {
			t.Error(err)
		}
	})
}

// Answers that are lost cost no place.
func TestSemaphoreUnderFaults(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.Busy, clienttest.Drop, clienttest.DropApplied, clienttest.UnknownApplied} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			w.on(3, func(r clienttest.Request) bool { return r.IsWrite() && strings.HasPrefix(r.Path, "/v1/kv/") }, f)
			m, err := w.client.Locks().AcquireSemaphore(context.Background(), "sem", client.SemaphoreOptions{Limit: 1, RemoveMade: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Release(context.Background()); err != nil || len(w.Sessions()) != 0 {
				t.Error(err)
			}
		})
	}
}

// A place that the cluster refuses to give is told at once, and is not asked for again and again.
func TestSemaphoreThatIsRefused(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		asked := 0
		w.on(100, func(r clienttest.Request) bool {
			lists := r.IsWrite() && r.Path == "/v1/kv/sem/.lock"
			if lists {
				asked++
			}
			return lists
		}, clienttest.NoSpace)
		began := time.Now()
		m, err := w.client.Locks().AcquireSemaphore(context.Background(), "sem", client.SemaphoreOptions{Limit: 1})
		if m != nil {
			_ = m.Release(context.Background())
		}
		if kindOf(t, err) != client.ErrNoSpace || asked != 1 || time.Since(began) > time.Second || len(w.Sessions()) != 0 {
			t.Errorf("asked %d times in %v: %v; %d sessions are left", asked, time.Since(began), err, len(w.Sessions()))
		}
	})
}

// A list of holders without a limit is one of somebody else's making: it does not take the limit of whoever reads it.
func TestSemaphoreWithoutALimit(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		const flagsOfASemaphore = 0xe0f69a2baa414de0
		if _, err := w.client.Set(ctx, "sem/.lock", []byte(`{}`), client.WriteOptions{Flags: flagsOfASemaphore}); err != nil {
			t.Fatal(err)
		}
		_, err := w.client.Locks().AcquireSemaphore(ctx, "sem", client.SemaphoreOptions{Limit: 1})
		if kindOf(t, err) != client.ErrCondition || !strings.Contains(err.Error(), "limit of 0") {
			t.Error(err)
		}
	})
}
