package client_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// everything is a token that may everything.
func everything(secret string) api.Token {
	return api.Token{SecretID: secret, Policies: []api.ACLLink{{ID: api.ManagementPolicyID}}}
}

// protected starts a node that wants tokens.
func protected(t *testing.T, tokens ...api.Token) *clienttest.Cluster {
	t.Helper()
	cluster := clienttest.Start(1)
	t.Cleanup(cluster.Close)
	cluster.RequireTokens()
	for _, x := range tokens {
		cluster.AddToken(x)
	}
	return cluster
}

func clientOf(t *testing.T, cfg client.Config) *client.Client {
	t.Helper()
	cfg.NoLearning = true
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestARequestCarriesTheToken(t *testing.T) {
	cluster := protected(t, everything("s3cret"))
	cluster.RequireTokens(api.Policy{Name: "reader", Rules: `key_prefix "" { policy = "read" }`})
	cluster.AddToken(api.Token{SecretID: "read", Policies: []api.ACLLink{{Name: "reader"}}})
	for _, x := range []struct {
		secret      string
		read, write error
		says        string
	}{
		{"s3cret", nil, nil, ""},
		{"read", client.ErrNotFound, client.ErrDenied, `lacks permission 'key:write' on "a"`},
		{"", client.ErrDenied, client.ErrDenied, "Permission denied"},
		{"other", client.ErrUnknownToken, client.ErrUnknownToken, "ACL not found"},
	} {
		c := clientOf(t, client.Config{Endpoints: cluster.Endpoints(), Token: x.secret, Timeout: 5 * time.Second})
		_, err := c.Set(t.Context(), "a", []byte("v"), client.WriteOptions{})
		if !errors.Is(err, x.write) || err != nil && !strings.Contains(err.Error(), x.says) {
			t.Errorf("token %q: a write ends with %v", x.secret, err)
		}
		cluster.Delete("a")
		if x.read == nil {
			continue
		}
		if _, _, err := c.Get(t.Context(), "a", client.ReadOptions{}); !errors.Is(err, x.read) {
			t.Errorf("token %q: a read ends with %v", x.secret, err)
		}
	}
}

// A refusal says nothing of a copy that was sent before and not answered.
func TestADenialAfterALostAnswerIsUnknown(t *testing.T) {
	cluster := protected(t, everything("s3cret"))
	var first atomic.Bool
	cluster.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.IsWrite() && first.CompareAndSwap(false, true) {
			return clienttest.DropApplied
		}
		if r.IsWrite() {
			cluster.RevokeToken("s3cret")
		}
		return clienttest.None
	})
	c := clientOf(t, client.Config{Endpoints: cluster.Endpoints(), Token: "s3cret"})
	_, err := c.Set(t.Context(), "a", []byte("v"), client.WriteOptions{})
	if !errors.Is(err, client.ErrUnknown) || !strings.Contains(err.Error(), api.TextUnknownToken) {
		t.Error(err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// When the secret in the file is replaced, requests carry the new one within a second, and at
// once if the old one is refused.
func TestATokenFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "token")
		writeFile(t, name, "first\n")
		var seen []string
		cluster := clienttest.New(1)
		cluster.RequireTokens()
		cluster.AddToken(everything("first"))
		cluster.AddToken(everything("second"))
		inner := cluster.Node(1).Handler()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen = append(seen, r.Header.Get(api.HeaderToken))
			inner.ServeHTTP(w, r)
		})}
		listener := newMemListener("node:8500")
		go func() { _ = server.Serve(listener) }()
		defer func() { _ = server.Close() }()
		n := memNet{nodes: map[string]*memListener{"node:8500": listener}}
		c := clientOf(t, client.Config{Endpoints: []string{"node:8500"}, TokenFile: name, DialContext: n.dial})
		defer c.Close()
		read := func() error {
			_, _, err := c.Count(t.Context(), "", client.ReadOptions{})
			return err
		}
		check := func(what string, want ...string) {
			t.Helper()
			if strings.Join(seen, " ") != strings.Join(want, " ") {
				t.Errorf("%s: sent %q, want %q", what, seen, want)
			}
			seen = nil
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		check("at first", "first")
		writeFile(t, name, "")
		time.Sleep(time.Minute)
		if err := read(); err != nil {
			t.Fatal(err)
		}
		check("while the file is empty", "first")
		writeFile(t, name, "second")
		time.Sleep(time.Second)
		if err := read(); err != nil {
			t.Fatal(err)
		}
		check("a second after the change", "second")

		cluster.AddToken(everything("third"))
		cluster.RevokeToken("second")
		writeFile(t, name, "third")
		if err := read(); err != nil {
			t.Fatal(err)
		}
		check("when the old one is refused", "second", "third")
		cluster.RevokeToken("third")
		if err := read(); !errors.Is(err, client.ErrUnknownToken) {
			t.Error(err)
		}
		check("when there is none that is known", "third")
		time.Sleep(time.Second) // the node's question whether it knows the newest tokens is over then
	})
}

