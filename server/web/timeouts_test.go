package web

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// A client that says how long it waits is answered within that time; it cannot make a node wait longer than it would.
func TestClientsTimeout(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 10 * time.Second, "250": 250 * time.Millisecond, "3600000": 10 * time.Second,
		"0": 10 * time.Second, "-5": 10 * time.Second, "soon": 10 * time.Second,
	} {
		f := newFake(t)
		var got time.Duration
		f.onWrite = func(timeout time.Duration) { got = timeout }
		call(newServer(t, f), http.MethodPut, "/v1/kv/k", "v", api.HeaderTimeoutMS+": "+header)
		if got != want {
			t.Errorf("%q: the backend may take %v, want %v", header, got, want)
		}
	}
}

// Every read tells the store's revision, also of a key that is older or absent: it is the base of the next write.
func TestReadsTellTheStoresRevision(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	if w := call(s, http.MethodGet, "/v1/kv/none", ""); w.Header().Get(api.HeaderRevision) != "1" || w.Header().Get(api.HeaderIndex) != "1" {
		t.Errorf("empty store: revision %q, index %q", w.Header().Get(api.HeaderRevision), w.Header().Get(api.HeaderIndex))
	}
	for _, key := range []string{"a", "b", "c"} {
		call(s, http.MethodPut, "/v1/kv/"+key, "v")
	}
	for _, path := range []string{"/v1/kv/a", "/v1/kv/none", "/v1/kv/?keys", "/v1/kv/a?stale"} {
		if w := call(s, http.MethodGet, path, ""); w.Header().Get(api.HeaderRevision) != "4" {
			t.Errorf("%s: revision %q", path, w.Header().Get(api.HeaderRevision))
		}
	}
}

func TestOnlyAnOverloadedNodeAsksForTime(t *testing.T) {
	for err, want := range map[error]string{service.ErrNotApplied: "0", service.ErrOverloaded: "1"} {
		f := newFake(t)
		f.writeErr = fmt.Errorf("%w: because", err)
		w := call(newServer(t, f), http.MethodPut, "/v1/kv/k", "v")
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != want {
			t.Errorf("%v: %d, Retry-After %q", err, w.Code, w.Header().Get("Retry-After"))
		}
	}
}
