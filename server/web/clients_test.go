package web

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenure/api"
	"tenure/server/admission"
)

// rated gives a server a rate of so many requests in an hour of tests.
func rated(burst int) func(*Config) {
	return func(c *Config) {
		c.Limits.Rate = admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: burst}
		c.Limits.Loopback = true
	}
}

// askFrom makes n requests for a key with the token of secret from an address, and returns how many are not refused for
// their rate.
func (g *guarded) askFrom(addr, secret string, n int) (taken int) {
	for range n {
		r := httptest.NewRequest("GET", "/v1/kv/k", nil)
		r.Host, r.RemoteAddr = "127.0.0.1", addr+":1"
		if secret != "" {
			r.Header.Set(api.HeaderToken, secret)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != http.StatusTooManyRequests {
			taken++
		}
	}
	return taken
}

// A token has one rate, from however many addresses it comes; what is no token is its address.
func TestATokenIsOneClient(t *testing.T) {
	g := newGuarded(t, rated(5))
	g.made("one", `key_prefix "" { policy = "read" }`)
	g.made("two", `key_prefix "" { policy = "read" }`)
	sum := 0
	for i := range 4 {
		sum += g.askFrom(fmt.Sprint("192.0.2.", 1+i), "one", 4)
	}
	if sum < 5 || sum > 7 {
		t.Errorf("%d of 16 requests with one token from four addresses were taken, 5 may be", sum)
	}
	if n := g.askFrom("192.0.2.1", "two", 4); n != 4 {
		t.Errorf("%d of 4 with another token at one of these addresses", n)
	}
	sum = 0
	for i := range 8 { // another name each
		sum += g.askFrom("192.0.2.9", fmt.Sprint("no token ", i), 2)
	}
	if sum < 5 || sum > 7 {
		t.Errorf("%d of 16 requests with tokens that do not exist were taken, 5 may be", sum)
	}
	if n := g.askFrom("192.0.2.9", "two", 1); n != 1 {
		t.Error("a token at the address of those who have none has no rate of its own")
	}
	// The anonymous token is everybody's: the one does not take the rate of the other.
	if n, m := g.askFrom("192.0.2.20", "", 9), g.askFrom("192.0.2.21", "", 4); n > 7 || m != 4 {
		t.Errorf("%d of 9 without a token, and %d of 4 at another address", n, m)
	}
}

// When all ordinary places for requests are taken, the reserved ones are for tokens with operator:read, decided without
// asking the master.
func TestPlacesOfOperatorsAreForTheirTokens(t *testing.T) {
	g := newGuarded(t, func(c *Config) { c.Limits = admission.Limits{Requests: 20, Reserved: 4} })
	g.made("operator", `operator = "read"`)
	g.made("monitor", `agent_prefix "" { policy = "read" }`)
	g.made("writer", `key_prefix "" { policy = "write" }`)
	addr := serve(t, g.Server)
	leave := blocked(g.fake)
	for range 16 {
		c := dial(t, addr)
		fmt.Fprintf(c, "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nX-Consul-Token: writer\r\nContent-Length: 1\r\n\r\nv")
	}
	defer func() {
		close(leave)
		waitFor(t, func() bool { return g.metrics.inFlight.Load() == 0 })
	}()
	waitFor(t, func() bool { return g.metrics.inFlight.Load() == 16 })
	g.cut.Store(true)
	before := g.rounds.Load()
	for _, c := range []struct {
		secret, path string
		status       int
	}{
		{"operator", "/v1/members", 200}, {root, "/v1/members", 200}, {root, "/v1/acl/tokens", 503},
		{"writer", "/v1/members", 503}, {"no token", "/v1/members", 503}, {"", "/v1/members", 503},
		{"monitor", "/metrics", 200}, {"operator", "/v1/kv/k", 503}, {"writer", "/metrics", 503},
		{"", "/v1/status", 200}, {"no token", "/health/live", 200},
	} {
		w := g.as(c.secret).call("GET", c.path, "")
		if w.Code != c.status || c.status == 503 && c.path != "/v1/acl/tokens" && code(w) != api.CodeOverloaded {
			t.Errorf("%s with %q: %d %s", c.path, c.secret, w.Code, w.Body)
		}
	}
	if n := g.rounds.Load() - before; n > 1 { // of the list of tokens, which is read as it is at the master
		t.Errorf("the master was asked %d times", n)
	}
}

// What makes a request dear counts: lines of headers, a body, an answer.
func TestDearRequestsCountForMore(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		status  int
		most    int
	}{
		"plain":   {"GET /v1/kv/none HTTP/1.1\r\nHost: x\r\n\r\n", 404, 41},
		"headers": {"GET /v1/kv/none HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 100) + "\r\n", 404, 11},
		"body": {"PUT /v1/kv/b HTTP/1.1\r\nHost: x\r\nContent-Length: 262144\r\n\r\n" + strings.Repeat("v", 256<<10),
			200, 10},
		"answer": {"GET /v1/kv/big?raw HTTP/1.1\r\nHost: x\r\n\r\n", 200, 10},
	} {
		f := newFake(t)
		f.set(t, "big", strings.Repeat("v", 256<<10))
		s := newServer(t, f, rated(40))
		conn := dial(t, serve(t, s))
		in := bufio.NewReader(conn)
		taken := 0
		for range 45 {
			fmt.Fprint(conn, c.request)
			r, text := answer(t, in)
			if r.StatusCode == http.StatusTooManyRequests {
				break
			}
			if taken++; r.StatusCode != c.status {
				t.Fatalf("%s: %s %.200s", name, r.Status, text)
			}
		}
		if taken > c.most || taken < c.most/2 {
			t.Errorf("%s: %d requests were taken, at most %d should be", name, taken, c.most)
		}
	}
}

// An address that does not read its large values gets no more of them. It still gets small values, and other addresses
// get all.
func TestValuesThatAreNotRead(t *testing.T) {
	f := newFake(t)
	f.set(t, "big", strings.Repeat("v", 256<<10))
	f.set(t, "small", "v")
	s, addr := limited(t, f, admission.Limits{})
	c := dialFrom(t, "127.0.0.66", addr)
	in := bufio.NewReader(c)
	ask := func(path string) *http.Response {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		r, _ := answer(t, in)
		return r
	}
	for _, path := range []string{"/v1/kv/big?raw", "/v1/kv/small?raw"} { // the second comes after the end of the first
		if r := ask(path); r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
	}
	var conn *admission.Conn
	s.conns.known.Range(func(known, _ any) bool { conn = known.(*clientConn).admitted; return false })
	taken, err := s.conns.limits.Answering(conn, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/kv/big?raw", "/v1/kv/big", "/v1/kv/?recurse"} {
		if r := ask(path); r.StatusCode != 503 || r.Header.Get(api.HeaderError) != string(api.CodeOverloaded) {
			t.Errorf("%s: %s", path, r.Status)
		}
	}
	if r := ask("/v1/kv/small?raw"); r.StatusCode != 200 {
		t.Errorf("a small value: %s", r.Status)
	}
	other := dialFrom(t, "127.0.0.67", addr)
	fmt.Fprint(other, "GET /v1/kv/big?raw HTTP/1.1\r\nHost: x\r\n\r\n")
	if r, _ := answer(t, bufio.NewReader(other)); r.StatusCode != 200 {
		t.Errorf("another address: %s", r.Status)
	}
	taken()
	if r := ask("/v1/kv/big?raw"); r.StatusCode != 200 {
		t.Errorf("once the others were read: %s", r.Status)
	}
}
