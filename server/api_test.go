package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// follow is a client that loops on the index, through whichever node answers. It checks that the index never falls.
type follow struct {
	t      *testing.T
	target string
	index  uint64
	body   string
	code   int
}

func (f *follow) step(h *host, wait string) bool {
	sep := "?"
	if strings.Contains(f.target, "?") {
		sep = "&"
	}
	code, body, header := h.call(http.MethodGet, fmt.Sprintf("%s%sindex=%d&wait=%s", f.target, sep, f.index, wait), "")
	if code != 200 && code != 404 {
		return false
	}
	index, _ := strconv.ParseUint(header.Get("X-Consul-Index"), 10, 64)
	if index < f.index {
		f.t.Errorf("%s: index %d after %d", f.target, index, f.index)
	}
	if index == f.index && f.code != 0 && (body != f.body || code != f.code) {
		f.t.Errorf("%s at %d: once %d %s, once %d %s", f.target, index, f.code, f.body, code, body)
	}
	f.index, f.body, f.code = index, body, code
	return true
}

// Clients that loop on the index through every node see the final state, and no index falls: while the master changes,
// and over a restart of all nodes.
func TestIndexesNeverFall(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 3)
	put := func(h *host, key, value string) {
		h.until(t, "written to", func() bool {
			code, _, _ := h.call(http.MethodPut, "/v1/kv/"+key, value)
			return code == 200
		})
	}
	put(hosts[0], "a/1", "")
	clients := []*follow{}
	for _, target := range []string{"/v1/kv/a/1", "/v1/kv/gone", "/v1/kv/a/?recurse", "/v1/kv/?keys", "/v1/kv/b/?count", "/v1/session/list"} {
		clients = append(clients, &follow{t: t, target: target, index: 1})
	}
	round := func(change func()) {
		stop := make(chan struct{})
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				for n := i; ; n++ {
					c.step(hosts[n%3], "20ms")
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for i := range 20 {
			put(hosts[i%3], "a/"+strconv.Itoa(i%3), strconv.Itoa(i))
			put(hosts[i%3], "gone", "")
			hosts[i%3].call(http.MethodDelete, "/v1/kv/gone", "")
			if i == 10 {
				change()
			}
		}
		hosts[0].call(http.MethodPut, "/v1/session/create", "")
		close(stop)
		all.Wait()
	}
	round(func() { hosts[0].call(http.MethodPost, "/v1/master/transfer", "") })
	for _, h := range hosts {
		h.stop(t)
	}
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.awaitReady(t)
	}
	round(func() {})
	for _, c := range clients {
		h := hosts[1]
		h.until(t, "answering", func() bool { return c.step(h, "1ms") })
		if code, body, _ := h.call(http.MethodGet, c.target, ""); code != c.code || body != c.body {
			t.Errorf("%s ended with %d %s, the store has %d %s", c.target, c.code, c.body, code, body)
		}
	}
}

