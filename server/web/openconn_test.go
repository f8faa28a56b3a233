package web

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"tenure/api"
	"tenure/internal/certs"
	"tenure/internal/certs/certstest"
	"tenure/kv"
)

// After a token is revoked, an open connection that has used it gets no answer under it, for each route and method.
func TestNoRouteIsServedOnAnOpenConnectionOfARevokedToken(t *testing.T) {
	g := newGuarded(t)
	g.EndWaits()
	app := g.made("app", "")
	g.fake.apply(t, kv.PutToken(kv.Token{Accessor: app, Policies: []string{kv.ManagementPolicy}}, false))
	addr := serve(t, g.Server)
	list := g.walk(t)
	conn := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(conn.CloseIdleConnections)
	fresh := 0
	ask := func(r walked) (status int, text string) {
		req, err := http.NewRequest(r.method, "http://"+addr+r.target, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Consul-Token", "app")
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if !i.Reused {
				fresh++
			}
		}}
		resp, err := conn.Do(req.WithContext(httptrace.WithClientTrace(t.Context(), trace)))
		if err != nil {
			t.Fatalf("%s: %v", r.at, err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(body)
	}
	if status, text := ask(walked{"GET", "GET", "/v1/acl/token/self", ""}); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	g.fake.apply(t, kv.DropToken(app))
	before, revision := g.reached(), g.state.Revision()
	for _, r := range list {
		if forEverybody[r.at] != "" && r.at != "GET /v1/acl/token/self" {
			continue
		}
		status, text := ask(r)
		if status != 403 || !strings.HasPrefix(text, api.TextUnknownToken) {
			t.Errorf("%s: %d %s", r.at, status, text)
		}
	}
	if fresh != 1 || g.reached() != before || g.state.Revision() != revision {
		t.Errorf("%d connections; %s after %s, revision %d after %d", fresh, g.reached(), before, g.state.Revision(), revision)
	}
}

// A certificate loses its permissions when its token is deleted, also on an open connection.
func TestACertificateLosesItsTokenOnAnOpenConnection(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "k", "1")
	app := g.made("app", `key "k" { policy = "write" }`)
	token, _ := g.state.ACL().Token(app)
	g.fake.apply(t, kv.PutToken(kv.Token{Accessor: app, Policies: token.Policies,
		Certificate: "tenure://prod/client/c"}, false))
	ca := certstest.New(t, "prod")
	c := certs.Clients{Files: certstest.Load(t, ca.Node(t, "n1")), MinVersion: tls.VersionTLS13,
		Authorities: certstest.Load(t, certs.Paths{CA: ca.Bundle})}
	addr := serve(t, newServer(t, g.fake, func(cfg *Config) { cfg.Access, cfg.TLS = g.decider, c.Config() }))
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.Pool(t),
		Certificates: []tls.Certificate{*certstest.Load(t, ca.Client(t, "c")).Certificate()}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	ask := func(method string) int {
		r, err := http.NewRequest(method, "https://"+addr+"/v1/kv/k", strings.NewReader("2"))
		if err == nil {
			err = r.Write(conn)
		}
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	if get, put := ask("GET"), ask("PUT"); get != 200 || put != 200 {
		t.Fatalf("%d, %d", get, put)
	}
	g.fake.apply(t, kv.DropToken(app))
	if get, put := ask("GET"), ask("PUT"); get != 403 || put != 403 {
		t.Errorf("after the deletion: %d, %d", get, put)
	}
}
