package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

func TestReads(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		ctx, c := context.Background(), w.client
		for _, k := range []string{"a", "d/1", "d/2", "d/e/1", "d/e/2", "d/f"} {
			w.Set(k, "v"+k)
		}
		e, meta, err := c.Get(ctx, "d/2", client.ReadOptions{})
		if err != nil || string(e.Value) != "vd/2" || e.ModifyIndex != 4 || meta.Index != 4 || !meta.KnownLeader {
			t.Fatalf("%+v %+v %v", e, meta, err)
		}
		_, meta, err = c.Get(ctx, "none", client.ReadOptions{Mode: client.Stale})
		if kindOf(t, err) != client.ErrNotFound || meta.Index != 7 || meta.LastContact != 70*time.Millisecond {
			t.Fatalf("%+v %v", meta, err)
		}
		if _, _, err = c.Get(ctx, "", client.ReadOptions{}); kindOf(t, err) != client.ErrInvalid {
			t.Fatalf("empty key: %v", err)
		}
		for _, x := range []struct {
			prefix string
			o      client.ListOptions
			want   string
		}{
			{"", client.ListOptions{}, "a d/1 d/2 d/e/1 d/e/2 d/f"},
			{"d/", client.ListOptions{Separator: "/"}, "d/1 d/2 d/e/ d/f"},
			{"d/", client.ListOptions{Limit: 2}, "d/1 d/2"},
			{"d/", client.ListOptions{Start: "d/2", Limit: 2}, "d/2 d/e/1"},
			{"d/", client.ListOptions{Reverse: true, Start: "d/e/1"}, "d/e/1 d/2 d/1"},
			{"none", client.ListOptions{}, ""},
		} {
			keys, _, err := c.Keys(ctx, x.prefix, x.o)
			if got := strings.Join(keys, " "); err != nil || got != x.want {
				t.Errorf("keys of %q %+v: %q, %v; want %q", x.prefix, x.o, got, err, x.want)
			}
			if x.o.Separator != "" {
				continue
			}
			var names []string
			details, _, err := c.KeyDetails(ctx, x.prefix, x.o)
			for _, d := range details {
				names = append(names, d.Key)
			}
			if got := strings.Join(names, " "); err != nil || got != x.want || len(details) > 0 && details[0].Size < 2 {
				t.Errorf("details of %q %+v: %+v, %v; want %q", x.prefix, x.o, details, err, x.want)
			}
			names = nil
			entries, _, err := c.List(ctx, x.prefix, x.o)
			for _, e := range entries {
				names = append(names, e.Key)
			}
			if got := strings.Join(names, " "); err != nil || got != x.want {
				t.Errorf("entries of %q %+v: %q, %v; want %q", x.prefix, x.o, got, err, x.want)
			}
		}
		for prefix, want := range map[string]uint64{"": 6, "d/": 5, "none": 0} {
			if n, _, err := c.Count(ctx, prefix, client.ReadOptions{Mode: client.Consistent}); err != nil || n != want {
				t.Errorf("count of %q: %d, %v; want %d", prefix, n, err, want)
			}
		}
	})
}

// TestReadsFailOver: whatever one node does, the other one's answer is given, and is asked first from then on.
func TestReadsFailOver(t *testing.T) {
	for _, c := range []struct {
		fault clienttest.Fault
		limit time.Duration
	}{
		{clienttest.Busy, 0}, {clienttest.BusyLater, 0}, {clienttest.Unknown, 0}, {clienttest.Drop, 0}, {clienttest.Garbage, 0},
		{clienttest.Hang, hedgeAfter},
	} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			w.Set("k", "v")
			var asked []uint64
			w.inject(func(r clienttest.Request) clienttest.Fault {
				if asked = append(asked, r.Node); r.Node == 1 {
					return c.fault
				}
				return clienttest.None
			})
			began := time.Now()
			for range 3 {
				if _, _, err := w.client.Get(context.Background(), "k", client.ReadOptions{}); err != nil {
					t.Fatalf("fault %d: %v", c.fault, err)
				}
			}
			if took := time.Since(began); took != c.limit {
				t.Errorf("fault %d: took %v, want %v", c.fault, took, c.limit)
			}
			// A cut connection may have been a kept one that was closed: the transport asks again once.
			if asked = slices.Compact(asked); !slices.Equal(asked, []uint64{1, 2}) {
				t.Errorf("fault %d: asked %v", c.fault, asked)
			}
		})
	}
}

