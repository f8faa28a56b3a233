package web

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
)

// overTLS serves clients with the certificate of a node, and returns the address and the authority.
func overTLS(t *testing.T, change func(*certs.Clients), more ...func(*Config)) (string, *certstest.CA) {
	t.Helper()
	ca := certstest.New(t, "prod")
	c := certs.Clients{Files: certstest.Load(t, ca.Node(t, "n1")), MinVersion: tls.VersionTLS13}
	if change != nil {
		change(&c)
	}
	return serve(t, newServer(t, newFake(t), append(more, func(cfg *Config) { cfg.TLS = c.Config() })...)), ca
}

// askTLS asks for the health of the node over TLS.
func askTLS(addr string, cfg *tls.Config) (int, error) {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := c.Get("https://" + addr + "/health/live")
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func TestVersionsOfTLS(t *testing.T) {
	for _, c := range []struct {
		least, most uint16 // of the node, and of the client
		ok          bool
	}{
		{tls.VersionTLS13, tls.VersionTLS13, true}, {tls.VersionTLS13, tls.VersionTLS12, false},
		{tls.VersionTLS12, tls.VersionTLS12, true}, {tls.VersionTLS12, tls.VersionTLS11, false},
	} {
		addr, ca := overTLS(t, func(cl *certs.Clients) { cl.MinVersion = c.least })
		code, err := askTLS(addr, &tls.Config{RootCAs: ca.Pool(t), MinVersion: tls.VersionTLS10, MaxVersion: c.most})
		if ok := err == nil && code == http.StatusOK; ok != c.ok {
			t.Errorf("%x with %x: %d, %v", c.least, c.most, code, err)
		}
	}
}

// TestProtocolsOverTLS: the server speaks HTTP/1.1 with clients that prefer HTTP/2, such as Consul's, and with clients
// that offer no protocol. A client that offers only HTTP/2 is refused in the handshake.
func TestProtocolsOverTLS(t *testing.T) {
	addr, ca := overTLS(t, nil)
	for _, c := range []struct {
		offers []string
		want   string
		ok     bool
	}{
		{[]string{"h2", "http/1.1"}, "http/1.1", true}, {[]string{"http/1.1"}, "http/1.1", true}, {nil, "", true}, {[]string{"h2"}, "", false},
	} {
		conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool(t), NextProtos: c.offers})
		if (err == nil) != c.ok {
			t.Errorf("%q: %v", c.offers, err)
		}
		if err == nil {
			if got := conn.ConnectionState().NegotiatedProtocol; got != c.want {
				t.Errorf("%q: %q is spoken", c.offers, got)
			}
			conn.Close()
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(t)}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	rsp, err := client.Get("https://" + addr + "/health/live")
	if err != nil {
		t.Fatal(err)
	}
	rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK || rsp.Proto != "HTTP/1.1" {
		t.Errorf("%s over %s", rsp.Status, rsp.Proto)
	}
}

func TestCertificatesOfClients(t *testing.T) {
	ca, other := certstest.New(t, "prod"), certstest.New(t, "prod")
	pair := func(p certs.Paths) []tls.Certificate {
		return []tls.Certificate{*certstest.Load(t, p).Certificate()}
	}
	good, foreign := pair(ca.Client(t, "c")), pair(other.Client(t, "c"))
	expired := pair(ca.At(t, certs.RoleClient, "c", time.Now().Add(-25*time.Hour)))
	for _, c := range []struct {
		required    bool
		certificate []tls.Certificate
		ok          bool
	}{
		{true, good, true}, {true, nil, false}, {true, foreign, false}, {true, expired, false},
		{false, good, true}, {false, nil, true}, {false, expired, false},
	} {
		addr, node := overTLS(t, func(cl *certs.Clients) {
			cl.Authorities, cl.Required = certstest.Load(t, certs.Paths{CA: ca.Bundle}), c.required
		})
		cfg := &tls.Config{RootCAs: node.Pool(t)}
		if c.certificate != nil { // whatever authorities the node names
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.certificate[0], nil }
		}
		if code, err := askTLS(addr, cfg); (err == nil && code == http.StatusOK) != c.ok {
			t.Errorf("required %v, %d certificates: %d, %v; want %v", c.required, len(c.certificate), code, err, c.ok)
		}
	}
}

