package web

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/watch"
)

// reader is a client of an event stream.
type reader struct {
	t  *testing.T
	r  *http.Response
	in *bufio.Reader
}

func openWatch(t *testing.T, addr, query string, headers ...string) *reader {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+"/v1/watch"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s: %s %v", query, r.Status, r.Header)
	}
	return &reader{t: t, r: r, in: bufio.NewReader(r.Body)}
}

// block reads up to the next empty line: its lines, joined by |.
func (r *reader) block() string {
	var lines []string
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return strings.Join(append(lines, "END"), "|")
		}
		if line == "\n" {
			return strings.Join(lines, "|")
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

func (r *reader) want(blocks ...string) {
	r.t.Helper()
	for i, want := range blocks {
		if got := r.block(); got != want {
			r.t.Fatalf("block %d: %s\nwant %s", i, got, want)
		}
	}
}

func setEvent(key, value string, create, modify int) string {
	return fmt.Sprintf(`event: set|data: {"LockIndex":0,"Key":"%s","Flags":0,"Value":%s,"CreateIndex":%d,"ModifyIndex":%d}`, key, value, create, modify)
}

func TestWatch(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	addr := serve(t, s)
	f.set(t, "a/1", "x", "b", "")
	all, under, past := openWatch(t, addr, ""), openWatch(t, addr, "?prefix=a/&pretty"), openWatch(t, addr, "?prefix=a%2F&index=0")
	all.want("id: 3")
	under.want("id: 3")
	past.want("id: 0", setEvent("a/1", `"eA=="`, 2, 2)+"|id: 2")
	id := "aaaaaaaa-0000-0000-0000-000000000000"
	f.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{ID: id}})
	f.apply(t, kv.Command{Op: kv.OpTransaction, Parts: []kv.Part{
		{Op: kv.OpSet, Key: "a/1", Value: []byte("y")}, {Op: kv.OpSet, Key: "a/2"}, {Op: kv.OpDelete, Key: "b"}}})
	f.apply(t, kv.Command{Op: kv.OpPrune, Key: "a/"})
	f.set(t, "c", "")
	session := `event: session|data: {"Session":"` + id + `","ModifyIndex":4}|id: 4`
	gone := func(key string, at int) string {
		return fmt.Sprintf(`event: delete|data: {"Key":"%s","ModifyIndex":%d}`, key, at)
	}
	y, a2 := setEvent("a/1", `"eQ=="`, 2, 5), setEvent("a/2", "null", 5, 5)
	all.want(session, y, a2, gone("b", 5)+"|id: 5", gone("a/1", 6), gone("a/2", 6)+"|id: 6", setEvent("c", "null", 7, 7)+"|id: 7")
	for _, r := range []*reader{under, past} {
		r.want(y, a2+"|id: 5", gone("a/1", 6), gone("a/2", 6)+"|id: 6")
	}
	// A stream that broke off within revision 5 comes back with the last id that it had, and gets all of 5.
	openWatch(t, addr, "?index=1", "Last-Event-ID: 4").want("id: 4", y, a2, gone("b", 5)+"|id: 5")
	waitFor(t, func() bool { return s.metrics.streams.Load() == 4 })
	s.EndWaits()
	all.want("END")
	under.want("END")
	waitFor(t, func() bool { return s.metrics.streams.Load() == 0 && f.hub.Stats().Waiting == 0 })
}

// A quiet stream says how far it has come, so that its client need not list again only because it heard of nothing.
func TestHeartbeat(t *testing.T) {
	f := newFake(t)
	addr := serve(t, newServer(t, f, func(c *Config) { c.Heartbeat = 5 * time.Millisecond }))
	r := openWatch(t, addr, "?prefix=a")
	r.want("id: 0", "id: 0")
	f.set(t, "b", "", "b", "")
	for got := ""; got != "id: 3"; got = r.block() {
		if !strings.HasPrefix(got, "id: ") && got != "" {
			t.Fatal(got)
		}
	}
}

