package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/client"
	"tenure/client/clienttest"
)

// tell takes n events: "revision kind key" each, with the value behind a set, joined by commas.
func tell(t *testing.T, c *client.Client, prefix string, after uint64, n int) (string, client.Event) {
	t.Helper()
	ctx, cancel := within(time.Hour)
	defer cancel()
	var out []string
	var last client.Event
	for e, err := range c.Watch(ctx, prefix, after) {
		if err != nil {
			t.Fatalf("after %q: %v", out, err)
		}
		s := fmt.Sprintf("%d %s %s", e.Index, e.Kind, e.Key)
		if e.Kind == client.EventSet {
			s += "=" + string(e.Entry.Value)
		}
		last = e
		if out = append(out, strings.TrimSpace(s)); len(out) == n {
			break
		}
	}
	return strings.Join(out, ", "), last
}

func TestWatch(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		w.Set("d/1", "a")
		w.Set("e", "b")
		after(time.Minute, func() { w.Set("d/2", "c") })
		after(2*time.Minute, func() { w.Delete("d/") })
		for _, x := range []struct {
			prefix string
			after  uint64
			want   string
			resume uint64
		}{
			{"d/", 0, "2 set d/1=a, 4 set d/2=c, 5 delete d/1, 5 delete d/2", 5},
			{"d/", 4, "5 delete d/1, 5 delete d/2", 5},
			{"", 2, "3 set e=b, 4 set d/2=c, 5 delete d/1", 4},
		} {
			got, last := tell(t, w.client, x.prefix, x.after, strings.Count(x.want, ",")+1)
			if got != x.want || last.Resume != x.resume {
				t.Errorf("%q after %d: %s, resume %d; want %s, resume %d", x.prefix, x.after, got, last.Resume, x.want, x.resume)
			}
		}
	})
}

func TestWatchTellsSessions(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		id, err := w.client.Sessions().Create(context.Background(), client.SessionOptions{TTL: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		got, last := tell(t, w.client, "", 0, 2)
		if got != "2 session, 3 session" || last.Session != id {
			t.Errorf("%s, %+v", got, last)
		}
	})
}

// TestWatchTellsEachOnce: streams are cut behind any number of events, also within a revision, and nothing is missing
// or comes twice.
func TestWatchTellsEachOnce(t *testing.T) {
	for cut := range 8 {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			for _, k := range []string{"a", "b", "c"} {
				w.Set(k, "")
			}
			w.Delete("")
			w.Set("d", "")
			w.CutAfter(cut)
			got, _ := tell(t, w.client, "", 0, 7)
			if want := "2 set a=, 3 set b=, 4 set c=, 5 delete a, 5 delete b, 5 delete c, 6 set d="; got != want {
				t.Errorf("cut after %d: %s", cut, got)
			}
		})
	}
}

// TestWatchOutlivesNodes: every node but one dies under it.
func TestWatchOutlivesNodes(t *testing.T) {
	inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
		for i := range 10 {
			after(time.Duration(i)*time.Second+time.Millisecond, func() { w.Set("k", fmt.Sprint(i)) })
		}
		after(3*time.Second, func() { w.kill(1) })
		after(6*time.Second, func() { w.kill(2) })
		got, _ := tell(t, w.client, "", 0, 10)
		if want := "2 set k=0, 3 set k=1, 4 set k=2, 5 set k=3, 6 set k=4, 7 set k=5, 8 set k=6, 9 set k=7, 10 set k=8, 11 set k=9"; got != want {
			t.Error(got)
		}
	})
}

// TestWatchLeavesNodes: a watch leaves a node that does not answer, one that answers "not applied", and one that
// streams on but has lost the others.
func TestWatchLeavesNodes(t *testing.T) {
	watching := func(r clienttest.Request) bool { return r.Path == "/v1/watch" }
	for _, x := range []struct {
		name  string
		match func(clienttest.Request) bool
		fault clienttest.Fault
		times int
	}{
		{"silent", watching, clienttest.Hang, 2},
		{"not begun", watching, clienttest.Busy, 2},
		{"cut", watching, clienttest.Drop, 3}, // the transport asks node 1 again: the connection was a kept one
		{"garbage", watching, clienttest.Garbage, 2},
		{"has lost the others", func(r clienttest.Request) bool { return r.Method == http.MethodHead }, clienttest.Busy, 2},
	} {
		inWorld(t, 3, client.Config{}, func(t *testing.T, w *world) {
			w.on(x.times, x.match, x.fault)
			var asked []uint64
			w.Seen(func(r clienttest.Request) {
				if watching(r) {
					asked = append(asked, r.Node)
				}
			})
			after(10*time.Minute, func() { w.Set("k", "v") })
			if got, _ := tell(t, w.client, "", 0, 1); got != "2 set k=v" {
				t.Errorf("%s: %s", x.name, got)
			}
			if asked = slices.Compact(asked); !slices.Equal(asked, []uint64{1, 2, 3}) {
				t.Errorf("%s: asked %v", x.name, asked)
			}
		})
	}
}

