package shorthttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a Listener before an http.Server, both with the same handler, and a log of who answered.
type rig struct {
	l            *Listener
	server       *http.Server
	short, other atomic.Int64 // requests
	open         atomic.Int64 // connections that are this package's
}

func newRig(t testing.TB, h http.HandlerFunc, change ...func(*Config)) *rig {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{}
	cfg := Config{
		Handler: counting(h, &r.short), Takes: func(_, target []byte) bool { return bytes.HasPrefix(target, []byte("/short")) },
		Header: 10 * time.Second, Body: 20 * time.Second, Response: 30 * time.Second, Idle: 30 * time.Second,
		Opened: func() { r.open.Add(1) }, Closed: func() { r.open.Add(-1) }, Logger: zerolog.Nop(),
	}
	for _, c := range change {
		c(&cfg)
	}
	r.l = New(inner, cfg)
	r.server = &http.Server{Handler: counting(h, &r.other), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed || s == http.StateHijacked {
			r.open.Add(-1)
		}
	}}
	done := make(chan error, 1)
	go func() { done <- r.server.Serve(r.l) }()
	t.Cleanup(func() {
		r.server.Close()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.l.Wait(ctx)
		if err := <-done; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		until(t, func() bool { return r.open.Load() == 0 })
	})
	return r
}

func counting(h http.HandlerFunc, n *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		h(w, r)
	})
}

func until(t testing.TB, ok func() bool) {
	t.Helper()
	for range 4000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("waited in vain")
}

func (r *rig) dial(t testing.TB) *net.TCPConn {
	c, err := net.Dial("tcp", r.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// say sends text, ends its half of the connection and returns all that comes.
func say(t testing.TB, addr, text string) string {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, text) // it may be refused half-way
	_ = c.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(c) // what came before a reset counts
	return string(b)
}

// A body that the handler does not want is not the end of the answer: clients that send all of it first, and those that
// read beside sending, get the answer whole.
func TestAnswerBeforeTheBodyIsSentArrives(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "too large", 413) })
	for _, size := range []int{1 << 20, 15 << 20} {
		c := r.dial(t)
		if _, err := fmt.Fprintf(c, "PUT /short HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(make([]byte, size)); err != nil {
			t.Errorf("a client that sends %d bytes first: %v", size, err)
		}
		if b, err := io.ReadAll(c); err != nil || !bytes.HasPrefix(b, []byte("HTTP/1.1 413 ")) {
			t.Errorf("a client that sends %d bytes first: %q, %v", size, b, err)
		}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	body := make([]byte, 64<<20)
	for range 5 {
		req, err := http.NewRequest("PUT", "http://"+r.l.Addr().String()+"/short", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Fatal(resp.Status)
		}
	}
}

// echo answers with what it was asked, in ways that the path chooses.
func echo(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.Contains(path, "unread") {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	body, err := io.ReadAll(r.Body)
	h := w.Header()
	switch {
	case err != nil:
		h["Connection"] = []string{"close"}
		http.Error(w, "body: "+err.Error(), http.StatusBadRequest)
	case strings.Contains(path, "nocontent"):
		w.WriteHeader(http.StatusNoContent)
	case strings.Contains(path, "notmodified"):
		w.WriteHeader(http.StatusNotModified)
		_, err := w.Write([]byte("x"))
		if !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	case strings.Contains(path, "panic"):
		panic(http.ErrAbortHandler)
	case strings.Contains(path, "close"):
		h.Set("Connection", "close")
		_, _ = w.Write([]byte("bye"))
	case strings.Contains(path, "inject"):
		h["X-Injected"] = []string{"a\r\nX-Evil: b"}
	case strings.Contains(path, "long"):
		if strings.Contains(path, "declared") {
			h.Set("Content-Length", strconv.Itoa(30*5000))
		}
		if strings.Contains(path, "too") {
			h.Set("Content-Length", strconv.Itoa(28*5000))
		}
		for i := range 30 {
			_, _ = w.Write(bytes.Repeat([]byte{byte('a' + i%26)}, 5000))
		}
	case strings.Contains(path, "json"):
		h["Content-Type"] = []string{"application/json"}
		w.WriteHeader(http.StatusConflict)
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte(`{"a":1}`))
	default:
		fmt.Fprintf(w, "%s %s %q %q %d %q", r.Method, r.RequestURI, r.Host, r.Header["X-A"], r.ContentLength, body)
	}
}