func TestWatchBeyondTheHistory(t *testing.T) {
	f := newFake(t)
	f.hub = watch.New(watch.Limits{Waiting: 100, Events: 4, Bytes: 1 << 20})
	f.hub.Begin(0)
	f.state.Observe(kv.Observer{Changed: f.hub.Changed})
	s := newServer(t, f)
	addr := serve(t, s)
	f.set(t, "quiet", "", "a", "", "b", "")
	f.apply(t, kv.Command{Op: kv.OpDelete, Key: "a"})
	for range 10 {
		f.set(t, "c", "")
	}
	compacted := `event: compacted|data: {"Index":15}|id: 15`
	for query, want := range map[string]string{
		"?prefix=quiet&index=2": "id: 15", // nothing has changed there since
		"?prefix=quiet&index=0": compacted,
		"?prefix=a&index=3":     compacted, // it was deleted
		"?prefix=a&index=5":     "id: 15",
		"?prefix=none&index=0":  "id: 15",
		"?index=6":              compacted,
		"?index=11":             "id: 11",
		"?prefix=quiet":         "id: 15",
	} {
		r := openWatch(t, addr, query)
		r.want(want)
		if want != "id: 11" { // and goes on
			f.apply(t, kv.Command{Op: kv.OpPrune, Key: "none"})
		}
	}
	r := openWatch(t, addr, "?prefix=quiet&index=0")
	r.want(compacted)
	f.set(t, "quiet", "")
	r.want(setEvent("quiet", "null", 2, 16) + "|id: 16")
}

// A reader that falls behind the history hears of it, and its stream ends.
func TestSlowReaderIsCut(t *testing.T) {
	f := newFake(t)
	f.hub = watch.New(watch.Limits{Waiting: 100, Events: 8, Bytes: 64 << 20})
	f.hub.Begin(0)
	f.state.Observe(kv.Observer{Changed: f.hub.Changed})
	s := newServer(t, f)
	c := dial(t, serve(t, s))
	fmt.Fprintf(c, "GET /v1/watch HTTP/1.0\r\nHost: x\r\n\r\n")
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 1 })
	in := bufio.NewReader(c)
	var events []string
	read := func(most int) {
		for len(events) < most {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			if strings.HasPrefix(line, "event: ") {
				events = append(events, strings.TrimSpace(line[7:]))
			}
		}
	}
	f.set(t, "k", "first")
	read(1) // before the flood, which may overtake it at once
	big := strings.Repeat("x", 256<<10)
	for f.hub.Stats().Oldest < 200 { // far more than sockets hold
		f.set(t, "k", big)
	}
	read(1000)
	if n := len(events); n < 2 || n > 150 || events[n-1] != "compacted" {
		t.Errorf("%d events, the last %q", n, events[max(0, n-3):])
	}
}

// One that does not read at all is cut without a word.
func TestDeafReaderIsCut(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f, func(c *Config) { c.EventTimeout = 50 * time.Millisecond })
	c := dial(t, serve(t, s))
	fmt.Fprintf(c, "GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n")
	waitFor(t, func() bool { return s.metrics.waiting.Load() == 1 })
	big := strings.Repeat("x", 256<<10)
	for range 100 {
		f.set(t, "k", big)
	}
	waitFor(t, func() bool { return s.metrics.streams.Load() == 0 && f.hub.Stats().Waiting == 0 })
}

func TestWatchesThatAreRefused(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	if w := call(s, "GET", "/v1/watch", "", "Last-Event-ID: x"); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(s, "HEAD", "/v1/watch", ""); w.Code != 200 || head(w, "Content-Type") != "text/event-stream" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	bare := newServer(t, f, func(c *Config) { c.Hub = nil })
	for _, target := range []string{"/v1/watch", "/v1/watch?index=3"} {
		if w := call(bare, "GET", target, ""); w.Code != 503 || code(w) != api.CodeNotApplied {
			t.Errorf("%s of a node that has not begun: %d %s", target, w.Code, w.Body)
		}
	}
}