// What a watch asks of a node that has been silent needs no more than the watch itself: else it would end after a while.
func TestAWatchNeedsOnePermission(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		var asked []string
		w.inject(func(r clienttest.Request) clienttest.Fault {
			if r.Method == http.MethodHead {
				asked = append(asked, r.Path)
			}
			return clienttest.None
		})
		after(time.Minute, func() { w.Set("jobs/a", "1") })
		if got, _ := tell(t, w.client, "jobs/", 1, 1); got != "2 set jobs/a=1" {
			t.Error(got)
		}
		if asked = slices.Compact(asked); !slices.Equal(asked, []string{"/v1/kv/jobs/"}) {
			t.Errorf("asked %v", asked)
		}
	})
}

func TestWatchSaysWhatIsMissing(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		w.Set("a", "1")
		w.Set("a", "2")
		w.Compact()
		after(time.Second, func() { w.Set("a", "3") })
		got, last := tell(t, w.client, "a", 2, 2)
		if got != "3 compacted, 4 set a=3" || last.Resume != 4 {
			t.Errorf("%s, resume %d", got, last.Resume)
		}
		if got, _ := tell(t, w.client, "a", 3, 1); got != "4 set a=3" {
			t.Errorf("from the newest: %s", got)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(context.Background())
		after(time.Minute, cancel)
		for e, err := range w.client.Watch(ctx, "", 0) {
			if kindOf(t, err) != client.ErrUnavailable || !errors.Is(err, context.Canceled) {
				t.Errorf("%+v %v", e, err)
			}
		}
		w.on(1, func(clienttest.Request) bool { return true }, clienttest.TooLarge)
		for e, err := range w.client.Watch(context.Background(), "", 0) {
			if kindOf(t, err) != client.ErrTooLarge {
				t.Errorf("%+v %v", e, err)
			}
		}
	})
}

// TestWatchWithASlowCaller: whoever takes his time is not taken for a silent node.
func TestWatchWithASlowCaller(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		asked := 0
		w.on(0, writes, clienttest.None)
		w.Seen(func(clienttest.Request) { asked++ })
		for range 3 {
			w.Set("k", "v")
		}
		var got []uint64
		for e, err := range w.client.Watch(context.Background(), "", 0) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if got = append(got, e.Index); len(got) == 3 {
				break
			}
		}
		if !slices.Equal(got, []uint64{2, 3, 4}) || asked != 1 {
			t.Errorf("%v, asked %d times", got, asked)
		}
	})
}

func TestRevision(t *testing.T) {
	inWorld(t, 1, client.Config{}, func(t *testing.T, w *world) {
		for want := range uint64(3) {
			if got, err := w.client.Revision(context.Background()); err != nil || got != want+1 {
				t.Errorf("%d %v, want %d", got, err, want+1)
			}
			w.Set("k", "v")
		}
	})
}

// TestWatchOfAStoreThatIsReplaced: another store is told of, in the middle of a watch and at its start, and followed.
func TestWatchOfAStoreThatIsReplaced(t *testing.T) {
	inWorld(t, 2, client.Config{}, func(t *testing.T, w *world) {
		for range 5 {
			w.Set("a", "old")
		}
		after(time.Second, w.Replace)
		after(time.Minute, func() { w.Set("a", "new") })
		got, last := tell(t, w.client, "a", 5, 3)
		if got != "6 set a=old, 1 compacted, 2 set a=new" || last.Resume != 2 {
			t.Errorf("%s, resume %d", got, last.Resume)
		}
		after(time.Second, func() { w.Set("a", "newer") })
		if got, last = tell(t, w.client, "a", 900, 2); got != "2 compacted, 3 set a=newer" || last.Resume != 3 {
			t.Errorf("from an index of another store: %s, resume %d", got, last.Resume)
		}
	})
}

// A watch that gets nowhere says why, and when it goes on.
func TestWatchSaysWhatItWaitsFor(t *testing.T) {
	var told []string
	cfg := client.Config{WatchWaits: func(d time.Duration, err error) {
		told = append(told, fmt.Sprintf("%v: %v", d.Round(10*time.Second), err))
	}}
	inWorld(t, 2, cfg, func(t *testing.T, w *world) {
		ctx := t.Context()
		if _, err := w.client.Set(ctx, "d/1", nil, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		other := clienttest.New(1)
		other.SetID("another")
		after(time.Second, func() {
			serveOne(t, w, other.Node(1).Handler().ServeHTTP)
			w.kill(2)
		})
		after(100*time.Second, func() {
			serveOne(t, w, w.Node(1).Handler().ServeHTTP)
			w.Set("d/2", "b")
		})
		if got, _ := tell(t, w.client, "d/", 0, 2); got != "2 set d/1=, 3 set d/2=b" {
			t.Error(got)
		}
	})
	if len(told) != 3 || !strings.HasPrefix(told[0], "10s: ") || !strings.Contains(told[0], "answers 421") ||
		!strings.HasPrefix(told[1], "1m10s: ") || told[2] != "1m40s: <nil>" {
		t.Errorf("%q", told)
	}
}
