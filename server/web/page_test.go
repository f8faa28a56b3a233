package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/server/service"
	"tenure/server/web/ui"
)

// pageFiles are some of each type.
var pageFiles = map[string]string{
	"/ui/":           "text/html; charset=utf-8",
	"/ui/index.html": "text/html; charset=utf-8",
	"/ui/app.js":     "text/javascript; charset=utf-8",
	"/ui/style.css":  "text/css; charset=utf-8",
	"/ui/icon.svg":   "image/svg+xml",
}

func TestThePage(t *testing.T) {
	s := newServer(t, newFake(t))
	for path, kind := range pageFiles {
		w := call(s, "GET", path, "")
		if w.Code != 200 || head(w, "Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d %q, %d bytes", path, w.Code, head(w, "Content-Type"), w.Body.Len())
		}
		if w := call(s, "GET", path, "", "If-None-Match: "+head(w, "ETag")); w.Code != 304 || w.Body.Len() != 0 {
			t.Errorf("%s again: %d, %d bytes", path, w.Code, w.Body.Len())
		}
		if w := call(s, "GET", path, "", `If-None-Match: "of another version"`); w.Code != 200 {
			t.Errorf("%s of another version: %d", path, w.Code)
		}
		if w := call(s, "HEAD", path, ""); w.Code != 200 {
			t.Errorf("HEAD %s: %d", path, w.Code)
		}
		if w := call(s, "POST", path, ""); w.Code != 405 || head(w, "Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d, Allow %q", path, w.Code, head(w, "Allow"))
		}
	}
	index, _ := ui.Find(ui.Index)
	if w := call(s, "GET", "/ui/", ""); w.Body.String() != string(index.Body) {
		t.Error("/ui/ is not the page")
	}
}

func TestFilesThatThePageLacks(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, path := range []string{"/ui/none.js", "/ui/../routes.go", "/ui/files/app.js", "/ui//app.js",
		"/ui/%2e%2e/ui.go", "/ui/app.js/"} {
		if w := call(s, "GET", path, ""); w.Code != 404 || code(w) != api.CodeInvalid {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The policy of the page, word for word: what is not in it is refused by the browser.
func TestThePageIsStrict(t *testing.T) {
	s := newServer(t, newFake(t))
	for path := range pageFiles {
		h := call(s, "GET", path, "").Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
				"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
				"require-trusted-types-for 'script'; trusted-types 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-cache",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if len(h.Values("Set-Cookie"))+len(h.Values("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// A person who types the node's address finds the page. A program finds nothing, as before.
func TestTheBareAddress(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, c := range []struct {
		method, path, accept string
		status               int
	}{
		{"GET", "/", "text/html,application/xhtml+xml,*/*;q=0.8", 302}, {"HEAD", "/", "text/html", 302},
		{"GET", "/ui", "", 302}, {"GET", "/ui", "text/html", 302},
		{"GET", "/", "", 404}, {"GET", "/", "*/*", 404}, {"GET", "/", "application/json", 404},
		{"PUT", "/", "text/html", 404}, {"POST", "/", "text/html", 404}, {"GET", "/none", "text/html", 404},
	} {
		w := call(s, c.method, c.path, "", "Accept: "+c.accept)
		if w.Code != c.status || w.Code == 302 && head(w, "Location") != "ui/" {
			t.Errorf("%s %s with Accept %q: %d, Location %q", c.method, c.path, c.accept, w.Code, head(w, "Location"))
		}
	}
}

// A token in the address would stay in the history and in the logs of proxies: the page takes none there.
func TestThePageTakesNoQuery(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, path := range []string{"/ui/", "/ui", "/ui/app.js"} {
		if w := call(s, "GET", path+"?token=secret", ""); w.Code != 400 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The rules for hosts and origins hold for the page as for the API, and only a link leads to it from another origin.
func TestThePageIsForItsHostsAndOrigin(t *testing.T) {
	s := newServer(t, newFake(t))
	for path := range pageFiles {
		for _, c := range []struct {
			host, site, mode, dest string
			status                 int
		}{
			{"127.0.0.1:8500", "none", "navigate", "document", 200},
			{"127.0.0.1:8500", "cross-site", "navigate", "document", 200},
			{"127.0.0.1:8500", "same-origin", "cors", "script", 200},
			{"evil.example:8500", "none", "navigate", "document", 403},
			{"127.0.0.1:8500", "cross-site", "navigate", "iframe", 403},
			{"127.0.0.1:8500", "cross-site", "no-cors", "script", 403},
			{"127.0.0.1:8500", "same-site", "cors", "empty", 403},
		} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = c.host
			r.Header.Set("Sec-Fetch-Site", c.site)
			r.Header.Set("Sec-Fetch-Mode", c.mode)
			r.Header.Set("Sec-Fetch-Dest", c.dest)
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != c.status {
				t.Errorf("%s, %+v: %d", path, c, w.Code)
			}
		}
	}
}

// With tokens the files need none, and reach nothing of the store. Who mends an overloaded node gets them.
func TestThePageNeedsNoToken(t *testing.T) {
	g := newGuarded(t)
	before := g.reached()
	for path := range pageFiles {
		if w := g.as("").call("GET", path, ""); w.Code != 200 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if g.reached() != before {
		t.Error("the page has reached the store")
	}
	for _, r := range g.routes {
		if r.name == pageRoute && r.use&(mends|tokenless) != mends|tokenless {
			t.Errorf("%s is not for everybody", r.path)
		}
	}
}

// The port for health checks has no page: nobody is asked for a token there.
func TestTheHealthPortHasNoPage(t *testing.T) {
	cfg := testConfig()
	s, err := NewHealth(cfg, prometheus.NewRegistry(), service.FrontOf(newFake(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/ui", "/ui/", "/ui/app.js"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