// what is the part of the answers in text that must be the same for all servers. How a body is framed that net/http does not
// gather, and this package may, is left out.
func what(text string) []string {
	var out []string
	in := bufio.NewReader(strings.NewReader(text))
	for {
		r, err := http.ReadResponse(in, nil)
		if err != nil {
			if rest, _ := io.ReadAll(in); len(rest) > 0 {
				out = append(out, fmt.Sprintf("%v %q", err, rest))
			}
			return out
		}
		body, err := io.ReadAll(r.Body)
		if len(body) > 2048 {
			r.Header.Del("Content-Length")
			r.ContentLength, r.TransferEncoding = -1, nil
		}
		if r.Header.Get("Date") != "" {
			r.Header.Set("Date", "some")
		}
		var head []string
		for k, v := range r.Header {
			head = append(head, fmt.Sprintf("%s=%q", k, v))
		}
		slices.Sort(head)
		out = append(out, fmt.Sprintf("%d %v %d %v %v %q %v", r.StatusCode, head, r.ContentLength, r.TransferEncoding, r.Close, body, err))
	}
}

var asked = map[string]string{
	"get":                    "GET /short/a?b=c HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\n\r\n",
	"put":                    "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
	"empty put":              "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
	"delete":                 "DELETE /short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"patch":                  "PATCH /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
	"head":                   "HEAD /short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"options":                "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
	"other path":             "GET /long HTTP/1.1\r\nHost: x\r\n\r\n",
	"pipelined":              "GET /short/1 HTTP/1.1\r\nHost: x\r\n\r\nPUT /short/2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /short/3 HTTP/1.1\r\nHost: x\r\n\r\n",
	"short, then another":    "GET /short/1 HTTP/1.1\r\nHost: x\r\n\r\nPUT /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nabGET /short/3 HTTP/1.1\r\nHost: x\r\n\r\n",
	"close":                  "GET /short/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"answer closes":          "GET /short/close HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"1.0":                    "GET /short/a HTTP/1.0\r\nHost: x\r\n\r\n",
	"1.0 keep-alive":         "GET /short/a HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n\r\n",
	"2.0":                    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	"chunked":                "PUT /short/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	"chunked with length":    "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
	"expect":                 "PUT /short/a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
	"upgrade":                "GET /short/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
	"no host":                "GET /short/a HTTP/1.1\r\n\r\n",
	"empty host":             "GET /short/a HTTP/1.1\r\nHost:\r\n\r\n",
	"two hosts":              "GET /short/a HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n",
	"bad host":               "GET /short/a HTTP/1.1\r\nHost: x y\r\n\r\n",
	"bare line ends":         "GET /short/a HTTP/1.1\nHost: x\n\n",
	"one bare line end":      "GET /short/a HTTP/1.1\r\nHost: x\nX-A: 1\r\n\r\n",
	"bare end":               "GET /short/a HTTP/1.1\r\nHost: x\r\n\n",
	"bare carriage return":   "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: 1\r2\r\n\r\n",
	"line that goes on":      "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n",
	"zero byte":              "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: 1\x002\r\n\r\n",
	"odd name":               "GET /short/a HTTP/1.1\r\nHost: x\r\nX(A): 1\r\n\r\n",
	"odd value":              "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: \xff\x7f\r\n\r\n",
	"no name":                "GET /short/a HTTP/1.1\r\nHost: x\r\n: 1\r\n\r\n",
	"host with a port":       "GET /short/a HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
	"space before colon":     "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A : 1\r\n\r\n",
	"no colon":               "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A\r\n\r\n",
	"bad method":             "G@T /short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"no method":              " /short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"spaces in target":       "GET /short/a b HTTP/1.1\r\nHost: x\r\n\r\n",
	"bad escape":             "GET /short/%zz HTTP/1.1\r\nHost: x\r\n\r\n",
	"escape":                 "GET /short/%41%2f?%20 HTTP/1.1\r\nHost: x\r\n\r\n",
	"absolute target":        "GET http://y/short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"bad length":             "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n\r\nhello",
	"negative length":        "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
	"plus length":            "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
	"two lengths":            "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
	"length twice":           "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
	"body cut":               "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhello",
	"head cut":               "GET /short/a HTTP/1.1\r\nHost: x\r\n",
	"nothing":                "",
	"empty lines first":      "\r\n\r\nGET /short/a HTTP/1.1\r\nHost: x\r\n\r\n",
	"long head":              "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("v", 9000) + "\r\n\r\n",
	"head as long as can be": longest(headBytes),
	"and one more":           longest(headBytes + 1),
	"long body":              "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n" + strings.Repeat("v", 20000) + "GET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"unread body":            "PUT /short/unread HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"no content":             "GET /short/nocontent HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"not modified":           "GET /short/notmodified HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"panic":                  "GET /short/a HTTP/1.1\r\nHost: x\r\n\r\nGET /short/panic HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"header on two lines":    "GET /short/inject HTTP/1.1\r\nHost: x\r\n\r\n",
	"long answer":            "GET /short/long HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"long answer, declared":  "GET /short/long/declared HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"longer than declared":   "GET /short/too/long HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
	"long answer, last":      "GET /short/long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	"json":                   "GET /short/json HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n",
}

