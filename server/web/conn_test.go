package web

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/oslimit"
)

// answer reads one answer from in.
func answer(t *testing.T, in *bufio.Reader) (*http.Response, string) {
	t.Helper()
	r, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r, string(body)
}

// A request that is not HTTP/1 as it should be is refused, and no write comes of it.
func TestMalformedRequests(t *testing.T) {
	f := newFake(t)
	addr := serve(t, newServer(t, f))
	const put = "PUT /v1/kv/k HTTP/1.1\r\n"
	for name, c := range map[string]struct {
		text string
		code int
	}{
		"no host":             {put + "Content-Length: 1\r\n\r\nv", 400},
		"two hosts":           {put + "Host: x\r\nHost: y\r\nContent-Length: 1\r\n\r\nv", 400},
		"odd host":            {put + "Host: x y\r\nContent-Length: 1\r\n\r\nv", 400},
		"odd name":            {put + "Host: x\r\nX(A): 1\r\nContent-Length: 1\r\n\r\nv", 400},
		"no colon":            {put + "Host: x\r\nX-A\r\nContent-Length: 1\r\n\r\nv", 400},
		"space before colon":  {put + "Host: x\r\nContent-Length : 1\r\n\r\nv", 400},
		"zero byte":           {put + "Host: x\r\nX-A: \x00\r\nContent-Length: 1\r\n\r\nv", 400},
		"bad length":          {put + "Host: x\r\nContent-Length: 1x\r\n\r\nv", 400},
		"negative length":     {put + "Host: x\r\nContent-Length: -1\r\n\r\nv", 400},
		"two lengths":         {put + "Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nvv", 400},
		"unknown encoding":    {put + "Host: x\r\nTransfer-Encoding: rot13\r\n\r\nv", 501},
		"bad method":          {"P@T /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv", 400},
		"spaces in target":    {"PUT /v1/kv/k k HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv", 400},
		"bad escape":          {"PUT /v1/kv/%zz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv", 400},
		"another version":     {"PUT /v1/kv/k HTTP/3.0\r\nHost: x\r\nContent-Length: 1\r\n\r\nv", 505},
		"unknown expectation": {put + "Host: x\r\nExpect: luck\r\nContent-Length: 1\r\n\r\nv", 417},
	} {
		if got := say(t, addr, c.text); !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.code)) || strings.Count(got, "HTTP/1.1 ") != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
	if f.writes != 0 {
		t.Errorf("%d writes", f.writes)
	}
}

// The answer to an unwanted body arrives, both at clients that send all before they read and at clients that read while
// they send, with and without an announced end of the connection.
func TestAnswerBeforeTheBodyIsSentArrives(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	for target, code := range map[string]int{"/v1/kv/k": 413, "/v1/kv/k?cas=x": 400} {
		for _, size := range []int{1 << 20, 15 << 20} {
			c := dial(t, addr)
			if _, err := fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", target, size); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write(make([]byte, size)); err != nil {
				t.Errorf("%s, a client that sends %d bytes first: %v", target, size, err)
			}
			if r, _ := answer(t, bufio.NewReader(c)); r.StatusCode != code {
				t.Errorf("%s, a client that sends %d bytes first: %s", target, size, r.Status)
			}
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		body := make([]byte, 64<<20)
		for range 5 {
			req, err := http.NewRequest("PUT", "http://"+addr+target, bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != code {
				t.Fatal(resp.Status)
			}
		}
	}
}

// A body that nobody wants is not waited for: the answer comes, and then the connection ends.
func TestUnwantedBodyIsNotWaitedFor(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	for target, begins := range map[string]string{"/v1/kv/k?cas=x": "HTTP/1.1 400 ", "/nowhere": "HTTP/1.1 404 "} {
		c := dial(t, addr)
		if _, err := fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\nhel", target); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(got), begins) {
			t.Errorf("%s: %q %v", target, got, err)
		}
	}
}

