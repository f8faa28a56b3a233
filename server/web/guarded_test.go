package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/service"
)

// guarded is a server that asks for tokens, on a fake at the newest feature level.
type guarded struct {
	*fake
	*Server
	t       testing.TB
	decider *access.Decider
	lags    atomic.Bool // tokens and policies are published by a round only
	cut     atomic.Bool // and there is no round
	rounds  atomic.Int64
	reset   string // the file of resets
	token   string // of the next calls
}

const root = "00000000-0000-4000-8000-00000000000f" // the secret of the first token

func newGuarded(t testing.TB, opts ...func(*Config)) *guarded {
	g := newGuardedBeforeBootstrap(t, opts...)
	if w := g.call("PUT", "/v1/acl/bootstrap", `{"BootstrapSecret":"`+root+`"}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return g
}

func newGuardedBeforeBootstrap(t testing.TB, opts ...func(*Config)) *guarded {
	g := &guarded{fake: newFake(t), t: t, reset: filepath.Join(t.TempDir(), access.ResetFileName)}
	g.decider = access.New(access.Config{CatchUp: g.catchUp, Now: time.Now, ResetFile: g.reset})
	g.decider.Publish(g.state.ACL())
	g.state.Observe(kv.Observer{ACL: func(uint64) {
		if !g.lags.Load() {
			g.decider.Publish(g.state.ACL())
		}
	}})
	g.fake.apply(t, kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel})
	g.upgrade = api.Upgrade{FeatureLevel: kv.NewestLevel}
	g.Server = newServer(t, g.fake, append(opts, func(c *Config) { c.Access = g.decider })...)
	return g
}

func (g *guarded) catchUp(time.Duration) error {
	g.rounds.Add(1)
	if g.cut.Load() {
		return errors.New("no master is known")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decider.Publish(g.state.ACL())
	return nil
}

// as makes the next calls with the token of a secret.
func (g *guarded) as(secret string) *guarded {
	g.token = secret
	return g
}

// call is one request with the token.
func (g *guarded) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	if g.token != "" {
		headers = append(headers, "X-Consul-Token: "+g.token)
	}
	return call(g.Server, method, target, body, headers...)
}

// made makes a policy of rules and a token with it, by what is applied, and returns the token's accessor; its secret is
// name.
func (g *guarded) made(name, rules string) (accessor string) {
	g.t.Helper()
	n := g.slot
	policy := fmt.Sprintf("%08d-0000-4000-8000-0000000000aa", n)
	accessor = fmt.Sprintf("%08d-0000-4000-8000-0000000000bb", n)
	g.fake.apply(g.t, kv.PutPolicy(kv.Policy{ID: policy, Name: "p-" + name, Rules: rules}, true))
	g.fake.apply(g.t, kv.PutToken(kv.Token{Accessor: accessor, Secret: kv.HashSecret(name),
		Policies: []string{policy}}, true))
	return accessor
}

// denied reports whether an answer is a refusal for want of a permission. That of a transaction is 409 and names the
// operation.
func denied(w *httptest.ResponseRecorder) bool {
	text := w.Body.String()
	if w.Code == 409 {
		return code(w) == api.CodeDenied && strings.Contains(text, `,"What":"`+api.TextDenied)
	}
	return w.Code == 403 && (code(w) == api.CodeDenied && strings.HasPrefix(text, api.TextDenied) ||
		code(w) == api.CodeUnknownToken && strings.HasPrefix(text, api.TextUnknownToken))
}

// wants calls and checks status and body.
func (g *guarded) wants(method, target, body string, status int, text string) {
	g.t.Helper()
	w := g.call(method, target, body)
	if w.Code != status || !strings.Contains(w.Body.String(), text) {
		g.t.Errorf("%s %s: %d %s, want %d %s", method, target, w.Code, w.Body, status, text)
	}
}

// decoded calls, and reads the answer, which must be 200.
func (g *guarded) decoded(method, target, body string, into any) {
	g.t.Helper()
	w := g.call(method, target, body)
	if w.Code != 200 {
		g.t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		g.t.Fatal(err)
	}
}

// value returns what a key holds, "-" if it is not there.
func (g *guarded) value(key string) string {
	e, found, _, err := g.Get(time.Second, service.Default, key)
	if err != nil {
		g.t.Fatal(err)
	}
	if !found {
		return "-"
	}
	return string(e.Value)
}
