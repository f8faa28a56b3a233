package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/service"
)

// witness is a server whose audit log a test reads.
type witness struct {
	*Server
	log *audit.Log
	out *bytes.Buffer
}

func newWitness(t *testing.T, f *fake, change ...func(*Config)) *witness {
	t.Helper()
	w := &witness{out: &bytes.Buffer{}}
	var err error
	if w.log, err = audit.Open(audit.Config{Path: audit.Stdout, DeniedEach: 1 << 20}, 1, w.out, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	w.Server = newServer(t, f, append(change, func(c *Config) { c.Audit = w.log })...)
	return w
}

// lines ends the log and returns what is in it.
func (w *witness) lines(t *testing.T) (out []audit.Record) {
	t.Helper()
	if err := w.log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(w.out.String()) {
		var r audit.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// nobodyMay makes the server require tokens. Only the anonymous token exists, without policies.
func nobodyMay(f *fake) func(*Config) {
	return func(c *Config) {
		d := access.New(access.Config{CatchUp: func(time.Duration) error { return nil }, Now: time.Now})
		d.Publish(f.state.ACL())
		c.Access = d
	}
}

// paths of a route, spelt in ways that a log by URLs would not know.
func spellings(path string) []string {
	plain := strings.NewReplacer("{key}", "a/b", "{id}", "fb5fc79d-f15e-4a71-a155-e5b1e1fbd821", "{node}", "n",
		"{name}", "kv/a",
		"{prefix}", "p/").Replace(path)
	out := []string{plain, plain + "?pretty", plain + "?token=s3cret&dc=dc1"}
	if strings.HasSuffix(path, "{key}") {
		out = append(out, api.PathKV+"a%2Fb", api.PathKV+"a//b", api.PathKV+"../a", api.PathKV+"%61",
			api.PathKV+"a%00b", strings.TrimSuffix(api.PathKV, "/"),
			api.PathKV+"a?recurse", api.PathKV+"a?cas=1&acquire=x", api.PathKV+"%2e%2e%2fsession/create")
	}
	return out
}

// TestNothingUnsafeEscapesTheAuditLog calls every route with every writing method and every spelling, on a node that
// succeeds, on one that fails, and on one that denies everything. Each request that reaches a handler has one line with
// the outcome of its answer. The log has no secret and no value.
func TestNothingUnsafeEscapesTheAuditLog(t *testing.T) {
	for what, setting := range map[string]struct {
		err    error
		change func(*fake) func(*Config)
	}{
		"done": {}, "unknown": {err: service.ErrUnknown}, "not applied": {err: service.ErrNotApplied}, "denied": {change: nobodyMay},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFake(t)
			f.writeErr, f.leaseErr, f.memberErr, f.transferErr, f.upgradeErr, f.restoreErr = setting.err, setting.err,
				setting.err,
				setting.err, setting.err, setting.err
			var change []func(*Config)
			if setting.change != nil {
				change = append(change, setting.change(f))
			}
			w := newWitness(t, f, change...)
			var asked []string
			var answers []*httptest.ResponseRecorder
			for _, route := range w.routes {
				for method := range route.handlers {
					if method == http.MethodGet || route.use&asks != 0 {
						continue
					}
					for _, path := range spellings(route.path) {
						for _, body := range []string{walkBody(method, strings.Split(path, "?")[0]), "v4lue"} {
							if strings.Contains(body, `"dry_run":true`) || strings.Contains(body, `"Verb":"get"`) {
								body = `{"node":1}` // what changes nothing is not for the log
							}
							answers = append(answers, call(w.Server, method, path, body,
								"Authorization: Bearer s3cret"))
							asked = append(asked, method+" "+path+" "+body)
						}
					}
				}
			}
			lines := w.lines(t)
			if len(lines) != len(asked) || len(asked) < 100 {
				t.Fatalf("%d lines of %d requests", len(lines), len(asked))
			}
			for i, l := range lines {
				code := api.Code(answers[i].Header().Get(api.HeaderError))
				if strings.HasPrefix(asked[i], "POST "+api.PathLeasesRenew) && code == "" { // each has its own in the body
					var of []api.LeaseRenewal
					if err := json.Unmarshal(answers[i].Body.Bytes(), &of); err != nil || len(of) != 1 {
						t.Fatal(answers[i].Body)
					}
					code = of[0].Code
				}
				if l.Outcome != service.OutcomeOf(code) && !strings.HasPrefix(answers[i].Body.String(), "false") ||
					l.Code != string(code) && code != "" ||
					!actText.MatchString(l.Act) || l.From == "" || l.Time.IsZero() {
					t.Errorf("%s: %d %s; the log says %+v", asked[i], answers[i].Code, code, l)
				}
			}
			if text := w.out.String(); strings.Contains(text, "s3cret") || strings.Contains(text, "v4lue") {
				t.Error("the log has a secret or a value")
			}
		})
	}
}

// actText is the form of an act, the same over every protocol.
var actText = regexp.MustCompile(`^[a-z]+(\.[a-z]+)*\.[a-z]+(-[a-z]+)*$`)

// The line names what the store has got, and what became of it.
func TestTheAuditLogSaysWhatWasDone(t *testing.T) {
	f := newFake(t)
	f.set(t, "there", "1")
	w := newWitness(t, f)
	id := create(t, w.Server, `{"TTL":"17s"}`)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/kv/a%2Fb//c", "v"}, {"PUT", "/v1/kv/there?cas=1", "v"}, {"DELETE", "/v1/kv/%74here", ""},
		{"DELETE", "/v1/kv/a?recurse", ""}, {"DELETE", "/v1/kv/?recurse", ""}, {"PUT", "/v1/kv/k?acquire=" + id, "v"},
		{"PUT", "/v1/kv/k?release=" + id, "v"}, {"POST", "/v1/kv/k", `{"Op":"rename","NewKey":"m"}`},
		{"POST", "/v1/kv/m", `{"Op":"test-and-set","Test":"eA==","Value":"eA=="}`}, {"PUT",
			"/v1/kv/" + strings.Repeat("x", 2000), "v"},
		{"PUT",
			"/v1/txn",
			`[{"KV":{"Verb":"set","Key":"x/../y","Value":"dg=="}},{"KV":{"Verb":"get","Key":"m"}},` +
				`{"KV":{"Verb":"delete","Key":"z"}}]`},
		{"PUT", "/v1/txn", `[{"KV":{"Verb":"get","Key":"m"}}]`}, {"GET", "/v1/kv/m", ""}, {"PUT",
			"/v1/session/renew/" + id, ""},
		{"PUT", "/v1/session/destroy/" + strings.ToUpper(id), ""}, {"PUT", "/v1/quota/p%2F", `{"keys":3}`},
		{"DELETE", "/v1/fence/lease/l", ""}, {"POST", "/v1/lease/l%2Fm/acquire", `{"Owner":"o","TTL":"1s"}`},
		{"POST", "/v1/leases/renew", `[{"Name":"l","Owner":"a","Grant":"x"},{"Name":"m","Owner":"a","Grant":"x"}]`},
		{"POST", "/v1/members/remove", `{"node":2,"operation":"op-1"}`}, {"POST", "/v1/members/remove",
			`{"node":2,"dry_run":true}`},
		{"POST", "/v1/master/transfer", `{"Node":3}`}, {"POST", "/v1/upgrade/finish", `{"dry_run":true}`}, {"POST",
			"/v1/upgrade/finish", ""},
		{"put", "/v1/kv/a", "v"}, {"PUT", "/v1//kv/a", "v"},
	} {
		call(w.Server, c.method, c.path, c.body)
	}
	var got []string
	for _, l := range w.lines(t) {
		line := l.Act + " " + strings.Join(l.Keys, ",") + " " + string(l.Outcome)
		if l.Code != "" {
			line += " " + l.Code
		}
		if l.Revision == 0 && l.Outcome == audit.Done && !strings.HasPrefix(l.Act, "lease") &&
			!strings.HasPrefix(l.Act, "m") && l.Act != "upgrade.finish" {
			t.Errorf("%s: without a revision", line)
		}
		got = append(got, strings.ReplaceAll(line, id, "ID"))
	}
	want := []string{
		"session.create ID done", "kv.set a/b//c done", "kv.set there not applied condition", "kv.delete there done",
		"kv.prune a done",
		"kv.prune  done", "kv.acquire k done", "kv.release k done", "kv.rename k,m done",
		"kv.test-and-set m not applied condition",
		"kv.set  not applied invalid", "txn.apply x/../y,z done", "session.renew ID done", "session.destroy ID done",
		"quota.set p/ not applied feature-level",
		"fence.delete lease/l done", "lease.acquire l/m done", "leases.renew l,m not applied invalid", "members.remove 2,op-1 done",
		"master.transfer 3 done", "upgrade.finish  done",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What takes everything out of the cluster is an administrative act too.
func TestExportsAreInTheAuditLog(t *testing.T) {
	f := newFake(t)
	f.backupErr = service.ErrNotApplied
	w := newWitness(t, f)
	for _, path := range []string{api.PathBackup, api.PathSnapshot, api.PathKV + "?recurse", api.PathMembers,
		api.PathMetrics} {
		call(w.Server, "GET", path, "")
	}
	var got []string
	for _, l := range w.lines(t) {
		got = append(got, l.Act+" "+string(l.Outcome))
	}
	if d := cmp.Diff([]string{"backup.create not applied", "snapshot.save not applied"}, got); d != "" {
		t.Error(d)
	}
}

// A denied act says who, and what is missing.
func TestTheAuditLogSaysWhatIsMissing(t *testing.T) {
	f := newFake(t)
	w := newWitness(t, f, nobodyMay(f))
	call(w.Server, "PUT", "/v1/kv/a", "v")
	call(w.Server, "PUT", "/v1/kv/a", "v", "X-Consul-Token: s3cret")
	call(w.Server, "PUT", "/v1/acl/policy/FB5FC79D-f15e-4a71-a155-e5b1e1fbd821", `{"Name":"n"}`)
	want := []audit.Record{
		{Act: "kv.set", Keys: []string{"a"}, Accessor: api.AnonymousAccessor, Missing: `'key:write' on "a"`,
			Code: "denied"},
		{Act: "kv.set", Keys: []string{"a"}, Code: "unknown-token"},
		{Act: "acl.policy.update", Keys: []string{"fb5fc79d-f15e-4a71-a155-e5b1e1fbd821"}, Accessor: api.AnonymousAccessor,
			Missing: "'acl:write'", Code: "denied"},
	}
	got := w.lines(t)
	for i := range got {
		if got[i].Outcome != audit.Denied || got[i].Node != 1 {
			t.Errorf("%+v", got[i])
		}
		got[i].Time, got[i].From, got[i].Outcome, got[i].Node = time.Time{}, "", "", 0
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A transaction that only reads is still a change under a fence: it may raise the fence, and so stop the writes of
// others.
func TestEveryWriteUnderAFenceIsInTheAuditLog(t *testing.T) {
	f := newFake(t)
	w := newWitness(t, f)
	call(w.Server, "PUT", "/v1/kv/a?fence=kv/f:7", "v")
	call(w.Server, "PUT", "/v1/txn?fence=kv/f:9", `[{"KV":{"Verb":"get","Key":"a"}}]`)
	call(w.Server, "PUT", "/v1/txn?fence=kv/f:11", "[]")
	call(w.Server, "PUT", "/v1/kv/a?fence=kv/f:8", "v")
	call(w.Server, "DELETE", "/v1/fence/kv/f", "")
	var got []string
	for _, l := range w.lines(t) {
		got = append(got, l.Act+" "+strings.Join(l.Keys, ",")+" "+l.Fence+" "+string(l.Outcome))
	}
	want := []string{"kv.set a kv/f:7 done", "txn.apply  kv/f:9 done", "kv.set a kv/f:8 not applied", "fence.delete kv/f  done"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Names are noted before it is decided whether the request is allowed: they make no long line.
func TestLinesOfTheAuditLogAreShort(t *testing.T) {
	body := "["
	for i := range api.MaxTxnOps {
		if i > 0 {
			body += ","
		}
		body += fmt.Sprintf(`{"KV":{"Verb":"set","Key":"%03d%s","Value":"eA=="}}`, i, strings.Repeat("<", 900))
	}
	for _, denied := range []bool{false, true} {
		f := newFake(t)
		var change []func(*Config)
		if denied {
			change = append(change, nobodyMay(f))
		}
		w := newWitness(t, f, change...)
		call(w.Server, "PUT", "/v1/txn", body+"]")
		if text := w.lines(t); len(text) != 1 || len(text[0].Keys)+text[0].More != api.MaxTxnOps ||
			denied != (len(text[0].Keys) == 1) {
			t.Errorf("denied: %t: %d keys and %d more", denied, len(text[0].Keys), text[0].More)
		}
		if n := w.out.Len(); n > 4<<10+2048 {
			t.Errorf("denied: %t: a line of %d bytes", denied, n)
		}
	}
}

// The line of a call that renews several leases says what came of them: it was done if one was renewed.
func TestTheAuditLogOfRenewals(t *testing.T) {
	g := newGuarded(t)
	w := newWitness(t, g.fake, func(c *Config) { c.Access = g.cfg.Access })
	g.made("app", `lease "mine" { policy = "write" }`)
	renew := func(names ...string) string {
		var parts []string
		for _, n := range names {
			parts = append(parts, fmt.Sprintf(`{"Name":%q,"Owner":"o","Grant":%q}`, n, grantOf(n, "o")))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for _, body := range []string{renew("theirs", "others"), renew("theirs", "mine"), renew("mine")} {
		call(w.Server, "POST", api.PathLeasesRenew, body, "X-Consul-Token: app")
	}
	// An accessor that no token has may be a secret.
	call(w.Server, "DELETE", api.PathACLTokens+"11111111-2222-4333-8444-555555555555", "", "X-Consul-Token: "+root)
	var got []string
	for _, l := range w.lines(t) {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%v %s %s", l.Keys, l.Outcome, l.Code)))
	}
	want := []string{"[theirs] denied denied", "[theirs mine] done denied", "[mine] done", "[] done"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
