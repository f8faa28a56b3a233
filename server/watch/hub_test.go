package watch

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"tenure/kv"
)

func small() Limits { return Limits{Waiting: 8, Events: 8, Bytes: 1 << 20} }

func set(revision uint64, key string, last bool) kv.Changed {
	return kv.Changed{Revision: revision, Key: key, Entry: &kv.Entry{Key: key, ModifyIndex: revision}, Last: last}
}

func signalled(w *Waiter) bool {
	select {
	case <-w.C():
		return true
	default:
		return false
	}
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// The waiters that each change wakes, each row on a new hub.
func TestWhoIsWoken(t *testing.T) {
	session := kv.Changed{Revision: 1, Session: "id", Last: true}
	for _, c := range []struct {
		open  func(*Hub) (*Waiter, error)
		c     kv.Changed
		woken bool
	}{
		{func(h *Hub) (*Waiter, error) { return h.Key("a/b") }, set(1, "a/b", true), true},
		{func(h *Hub) (*Waiter, error) { return h.Key("a/b") }, set(1, "a/bc", true), false},
		{func(h *Hub) (*Waiter, error) { return h.Key("a/b") }, set(1, "a/", true), false},
		{func(h *Hub) (*Waiter, error) { return h.Key("a/b") }, kv.Changed{Revision: 1, Key: "a/b", Last: true}, true},
		{func(h *Hub) (*Waiter, error) { return h.Key("a/b") }, session, false},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("a/") }, set(1, "a/b", true), true},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("a/") }, set(1, "a/", true), true},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("a/") }, set(1, "a", true), false},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("a/") }, set(1, "b/b", true), false},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("a/") }, session, false},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("") }, set(1, "z", true), true},
		{func(h *Hub) (*Waiter, error) { return h.Prefix("") }, session, true},
		{func(h *Hub) (*Waiter, error) { return h.Prefix(strings.Repeat("k", 1024)) }, set(1, strings.Repeat("k", 1024), true), true},
		{func(h *Hub) (*Waiter, error) { return h.Prefix(strings.Repeat("k", 64)) }, set(1, strings.Repeat("k", 64), true), true},
		{func(h *Hub) (*Waiter, error) { return h.Sessions() }, session, true},
		{func(h *Hub) (*Waiter, error) { return h.Sessions() }, set(1, "a", true), false},
	} {
		h := New(small())
		h.Begin(0)
		w := must[*Waiter](t)(c.open(h))
		h.Changed(c.c)
		if signalled(w) {
			t.Errorf("%q: signalled before it was armed", w.name)
		}
		w.Arm()
		c.c.Revision++
		h.Changed(c.c)
		if got := signalled(w); got != c.woken {
			t.Errorf("kind %d, %q, change of %q %q: woken is %v", w.kind, w.name, c.c.Key, c.c.Session, got)
		}
		c.c.Revision++
		h.Changed(c.c)
		if signalled(w) {
			t.Errorf("%q: signalled again without being armed", w.name)
		}
		w.Close()
		w.Close()
		if len(h.keys)+len(h.prefixes) != 0 || h.sessions != nil || h.Stats().Waiting != 0 || h.lengths != (lengths{}) {
			t.Errorf("%q: left behind %+v", w.name, h)
		}
	}
}

// A signal comes with the end of a revision, so that a cursor read after it finds all of it.
func TestSignalsComeWithTheWholeRevision(t *testing.T) {
	h := New(small())
	h.Begin(0)
	a, b := must[*Waiter](t)(h.Prefix("a")), must[*Waiter](t)(h.Prefix("a"))
	a.Arm()
	b.Arm()
	h.Changed(set(1, "a1", false))
	if signalled(a) {
		t.Error("signalled in the middle of a revision")
	}
	b.Arm() // again, within the revision
	b.Close()
	h.Changed(set(1, "z", true))
	if !signalled(a) || signalled(b) {
		t.Error("not signalled with the last change of the revision")
	}
}

func TestTooManyWait(t *testing.T) {
	h := New(Limits{Waiting: 2, Events: 1, Bytes: 1})
	a := must[*Waiter](t)(h.Key("a"))
	must[*Waiter](t)(h.Sessions())
	if _, err := h.Prefix("a"); !errors.Is(err, ErrFull) {
		t.Errorf("third: %v", err)
	}
	a.Close()
	must[*Waiter](t)(h.Prefix("a"))
}

func TestBeginWakesAll(t *testing.T) {
	h := New(small())
	var ws []*Waiter
	for _, open := range []func() (*Waiter, error){func() (*Waiter, error) { return h.Key("a") }, func() (*Waiter, error) { return h.Prefix("b") }, h.Sessions} {
		w := must[*Waiter](t)(open())
		w.Arm()
		ws = append(ws, w)
	}
	h.Begin(7)
	for _, w := range ws {
		if !signalled(w) {
			t.Errorf("kind %d sleeps on", w.kind)
		}
	}
}

