package web

import (
	"cmp"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/slow"
)

// twice is a node that has two copies of a write decided, as a node does when the answer to the first one is lost.
// Between them it calls between. The answer is that to the second copy.
type twice struct {
	*fake
	first   bool // the first copy is applied
	between func()
	err     error // of a third copy
	copies  int
}

func (w *twice) Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	if w.copies++; w.copies > 1 {
		if w.err != nil {
			return kv.Result{}, w.err
		}
		return w.fake.Write(timeout, c, took)
	}
	if w.first {
		if _, err := w.fake.Write(timeout, c, took); err != nil {
			return kv.Result{}, err
		}
	}
	w.between()
	return w.fake.Write(timeout, c, took)
}

func (w *twice) WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error) {
	if w.copies > 0 {
		panic("a copy in doubt may get a new base")
	}
	return w.Write(timeout, c, took)
}

// The first copy of a write may have been applied. Then the refusal of a second copy is answered as unknown, unless
// the client may still be told what that came to. If the log says that no copy was applied, a refusal says so too.
func TestTheVerdictOnASecondCopy(t *testing.T) {
	for name, c := range map[string]struct {
		method, target, body string
		unapplied            bool // the first copy
		revoked, cut         bool
		err                  error
		status               int
		code                 api.Code
	}{
		"revoked": {revoked: true, status: 504, code: api.CodeUnknown},
		"revoked, by a node that does not know it": {revoked: true, cut: true, status: 504, code: api.CodeUnknown},
		"still allowed":            {status: 200},
		"still allowed, no space":  {err: service.ErrNoSpace, status: 504, code: api.CodeUnknown},
		"still allowed, no master": {err: service.ErrNotApplied, status: 504, code: api.CodeUnknown},
		"not applied, revoked":     {unapplied: true, revoked: true, status: 403, code: api.CodeUnknownToken},
		"not applied, revoked, by a node that does not know it": {unapplied: true, revoked: true, cut: true, status: 503,
			code: api.CodeNotApplied},
		"not applied, no space": {unapplied: true, err: service.ErrNoSpace, status: 507, code: api.CodeNoSpace},
		"an old value":          {method: "POST", body: `{"Op":"remove"}`, revoked: true, status: 504, code: api.CodeUnknown},
		"a transaction": {target: "/v1/txn", body: `[{"KV":{"Verb":"set","Key":"k","Value":"bmV3"}}]`, revoked: true,
			status: 504, code: api.CodeUnknown},
		"a session":                {target: "/v1/session/create", body: `{}`, revoked: true, status: 504, code: api.CodeUnknown},
		"a session, still allowed": {target: "/v1/session/create", body: `{}`, status: 200},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuarded(t)
			g.fake.apply(t, kv.Command{Op: kv.OpSet, Key: "k", Value: []byte("old")})
			accessor := g.made("writer", `key_prefix "" { policy = "write" } session_prefix "" { policy = "write" }`)
			other := g.made("other", `key_prefix "" { policy = "write" }`)
			if !c.revoked {
				accessor = other
			}
			w := &twice{fake: g.fake, first: !c.unapplied, err: c.err, between: func() {
				g.lags.Store(true)
				g.cut.Store(c.cut)
				g.fake.apply(t, kv.DropToken(accessor))
			}}
			cfg := testConfig()
			cfg.Hub, cfg.Access = g.hub, g.decider
			s, err := New(cfg, service.FrontOf(w))
			if err != nil {
				t.Fatal(err)
			}
			headers := []string{"X-Consul-Token: writer"}
			if c.target != "/v1/session/create" { // for which the node draws a key
				headers = append(headers, api.HeaderIdempotencyKey+": w", api.HeaderBase+": 1")
			}
			checkVerdict(t, call(s, cmp.Or(c.method, "PUT"), cmp.Or(c.target, "/v1/kv/k"), cmp.Or(c.body, "new"), headers...), c.status, c.code)
			if old := g.value("k") == "old"; c.target == "" && old != c.unapplied {
				t.Error("the key holds", g.value("k"))
			}
		})
	}
}

func checkVerdict(t *testing.T, w *httptest.ResponseRecorder, status int, want api.Code) {
	t.Helper()
	if w.Code != status || code(w) != want || status == 504 && (strings.Contains(w.Body.String(), "nothing was changed") ||
		strings.Contains(w.Body.String(), "old")) {
		t.Errorf("%d %s: %s", w.Code, code(w), w.Body)
	}
}
