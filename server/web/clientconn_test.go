package web

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/internal/wrongport"
	"tenure/server/wire"
)

// shortLines are so many header lines, each another one.
func shortLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%x:\r\n", i)
	}
	return b.String()
}

// Headers of too many lines are refused as they come, whether they ever end or not, and over TLS, too.
func TestHeaderLinesAreBounded(t *testing.T) {
	plain := serve(t, newServer(t, newFake(t)))
	secure, ca := overTLS(t, nil)
	dials := map[string]func() net.Conn{
		"plain": func() net.Conn { return dial(t, plain) },
		"TLS": func() net.Conn {
			return tls.Client(dial(t, secure), &tls.Config{RootCAs: ca.Pool(t), ServerName: "127.0.0.1"})
		},
	}
	for name, open := range dials {
		for _, end := range []string{"", "\r\n"} {
			c := open()
			in := bufio.NewReader(c)
			for range 2 { // the second request on a connection is bounded, too
				fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", shortLines(100))
				if r, _ := answer(t, in); r.StatusCode != 404 {
					t.Errorf("%s: 100 lines: %s", name, r.Status)
				}
			}
			_, _ = fmt.Fprintf(c, "GET /v1/kv/k HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s", shortLines(10_000), end)
			r, err := http.ReadResponse(in, nil)
			if err != nil || r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s, end %q: %v %v", name, end, r, err)
			}
		}
	}
}

// What stands behind the headers is not counted, however many lines it has and however it comes.
func TestLinesOfBodiesAreNotCounted(t *testing.T) {
	f := newFake(t)
	c := dial(t, serve(t, newServer(t, f)))
	in := bufio.NewReader(c)
	for _, value := range []string{strings.Repeat("\n", 3000), strings.Repeat("a\r\n", 20_000), "\n"} {
		request := fmt.Sprintf("PUT /v1/kv/k HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(value), value)
		fmt.Fprint(c, request, request) // the second is read with the end of the first
		for range 2 {
			if r, _ := answer(t, in); r.StatusCode != 200 {
				t.Fatalf("%d bytes: %s", len(value), r.Status)
			}
		}
		if got := string(f.last.Value); got != value {
			t.Fatalf("%d bytes are %d", len(value), len(got))
		}
	}
}

// Unfinished headers take a small part of the memory that they could.
func TestMemoryOfUnfinishedHeaders(t *testing.T) {
	s := newServer(t, newFake(t))
	addr := serve(t, s)
	const conns = 50
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := memory()
	for range conns {
		c := dial(t, addr)
		_, _ = io.WriteString(c, "GET /v1/kv/k HTTP/1.1\r\nHost: x\r\n"+shortLines(maxHeaderLines-2))
	}
	waitFor(t, func() bool { return s.metrics.conns.Load() == conns })
	if each := int64(memory()-before) / conns; each > 100<<10 {
		t.Errorf("unfinished headers take %d KiB", each>>10)
	}
}

// A request over TLS says by which certificate its client is known.
func TestRequestsKnowTheCertificate(t *testing.T) {
	ca := certstest.New(t, "prod")
	pair := certstest.Load(t, ca.Client(t, "c")).Certificate()
	var seen []string
	s := newServer(t, newFake(t), func(c *Config) {
		c.TLS = certs.Clients{Files: certstest.Load(t, ca.Node(t, "n1")), MinVersion: tls.VersionTLS13,
			Authorities: certstest.Load(t, certs.Paths{CA: ca.Bundle}), Required: true}.Config()
	})
	next := s.http.Handler
	s.http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			id, _ := certs.IdentityOf(r.TLS.PeerCertificates[0])
			seen = append(seen, id.Name)
		}
	})
	addr := serve(t, s)
	cfg := &tls.Config{RootCAs: ca.Pool(t), Certificates: []tls.Certificate{*pair}}
	for range 2 {
		if code, err := askTLS(addr, cfg); err != nil || code != http.StatusOK {
			t.Fatal(code, err)
		}
	}
	if fmt.Sprint(seen) != "[c c]" {
		t.Errorf("known by certificate: %v", seen)
	}
}

// TestOthersAtThePortForHTTP: a client of Redis, or a node, is told which port this is, and the same bytes in a request
// are its own.
func TestOthersAtThePortForHTTP(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	if got, want := say(t, addr, "*1\r\n$4\r\nPING\r\n"), string(wrongport.Answer(wrongport.Redis, wrongport.Clients)); got != want {
		t.Errorf("answered %q, want %q", got, want)
	}
	hello := string(wire.AppendFrame(nil, wire.EncodeHandshake(&wire.ReadyMsg{})))
	if got := say(t, addr, hello); !strings.Contains(got, "for HTTP (kvnode --client), and not for its peers (kvnode --peer)") {
		t.Errorf("a node was answered %q", got)
	}
	// Only the first bytes of a connection say what it speaks.
	c := dial(t, addr)
	in := bufio.NewReader(c)
	for _, x := range []struct {
		text   string
		status int
	}{{"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", http.StatusOK}, {"*1\r\n$4\r\n\r\n", http.StatusBadRequest}} {
		if _, err := io.WriteString(c, x.text); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != x.status {
			t.Fatalf("%q: %+v %v", x.text, resp, err)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Fatal(err)
		}
	}
}
