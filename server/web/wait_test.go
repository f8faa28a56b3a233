package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/watch"
)

// asked is a blocking query that runs beside the test.
type asked struct {
	answer chan *httptest.ResponseRecorder
}

// ask sends a query and returns once it waits.
func ask(t *testing.T, s *Server, target string, headers ...string) asked {
	t.Helper()
	before := s.metrics.waiting.Load()
	a := asked{make(chan *httptest.ResponseRecorder, 1)}
	go func() { a.answer <- call(s, "GET", target, "", headers...) }()
	waitFor(t, func() bool { return s.metrics.waiting.Load() > before || len(a.answer) > 0 })
	return a
}

func (a asked) get(t *testing.T) *httptest.ResponseRecorder {
	t.Helper()
	select {
	case w := <-a.answer:
		return w
	case <-time.After(10 * time.Second):
		t.Fatal("the query was not answered")
		return nil
	}
}

// What a query waits for: it sleeps through the first change and answers the second.
func TestBlockingQueries(t *testing.T) {
	id := "11111111-2222-3333-4444-555555555555"
	set := func(key string) kv.Command { return kv.Command{Op: kv.OpSet, Key: key, Value: []byte("new")} }
	del := func(key string) kv.Command { return kv.Command{Op: kv.OpDelete, Key: key} }
	create := kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: id}}
	for _, c := range []struct {
		target        string // asked with the index that a plain read of it has
		other, change kv.Command
		code          int
		body          string
	}{
		{"/v1/kv/a/1", set("a/12"), set("a/1"), 200, `"ModifyIndex":6`},
		{"/v1/kv/a/1?raw", set("b"), set("a/1"), 200, "new"},
		{"/v1/kv/a/1?consistent", set("a/"), set("a/1"), 200, `"Value":"bmV3"`},
		{"/v1/kv/a/1?stale", set("b"), del("a/1"), 404, ""},
		{"/v1/kv/none", set("b"), set("none"), 200, `"Key":"none"`},
		{"/v1/kv/none", del("b"), set("none"), 200, `"Key":"none"`}, // the store's revision moves: no news
		{"/v1/kv/a/?recurse", set("b"), set("a/3"), 200, `"Key":"a/3"`},
		{"/v1/kv/a/?recurse", del("b"), del("a/1"), 200, `[{"LockIndex":0,"Key":"a/2"`},
		{"/v1/kv/a/?recurse&start=a/2&limit=1", set("b"), set("a/1"), 200, `"Key":"a/2"`}, // the index is of the whole prefix
		{"/v1/kv/a/?keys", set("b"), set("a/3"), 200, `["a/1","a/2","a/3"]`},
		{"/v1/kv/a/?keys&separator=/", set("b"), del("a/2"), 200, `["a/1"]`},
		{"/v1/kv/a/?count", set("b"), del("a/2"), 200, "1"},
		{"/v1/kv/none/?recurse", set("b"), set("none/x"), 200, `"Key":"none/x"`},
		{"/v1/kv/none/?keys", del("b"), set("none/x"), 200, `["none/x"]`},
		{"/v1/kv/?recurse", create, set("b"), 200, `"Key":"b"`},
		{"/v1/session/list", set("b"), create, 200, `"ID":"` + id + `"`},
		{"/v1/session/info/" + id, set("b"), create, 200, `"ID":"` + id + `"`},
		{"/v1/session/node/n", set("b"), create, 200, `[]`},
	} {
		f := newFake(t)
		f.set(t, "a/1", "1", "a/2", "2", "b", "3")
		s := newServer(t, f)
		index := head(call(s, "GET", c.target, ""), api.HeaderIndex)
		sep := "?"
		if strings.Contains(c.target, "?") {
			sep = "&"
		}
		a := ask(t, s, c.target+sep+"wait=1m&index="+index)
		f.apply(t, c.other)
		f.apply(t, c.change)
		w := a.get(t)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) || head(w, api.HeaderIndex) != "6" {
			t.Errorf("%s: %d %s, index %s", c.target, w.Code, w.Body, head(w, api.HeaderIndex))
		}
		if n := f.hub.Stats().Waiting; n != 0 {
			t.Errorf("%s: %d waiters are left", c.target, n)
		}
	}
}

