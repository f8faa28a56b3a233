package shorthttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

const brief = 100 * time.Millisecond

// ends tells whether the other side ends c before long.
func ends(t *testing.T, c net.Conn) {
	t.Helper()
	began := time.Now()
	_, _ = io.ReadAll(c)
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("the connection was held for %v", d)
	}
}

func TestSlowConnectionsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		say    string
	}{
		"new":  {func(c *Config) { c.Header = brief }, ""},
		"head": {func(c *Config) { c.Header = brief }, "GET /short/a HTTP/1.1\r\nHo"},
		"idle": {func(c *Config) { c.Idle = brief }, asked["get"]},
		"body": {func(c *Config) { c.Body = brief }, "PUT /short/a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhel"},
	} {
		r := newRig(t, echo, c.change)
		conn := r.dial(t)
		if _, err := io.WriteString(conn, c.say); err != nil {
			t.Fatal(name, err)
		}
		got, _ := io.ReadAll(conn) // or the deadline of dial fails the next line
		if r.open.Load() != 0 {
			until(t, func() bool { return r.open.Load() == 0 })
		}
		if name == "body" && !strings.HasPrefix(string(got), "HTTP/1.1 400") {
			t.Errorf("a slow body got %q", got)
		}
	}
}

// A client that is idle or slow for less than the limits is left alone, though its requests take longer together.
func TestPatience(t *testing.T) {
	r := newRig(t, echo, func(c *Config) {
		c.Header, c.Body, c.Idle, c.Response = time.Second, time.Second, time.Second, time.Second
	})
	c := r.dial(t)
	for range 10 {
		time.Sleep(250 * time.Millisecond)
		if _, err := io.WriteString(c, asked["get"]); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		if n, err := c.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "HTTP/1.1 200") {
			t.Fatalf("%q %v", b[:n], err)
		}
	}
}

// A client that does not read its answer is let go.
func TestSlowReader(t *testing.T) {
	written := make(chan error, 1)
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		var err error
		for err == nil {
			_, err = w.Write(make([]byte, 1<<20))
		}
		written <- err
	}, func(c *Config) { c.Response = brief })
	if _, err := io.WriteString(r.dial(t), asked["get"]); err != nil {
		t.Fatal(err)
	}
	select {
	case <-written:
	case <-time.After(10 * time.Second):
		t.Fatal("still writing")
	}
}

// A handler may move the end of its answer; the next request has the usual one again.
func TestSetWriteDeadline(t *testing.T) {
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "later") {
			if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(5 * brief)
	}, func(c *Config) { c.Response = brief })
	if got := say(t, r.l.Addr().String(), "GET /short/later HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
	if got := say(t, r.l.Addr().String(), "GET /short/late HTTP/1.1\r\nHost: x\r\n\r\n"); got != "" {
		t.Errorf("an answer after its time: %q", got)
	}
}

// The context ends when the client hangs up, and not before.
func TestClientGone(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		entered, ended := make(chan struct{}), make(chan bool, 1)
		r := newRig(t, func(_ http.ResponseWriter, r *http.Request) {
			close(entered)
			select {
			case <-r.Context().Done():
				ended <- true
			case <-time.After(time.Second):
				ended <- false
			}
		})
		c := r.dial(t)
		if _, err := io.WriteString(c, asked["put"]); err != nil {
			t.Fatal(err)
		}
		<-entered
		if leaves {
			c.Close()
		}
		if got := <-ended; got != leaves {
			t.Errorf("client left: %v, context ended: %v", leaves, got)
		}
	}
}

func TestClose(t *testing.T) {
	entered, leave := make(chan struct{}, 1), make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "wait") {
			entered <- struct{}{}
			<-leave
		}
		_, _ = w.Write([]byte("done"))
	})
	fresh, idle, busy := r.dial(t), r.dial(t), r.dial(t)
	b := make([]byte, 4096)
	_, _ = io.WriteString(idle, asked["get"])
	if _, err := idle.Read(b); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(busy, "GET /short/wait HTTP/1.1\r\nHost: x\r\n\r\nGET /short/b HTTP/1.1\r\nHost: x\r\n\r\n")
	<-entered
	until(t, func() bool { return r.open.Load() == 3 })
	if err := r.l.Close(); err != nil {
		t.Fatal(err)
	}
	ends(t, fresh)
	ends(t, idle)
	cut, cancel := context.WithTimeout(context.Background(), brief)
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- r.l.Wait(context.Background()) }()
	select {
	case err := <-waited:
		t.Fatal("did not wait for the request in flight:", err)
	case <-cut.Done():
	}
	close(leave)
	if err := <-waited; err != nil {
		t.Error(err)
	}
	got, _ := io.ReadAll(busy)
	if n := strings.Count(string(got), "done"); n != 1 {
		t.Errorf("%d answers: %q", n, got)
	}
	if _, err := net.Dial("tcp", r.l.Addr().String()); err == nil {
		t.Error("still listening")
	}
	if _, err := r.l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// Who waits no longer cuts what is left.
func TestWaitIsBounded(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(http.ResponseWriter, *http.Request) { close(entered); <-leave })
	c := r.dial(t)
	_, _ = io.WriteString(c, asked["get"])
	<-entered
	_ = r.l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), brief)
	defer cancel()
	if err := r.l.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ends(t, c)
	close(leave)
}

// failing fails as a listener does that has no files left, and then accepts.
type failing struct {
	net.Listener
	left int
}

func (f *failing) Accept() (net.Conn, error) {
	if f.left > 0 {
		f.left--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

// Errors that pass reach net/http, which knows how long to wait.
func TestAcceptErrors(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, echo)
	l := New(&failing{inner, 3}, r.l.cfg)
	s := &http.Server{Handler: http.HandlerFunc(echo)}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	if got := say(t, inner.Addr().String(), asked["get"]); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
	s.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if err := l.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

// A panic is logged and costs its connection alone.
func TestPanic(t *testing.T) {
	r := newRig(t, func(_ http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "b") {
			panic("b")
		}
	})
	if got := say(t, r.l.Addr().String(), "GET /short/b HTTP/1.1\r\nHost: x\r\n\r\n"); got != "" {
		t.Errorf("%q", got)
	}
	if got := say(t, r.l.Addr().String(), asked["get"]); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Errorf("%q", got)
	}
}
