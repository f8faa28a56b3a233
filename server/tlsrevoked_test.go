package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
)

// openConn is a connection of a client over TLS that stays open.
type openConn struct {
	what string
	tls  *tls.Conn
	in   *bufio.Reader
}

// open connects to addr with the certificate of p, says something and waits for the beginning of the answer.
func open(t *testing.T, what, addr string, p certs.Paths, say, answer string) *openConn {
	t.Helper()
	c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{*certstest.Load(t, p).Certificate()}})
	if err != nil {
		t.Fatal(what, err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	o := &openConn{what, c, bufio.NewReader(c)}
	if _, err := io.WriteString(c, say); err != nil {
		t.Fatal(what, err)
	}
	got := make([]byte, len(answer))
	if _, err := io.ReadFull(o.in, got); err != nil || string(got) != answer {
		t.Fatalf("%s: %q, %v", what, got, err)
	}
	return o
}

// ends waits until the node has ended the connection.
func (o *openConn) ends(t *testing.T) {
	t.Helper()
	_, err := io.Copy(io.Discard, o.in)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: it is still open", o.what)
	}
}

// TestRevocationEndsWhatAClientHasOpen: requests on connections that are kept, streams, waiting queries and commands of
// Redis, and no new connection is taken; others go on. The metrics have whose certificates were there, and when these
// expire.
func TestRevocationEndsWhatAClientHasOpen(t *testing.T) {
	ca, configure, reload := overTLS(t)
	list, redis := ca.Revoked(t), freeAddr(t)
	good := &requests{files: ca.Client(t, "good")}
	bad := ca.Client(t, "bad")
	h := startTLS(t, good, 1, func(c *Config) {
		configure(c)
		c.TLS.CRL, c.RedisAddr = list, redis
	})[0]
	const ask, ok = " HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 OK"
	var all []*openConn
	for _, x := range []struct{ what, addr, say, answer string }{
		{"a connection that is kept", h.cfg.ClientAddr, "GET " + api.PathHealthLive + ask, ok},
		{"a stream", h.cfg.ClientAddr, "GET " + api.PathWatch + "?prefix=a" + ask, ok},
		{"a client of Redis", redis, "PING\r\n", "+PONG"},
	} {
		all = append(all, open(t, x.what, x.addr, bad, x.say, x.answer))
	}
	kept := open(t, "a connection of another", redis, good.files, "PING\r\n", "+PONG\r\n")
	ca.Revoked(t, bad)
	reload()
	for _, o := range all {
		o.ends(t)
	}
	if _, err := io.WriteString(kept.tls, "PING\r\n"); err != nil {
		t.Error(err)
	}
	if line, err := kept.in.ReadString('\n'); err != nil || line != "+PONG\r\n" {
		t.Errorf("a client that is not revoked: %q, %v", line, err)
	}
	if code, _, err := (&requests{files: bad}).do(http.MethodGet, h.cfg.ClientAddr, api.PathHealthLive, ""); err == nil {
		t.Errorf("a new connection of the revoked one is answered with %d", code)
	}
	_, text, err := good.do(http.MethodGet, h.cfg.ClientAddr, api.PathMetrics, "")
	leaf := certstest.Load(t, good.files).Certificate().Leaf
	for _, want := range []string{
		"tenure_tls_revoked_connections_ended_total 3\n", "tenure_tls_expiry_timestamp_seconds{file=\"" + list + "\"}",
		"tenure_tls_client_expiry_timestamp_seconds{certificate=\"tenure://prod/client/good\"} " +
			strconv.FormatFloat(float64(leaf.NotAfter.Unix()), 'g', -1, 64) + "\n",
		"tenure_tls_client_expiry_timestamp_seconds{certificate=\"tenure://prod/client/bad\"}",
	} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("the metrics lack %q: %v", want, err)
		}
	}
}

// TestListsOfNobodyEndAStart: with what to do.
func TestListsOfNobodyEndAStart(t *testing.T) {
	ca, other := certstest.New(t, "prod"), certstest.New(t, "test")
	p := ca.Node(t, "n1")
	for want, cfg := range map[string]TLS{
		"--tls-crl needs --tls-ca or --tls-client-ca": {Clients: p, CRL: ca.Revoked(t)},
		"which is no authority that is known here":    {Peers: p, CRL: other.Revoked(t)},
		"no such file": {Peers: p, CRL: filepath.Join(t.TempDir(), "none")},
	} {
		c := Config{Node: 1, Data: t.TempDir(), ClientAddr: "127.0.0.1:0", PeerAddr: "127.0.0.1:0", LeaseTime: time.Second,
			MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, LeaseMargin: 10 * time.Millisecond, TLS: cfg, Logger: zerolog.Nop()}
		if err := Run(context.Background(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	s, err := Config{TLS: TLS{Clients: p, Peers: p, ClientCA: other.Bundle, CRL: bothLists(t, ca.Revoked(t, p), other.Revoked(t))}}.openTLS()
	if err != nil {
		t.Fatalf("lists of the authorities of nodes and of clients: %v", err)
	}
	var log strings.Builder
	s.log = zerolog.New(&log)
	s.warnOfOwn()
	if n := strings.Count(log.String(), "the certificate of this node itself is revoked"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

// bothLists returns a file with what is in two.
func bothLists(t *testing.T, a, b string) string {
	t.Helper()
	one, err := os.ReadFile(a)
	two, err2 := os.ReadFile(b)
	name := filepath.Join(t.TempDir(), "both.pem")
	if err := errors.Join(err, err2, os.WriteFile(name, append(one, two...), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}
