package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/server/service"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfigThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		says   string
	}{
		{func(c *Config) { c.Addr = "" }, "host:port"},
		{func(c *Config) { c.Addr = "127.0.0.1" }, "host:port"},
		{func(c *Config) { c.Addr = ":8500" }, "--insecure"},
		{func(c *Config) { c.Addr = "0.0.0.0:8500" }, "--insecure"},
		{func(c *Config) { c.Addr = "[::]:8500" }, "--insecure"},
		{func(c *Config) { c.Addr = "192.0.2.1:8500" }, "--insecure"},
		{func(c *Config) { c.Addr = "node1.example:8500" }, "--insecure"},
		{func(c *Config) { c.Addr = "localhost.example:8500" }, "--insecure"},
		{func(c *Config) { c.MaxValueBytes = 16<<20 + 1 }, "16777216"},
		{func(c *Config) { c.MaxValueBytes = -1 }, "16777216"},
		{func(c *Config) { c.Limits.Conns = -1 }, "at least 1"},
		{func(c *Config) { c.MaxHeaderBytes = 1000 }, "longest URL"},
		{func(c *Config) { c.IdleTimeout = -1 }, "idle timeout"},
		{func(c *Config) { c.ResponseTimeout = time.Second }, "shorter than"},
	} {
		cfg := testConfig()
		c.change(&cfg)
		if _, err := New(cfg, service.FrontOf(newFake(t))); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("want %q: %v", c.says, err)
		}
	}
	if _, err := New(testConfig(), nil); err == nil {
		t.Error("no backend was accepted")
	}
}

func TestConfigThatIsAccepted(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:8500", "127.1.2.3:1", "[::1]:8500", "localhost:8500"} {
		c := testConfig()
		c.Addr = addr
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, addr := range []string{":8500", "0.0.0.0:8500", "node1.example:8500"} {
		c := testConfig()
		c.Addr, c.Insecure = addr, true
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := newServer(t, newFake(t), func(c *Config) { c.Addr = l.Addr().String() })
	if err := s.Listen(); err == nil || !strings.Contains(err.Error(), "in use by another process") || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Error(err)
	}
	if err := s.Serve(); err == nil {
		t.Error("served without a listener")
	}
}

// A server that ends before it has served anything no longer listens: its address is free.
func TestShutdownBeforeServe(t *testing.T) {
	s := newServer(t, newFake(t))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		c.Close()
		t.Error("still listening")
	}
	if err := s.Serve(); err != nil {
		t.Error(err)
	}
}

// Shutdown lets what is in flight finish, up to its context's end.
func TestShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		f := newFake(t)
		entered, leave := make(chan struct{}), make(chan struct{})
		f.onWrite = func(time.Duration) { close(entered); <-leave }
		s := newServer(t, f)
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		served, answered := make(chan error, 1), make(chan error, 1)
		go func() { served <- s.Serve() }()
		client := &http.Client{Transport: &http.Transport{}}
		go func() {
			r, _ := http.NewRequest("PUT", "http://"+s.Addr()+"/v1/kv/k", strings.NewReader("v"))
			resp, err := client.Do(r)
			if err == nil {
				resp.Body.Close()
			}
			answered <- err
		}()
		<-entered
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		if !patient {
			cancel()
		}
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(ctx) }()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if patient {
			close(leave)
		}
		err := <-down
		if patient && err != nil || !patient && !errors.Is(err, context.Canceled) {
			t.Errorf("patient %v: %v", patient, err)
		}
		if err := <-answered; (err == nil) != patient {
			t.Errorf("patient %v: the request got %v", patient, err)
		}
		if !patient {
			close(leave)
		}
		cancel()
		client.CloseIdleConnections()
		if _, err := net.Dial("tcp", s.Addr()); err == nil {
			t.Error("still listening")
		}
	}
}