// TestAuthoritiesOfClientsAreReadAgain: an authority that is gone is not trusted on any new connection, also not by a
// session that is resumed.
func TestAuthoritiesOfClientsAreReadAgain(t *testing.T) {
	ca, next := certstest.New(t, "prod"), certstest.New(t, "prod")
	both := ca.Trust(t, certs.Paths{}, next)
	trusted := certstest.Load(t, certs.Paths{CA: both.CA})
	addr, node := overTLS(t, func(cl *certs.Clients) { cl.Authorities, cl.Required = trusted, true })
	pair := certstest.Load(t, ca.Client(t, "c")).Certificate()
	cfg := &tls.Config{RootCAs: node.Pool(t), ClientSessionCache: tls.NewLRUClientSessionCache(0),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }}
	for range 2 {
		if code, err := askTLS(addr, cfg); err != nil || code != http.StatusOK {
			t.Fatal(code, err)
		}
	}
	if _, err := next.RenewAuthority(certs.AuthorityValidity, time.Now()); err != nil {
		t.Fatal(err)
	}
	replaceFile(t, both.CA, next.Bundle)
	if changed, err := trusted.Reload(); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if code, err := askTLS(addr, cfg); err == nil {
		t.Errorf("answered %d to a certificate whose authority is gone", code)
	}
}

// TestANodeOnTheTLSPort: a node without TLS gets an answer that it knows, and so does not ask again for ever.
func TestANodeOnTheTLSPort(t *testing.T) {
	addr, _ := overTLS(t, nil)
	got := say(t, addr, "\x00\x00\x00\x06\x01\x02\x03\x04TNUR\x01\x02") // a frame of the handshake between nodes
	if !strings.HasPrefix(got, "HTTP/1.1 400") || !strings.Contains(got, "(kvnode --peer)") {
		t.Errorf("%q", got)
	}
}

// TestPlainOnTheTLSPort: a client that forgot TLS is told, and a stranger cannot fill the log.
func TestPlainOnTheTLSPort(t *testing.T) {
	var log lines
	addr, _ := overTLS(t, nil, func(c *Config) { c.Logger = zerolog.New(&log) })
	got := say(t, addr, "GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.0 400") || !strings.Contains(got, "Client sent an HTTP request to an HTTPS server.") {
		t.Errorf("%q", got)
	}
	for range 5 * maxComplaints {
		_ = say(t, addr, "garbage\r\n\r\n")
	}
	if n := log.n.Load(); n > 2*maxComplaints {
		t.Errorf("%d lines in the log", n)
	}
}

// lines counts the lines that are written to it, each by one Write, from any goroutine.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(1)
	return len(b), nil
}

// TestTLSOnThePlainPort: a hello of TLS is answered with an error, and not with silence.
func TestTLSOnThePlainPort(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t)))
	began := time.Now()
	if c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
		c.Close()
		t.Error("TLS was spoken")
	} else if !strings.Contains(err.Error(), "first record does not look like a TLS handshake") || time.Since(began) > 5*time.Second {
		t.Error(err)
	}
}

// TestHandshakesAreBounded: who begins a handshake and does not go on is cut off.
func TestHandshakesAreBounded(t *testing.T) {
	addr, _ := overTLS(t, nil, func(c *Config) { c.HeaderTimeout = 200 * time.Millisecond })
	for _, text := range []string{"", "\x16\x03\x01\x02\x00\x01"} {
		c := dial(t, addr)
		fmt.Fprint(c, text)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(c); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q: still open: %v", text, err)
		}
	}
}

// TestTooManyConnectionsOverTLS: the answer to one too many comes over TLS, too.
func TestTooManyConnectionsOverTLS(t *testing.T) {
	addr, ca := overTLS(t, nil, func(c *Config) { c.Limits.Conns = 1 })
	first, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	waitAnswer := time.Now().Add(10 * time.Second)
	for {
		code, err := askTLS(addr, &tls.Config{RootCAs: ca.Pool(t)})
		if code == http.StatusServiceUnavailable {
			return
		}
		if time.Now().After(waitAnswer) {
			t.Fatal(code, err)
		}
	}
}

func TestConfigBeyondLoopback(t *testing.T) {
	c := testConfig()
	c.Addr, c.TLS = "0.0.0.0:8500", &tls.Config{}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.TLS = nil
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--tls-cert") {
		t.Error(err)
	}
}

// replaceFile gives the file to the content of from.
func replaceFile(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNamesInTheCertificateAreServed: a client may address the node by a name for which it has a certificate, as that
// is now, and by no other.
func TestNamesInTheCertificateAreServed(t *testing.T) {
	certified := "n1.example.com"
	s := newServer(t, newFake(t), func(c *Config) {
		c.CertifiedHost = func(name string) bool { return name == certified }
	})
	for _, renewed := range []bool{false, true} {
		if renewed {
			certified = "n2.example.com"
		}
		for host, want := range map[string]int{
			"n1.example.com": 403, "N1.example.com.:8500": 403, "n2.example.com:8500": 403, "127.0.0.1:8500": 200,
		} {
			if name := certified[:2]; strings.EqualFold(host[:2], name) {
				want = 200
			}
			r := httptest.NewRequest(http.MethodGet, "/health/live", nil)
			r.Host = host
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s with a certificate for %s: %d, want %d", host, certified, w.Code, want)
			}
		}
	}
}
