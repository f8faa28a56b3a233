package server

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"tenure/server/web"
)

func TestTheProfilerIsGuarded(t *testing.T) {
	h := guarded(web.NewHosts([]string{"kv1"}), http.NotFoundHandler())
	for host, want := range map[string]int{"kv1:1": 404, "127.0.0.1:1": 404, "localhost": 404, "evil.example": 403} {
		r := httptest.NewRequest("GET", "/debug/pprof/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Host %q: status %d, want %d", host, w.Code, want)
		}
	}
}

// A page of another origin has nothing profiled, also if it only reads.
func TestTheProfilerIsNotForPagesOfOthers(t *testing.T) {
	h := guarded(web.NewHosts(nil), http.NotFoundHandler())
	for site, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 404, "none": 404, "": 404} {
		r := httptest.NewRequest("GET", "/debug/pprof/profile", nil)
		r.Host = "localhost"
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("Sec-Fetch-Site %q: status %d, want %d", site, w.Code, want)
		}
	}
}

// A node answers to the names in its own addresses without being told.
func TestOwnHosts(t *testing.T) {
	c := Config{ClientAddr: "localhost:1", ClientAdvertise: "kv1.example.com:2", PeerAdvertise: "10.0.0.1:3",
		AllowedHosts: []string{"kv"}}
	got := c.hosts()
	for _, want := range []string{"kv", "localhost", "kv1.example.com"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if slices.Contains(got, "10.0.0.1") {
		t.Errorf("an address is in %q", got)
	}
}