// store is a state as the log part keeps it: changed under its lock, and the hub told meanwhile.
type store struct {
	mu       sync.RWMutex
	hub      *Hub
	revision uint64
	keys     map[string]uint64
}

func (s *store) change(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	for i, k := range keys {
		s.keys[k] = s.revision
		s.hub.Changed(set(s.revision, k, i == len(keys)-1))
	}
}

// newest is the highest revision under prefix.
func (s *store) newest(prefix string) (n uint64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for k, r := range s.keys {
		if strings.HasPrefix(k, prefix) {
			n = max(n, r)
		}
	}
	return n
}

// Clients that ask again and again with the index of the last answer see the end of every stream of changes, and no
// index falls; cursors see every change, in order.
func TestLoopingClientsSeeTheEnd(t *testing.T) {
	const writers, each = 4, 400
	s := &store{hub: New(Limits{Waiting: 64, Events: 1 << 16, Bytes: 1 << 30}), keys: map[string]uint64{}}
	s.hub.Begin(0)
	var clients, all sync.WaitGroup
	end := make(chan struct{})
	for _, prefix := range []string{"", "w", "w0", "w1/", "w1/3", "w2/0", "w3/1", "w3/1"} {
		clients.Go(func() { pollToTheEnd(t, s, prefix, end) })
		clients.Go(func() { readToTheEnd(t, s, prefix, end) })
	}
	for w := range writers {
		all.Go(func() {
			for i := range each {
				s.change(fmt.Sprintf("w%d/%d", w, i%4), fmt.Sprintf("w%d/%d", (w+i)%writers, i%3))
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	for _, key := range []string{"w0/0", "w1/3", "w2/0", "w3/1"} {
		s.change(key) // the last word under each prefix
	}
	close(end)
	clients.Wait()
	if n := s.hub.Stats().Waiting; n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// pollToTheEnd waits for changes until it has seen the newest one there is after end. If a signal were lost it would
// wait for ever, and the test with it.
func pollToTheEnd(t *testing.T, s *store, prefix string, end <-chan struct{}) {
	w := must[*Waiter](t)(s.hub.Prefix(prefix))
	defer w.Close()
	var index uint64
	for {
		w.Arm()
		now := s.newest(prefix)
		if now < index {
			t.Errorf("%q: index %d after %d", prefix, now, index)
		}
		index = now
		select {
		case <-end:
			if s.newest(prefix) == index {
				return
			}
			<-w.C()
		case <-w.C():
		}
	}
}

func readToTheEnd(t *testing.T, s *store, prefix string, end <-chan struct{}) {
	w := must[*Waiter](t)(s.hub.Prefix(prefix))
	defer w.Close()
	c := must[*Cursor](t)(s.hub.Cursor(prefix, 0))
	var seen []Event
	for last := false; ; {
		w.Arm()
		for more := true; more; {
			var err error
			batch := make([]Event, 0, 4)
			if batch, more, err = c.Next(batch); err != nil {
				t.Error(err)
				return
			}
			seen = append(seen, batch...)
		}
		if last {
			break
		}
		select {
		case <-end:
			last = true
		case <-w.C():
		}
	}
	var want []Event
	s.hub.mu.Lock()
	h := &s.hub.history
	for i := h.first; i < h.next; i++ {
		if strings.HasPrefix(h.at(i).Key, prefix) {
			want = append(want, Event{Changed: *h.at(i)})
		}
	}
	s.hub.mu.Unlock()
	if len(seen) != len(want) || len(want) == 0 {
		t.Errorf("%q: %d changes seen of %d", prefix, len(seen), len(want))
		return
	}
	for i := range seen {
		whole := i == len(seen)-1 || seen[i+1].Revision != seen[i].Revision
		if seen[i].Changed != want[i].Changed || seen[i].Whole != whole {
			t.Errorf("%q: change %d is %+v, want %+v, whole %v", prefix, i, seen[i], want[i], whole)
			return
		}
	}
}

// What one waiter takes here, besides its goroutine and its connection.
func TestWaiterIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(Waiter{}) + unsafe.Sizeof(chain{}); n > 160 {
		t.Errorf("a waiter and a chain of its own take %d bytes", n)
	}
}

func BenchmarkChangedNobodyWaits(b *testing.B) { benchChanged(b, 0) }
func BenchmarkChangedOthersWait(b *testing.B)  { benchChanged(b, 10_000) }

func benchChanged(b *testing.B, others int) {
	h := New(DefaultLimits)
	h.Begin(0)
	for i := range others {
		w := must[*Waiter](b)(h.Prefix(fmt.Sprintf("other/%05d", i)))
		w.Arm()
	}
	c := set(0, "bench/key-000123", true)
	c.Entry.Value = make([]byte, 256)
	b.ReportAllocs()
	for b.Loop() {
		c.Revision++
		h.Changed(c)
	}
}