func longest(n int) string {
	const start, end = "GET /short/a HTTP/1.1\r\nHost: x\r\nX-A: ", "\r\n\r\n"
	return start + strings.Repeat("v", n-len(start)-len(end)) + end
}

// Whatever is asked, the answers are those of net/http alone.
func TestLikeNetHTTP(t *testing.T) {
	r, plain := newRig(t, echo), newPlain(t)
	for name, text := range asked {
		if got, want := what(say(t, r.l.Addr().String(), text)), what(say(t, plain, text)); !slices.Equal(got, want) {
			t.Errorf("%s:\n got %.300q\nwant %.300q", name, got, want)
		}
	}
	if r.short.Load() < 30 || r.other.Load() < 10 {
		t.Errorf("%d requests were answered here, %d by net/http", r.short.Load(), r.other.Load())
	}
}

func newPlain(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(echo)}
	done := make(chan struct{})
	go func() { _ = s.Serve(l); close(done) }()
	t.Cleanup(func() { s.Close(); <-done })
	return l.Addr().String()
}

func FuzzLikeNetHTTP(f *testing.F) {
	r, plain := newRig(f, echo), newPlain(f)
	for _, text := range asked {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, want := what(say(t, r.l.Addr().String(), text)), what(say(t, plain, text)); !slices.Equal(got, want) {
			t.Errorf("got %.300q\nwant %.300q", got, want)
		}
	})
}

// A body that nobody wants is not waited for: the answer comes, and the connection ends.
func TestUnwantedBody(t *testing.T) {
	r := newRig(t, echo)
	c := r.dial(t)
	if _, err := io.WriteString(c, "PUT /short/unread HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\nhel"); err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	got, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 418") || !strings.Contains(string(got), "Connection: close") {
		t.Errorf("%q %v", got, err)
	}
}

// A request that comes byte by byte is the same request.
func TestByteByByte(t *testing.T) {
	r := newRig(t, echo)
	c := r.dial(t)
	for _, b := range []byte(asked["put"]) {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != `PUT /short/a "x" [] 5 "hello"` || r.short.Load() != 1 {
		t.Errorf("%s, %d answered here", body, r.short.Load())
	}
}

// Nothing of one request is left for the next on its connection.
func TestManyOnOneConnection(t *testing.T) {
	r := newRig(t, echo)
	c := r.dial(t)
	in := bufio.NewReader(c)
	for i := range 2000 {
		value := strings.Repeat(string(rune('a'+i%26)), (i*977)%9000)
		fmt.Fprintf(c, "PUT /short/%d HTTP/1.1\r\nHost: x\r\nX-A: %d\r\nContent-Length: %d\r\n\r\n%s", i, i, len(value), value)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := fmt.Sprintf(`PUT /short/%d "x" ["%d"] %d %q`, i, i, len(value), value); err != nil || string(body) != want {
			t.Fatalf("%d: %.100q, want %.100q: %v", i, body, want, err)
		}
	}
	if r.short.Load() != 2000 {
		t.Errorf("%d answered here", r.short.Load())
	}
}