// A query that waits on one node is answered when another one takes a write, and when its own node stops.
func TestWaitingOnAFollower(t *testing.T) {
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	follower := hosts[int(m.cfg.Node)%3]
	_, _, header := follower.call(http.MethodGet, "/v1/kv/k", "")
	index := header.Get("X-Consul-Index")
	answer := make(chan string, 1)
	ask := func() {
		code, text, h := follower.call(http.MethodGet, "/v1/kv/k?raw&wait=1m&index="+index, "")
		if why := codeOf(h); why != "" {
			text = string(why)
		}
		answer <- fmt.Sprint(code, " ", text)
	}
	go ask()
	follower.until(t, "waited on", func() bool { return strings.Contains(metricsOf(follower), "\ntenure_http_waiting 1\n") })
	if code, text, _ := m.call(http.MethodPut, "/v1/kv/k", "v"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if got := <-answer; got != "200 v" {
		t.Errorf("got %s", got)
	}
	_, _, header = follower.call(http.MethodGet, "/v1/kv/k", "")
	index = header.Get("X-Consul-Index")
	go ask()
	follower.until(t, "waited on", func() bool { return strings.Contains(metricsOf(follower), "\ntenure_http_waiting 1\n") })
	follower.stop(t)
	if got := <-answer; got != "200 v" {
		t.Errorf("got %s", got)
	}
}

func metricsOf(h *host) string {
	_, text, _ := h.call(http.MethodGet, "/metrics", "")
	return text
}

// A session that is not renewed ends, and gives its lock up; watchers on a follower see all of it; a key expires.
func TestSessionsLocksAndExpiry(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	follower := hosts[int(m.cfg.Node)%3]
	if code, text, _ := follower.call(http.MethodPut, "/v1/session/create", `{"TTL":"1s"}`); code != 500 || !strings.HasPrefix(text, "Invalid Session TTL") {
		t.Fatalf("%d %s", code, text)
	}
	for _, h := range hosts {
		h.stop(t)
		h.cfg.SessionTTLMin = 100 * time.Millisecond
	}
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.awaitReady(t)
	}
	events := watchEvents(t, follower)
	create := func(body string) string {
		code, text, _ := follower.call(http.MethodPut, "/v1/session/create", body)
		var out struct{ ID string }
		if err := json.Unmarshal([]byte(text), &out); code != 200 || err != nil {
			t.Fatalf("%d %s", code, text)
		}
		return out.ID
	}
	a, b := create(`{"TTL":"300ms","LockDelay":0}`), create(`{"LockDelay":0}`)
	if code, text, _ := follower.call(http.MethodPut, "/v1/session/renew/"+a, ""); code != 200 || !strings.Contains(text, a) || !strings.Contains(text, `"Node":"node-`+strconv.Itoa(int(follower.cfg.Node))) {
		t.Fatalf("renew: %d %s", code, text)
	}
	lock := func(h *host, id string) string {
		code, text, _ := h.call(http.MethodPut, "/v1/kv/lock?acquire="+id, "")
		return fmt.Sprint(code, " ", text)
	}
	if got := lock(follower, a); got != "200 true" {
		t.Fatal(got)
	}
	if got := lock(m, b); got != "200 false" {
		t.Fatal(got)
	}
	if code, text, _ := m.call(http.MethodPut, "/v1/kv/brief?ttl=300ms", "v"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	if _, text, _ := m.call(http.MethodGet, "/v1/kv/brief", ""); !strings.Contains(text, `"ExpiresIn":"`) {
		t.Error(text)
	}
	follower.until(t, "rid of the key that expires", func() bool {
		code, _, _ := follower.call(http.MethodGet, "/v1/kv/brief", "")
		return code == 404
	})
	m.until(t, "able to give the lock to the next", func() bool { return lock(m, b) == "200 true" })
	if got := lock(follower, a); !strings.HasPrefix(got, "500 invalid session") {
		t.Error(got)
	}
	if code, text, _ := m.call(http.MethodPut, "/v1/session/renew/"+a, ""); code != 404 || !strings.Contains(text, "not found") {
		t.Errorf("%d %s", code, text)
	}
	m.call(http.MethodPut, "/v1/kv/end", "")
	seen := map[string]int{}
	for e := range events {
		seen[e]++
		if e == "set end" {
			break
		}
	}
	for _, want := range []string{"session " + a, "session " + b, "set lock", "set brief", "delete brief"} {
		if seen[want] == 0 {
			t.Errorf("no %q among %v", want, seen)
		}
	}
	if seen["session "+a] != 2 {
		t.Errorf("creation and end of %s: %v", a, seen)
	}
}

// watchEvents gives "kind name" of each event of a stream of everything.
func watchEvents(t *testing.T, h *host) <-chan string {
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.cfg.ClientAddr+"/v1/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(rsp.Body)
	for in.Scan() && in.Text() != "" { // its position: from here on nothing is missed
	}
	out := make(chan string, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out)
		defer rsp.Body.Close()
		kind := ""
		for in.Scan() {
			if k, ok := strings.CutPrefix(in.Text(), "event: "); ok {
				kind = k
			}
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				var e struct{ Key, Session string }
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					t.Errorf("%s: %v", data, err)
				}
				name := e.Key
				if kind == "session" {
					name = e.Session
				}
				out <- kind + " " + name
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return out
}
