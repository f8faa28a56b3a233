package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// after runs f when d has passed in the bubble, and is over when the test is.
func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

func TestGetWait(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx, c := context.Background(), w.client
		index := w.Set("k", "1")
		var began time.Time
		for _, x := range []struct {
			name   string
			at     time.Duration
			change func()
			wait   time.Duration
			want   string
			took   time.Duration
		}{
			{"a change", time.Minute, func() { w.Set("k", "2") }, 0, "2", time.Minute},
			{"longer than any timeout", 100 * time.Second, func() { w.Set("other", "x") }, 3 * time.Minute, "2", 3 * time.Minute},
			{"a deletion", time.Second, func() { w.Delete("k") }, 0, "", time.Second},
			{"nothing there, and others write", time.Second, func() { w.Set("other", "y") }, 4 * time.Minute, "", 4 * time.Minute},
			{"a creation", 31 * time.Second, func() { w.Set("k", "3") }, 0, "3", 31 * time.Second},
		} {
			began = time.Now()
			after(x.at, x.change)
			e, m, err := c.GetWait(ctx, "k", index, x.wait, client.ReadOptions{})
			if (err != nil) != (x.want == "") || err != nil && !errors.Is(err, client.ErrNotFound) || string(e.Value) != x.want {
				t.Fatalf("%s: %q, %v", x.name, e.Value, err)
			}
			most := x.took + x.wait/16 // nodes let a wait last longer, each for another time
			if took := time.Since(began); took < x.took || took > most {
				t.Errorf("%s: took %v, want %v to %v", x.name, took, x.took, most)
			}
			index = m.Index
		}
		began = time.Now()
		if _, _, err := c.GetWait(ctx, "k", 0, 0, client.ReadOptions{}); err != nil || time.Since(began) != 0 {
			t.Errorf("index 0 waited for %v: %v", time.Since(began), err)
		}
	})
}

// TestNewsAsAPartOfTheWaitIsOver: a node was asked to wait for a part of the time only, and the key is deleted at the
// very end of that.
func TestNewsAsAPartOfTheWaitIsOver(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		index, began := w.Set("k", "1"), time.Now()
		after(30*time.Second, func() { w.Delete("k") })
		_, _, err := w.client.GetWait(context.Background(), "k", index, 0, client.ReadOptions{})
		if took := time.Since(began); kindOf(t, err) != client.ErrNotFound || took != 30*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestListWait also: the index is of the prefix, and news of another one is none.
func TestListWait(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.Set("d/1", "x")
		_, m, err := w.client.List(context.Background(), "d/", client.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after(time.Second, func() { w.Set("e", "x") })
		after(2*time.Second, func() { w.Set("d/2", "x") })
		after(3*time.Second, func() { w.Delete("d/1") })
		list, m, err := w.client.ListWait(context.Background(), "d/", m.Index, 0, client.ListOptions{Limit: 1})
		if err != nil || len(list) != 1 || m.Index != 4 || m.Revision != 4 {
			t.Fatalf("%v %+v %v", list, m, err)
		}
		keys, m, err := w.client.KeysWait(context.Background(), "d/", m.Index, 0, client.ListOptions{})
		if err != nil || len(keys) != 1 || keys[0] != "d/2" || m.Index != 5 {
			t.Fatalf("%v %+v %v", keys, m, err)
		}
	})
}

// TestWaitOutlivesItsNode: the node that was asked first dies, or falls silent, and another one tells of the change.
func TestWaitOutlivesItsNode(t *testing.T) {
	for _, silent := range []bool{false, true} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			index := w.Set("k", "1")
			if silent {
				w.on(1, func(r clienttest.Request) bool { return r.Node == 1 }, clienttest.Hang)
			} else {
				after(10*time.Second, func() { w.kill(1) })
			}
			after(20*time.Second, func() { w.Set("k", "2") })
			e, _, err := w.client.GetWait(context.Background(), "k", index, 0, client.ReadOptions{})
			if err != nil || string(e.Value) != "2" {
				t.Fatalf("%q, %v", e.Value, err)
			}
		})
	}
}

func TestWaitEnds(t *testing.T) {
	inWorld(t, 1, client.Config{Timeout: time.Second}, func(t *testing.T, w *world) {
		index := w.Set("k", "1")
		ctx, cancel := context.WithCancel(context.Background())
		after(time.Minute, cancel)
		if _, _, err := w.client.GetWait(ctx, "k", index, 0, client.ReadOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		w.kill(1)
		began := time.Now()
		_, _, err := w.client.GetWait(context.Background(), "k", index, time.Minute, client.ReadOptions{})
		if kindOf(t, err) != client.ErrUnavailable || time.Since(began) > time.Minute+time.Minute/16+time.Second {
			t.Errorf("nobody there: %v after %v", err, time.Since(began))
		}
	})
}

// TestWaitsWithAnIndexOfAnotherStore return at once with what there is. The next one waits, and sees every change.
func TestWaitsWithAnIndexOfAnotherStore(t *testing.T) {
	for _, mode := range []client.Mode{client.Default, client.Stale, client.Consistent} {
		inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
			w.Set("d/k", "1")
			ctx, began := context.Background(), time.Now()
			e, m, err := w.client.GetWait(ctx, "d/k", 900, 0, client.ReadOptions{Mode: mode})
			if err != nil || string(e.Value) != "1" || m.Index != 2 || m.Revision != 2 {
				t.Errorf("get: %q, %+v, %v", e.Value, m, err)
			}
			_, gone, err := w.client.GetWait(ctx, "none", 900, 0, client.ReadOptions{Mode: mode})
			if kindOf(t, err) != client.ErrNotFound || gone.Index != 2 {
				t.Errorf("get of nothing: %+v, %v", gone, err)
			}
			list, l, err := w.client.ListWait(ctx, "d/", 900, 0, client.ListOptions{Mode: mode})
			if err != nil || len(list) != 1 || l.Index != 2 {
				t.Errorf("list: %v, %+v, %v", list, l, err)
			}
			keys, k, err := w.client.KeysWait(ctx, "", 900, 0, client.ListOptions{Mode: mode})
			if err != nil || len(keys) != 1 || k.Index != 2 {
				t.Errorf("keys: %v, %+v, %v", keys, k, err)
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("took %v", took)
			}
			after(time.Minute, func() { w.Set("d/k", "2") })
			if e, _, err = w.client.GetWait(ctx, "d/k", m.Index, 0, client.ReadOptions{Mode: mode}); string(e.Value) != "2" {
				t.Errorf("the next change: %q, %v", e.Value, err)
			}
		})
	}
}

// TestWaitBehindTheIndexOfAnotherRead: a key that was not changed has a lower index, and that is no reason to return.
func TestWaitBehindTheIndexOfAnotherRead(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.Set("k", "1")
		index, began := w.Set("other", "x"), time.Now()
		after(2*time.Minute, func() { w.Set("k", "2") })
		e, _, err := w.client.GetWait(context.Background(), "k", index, 0, client.ReadOptions{})
		if took := time.Since(began); err != nil || string(e.Value) != "2" || took != 2*time.Minute {
			t.Errorf("%q, %v after %v", e.Value, err, took)
		}
	})
}