// A query whose index is old is answered at once, and so is one with index 0.
func TestNewsAreNotWaitedFor(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "1", "k", "2", "gone", "", "gone/x", "")
	f.apply(t, kv.Command{Op: kv.OpDelete, Key: "gone"})
	f.apply(t, kv.Command{Op: kv.OpDelete, Key: "gone/x"})
	s := newServer(t, f)
	for target, want := range map[string]struct {
		code  int
		index string
	}{
		"/v1/kv/k?index=2": {200, "3"}, "/v1/kv/k?index=0": {200, "3"}, "/v1/kv/k?index=0&wait=1m": {200, "3"}, "/v1/kv/k?wait=1m": {200, "3"},
		"/v1/kv/gone?index=5": {404, "7"}, "/v1/kv/gone/?recurse&index=6": {404, "7"}, "/v1/kv/?keys&index=6": {200, "7"},
	} {
		if w := call(s, "GET", target, ""); w.Code != want.code || head(w, api.HeaderIndex) != want.index {
			t.Errorf("%s: %d, index %s", target, w.Code, head(w, api.HeaderIndex))
		}
	}
}

// When its time is over a query answers what there is; the index does not fall.
func TestTheEndOfAWait(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v", "other", "")
	s := newServer(t, f)
	for target, index := range map[string]string{
		"/v1/kv/k?index=2": "2", "/v1/kv/none?index=3": "3", "/v1/kv/k?recurse&index=2": "2", "/v1/kv/none?keys&index=3": "3",
		"/v1/session/list?index=1": "1", "/v1/kv/k?index=999": "2",
	} {
		w := call(s, "GET", target+"&wait=10ms", "")
		if head(w, api.HeaderIndex) != index {
			t.Errorf("%s: index %s", target, head(w, api.HeaderIndex))
		}
	}
	if h := call(s, "GET", "/metrics", "").Body.String(); !strings.Contains(h, "tenure_http_waiting 0\n") || !strings.Contains(h, "tenure_watch_waiters 0\n") {
		t.Error("somebody still waits")
	}
}

func TestHowLongAQueryWaits(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: 5 * time.Minute, -time.Second: 5 * time.Minute, time.Second: time.Second, time.Hour: 10 * time.Minute, 16: 16,
	} {
		low, high := time.Duration(1<<62), time.Duration(0)
		for range 1000 {
			d := (&query{duration: given}).wait()
			low, high = min(low, d), max(high, d)
		}
		if low < want || high > want+want/waitJitter || want > time.Second && high == low {
			t.Errorf("wait=%v: from %v to %v", given, low, high)
		}
	}
}

// A query behind the index of an empty store gets the very first change, also if the change came before the query.
// Clients know that index to be 1.
func TestTheFirstChangeIsNotMissed(t *testing.T) {
	session := kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: "aaaaaaaa-0000-0000-0000-000000000000"}}
	write := kv.Command{Op: kv.OpSet, Key: "k"}
	for target, first := range map[string]kv.Command{"/v1/kv/k": write, "/v1/kv/k?recurse": write, "/v1/kv/?keys": write, "/v1/kv/?count": write, "/v1/session/list": session} {
		f := newFake(t)
		s := newServer(t, f)
		if index := head(call(s, "GET", target, ""), api.HeaderIndex); index != "1" {
			t.Errorf("%s of an empty store: index %s", target, index)
		}
		sep := "?"
		if strings.Contains(target, "?") {
			sep = "&"
		}
		target += sep + "wait=1m&index=1"
		a := ask(t, s, target)
		f.apply(t, first)
		for when, w := range map[string]*httptest.ResponseRecorder{"while it waits": a.get(t), "before it": call(s, "GET", target, "")} {
			if w.Code != 200 || head(w, api.HeaderIndex) != "2" || w.Body.String() == "[]" || w.Body.String() == "0" {
				t.Errorf("%s, the change %s: %d %s, index %s", target, when, w.Code, w.Body, head(w, api.HeaderIndex))
			}
		}
	}
}

// lateReads does something between what a look has read and what it decides.
type lateReads struct {
	*fake
	reads int
	then  func(n int)
}

