package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
)

// overTLS runs a server that answers each read of a key with its value "v", as a node does, and returns its address.
func overTLS(t *testing.T, c certs.Clients) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(api.HeaderIndex, "7")
		w.Header().Set(api.HeaderKnownLeader, "true")
		_, _ = io.WriteString(w, `[{"LockIndex":0,"Key":"k","Flags":0,"Value":"dg==","CreateIndex":7,"ModifyIndex":7}]`)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if c.Files == nil {
		s.Start()
	} else {
		s.Listener = tls.NewListener(s.Listener, c.Config())
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func node13(t *testing.T, p certs.Paths) certs.Clients {
	return certs.Clients{Files: certstest.Load(t, p), MinVersion: tls.VersionTLS13}
}

// getOver reads a key through the endpoint.
func getOver(t *testing.T, endpoint string, settings *client.TLS) error {
	t.Helper()
	c, err := client.New(client.Config{Endpoints: []string{endpoint}, TLS: settings, NoLearning: true,
		Timeout: 10 * time.Second, GiveUpRefused: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _, err = c.Get(t.Context(), "k", client.ReadOptions{})
	return err
}

// TestTLSSaysWhatIsWrong: each way in which TLS fails has a text that says what to do, within a moment.
func TestTLSSaysWhatIsWrong(t *testing.T) {
	ca, other := certstest.New(t, "prod"), certstest.New(t, "prod")
	now := time.Now()
	trusts := &client.TLS{CAFile: ca.Bundle}
	elsewhere, err := ca.Issue(certs.Request{Identity: certs.Identity{Role: certs.RoleNode, Name: "e"},
		Hosts: []string{"n9.example"}, Validity: time.Hour}, t.TempDir(), now)
	if err != nil {
		t.Fatal(err)
	}
	asks := node13(t, ca.Node(t, "n"))
	asks.Authorities, asks.Required = certstest.Load(t, certs.Paths{CA: ca.Bundle}), true
	stranger := other.Client(t, "c")
	old := ca.At(t, certs.RoleClient, "c", now.Add(-25*time.Hour))
	early := ca.At(t, certs.RoleClient, "c", now.Add(25*time.Hour))
	mine := ca.Client(t, "c")
	for _, c := range []struct {
		what, scheme string
		server       certs.Clients
		settings     *client.TLS
		want         string // "": it works
	}{
		{"as it should be", "https://", node13(t, ca.Node(t, "n")), trusts, ""},
		{"no TLS", "https://", certs.Clients{}, trusts, "it speaks no TLS"},
		{"TLS only", "http://", node13(t, ca.Node(t, "n")), trusts, "it speaks TLS only"},
		{"unknown authority", "https://", node13(t, other.Node(t, "n")), trusts, "none of the authorities that are known here"},
		{"system's authorities", "https://", node13(t, ca.Node(t, "n")), nil, "none of the authorities that are known here"},
		{"any certificate", "https://", node13(t, other.Node(t, "n")), &client.TLS{SkipVerify: true}, ""},
		{"other hosts", "https://", node13(t, certs.Paths{Cert: elsewhere.Cert, Key: elsewhere.Key}), trusts,
			"it is for n9.example, and not for 127.0.0.1"},
		{"other hosts, expected", "https://", node13(t, certs.Paths{Cert: elsewhere.Cert, Key: elsewhere.Key}),
			&client.TLS{CAFile: ca.Bundle, ServerName: "n9.example"}, ""},
		{"expired", "https://", node13(t, ca.At(t, certs.RoleNode, "n", now.Add(-25*time.Hour))), trusts, "it expired on"},
		{"not yet valid", "https://", node13(t, ca.At(t, certs.RoleNode, "n", now.Add(time.Hour))), trusts, "it is not valid before"},
		{"a client's certificate", "https://", node13(t, ca.Client(t, "n")), trusts, "its certificate is refused"},
		{"wants a certificate", "https://", asks, trusts, "it wants a client's certificate: give one with --client-cert"},
		{"knows the certificate", "https://", asks, &client.TLS{CAFile: ca.Bundle, CertFile: mine.Cert, KeyFile: mine.Key}, ""},
		{"a stranger's certificate", "https://", asks, &client.TLS{CAFile: ca.Bundle, CertFile: stranger.Cert, KeyFile: stranger.Key},
			"it refuses the client's certificate: perhaps it does not know the authority, or the certificate was revoked; its log says"},
		{"a certificate of tomorrow", "https://", asks, &client.TLS{CAFile: ca.Bundle, CertFile: early.Cert, KeyFile: early.Key},
			"it refuses the client's certificate, which is not valid before"},
		{"an expired certificate", "https://", asks, &client.TLS{CAFile: ca.Bundle, CertFile: old.Cert, KeyFile: old.Key},
			"it refuses the client's certificate, which expired on"},
		{"no scheme", "", node13(t, ca.Node(t, "n")), &client.TLS{CAFile: ca.Bundle, Default: true}, ""},
		{"no scheme, any setting", "", node13(t, ca.Node(t, "n")), trusts, ""},
		{"no scheme and no TLS", "", node13(t, ca.Node(t, "n")), nil, "it speaks TLS only"},
	} {
		began := time.Now()
		err := getOver(t, c.scheme+overTLS(t, c.server), c.settings)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, client.ErrTLS)) {
			t.Errorf("%s: %v; want %q", c.what, err, c.want)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s: told after %v", c.what, d)
		}
	}
}

// TestRefusedByTLSIsNotApplied: a write that a node has refused in the handshake is known not to be applied.
func TestRefusedByTLSIsNotApplied(t *testing.T) {
	ca := certstest.New(t, "prod")
	asks := node13(t, ca.Node(t, "n"))
	asks.Authorities, asks.Required = certstest.Load(t, certs.Paths{CA: ca.Bundle}), true
	c, err := client.New(client.Config{Endpoints: []string{"https://" + overTLS(t, asks)}, NoLearning: true,
		TLS: &client.TLS{CAFile: ca.Bundle}, Timeout: 10 * time.Second, GiveUpRefused: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Set(t.Context(), "k", []byte("v"), client.WriteOptions{Once: client.Once{Key: "a key", Base: 1, New: true}})
	if !errors.Is(err, client.ErrNotApplied) {
		t.Error(err)
	}
}

// TestClientTakesNewFiles: a Client that lives long goes over to the certificates and authorities that are in its files.
func TestClientTakesNewFiles(t *testing.T) {
	ca, next := certstest.New(t, "prod"), certstest.New(t, "prod")
	file := filepath.Join(t.TempDir(), "ca.pem")
	copyFile(t, file, ca.Bundle)
	addr := overTLS(t, node13(t, next.Node(t, "n")))
	c, err := client.New(client.Config{Endpoints: []string{"https://" + addr}, NoLearning: true,
		TLS: &client.TLS{CAFile: file}, Timeout: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := c.Get(ctx, "k", client.ReadOptions{}); err == nil {
		t.Fatal("an authority that is not in the file is trusted")
	}
	copyFile(t, file, next.Bundle)
	if _, _, err := c.Get(t.Context(), "k", client.ReadOptions{}); err != nil {
		t.Error(err)
	}
}

func copyFile(t *testing.T, to, from string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTLSFromEnviron(t *testing.T) {
	for _, c := range []struct {
		environ []string
		want    client.TLS
		given   bool
	}{
		{[]string{"HOME=/root"}, client.TLS{}, false},
		{[]string{"CONSUL_CACERT=a", "CONSUL_CLIENT_CERT=c", "CONSUL_CLIENT_KEY=k", "CONSUL_HTTP_SSL=true",
			"CONSUL_HTTP_SSL_VERIFY=false", "CONSUL_TLS_SERVER_NAME=n"},
			client.TLS{CAFile: "a", CertFile: "c", KeyFile: "k", Default: true, SkipVerify: true, ServerName: "n"}, true},
		{[]string{"CONSUL_CACERT=a", "TENURE_CACERT=b", "CONSUL_HTTP_SSL_VERIFY=1"}, client.TLS{CAFile: "b"}, true},
		{[]string{"TENURE_HTTP_SSL=false", "CONSUL_HTTP_SSL=true"}, client.TLS{}, true},
		{[]string{"TENURE_CACERT="}, client.TLS{}, false},
	} {
		got, given, err := client.TLSFromEnviron(c.environ)
		if got != c.want || given != c.given || err != nil {
			t.Errorf("%v: %+v, %v, %v", c.environ, got, given, err)
		}
	}
	if _, _, err := client.TLSFromEnviron([]string{"CONSUL_HTTP_SSL=maybe"}); err == nil ||
		!strings.Contains(err.Error(), `CONSUL_HTTP_SSL="maybe": must be true or false`) {
		t.Error(err)
	}
}

func TestFilesOfTLSThatAreNone(t *testing.T) {
	for want, c := range map[string]client.TLS{
		"no such file":       {CAFile: "/none"},
		"key go together":    {CertFile: "c"},
		"has no certificate": {CAFile: "tls_test.go"},
	} {
		if _, err := client.New(client.Config{Endpoints: []string{"h"}, TLS: &c}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