// TestDeadNodeIsAskedOnce: refused connections cost no time, and later calls go to the node that answered.
func TestDeadNodeIsAskedOnce(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		w.kill(1)
		w.kill(2)
		began := time.Now()
		for range 5 {
			if _, err := w.client.Set(context.Background(), "k", nil, client.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if time.Since(began) != 0 || !slices.Equal(w.net.dials, []string{"n1:1", "n2:1", "n3:1"}) {
			t.Fatalf("after %v: dialled %v", time.Since(began), w.net.dials)
		}
	})
}

// TestFailedNodeIsNotAskedFirst: also if the call that found out about it found no other in time.
func TestFailedNodeIsNotAskedFirst(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		if _, _, err := w.client.Get(context.Background(), "k", client.ReadOptions{}); kindOf(t, err) != client.ErrNotFound {
			t.Fatal(err) // node 1 has answered, so that no other is asked beside it
		}
		w.on(-1, func(r clienttest.Request) bool { return r.Node == 1 }, clienttest.Hang)
		ctx, cancel := within(client.DefaultAttemptTimeout + time.Millisecond)
		defer cancel()
		if _, _, err := w.client.Get(ctx, "k", client.ReadOptions{}); kindOf(t, err) != client.ErrUnavailable {
			t.Fatalf("told %v", err)
		}
		began := time.Now()
		if _, _, err := w.client.Get(context.Background(), "k", client.ReadOptions{}); kindOf(t, err) != client.ErrNotFound || time.Since(began) != 0 {
			t.Fatalf("told %v after %v", err, time.Since(began))
		}
	})
}

func TestTimeoutOfACall(t *testing.T) {
	inWorld(t, 2, client.Config{Timeout: 3 * time.Second}, func(t *testing.T, w *world) {
		w.on(-1, func(clienttest.Request) bool { return true }, clienttest.Hang)
		began := time.Now()
		_, _, err := w.client.Get(context.Background(), "k", client.ReadOptions{})
		if kindOf(t, err) != client.ErrUnavailable || time.Since(began) != 3*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := within(20 * time.Second)
		defer cancel()
		began = time.Now()
		if _, _, err := w.client.Get(ctx, "k", client.ReadOptions{}); time.Since(began) != 20*time.Second {
			t.Fatalf("a context's own deadline counts: after %v: %v", time.Since(began), err)
		}
	})
}

// serveOne runs one handler as node n1:1 in place of the pretended one.
func serveOne(t *testing.T, w *world, h http.HandlerFunc) {
	t.Helper()
	w.kill(1)
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	l := newMemListener("n1:1")
	w.net.nodes["n1:1"] = l
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	w.stop[0] = func() { _ = s.Close(); <-done }
}

// TestSlowAnswer: an answer may take longer than AttemptTimeout as long as something keeps coming, and no longer.
func TestSlowAnswer(t *testing.T) {
	inWorld(t, 1, client.Config{AttemptTimeout: time.Second, Timeout: 30 * time.Second}, func(t *testing.T, w *world) {
		stall := false
		serveOne(t, w, func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("X-Consul-Index", "1")
			for i, piece := range []string{`[`, `{"Key"`, `:`, `"k"`, `}`, `]`} {
				if i == 3 && stall {
					stall = false
					<-r.Context().Done()
					return
				}
				_, _ = io.WriteString(rw, piece)
				_ = http.NewResponseController(rw).Flush()
				time.Sleep(900 * time.Millisecond)
			}
		})
		began := time.Now()
		entries, _, err := w.client.List(context.Background(), "", client.ListOptions{})
		if took := time.Since(began); err != nil || len(entries) != 1 || took < 5*time.Second {
			t.Fatalf("after %v: %v %v", took, entries, err)
		}
		stall, began = true, time.Now()
		entries, _, err = w.client.List(context.Background(), "", client.ListOptions{})
		if took := time.Since(began); err != nil || len(entries) != 1 || took < 8*time.Second || took > 10*time.Second {
			t.Fatalf("an answer that stalled and was asked for again, after %v: %v %v", took, entries, err)
		}
	})
}

