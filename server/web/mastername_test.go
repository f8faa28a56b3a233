package web

import (
	"net/http/httptest"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// Answers name the master as it is when they are sent, refusals too, but not those of endpoints for operators.
func TestAnswersNameTheMaster(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "1")
	ask := func(method, target, body string) *httptest.ResponseRecorder { return call(s, method, target, body) }
	for _, x := range []struct{ method, target, body string }{
		{"GET", "/v1/kv/a", ""}, {"GET", "/v1/kv/none", ""}, {"GET", "/v1/kv/?recurse", ""}, {"PUT", "/v1/kv/a", "2"},
		{"PUT", "/v1/txn", "[]"}, {"GET", "/v1/kv/a?index=x", ""}, {"GET", "/v1/lease/l", ""},
	} {
		for _, master := range []struct {
			node uint64
			want string
		}{{0, ""}, {2, "2"}, {65535, "65535"}, {2, "2"}} {
			f.master.Store(master.node)
			if got := head(ask(x.method, x.target, x.body), api.HeaderMaster); got != master.want {
				t.Errorf("%s %s, master %d: named %q", x.method, x.target, master.node, got)
			}
		}
	}
	for _, target := range []string{api.PathStatus, api.PathHealthReady, api.PathMetrics, api.PathMembers} {
		if got := head(ask("GET", target, ""), api.HeaderMaster); got != "" {
			t.Errorf("%s names %q", target, got)
		}
	}
}

// The master may change while the log decides a write: the answer names the new one.
func TestAnAnswerNamesTheMasterOfItsEnd(t *testing.T) {
	f := newFake(t)
	f.master.Store(1)
	s := newServer(t, f)
	f.onWrite = func(time.Duration) { f.master.Store(3) }
	if got := head(call(s, "PUT", "/v1/kv/a", "2"), api.HeaderMaster); got != "3" {
		t.Errorf("named %q", got)
	}
}

// Naming the same master again costs no memory.
func TestTheNameOfAMasterIsShared(t *testing.T) {
	f := newFake(t)
	f.master.Store(2)
	m := &masterName{of: service.FrontOf(f).Master}
	if n := testing.AllocsPerRun(100, func() { m.now() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