func TestTokensFromTheEnvironment(t *testing.T) {
	for _, c := range []struct{ environ, token, file string }{
		{"", "", ""},
		{"CONSUL_HTTP_TOKEN=a", "a", ""},
		{"CONSUL_HTTP_TOKEN=a CONSUL_HTTP_TOKEN_FILE=f", "", "f"},
		{"CONSUL_HTTP_TOKEN_FILE=f TENURE_HTTP_TOKEN=b", "b", ""},
		{"TENURE_HTTP_TOKEN_FILE=g TENURE_HTTP_TOKEN=b CONSUL_HTTP_TOKEN=a", "", "g"},
		{"TENURE_HTTP_TOKEN= CONSUL_HTTP_TOKEN=a", "a", ""},
	} {
		if token, file := client.TokenFromEnviron(strings.Fields(c.environ)); token != c.token || file != c.file {
			t.Errorf("%s: token %q, file %q", c.environ, token, file)
		}
	}
}

// What cannot be a token is refused before anything is sent, and the error does not show it.
func TestTokensThatAreNone(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("x", api.MaxSecretBytes+1)
	writeFile(t, filepath.Join(dir, "empty"), " \n")
	writeFile(t, filepath.Join(dir, "two"), "hunter2 hunter3\n")
	writeFile(t, filepath.Join(dir, "long"), long)
	writeFile(t, filepath.Join(dir, "wide"), "\xff\xfeh\x00u\x00")
	if _, err := client.ReadTokenFile(filepath.Join(dir, "wide")); err == nil || !strings.Contains(err.Error(), "it is UTF-16") {
		t.Errorf("UTF-16: %v", err)
	}
	writeFile(t, filepath.Join(dir, "marked"), "\ufeff"+long[1:]+"\r\n")
	if secret, err := client.ReadTokenFile(filepath.Join(dir, "marked")); err != nil || secret != long[1:] {
		t.Errorf("a byte order mark: %q %v", secret, err)
	}
	for _, cfg := range []client.Config{
		{Token: "hunter2\r\nX: y"}, {Token: long}, {Token: "hunterä"}, {Token: "hunter2",
			TokenFile: filepath.Join(dir, "two")},
		{TokenFile: filepath.Join(dir, "none")}, {TokenFile: filepath.Join(dir, "empty")},
		{TokenFile: filepath.Join(dir, "two")}, {TokenFile: filepath.Join(dir, "long")}, {TokenFile: dir},
	} {
		cfg.Endpoints = []string{"localhost"}
		_, err := client.New(cfg)
		if err == nil || strings.Contains(err.Error(), "hunter") || strings.Contains(err.Error(), "xxx") {
			t.Errorf("%.20q, %s: %v", cfg.Token, cfg.TokenFile, err)
		}
	}
}