// TestAnswerTooLarge: a listing over the limit ends the call instead of the memory.
func TestAnswerTooLarge(t *testing.T) {
	inWorld(t, 1, client.Config{MaxAnswerBytes: 1000}, func(t *testing.T, w *world) {
		w.Set("k", strings.Repeat("x", 1000))
		_, _, err := w.client.List(context.Background(), "", client.ListOptions{})
		if kindOf(t, err) != client.ErrTooLarge {
			t.Fatalf("told %v", err)
		}
	})
}

func TestStatusAndTransfer(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		s, err := w.client.Nodes().StatusOf(ctx, "http://n2:1")
		if err != nil || s.Node != 2 || s.Master != 1 || s.Role != "follower" || s.Lease.RemainingMS != 800 {
			t.Fatalf("%+v %v", s, err)
		}
		if _, err := w.client.Nodes().StatusOf(ctx, "http://elsewhere:1"); kindOf(t, err) != client.ErrInvalid {
			t.Fatalf("told %v", err)
		}
		if err := w.client.Nodes().Transfer(ctx, 3); err != nil {
			t.Fatal(err)
		}
		if s, err := w.client.Nodes().Status(ctx); err != nil || s.Master != 3 || s.Epoch != 2 {
			t.Fatalf("%+v %v", s, err)
		}
		if err := w.client.Nodes().Transfer(ctx, 9); kindOf(t, err) != client.ErrInvalid {
			t.Fatalf("told %v", err)
		}
		w.kill(1)
		if err := w.client.Nodes().Transfer(ctx, 0); err != nil {
			t.Fatalf("over the next node: %v", err)
		}
		var asked int
		w.Inject(func(clienttest.Request) clienttest.Fault { asked++; return clienttest.DropApplied })
		if err := w.client.Nodes().Transfer(ctx, 0); kindOf(t, err) != client.ErrUnknown || asked != 1 || !strings.HasPrefix(err.Error(), "transfer: outcome unknown: ") {
			t.Fatalf("asked %d times, told %v", asked, err)
		}
		if _, err := w.client.Nodes().StatusOf(ctx, "n1:1"); kindOf(t, err) != client.ErrUnavailable {
			t.Fatalf("told %v", err)
		}
	})
}

// TestLargeValue: a body goes out whole, also when it is sent twice.
func TestLargeValue(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		value := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
		w.on(1, writes, clienttest.Drop)
		if _, err := w.client.Set(context.Background(), "k", value, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got, _ := w.Value("k"); got != string(value) {
			t.Fatalf("%d bytes arrived", len(got))
		}
	})
}

// TestManyAtOnce is for the race detector.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 3, client.Config{})
		defer w.close()
		w.on(20, func(clienttest.Request) bool { return true }, clienttest.DropApplied)
		errs := make(chan error)
		const clients, each = 16, 10
		for i := range clients {
			go func() {
				var err error
				for j := range each {
					if _, e := w.client.Set(context.Background(), fmt.Sprintf("%d/%d", i, j), nil, client.WriteOptions{}); e != nil {
						err = e
					}
				}
				errs <- err
			}()
		}
		for range clients {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if w.Applied() != clients*each {
			t.Fatalf("applied %d, want %d", w.Applied(), clients*each)
		}
	})
}

// Calls that are under way together keep their connections for the next ones.
func TestManyAtOnceKeepTheirConnections(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.Inject(func(clienttest.Request) clienttest.Fault {
			time.Sleep(100 * time.Millisecond) // until all are under way
			return clienttest.None
		})
		const together = 500
		for range 3 {
			var all sync.WaitGroup
			for range together {
				all.Go(func() {
					if _, _, err := w.client.Get(context.Background(), "none", client.ReadOptions{}); !errors.Is(err, client.ErrNotFound) {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
		if n := len(w.net.dials); n > together {
			t.Errorf("%d connections for %d calls at a time", n, together)
		}
	})
}
