package web

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/admission"
)

// dialFrom opens a connection from one of the addresses of this machine.
func dialFrom(t testing.TB, from, addr string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// ends writes a request for path and returns all that comes until the connection ends.
func ends(t testing.TB, c net.Conn, path string) string {
	t.Helper()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	got, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return string(got)
}

const busyAnswer = "HTTP/1.1 503 "

// limited serves with these limits, also for this machine.
func limited(t testing.TB, f *fake, l admission.Limits) (*Server, string) {
	l.Loopback = true
	s := newServer(t, f, func(c *Config) { c.Limits = l })
	return s, serve(t, s)
}

// One address that takes all connections it can get leaves other addresses theirs, and an operator at the same address
// still gets an answer.
func TestOneAddressTakesAllItsConnections(t *testing.T) {
	s, addr := limited(t, newFake(t), admission.Limits{Conns: 100, ConnsPerSource: 5, Reserved: 20})
	for range 40 {
		dialFrom(t, "127.0.0.66", addr)
	}
	waitFor(t, func() bool { return s.metrics.conns.Load() >= 5 })
	if got := ends(t, dialFrom(t, "127.0.0.66", addr), "/v1/kv/k"); !strings.HasPrefix(got, busyAnswer) || !says(got, api.CodeOverloaded) {
		t.Errorf("a key: %q", got)
	}
	for _, path := range []string{"/v1/status", "/health/live", "/v1/members"} {
		if got := ends(t, dialFrom(t, "127.0.0.66", addr), path); !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s: %q", path, got)
		}
	}
	c := dialFrom(t, "127.0.0.67", addr)
	in := bufio.NewReader(c)
	for range 3 {
		fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n\r\n")
		if r, _ := answer(t, in); r.StatusCode != 404 || r.Close {
			t.Errorf("another address: %s", r.Status)
		}
	}
}

// When all ordinary connections are taken, operators are answered, one request a connection, and others are told.
func TestConnectionsOfOperators(t *testing.T) {
	s, addr := limited(t, newFake(t), admission.Limits{Conns: 30, Reserved: 10})
	for i := range 40 {
		dialFrom(t, fmt.Sprint("127.0.0.", 100+i%7), addr)
	}
	waitFor(t, func() bool { return s.metrics.conns.Load() >= 20 })
	for range 5 {
		for path, want := range map[string]string{
			"/v1/status": "HTTP/1.1 200 ", "/health/ready": "HTTP/1.1 200 ", "/v1/members": "HTTP/1.1 200 ",
			"/metrics": "HTTP/1.1 200 ", "/v1/kv/k": busyAnswer, "/v1/session/list": busyAnswer, "/nowhere": busyAnswer,
		} {
			if got := ends(t, dial(t, addr), path); !strings.HasPrefix(got, want) || !strings.Contains(got, "\r\nConnection: close\r\n") {
				t.Errorf("%s: %.200q", path, got)
			}
		}
	}
}

// blocked lets requests for writes wait in the backend until leave is closed.
func blocked(f *fake) (leave chan struct{}) {
	leave = make(chan struct{})
	f.onWrite = func(time.Duration) { <-leave }
	return leave
}

// writeAndWait sends a write and does not read the answer.
func writeAndWait(t *testing.T, c net.Conn) {
	fmt.Fprintf(c, "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv")
}

// When all places for requests are taken, operators are answered, and others are told.
func TestRequestsOfOperatorsGetThrough(t *testing.T) {
	f := newFake(t)
	leave := blocked(f)
	s, addr := limited(t, f, admission.Limits{Requests: 20, Reserved: 4})
	var busy []net.Conn
	for range 16 {
		busy = append(busy, dial(t, addr))
		writeAndWait(t, busy[len(busy)-1])
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 16 })
	if w := call(s, "GET", "/v1/kv/k", ""); w.Code != 503 || code(w) != api.CodeOverloaded || head(w, "Retry-After") != "1" {
		t.Errorf("a read: %d %s", w.Code, w.Body)
	}
	if w := call(s, "GET", "/v1/status", ""); w.Code != 200 {
		t.Errorf("status: %d %s", w.Code, w.Body)
	}
	if w := call(s, "POST", "/v1/master/transfer", `{"Node":2}`); w.Code != 200 {
		t.Errorf("transfer: %d %s", w.Code, w.Body)
	}
	close(leave)
	for _, c := range busy {
		if r, _ := answer(t, bufio.NewReader(c)); r.StatusCode != 200 {
			t.Errorf("one that was in flight: %s", r.Status)
		}
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 0 })
	if w := call(s, "GET", "/v1/kv/k", ""); w.Code != 200 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
}