func (b *lateReads) Get(p time.Duration, m service.Mode, key string) (kv.Entry, bool, service.ReadMeta, error) {
	e, found, meta, err := b.fake.Get(p, m, key)
	b.reads++
	b.then(b.reads)
	return e, found, meta, err
}

// A change between the read and the wait ends the wait, and so does one after signals that were no news.
func TestNoChangeFallsBetween(t *testing.T) {
	b := &lateReads{fake: newFake(t)}
	b.set(t, "k", "1")
	b.then = func(n int) {
		switch {
		case n < 3:
			b.hub.Begin(b.state.Revision()) // wakes all who wait
		case n == 3:
			b.set(t, "k", "again")
		}
	}
	cfg := testConfig()
	cfg.Hub = b.hub
	s, err := New(cfg, service.FrontOf(b))
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan *httptest.ResponseRecorder, 1)
	go func() { answer <- call(s, "GET", "/v1/kv/k?index=2", "") }()
	if w := (asked{answer}).get(t); w.Code != 200 || head(w, api.HeaderIndex) != "3" || b.reads != 4 {
		t.Errorf("%d, index %s after %d reads", w.Code, head(w, api.HeaderIndex), b.reads)
	}
}

func TestErrorsEndAWait(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v")
	s := newServer(t, f)
	a := ask(t, s, "/v1/kv/k?index=2")
	f.mu.Lock()
	f.readErr = fmt.Errorf("%w: no master", service.ErrNotApplied)
	f.mu.Unlock()
	f.set(t, "k", "w")
	if w := a.get(t); w.Code != 503 || head(w, "Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTooManyWaiting(t *testing.T) {
	f := newFake(t)
	f.hub = watch.New(watch.Limits{Waiting: 1, Events: 1, Bytes: 1})
	f.hub.Begin(0)
	s := newServer(t, f)
	a := ask(t, s, "/v1/kv/k?index=1")
	for _, target := range []string{"/v1/kv/k?index=1", "/v1/kv/?keys&index=1", "/v1/session/list?index=1", "/v1/watch"} {
		if w := call(s, "GET", target, ""); w.Code != 503 || head(w, "Retry-After") != "1" || code(w) != api.CodeOverloaded {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if w := call(s, "GET", "/v1/kv/k", ""); w.Code != 404 {
		t.Errorf("a query that does not wait: %d", w.Code)
	}
	s.EndWaits()
	if w := a.get(t); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.EndWaits()
}

// A query that waits when the node stops is answered as at the end of its wait, and its connection then ends. A later
// query is refused at once, unless it has news.
func TestAStopEndsWaitsInOrder(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v")
	s := newServer(t, f)
	var waiting []asked
	targets := []string{"/v1/kv/k?consistent&index=2", "/v1/kv/?keys&index=2", "/v1/session/list?index=2",
		"/v1/kv/none?index=2"}
	for _, target := range targets {
		waiting = append(waiting, ask(t, s, target))
	}
	s.EndWaits()
	for i, a := range waiting {
		w := a.get(t)
		if want := map[bool]int{true: 404, false: 200}[i == 3]; w.Code != want || head(w, api.HeaderIndex) == "" ||
			head(w, "Connection") != "close" {
			t.Errorf("%s: %d, index %s, connection %q", targets[i], w.Code, head(w, api.HeaderIndex), head(w, "Connection"))
		}
		w = call(s, "GET", targets[i], "")
		if w.Code != 503 || head(w, "Retry-After") != "0" || code(w) != api.CodeNotApplied {
			t.Errorf("%s, asked again: %d %s", targets[i], w.Code, w.Body)
		}
	}
	s.AwaitWaits(10 * time.Second)
	if n := s.waits.blocking.Load(); n != 0 {
		t.Errorf("%d queries are not answered", n)
	}
	if w := call(s, "GET", "/v1/kv/k?index=1", ""); w.Code != 200 {
		t.Errorf("a query with news: %d", w.Code)
	}
}

// A node that stops without a master has no answer for those that wait, and does not wait for one.
func TestAStopDoesNotWaitForReads(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v")
	s := newServer(t, f)
	a := ask(t, s, "/v1/kv/k?index=2")
	f.mu.Lock()
	f.readErr = fmt.Errorf("%w: no master", service.ErrNotApplied)
	f.mu.Unlock()
	s.EndWaits()
	if w := a.get(t); w.Code != 503 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.waits.blocking.Add(1) // one that reads for ever
	defer s.waits.blocking.Add(-1)
	s.AwaitWaits(time.Millisecond)
}

// The wait of a client that hangs up ends. A wait longer than the limit of a request is still answered. A stopping
// server does not wait for waiting queries.
func TestWaitsOverConnections(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v")
	s := newServer(t, f, func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout, c.ResponseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 150*time.Millisecond
	})
	addr := serve(t, s)
	gone := dial(t, addr)
	fmt.Fprintf(gone, "GET /v1/kv/k?index=2 HTTP/1.1\r\nHost: x\r\n\r\n")
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 1 })
	gone.Close()
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 0 && f.hub.Stats().Waiting == 0 })

	slow := dial(t, addr)
	fmt.Fprintf(slow, "GET /v1/kv/k?index=2&wait=400ms HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(slow)
	if r, err := http.ReadResponse(in, nil); err != nil || r.StatusCode != 200 {
		t.Fatalf("after a wait beyond all timeouts: %v %v", r, err)
	} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(slow, "GET /v1/kv/k?index=2 HTTP/1.1\r\nHost: x\r\n\r\n") // on the same connection
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 1 })
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if time.Since(began) > 10*time.Second {
		t.Errorf("stopping took %v", time.Since(began))
	}
	if r, err := http.ReadResponse(in, nil); err != nil || r.StatusCode != 200 || !r.Close {
		t.Errorf("a wait that the stop ended: %v %v", r, err)
	}
}

