package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenure/api"
	"tenure/server/service"
)

// A page of anybody can have a browser send requests here by a name of its own: none of them is answered, whatever
// they ask for, and none changes anything.
func TestOtherHostsAreRefused(t *testing.T) {
	cfg := testConfig()
	cfg.AllowedHosts = []string{"KV.example.com", "kv1"}
	b := newFake(t)
	s, err := New(cfg, service.FrontOf(b))
	if err != nil {
		t.Fatal(err)
	}
	for host, served := range map[string]bool{
		"": true, "localhost": true, "localhost:8500": true, "LocalHost.:8500": true, "127.0.0.1": true, "127.0.0.1:8500": true,
		"10.1.2.3:8500": true, "[::1]": true, "[::1]:8500": true, "[fe80::1%25eth0]:80": true, "kv.example.com": true,
		"kv.example.com:443": true, "kv.EXAMPLE.com.": true, "kv1:1": true,

		"evil.example": false, "evil.example:8500": false, "example.com": false, "a.kv.example.com": false,
		"kv.example.com.evil.example": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"127.0.0.1.": false, "127.0.0.1:8500.evil.example": false, "[::1]evil.example": false, ":8500": false, "2130706433": false,
		"xn--kv-": false, "kv1:": true, "[kv1]": false,
	} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "POST", "OPTIONS"} {
			for _, path := range []string{"/v1/kv/k", "/v1/kv/?recurse", "/metrics", "/v1/health/live", "/", "/v1/snapshot"} {
				r := httptest.NewRequest(method, path, nil)
				r.Host = host
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				refused := w.Code == http.StatusForbidden && code(w) == api.CodeForbidden
				if refused == served {
					t.Errorf("%s %s with Host %q: status %d %s", method, path, host, w.Code, w.Body)
				}
				if refused && method == "PUT" && !strings.Contains(w.Body.String(), "--allowed-hosts") {
					t.Errorf("Host %q: it is not said what to do: %s", host, w.Body)
				}
			}
		}
	}
}

// No method that changes something is open to pages of another origin, also where the browser asks nobody first.
func TestOtherOriginsAreRefused(t *testing.T) {
	s, err := New(testConfig(), service.FrontOf(newFake(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		header, value string
		refused       bool
	}{
		{"Origin", "http://evil.example", true}, {"Origin", "null", true}, {"Origin", "http://example.com:81", true},
		{"Sec-Fetch-Site", "cross-site", true}, {"Sec-Fetch-Site", "same-site", true},
		{"Origin", "http://example.com", false}, {"Sec-Fetch-Site", "same-origin", false}, {"Sec-Fetch-Site", "none", false},
		{"User-Agent", "curl", false},
	} {
		for _, method := range []string{"PUT", "DELETE", "POST", "PATCH", "PURGE"} {
			r := httptest.NewRequest(method, "/v1/kv/k", nil)
			r.Header.Set(c.header, c.value)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if refused := w.Code == http.StatusForbidden; refused != c.refused {
				t.Errorf("%s with %s %q: status %d %s", method, c.header, c.value, w.Code, w.Body)
			}
			if w.Header().Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s with %s %q: CORS", method, c.header, c.value)
			}
		}
	}
}

// What a page of another origin has loaded would tell it, by loading or not, whether a key is there. A link may lead here.
func TestFetchedByOtherOriginsIsRefused(t *testing.T) {
	s, err := New(testConfig(), service.FrontOf(newFake(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		site, mode, dest string
		refused          bool
	}{
		{"cross-site", "no-cors", "script", true}, {"cross-site", "no-cors", "image", true}, {"cross-site", "cors", "empty", true},
		{"same-site", "no-cors", "script", true}, {"cross-site", "navigate", "iframe", true}, {"cross-site", "navigate", "object", true},
		{"cross-site", "websocket", "websocket", true}, {"cross-site", "", "", true}, {"cross-site", "navigate", "", true},
		{"cross-site", "navigate", "document", false}, {"same-origin", "cors", "empty", false}, {"none", "navigate", "document", false},
		{"", "", "", false},
	} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			for _, path := range []string{"/v1/kv/k", "/v1/kv/?recurse", "/v1/watch", "/v1/backup", "/metrics", "/health/live"} {
				r := httptest.NewRequest(method, path, nil)
				for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest} {
					if value != "" {
						r.Header.Set(name, value)
					}
				}
				if !c.refused && path == "/v1/watch" { // it would not end
					continue
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if refused := w.Code == http.StatusForbidden; refused != c.refused {
					t.Errorf("%s %s, %+v: status %d %s", method, path, c, w.Code, w.Body)
				}
			}
		}
	}
}

func TestValidateHost(t *testing.T) {
	for name, ok := range map[string]bool{
		"kv.example.com": true, "kv1": true, "a_b.c-d": true, "kv.example.com.": true,
		"": false, ".": false, "*": false, "*.example.com": false, "kv:8500": false, "http://kv": false, "127.0.0.1": false,
		"::1": false, "[::1]": false, "a b": false, "a/b": false, "a\x1bb": false,
		"a\u202eb": false, "$(id)": false, strings.Repeat("a", 254): false,
	} {
		if err := ValidateHost(name); (err == nil) != ok {
			t.Errorf("ValidateHost(%.20q) = %v", name, err)
		}
	}
}

func BenchmarkHosts(b *testing.B) {
	h := NewHosts([]string{"kv1"})
	for _, host := range []string{"127.0.0.1:8500", "kv1:8500", "localhost:8500"} {
		b.Run(host, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !h.Serves(host) {
					b.Fatal("refused")
				}
			}
		})
	}
}

// A request that names another cluster is refused before anything is done, whatever it asks for. One that names this
// one, or none, is carried out, and so is any while the node is of none.
func TestRequestsForAnotherCluster(t *testing.T) {
	f := newFake(t)
	f.status.Cluster = "mine"
	s := newServer(t, f)
	for _, headers := range [][]string{{api.HeaderCluster + ": other"}, {api.HeaderCluster + ": "},
		{api.HeaderCluster + ": mine", api.HeaderCluster + ": other"}} {
		for _, target := range []string{"PUT " + api.PathKV + "k", "GET " + api.PathKV + "k", "PUT " + api.PathTxn,
			"POST " + api.PathMembersDrain, "GET " + api.PathStatus, "GET /none"} {
			method, path, _ := strings.Cut(target, " ")
			if w := call(s, method, path, "v", headers...); w.Code != http.StatusMisdirectedRequest || code(w) != api.CodeOtherCluster {
				t.Errorf("%s with %q: %d %q", target, headers, w.Code, w.Body)
			}
		}
	}
	if f.writes > 0 {
		t.Errorf("%d writes were carried out", f.writes)
	}
	for _, own := range []string{"mine", ""} {
		f.status.Cluster = own
		if w := call(s, "PUT", api.PathKV+"k", "v", api.HeaderCluster+": mine"); w.Code != 200 {
			t.Errorf("for this cluster: %d %q", w.Code, w.Body)
		}
	}
}