// S5: a flood holds neither locks nor leases.
func TestReleasesGetThrough(t *testing.T) {
	f := newFake(t)
	id := "00000000-0000-4000-8000-000000000001"
	leave := blocked(f)
	s, addr := limited(t, f, admission.Limits{RequestsPerSource: 2})
	for range 2 {
		writeAndWait(t, dialFrom(t, "127.0.0.66", addr))
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 2 })
	refused := dialFrom(t, "127.0.0.66", addr)
	writeAndWait(t, refused)
	if r, _ := answer(t, bufio.NewReader(refused)); r.StatusCode != 503 {
		t.Errorf("one more write: %s", r.Status)
	}
	lease := dialFrom(t, "127.0.0.66", addr)
	const body = `{"Owner":"me","Acquisition":"mine"}`
	fmt.Fprintf(lease, "POST /v1/lease/l/release HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if r, text := answer(t, bufio.NewReader(lease)); r.StatusCode == 503 {
		t.Errorf("the end of a lease: %s %s", r.Status, text)
	}
	var unlocks []net.Conn
	for _, line := range []string{"/v1/kv/k?release=" + id, "/v1/session/destroy/" + id} {
		c := dialFrom(t, "127.0.0.66", addr)
		fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", line)
		unlocks = append(unlocks, c)
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 4 })
	close(leave)
	for _, c := range unlocks {
		if r, text := answer(t, bufio.NewReader(c)); r.StatusCode == 503 {
			t.Errorf("an unlock: %s %s", r.Status, text)
		}
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 0 })
}

func TestRequestsOfOneAddress(t *testing.T) {
	f := newFake(t)
	leave := blocked(f)
	s, addr := limited(t, f, admission.Limits{RequestsPerSource: 5})
	for range 5 {
		writeAndWait(t, dialFrom(t, "127.0.0.66", addr))
	}
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 5 })
	c := dialFrom(t, "127.0.0.66", addr)
	writeAndWait(t, c)
	if r, text := answer(t, bufio.NewReader(c)); r.StatusCode != 503 || !strings.Contains(text, "of this address") {
		t.Errorf("%s %s", r.Status, text)
	}
	other := dialFrom(t, "127.0.0.67", addr)
	fmt.Fprintf(other, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n\r\n")
	if r, _ := answer(t, bufio.NewReader(other)); r.StatusCode != 404 {
		t.Errorf("another address: %s", r.Status)
	}
	close(leave)
	waitFor(t, func() bool { return s.metrics.inFlight.Load() == 0 })
}

// Queries, streams and requests for leases that wait count for their client, and are no requests in flight meanwhile.
func TestWaitsOfOneClientAreBounded(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", "v")
	s, addr := limited(t, f, admission.Limits{WaitingPerClient: 3, Requests: 2, Reserved: 1})
	for _, path := range []string{"/v1/kv/k?index=2", "/v1/kv/k?index=2&recurse", "/v1/watch"} {
		c := dialFrom(t, "127.0.0.66", addr)
		before := s.metrics.waiting.Load()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		waitFor(t, func() bool { return s.metrics.waiting.Load() > before })
	}
	for _, request := range []string{
		"GET /v1/kv/k?index=2 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v1/watch HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v1/session/list?index=9 HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /v1/lease/l/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: 37\r\n\r\n" + `{"Owner":"o","TTL":"1s","Wait":"10s"}`,
	} {
		c := dialFrom(t, "127.0.0.66", addr)
		fmt.Fprint(c, request)
		if r, text := answer(t, bufio.NewReader(c)); r.StatusCode != 503 || r.Header.Get(api.HeaderError) != string(api.CodeOverloaded) ||
			!strings.Contains(text, "of this client") {
			t.Errorf("%.40s: %s %s", request, r.Status, text)
		}
	}
	c := dialFrom(t, "127.0.0.67", addr)
	in := bufio.NewReader(c)
	fmt.Fprintf(c, "GET /v1/kv/k?index=2&wait=10ms HTTP/1.1\r\nHost: x\r\n\r\n")
	if r, _ := answer(t, in); r.StatusCode != 200 {
		t.Errorf("another client: %s", r.Status)
	}
}

