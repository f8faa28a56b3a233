package web

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// A write with unknown outcome gets the same answer for every kind of request.
func TestAFailedWriteGetsOneAnswer(t *testing.T) {
	f := newFake(t)
	f.writeErr = fmt.Errorf("%w: the node stops", service.ErrUnknown)
	s := newServer(t, f)
	const id = "8a3f2c60-9d5e-4b1a-8f27-0c6d1e5b7a94"
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/kv/k", "v"},
		{"DELETE", "/v1/kv/k", ""},
		{"POST", "/v1/kv/k", `{"Op":"add","Num":1}`},
		{"PUT", "/v1/session/create", `{}`},
		{"PUT", "/v1/session/destroy/" + id, ""},
		{"PUT", "/v1/session/renew/" + id, ""},
		{"PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"k","Value":"dg=="}}]`},
	} {
		w := call(s, c.method, c.path, c.body)
		if w.Code != 504 || code(w) != api.CodeUnknown || strings.Count(w.Body.String(), "\n") != 1 ||
			head(w, api.HeaderRevision) != "" {
			t.Errorf("%s %s: %d %q at %q", c.method, c.path, w.Code, w.Body, head(w, api.HeaderRevision))
		}
	}
}

// The id of the last event is a decimal number.
func TestResumedStreamsCountInTens(t *testing.T) {
	for text, want := range map[string]uint64{"10": 10, "010": 10, "18446744073709551615": 1<<64 - 1, "": 0} {
		var q query
		if err := q.resume(http.Header{api.HeaderLastEventID: {text}}); err != nil || q.index != want || q.has(nIndex) != (text != "") {
			t.Errorf("%q: %d, %v", text, q.index, err)
		}
	}
	for _, text := range []string{"a", "0x10", "-1", "18446744073709551616"} {
		var q query
		if err := q.resume(http.Header{api.HeaderLastEventID: {text}}); err == nil {
			t.Errorf("%q is taken for %d", text, q.index)
		}
	}
}

// Values of the largest size are taken also as base64 in JSON, two of them in one command.
func TestLargestValuesInJSON(t *testing.T) {
	const n = 300_000
	f := newFake(t)
	s := newServer(t, f, func(c *Config) { c.MaxValueBytes = n })
	old, now := strings.Repeat("o", n), strings.Repeat("n", n)
	f.set(t, "k", old)
	coded := func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) }
	w := call(s, "POST", "/v1/kv/k", `{"Op":"test-and-set","Test":"`+coded(old)+`","Value":"`+coded(now)+`"}`)
	if e, _, _ := f.state.Get("k"); w.Code != 200 || string(e.Value) != now {
		t.Errorf("test-and-set: %d %.100s", w.Code, w.Body)
	}
	w = call(s, "PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"k","Value":"`+coded(old[:n-1000])+`"}}]`)
	if e, _, _ := f.state.Get("k"); w.Code != 200 || string(e.Value) != old[:n-1000] {
		t.Errorf("transaction: %d %.100s", w.Code, w.Body)
	}
}

// A body that is broken is refused, also one of JSON.
func TestBrokenBodiesAreInvalid(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	for _, rest := range []string{
		"PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"PUT /v1/session/create HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		got := say(t, addr, rest)
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || !says(got, api.CodeInvalid) {
			t.Errorf("%.30s …: %s", rest, got)
		}
	}
}

// The listing of a client that has hung up ends.
func TestListingOfAClientThatIsGone(t *testing.T) {
	f := newFake(t)
	for i := range 1000 {
		f.set(t, fmt.Sprintf("k%04d", i), "v")
	}
	s := newServer(t, f)
	gone, hangUp := context.WithCancel(context.Background())
	hangUp()
	for _, q := range []string{"?count", "?keys&separator=9"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/v1/kv/"+q, nil).WithContext(gone))
		if w.Code == 200 {
			t.Errorf("%s: %d %.100s", q, w.Code, w.Body)
		}
	}
}

// Serve tells why it ended, unless it was told to end.
func TestServeTellsWhyItEnded(t *testing.T) {
	s := newServer(t, newFake(t))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(); err == nil || !strings.HasPrefix(err.Error(), "web: serve clients on 127.0.0.1:") {
		t.Errorf("%v", err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// Consul's clients find the cluster and the version where they look for statistics.
func TestAgentSelfHasStatistics(t *testing.T) {
	f := newFake(t)
	f.status = api.Status{Cluster: "c1"}
	if w := call(newServer(t, f), "GET", "/v1/agent/self", ""); !strings.Contains(w.Body.String(), `"Stats":{"tenure":{"cluster":"c1","version":"1.2.3"}}`) {
		t.Error(w.Body)
	}
}

// What the history of changes holds can be seen.
func TestMetricsOfTheHistory(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "1", "b", "2", "c", "3")
	w := call(s, "GET", "/metrics", "")
	for _, line := range []string{"tenure_watch_waiters 0", "tenure_watch_history_events 3", "tenure_watch_history_bytes ", "tenure_watch_history_oldest_revision ",
		"tenure_http_waiting 0", "tenure_http_streams 0"} {
		if !strings.Contains(w.Body.String(), "\n"+line) {
			t.Errorf("no %s", line)
		}
	}
}

// slowLeases grants each lease after a wait.
type slowLeases struct {
	*fake
	wait time.Duration
}

func (b slowLeases) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	time.Sleep(b.wait)
	return b.fake.Lease(ctx, r)
}

// Who waits for a lease for longer than any request may take is still answered.
func TestALeaseThatIsWaitedForIsAnswered(t *testing.T) {
	f := newFake(t)
	cfg := testConfig()
	cfg.Hub = f.hub
	cfg.HeaderTimeout, cfg.BodyTimeout, cfg.ClientTimeout, cfg.ResponseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 150*time.Millisecond
	s, err := New(cfg, service.FrontOf(slowLeases{f, 400 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, serve(t, s))
	body := `{"Owner":"o","TTL":"1s","Wait":"20s"}`
	fmt.Fprintf(c, "POST /v1/lease/a/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || r.StatusCode != 200 {
		t.Fatalf("%v %v", r, err)
	}
	if b, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(b), `"Owner":"o"`) {
		t.Errorf("%s %v", b, err)
	}
}