// Clients that loop on the index beside writers, deleters and sessions: each ends with the final state, no index falls,
// and none is above the store's revision.
func TestLoopingClients(t *testing.T) {
	f := newFake(t)
	f.set(t, "a/0", "")
	s := newServer(t, f)
	targets := []string{"/v1/kv/a/0", "/v1/kv/a/1?raw", "/v1/kv/a/?recurse", "/v1/kv/a/?keys", "/v1/kv/?count", "/v1/kv/b/?recurse", "/v1/kv/b/3", "/v1/session/list"}
	stop := make(chan struct{})
	var clients, writers sync.WaitGroup
	for _, target := range targets {
		clients.Go(func() { loop(t, s, target, stop) })
	}
	for n := range 3 {
		writers.Go(func() {
			for i := range 150 {
				key := string("ab"[i%2]) + "/" + strconv.Itoa((i+n)%4)
				switch i % 5 {
				case 0:
					call(s, "DELETE", "/v1/kv/"+key, "")
				case 1:
					call(s, "DELETE", "/v1/kv/"+key[:2]+"?recurse", "")
				case 2:
					call(s, "PUT", "/v1/session/create", "")
				default:
					call(s, "PUT", "/v1/kv/"+key, strconv.Itoa(i))
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	clients.Wait()
}

// loop follows target. After stop it must have, or get within short waits, what a plain read gets.
func loop(t *testing.T, s *Server, target string, stop <-chan struct{}) {
	sep := "?"
	if strings.Contains(target, "?") {
		sep = "&"
	}
	index, body, code := uint64(1), "", 0
	for last := false; ; {
		w := call(s, "GET", target+sep+"wait=20ms&index="+strconv.FormatUint(index, 10), "")
		now, _ := strconv.ParseUint(head(w, api.HeaderIndex), 10, 64)
		revision, _ := strconv.ParseUint(head(w, api.HeaderRevision), 10, 64)
		if now < index || now > revision {
			t.Errorf("%s: index %d after %d, the store is at %d", target, now, index, revision)
			return
		}
		if now == index && code != 0 && (w.Body.String() != body || w.Code != code) {
			t.Errorf("%s: at index %d once %d %s and once %d %s", target, index, code, body, w.Code, w.Body)
			return
		}
		index, body, code = now, w.Body.String(), w.Code
		if last {
			break
		}
		select {
		case <-stop:
			last = true
		default:
		}
	}
	if w := call(s, "GET", target, ""); w.Code != code || w.Body.String() != body {
		t.Errorf("%s: ended with %d %s, the store has %d %s", target, code, body, w.Code, w.Body)
	}
}