// A client that does not heed its refusals gets few of them in a second on each connection.
func TestRefusalsAreSlow(t *testing.T) {
	_, addr := limited(t, newFake(t), admission.Limits{Rate: admission.Rate{Mode: admission.Enforcing, PerSecond: 1, Burst: 1}})
	c := dial(t, addr)
	in := bufio.NewReader(c)
	began, refused := time.Now(), 0
	for refused < 5 {
		fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n\r\n")
		if r, _ := answer(t, in); r.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if took := time.Since(began); took < 5*100*time.Millisecond {
		t.Errorf("five refusals within %v", took)
	}
}

func TestRateOfRequests(t *testing.T) {
	rate := admission.Rate{PerSecond: 10, Burst: 5}
	for _, mode := range []admission.Mode{admission.Off, admission.Permissive, admission.Enforcing} {
		rate.Mode = mode
		f := newFake(t)
		s := newServer(t, f, func(c *Config) { c.Limits.Rate = rate })
		refused := 0
		for range 15 {
			w := call(s, "PUT", "/v1/kv/k", "v")
			if w.Code == 200 {
				continue
			}
			refused++
			if w.Code != http.StatusTooManyRequests || code(w) != api.CodeOverloaded || head(w, "Retry-After") != "1" ||
				head(w, api.HeaderRetryAfterMS) == "" || !strings.Contains(w.Body.String(), "at most 10 a second") {
				t.Fatalf("%v: %d %v %s", mode, w.Code, w.Header(), w.Body)
			}
		}
		if (refused > 0) != (mode == admission.Enforcing) || f.writes != 15-refused {
			t.Errorf("%v: %d of 15 refused, %d writes", mode, refused, f.writes)
		}
		exceeded := strings.Contains(call(newServer(t, f), "GET", "/metrics", "").Body.String(), "client_rate")
		if !exceeded {
			t.Error("no metric")
		}
	}
}

// The server refuses HTTP/2 with an error: to a client with prior knowledge, to an upgrade, and to a negotiation over
// TLS.
func TestHTTP2IsNotSpoken(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	got := say(t, addr, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	if !strings.HasPrefix(got, "HTTP/1.1 505 ") || !strings.Contains(got, errHTTP2.Error()) || strings.Count(got, "HTTP/1.1 ") != 1 {
		t.Errorf("%q", got)
	}
	c := dial(t, addr)
	fmt.Fprintf(c, "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"+
		"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n")
	if r, _ := answer(t, bufio.NewReader(c)); r.StatusCode != 200 || r.ProtoMajor != 1 {
		t.Errorf("%s %s", r.Proto, r.Status)
	}
	secure, ca := overTLS(t, nil)
	for _, protos := range [][]string{{"h2", "http/1.1"}, {"h2"}} {
		c, err := tls.Dial("tcp", secure, &tls.Config{RootCAs: ca.Pool(t), NextProtos: protos})
		if err != nil {
			if len(protos) == 1 && strings.Contains(err.Error(), "no application protocol") {
				continue
			}
			t.Fatal(err)
		}
		if p := c.ConnectionState().NegotiatedProtocol; p == "h2" {
			t.Errorf("%v: %q was negotiated", protos, p)
		}
		c.Close()
	}
}