// The rest of a body is never taken for the next request. With a declared length the connection serves the next
// request.
func TestTheRestOfABodyIsNoRequest(t *testing.T) {
	f := newFake(t)
	addr := serve(t, newServer(t, f))
	const hidden = "PUT /v1/kv/hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	chunked := dial(t, addr)
	fmt.Fprintf(chunked, "PUT /v1/kv/k?cas=x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		len(hidden), hidden)
	if r, text := answer(t, bufio.NewReader(chunked)); r.StatusCode != 400 || !r.Close || r.ContentLength != int64(len(text)) {
		t.Errorf("%+v %s", r, text)
	}
	c := dial(t, addr)
	in := bufio.NewReader(c)
	fmt.Fprintf(c, "PUT /v1/kv/k?cas=x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(hidden), hidden)
	if r, text := answer(t, in); r.StatusCode != 400 || r.Close || r.ContentLength != int64(len(text)) {
		t.Errorf("%+v %s", r, text)
	}
	fmt.Fprintf(c, "GET /v1/kv/hidden HTTP/1.1\r\nHost: x\r\n\r\n")
	if r, _ := answer(t, in); r.StatusCode != 404 || f.writes != 0 {
		t.Errorf("%s after %d writes", r.Status, f.writes)
	}
}

// A request that comes byte by byte is the same request, and nothing of one is left for the next on its connection.
func TestManyRequestsOnOneConnection(t *testing.T) {
	f := newFake(t)
	c := dial(t, serve(t, newServer(t, f)))
	in := bufio.NewReader(c)
	for _, b := range []byte("PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello") {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if r, _ := answer(t, in); r.StatusCode != 200 || f.last.Key != "k" || string(f.last.Value) != "hello" {
		t.Errorf("%s, %s=%q was written", r.Status, f.last.Key, f.last.Value)
	}
	for i := range 1000 {
		value := strings.Repeat(string(rune('a'+i%26)), (i*977)%9000)
		fmt.Fprintf(c, "PUT /v1/kv/%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%sGET /v1/kv/%d?raw HTTP/1.1\r\nHost: x\r\n\r\n", i, len(value), value, i)
		if r, _ := answer(t, in); r.StatusCode != 200 {
			t.Fatalf("%d: %s", i, r.Status)
		}
		if _, got := answer(t, in); got != value {
			t.Fatalf("%d: %.100q, want %.100q", i, got, value)
		}
	}
}

// Connections on which nothing comes, or not enough, end.
func TestSlowConnectionsEnd(t *testing.T) {
	const brief = 100 * time.Millisecond
	for _, c := range []struct {
		change func(*Config)
		text   string
	}{
		{func(c *Config) { c.HeaderTimeout = brief }, ""},
		{func(c *Config) { c.HeaderTimeout = brief }, "GET /v1/kv/a HTTP/1.1\r\nHo"},
		{func(c *Config) { c.IdleTimeout = brief }, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		s := newServer(t, newFake(t), c.change)
		say(t, serve(t, s), c.text) // within the deadline of dial
		waitFor(t, func() bool { return s.metrics.conns.Load() == 0 })
	}
}

// A client that is idle or slow for less than the limits is left alone, though its requests take longer together.
func TestClientsWithinTheLimitsAreServed(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout, c.IdleTimeout, c.ResponseTimeout = time.Second, time.Second, time.Second, time.Second, 2*time.Second
	})
	c := dial(t, serve(t, s))
	in := bufio.NewReader(c)
	for range 10 {
		time.Sleep(250 * time.Millisecond)
		fmt.Fprintf(c, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
		if r, _ := answer(t, in); r.StatusCode != 200 {
			t.Fatal(r.Status)
		}
	}
}

// A client that does not read its answer is let go.
func TestSlowReader(t *testing.T) {
	f := newFake(t)
	f.set(t, "k", strings.Repeat("v", 16<<20))
	s := newServer(t, f, func(c *Config) {
		c.HeaderTimeout, c.BodyTimeout, c.ClientTimeout, c.ResponseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond, 150*time.Millisecond
	})
	c := dial(t, serve(t, s)).(*net.TCPConn)
	if err := c.SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n\r\n")
	waitFor(t, func() bool { return s.metrics.conns.Load() == 1 })
	waitFor(t, func() bool { return s.metrics.conns.Load() == 0 })
}

// A stopping server ends idle and unused connections at once, and answers the requests in flight.
func TestShutdownEndsConnectionsWithoutRequests(t *testing.T) {
	f := newFake(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	f.onWrite = func(time.Duration) { close(entered); <-leave }
	s := newServer(t, f)
	addr := serve(t, s)
	unused, idle, busy := dial(t, addr), dial(t, addr), dial(t, addr)
	fmt.Fprintf(idle, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
	answer(t, bufio.NewReader(idle))
	fmt.Fprintf(busy, "PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nv")
	<-entered
	waitFor(t, func() bool { return s.metrics.conns.Load() == 3 })
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	began := time.Now()
	for name, c := range map[string]net.Conn{"unused": unused, "idle": idle} {
		if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	if d := time.Since(began); d > 3*time.Second { // net/http would wait 5 s for the one that was never used
		t.Errorf("connections without a request were held for %v", d)
	}
	select {
	case err := <-down:
		t.Errorf("did not wait for the request in flight: %v", err)
	default:
	}
	close(leave)
	if r, body := answer(t, bufio.NewReader(busy)); r.StatusCode != 200 || body != "true" {
		t.Errorf("%s %s", r.Status, body)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

// failing fails as a listener does that has no files left, and then accepts.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.ENOMEM}
	}
	return f.Listener.Accept()
}

// A lack of files that passes does not end the server.
func TestAcceptErrorsPass(t *testing.T) {
	s := newServer(t, newFake(t))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	inner := s.listener.Listener.(*oslimit.Listener)
	inner.Listener = &failing{inner.Listener, 3}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	if got := say(t, s.Addr(), "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
