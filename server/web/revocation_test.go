package web

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

// After a revocation every later write is refused, through a node that has not heard of it, and leaves no trace.
func TestARevokedTokenWritesNothingThroughALaggingNode(t *testing.T) {
	g := newGuarded(t)
	app := g.made("app", `key_prefix "" { policy = "write" }`)
	g.as("app").wants("PUT", "/v1/kv/k", "1", 200, "true")
	g.lags.Store(true)
	g.fake.apply(t, kv.DropToken(app))
	const once = "Idempotency-Key: w"
	if w := g.call("PUT", "/v1/kv/k", "2", once); !denied(w) || code(w) != api.CodeUnknownToken {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if g.value("k") != "1" {
		t.Error("it was written")
	}
	if w := g.as(root).call("PUT", "/v1/kv/k", "3", once); w.Code != 200 { // the key is as good as new
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The same for a transaction: its answer names the operation that is no longer allowed.
func TestATransactionIsDecidedAgain(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `key_prefix "" { policy = "write" }`)
	g.as("app").wants("PUT", "/v1/kv/k", "1", 200, "true")
	g.lags.Store(true)
	token, _ := g.state.ACL().TokenOfSecret(kv.HashSecret("app"))
	policy := g.state.ACL().PoliciesOf(token)[0]
	g.fake.apply(t, kv.PutPolicy(kv.Policy{ID: policy.ID, Name: policy.Name,
		Rules: `key_prefix "" { policy = "write" } key "k" { policy = "read" }`}, false))
	body := `[{"KV":{"Verb":"set","Key":"a"}},{"KV":{"Verb":"get","Key":"k"}},{"KV":{"Verb":"set","Key":"k"}}]`
	w := g.call("PUT", "/v1/txn", body)
	if w.Code != 409 || !denied(w) || !strings.Contains(w.Body.String(), `{"OpIndex":2,`) || g.value("a") != "-" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A permission that another has lost costs this write one more try.
func TestAnotherRevocationDoesNotRefuse(t *testing.T) {
	g := newGuarded(t)
	other := g.made("other", `key_prefix "" { policy = "write" }`)
	g.lags.Store(true)
	g.fake.apply(t, kv.DropToken(other))
	writes, rounds := g.writes, g.rounds.Load()
	if w := g.as(root).call("PUT", "/v1/kv/k", "1"); w.Code != 200 || g.value("k") != "1" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if g.writes != writes+2 || g.rounds.Load() != rounds+1 {
		t.Errorf("%d writes, %d rounds", g.writes-writes, g.rounds.Load()-rounds)
	}
	// While nobody can be asked, it is not known whether it is still allowed.
	g.fake.apply(t, kv.DropToken(g.made("third", "")))
	g.cut.Store(true)
	if w := g.call("PUT", "/v1/kv/k", "2"); w.Code != 503 || code(w) != api.CodeNotApplied || g.value("k") != "1" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A token that was made through another node works at once.
func TestALaggingNodeDoesNotRefuseWhatIsNew(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "k", "1")
	g.lags.Store(true)
	g.made("app", `key "k" { policy = "read" }`)
	g.as("app").wants("GET", "/v1/kv/k?raw", "", 200, "1")
	g.made("second", `key "k" { policy = "read" }`)
	g.cut.Store(true)
	g.as("second").wants("GET", "/v1/kv/k?raw", "", 503, "not decided")
}

// A read is decided by the node's state after the read: its data is never newer than the decision.
func TestAReadIsDecidedAfterItWasRead(t *testing.T) {
	for _, target := range []string{"/v1/kv/k?raw", "/v1/kv/?recurse", "/v1/kv/?keys", "/v1/kv/?count"} {
		g := newGuarded(t)
		app := g.made("app", `key_prefix "" { policy = "read" }`)
		g.set(t, "k", "before")
		g.onRead = func() {
			g.onRead = nil
			g.fake.apply(t, kv.DropToken(app))
			g.set(t, "k", "after")
		}
		if w := g.as("app").call("GET", target, ""); !denied(w) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}

// CVE-2026-59818, and the walk's part about open connections: waiting queries and streams are refused within a second.
func TestRevocationEndsWhatIsOpen(t *testing.T) {
	for name, c := range map[string]struct{ target, body string }{
		"a key":        {"/v1/kv/k?index=%d", ""},
		"a list":       {"/v1/kv/k?recurse&index=%d", ""},
		"sessions":     {"/v1/session/list?index=%d", ""},
		"a stream":     {"/v1/watch?prefix=k", ""},
		"a busy lease": {"/v1/lease/n/acquire", `{"Owner":"o","TTL":"1s","Wait":"20s"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t)
			app := g.made("app", `key "k" { policy = "read" } session_prefix "" { policy = "read" }
				lease_prefix "" { policy = "write" }`)
			g.leaseWaits = true
			g.set(t, "k", "1")
			target := c.target
			if strings.Contains(target, "%d") {
				target = fmt.Sprintf(target, g.state.Revision())
			}
			method := "GET"
			if c.body != "" {
				method = "POST"
			}
			r, err := http.NewRequest(method, "http://"+serve(t, g.Server)+target, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Consul-Token", "app")
			ended := make(chan string, 1)
			go func() {
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					ended <- err.Error()
					return
				}
				defer resp.Body.Close()
				text := fmt.Sprint(resp.StatusCode, " ")
				for in := bufio.NewScanner(resp.Body); in.Scan(); {
					text += in.Text() + "\n"
				}
				ended <- text
			}()
			time.Sleep(100 * time.Millisecond)
			began := time.Now()
			g.fake.apply(t, kv.DropToken(app))
			g.set(t, "k", "seen by nobody who may not")
			select {
			case text := <-ended:
				if name != "a stream" && !strings.HasPrefix(text, "403 "+api.TextUnknownToken) ||
					strings.Contains(text, "c2VlbiBieSBub2JvZHkgd2hvIG1heSBub3Q=") {
					t.Error(text)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("it goes on")
			}
			if d := time.Since(began); d > time.Second {
				t.Errorf("after %v", d)
			}
		})
	}
}

// A token that expires while its client waits ends the wait.
func TestExpirationEndsAWait(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "k", "1")
	g.fake.apply(t, kv.PutToken(kv.Token{Accessor: "33333333-0000-4000-8000-000000000000",
		Secret: kv.HashSecret("short"), Policies: []string{kv.ManagementPolicy}, TTL: time.Second,
		Expires: time.Now().Add(200 * time.Millisecond).UnixNano()}, true))
	began := time.Now()
	w := g.as("short").call("GET", fmt.Sprintf("/v1/kv/k?index=%d", g.state.Revision()), "")
	if d := time.Since(began); !denied(w) || code(w) != api.CodeUnknownToken || d > 2*time.Second {
		t.Errorf("%d %s after %v", w.Code, w.Body, d)
	}
}

// CVE-2026-73499: a stream is decided event by event, with the prefix that it is served with.
func TestStreamsLeaveOutWhatMayNotBeRead(t *testing.T) {
	g := newGuarded(t)
	g.made("app", `key_prefix "mine/" { policy = "read" } key "mine/hidden" { policy = "deny" }`)
	addr := serve(t, g.Server)
	for _, prefix := range []string{"", "mi", "mine/", "mine%2F"} {
		from := g.state.Revision()
		g.set(t, "theirs", "x", "mine/hidden", "x", "mine/a", "x")
		g.fake.apply(t, kv.Command{Op: kv.OpSessionCreate, Session: kv.Session{
			ID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", from), Node: "n"}})
		g.set(t, "mine/end", "x")
		r, err := http.NewRequest("GET", fmt.Sprintf("http://%s/v1/watch?prefix=%s&index=%d", addr, prefix, from), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Consul-Token", "app")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for in := bufio.NewScanner(resp.Body); in.Scan() && !strings.Contains(in.Text(), "mine/end"); {
			text += in.Text() + "\n"
		}
		resp.Body.Close()
		if !strings.Contains(text, "mine/a") || strings.Contains(text, "hidden") || strings.Contains(text, "theirs") ||
			strings.Contains(text, "Session") {
			t.Errorf("prefix %q: %s", prefix, text)
		}
	}
	for _, target := range []string{"/v1/watch?prefix=theirs", "/v1/watch?prefix=.."} {
		if w := g.as("app").call("GET", target, ""); !denied(w) {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	g.as("app").wants("GET", "/v1/watch?prefix=mine/&prefix=theirs", "", 400, "given twice")
}
