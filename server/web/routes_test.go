package web

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"tenure/api"
)

func TestMethodsAndAllow(t *testing.T) {
	s := newServer(t, newFake(t))
	for path, allow := range map[string]string{
		"/v1/kv/a":              "DELETE, GET, HEAD, POST, PUT",
		"/v1/kv":                "DELETE, GET, HEAD, POST, PUT",
		"/v1/txn":               "PUT",
		"/v1/session/create":    "PUT",
		"/v1/session/destroy/x": "PUT",
		"/v1/session/renew/x":   "PUT",
		"/v1/session/info/x":    "GET, HEAD",
		"/v1/session/node/x":    "GET, HEAD",
		"/v1/session/list":      "GET, HEAD",
		"/v1/fence/kv/x":        "DELETE, GET, HEAD",
		"/v1/quota":             "GET, HEAD",
		"/v1/quota/a/":          "DELETE, GET, HEAD, PUT",
		"/v1/openapi.json":      "GET, HEAD",
		"/v1/status":            "GET, HEAD",
		"/v1/history":           "GET, HEAD",
		"/v1/reports":           "GET, HEAD",
		"/v1/acl/uses":          "POST",
		"/v1/status/leader":     "GET, HEAD",
		"/v1/status/peers":      "GET, HEAD",
		"/v1/agent/self":        "GET, HEAD",
		"/health/live":          "GET, HEAD",
		"/health/ready":         "GET, HEAD",
		"/metrics":              "GET, HEAD",
		"/v1/master/transfer":   "POST",
		"/v1/lease/x":           "GET, HEAD",
		"/v1/lease/x/acquire":   "GET, HEAD, POST",
		"/v1/lease/x/renew":     "GET, HEAD, POST",
		"/v1/lease/x/release":   "GET, HEAD, POST",
	} {
		for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "POST", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			w := call(s, method, path, "")
			allowed := strings.Contains(", "+allow+",", ", "+method+",")
			if !allowed && head(w, api.HeaderNode) != "0" {
				t.Errorf("%s %s: %d without %s: %v", method, path, w.Code, api.HeaderNode, w.Header())
			}
			if allowed == (w.Code == 405) {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
			if !allowed && head(w, "Allow") != allow {
				t.Errorf("%s %s: Allow %q, %s", method, path, head(w, "Allow"), w.Body)
			}
		}
	}
}

func TestPathsThatAreNothing(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, path := range []string{"/", "/v1", "/v1/", "/v1/kvx", "/v1/status/", "/v1/session/", "/v1/session/list/x", "/v1/txn/", "/v1/fence", "/v1/watch/"} {
		for _, method := range []string{"GET", "PUT"} {
			if w := call(s, method, path, ""); w.Code != 404 || code(w) != api.CodeInvalid {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}

// A path that has a slash or more too much is no missing key, session or policy: the clients of Consul would take a 404
// for that.
func TestPathsThatAreMisplaced(t *testing.T) {
	f := newFake(t)
	f.set(t, "a", "v")
	s := newServer(t, f)
	before := f.reached()
	for path, meant := range map[string]string{
		"//v1/kv/a": "/v1/kv/a", "/v1//kv/a": "/v1/kv/a", "///v1///kv//a": "/v1/kv/a", "//v1/kv/": "/v1/kv/",
		"/%2Fv1/kv/a": "/v1/kv/a",
		"//v1/kv/A":   "/v1/kv/A",
		"/v1/KV/a":    "/v1/kv/a", "/V1/kv/a": "/v1/kv/a", "/x/../v1/kv/a": "/v1/kv/a", "/proxy/v1/kv/a": "/v1/kv/a",
		"/v1/v1/kv/a":          "/v1/kv/a",
		"//v1/session/renew/x": "/v1/session/renew/x", "/v1//session/info/x": "/v1/session/info/x",
		"//v1/acl/policy/name/x": "/v1/acl/policy/name/x", "/v1//lease/n": "/v1/lease/n", "//v1/fence/kv/x": "/v1/fence/kv/x",
		"//v1/quota/x": "/v1/quota/x", "//v1/txn": "/v1/txn", "//v1/watch": "/v1/watch", "//metrics": "/metrics",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE", "HEAD", "POST"} {
			w := call(s, method, path, "")
			if w.Code != 400 || code(w) != api.CodeInvalid || !strings.Contains(w.Body.String(), strconv.Quote(meant)+" is") {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	if got := f.reached(); got != before {
		t.Errorf("something reached the backend: %s, before %s", got, before)
	}
	// What is in a key is not touched.
	for _, path := range []string{"/v1/kv//v1/kv/a", "/v1/kv/%2Fa"} {
		if w := call(s, "GET", path, ""); w.Code != 404 || code(w) != api.CodeNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestLongURL(t *testing.T) {
	s := newServer(t, newFake(t))
	if w := call(s, "GET", "/v1/kv/?keys&start="+strings.Repeat("x", api.MaxURLBytes), ""); w.Code != 400 || code(w) != api.CodeInvalid {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	longest := strings.Repeat("%C3%BC", 512)
	if w := call(s, "GET", "/v1/kv/"+longest+"?keys&separator="+longest+"&start="+longest, ""); w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPanicIsLoggedAndAnswered(t *testing.T) {
	var logged bytes.Buffer
	f := newFake(t)
	f.onRead = func() { panic("boom") }
	s := newServer(t, f, func(c *Config) { c.Logger = zerolog.New(&logged) })
	w := call(s, "GET", "/v1/kv/a", "")
	if w.Code != 500 || code(w) != api.CodeInternal || head(w, "Connection") != "close" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if l := logged.String(); !strings.Contains(l, `"panic":"boom"`) || !strings.Contains(l, "fake_test.go") || !strings.Contains(l, `"path":"/v1/kv/a"`) {
		t.Error(l)
	}
	f.onRead = nil
	if w := call(s, "GET", "/v1/kv/a", ""); w.Code != 404 {
		t.Errorf("after the panic: %d", w.Code)
	}
	if n := s.metrics.inFlight.Load(); n != 0 {
		t.Errorf("%d in flight", n)
	}
}

// A panic behind the first byte of an answer cuts the connection instead of adding to it.
func TestPanicInTheMiddleAborts(t *testing.T) {
	f := newFake(t)
	f.set(t, "a", "1")
	s := newServer(t, f)
	defer func() {
		if r := recover(); r != http.ErrAbortHandler {
			t.Errorf("recovered %v", r)
		}
	}()
	s.ServeHTTP(panicking{httptest.NewRecorder()}, httptest.NewRequest("GET", "/v1/kv/a", nil))
}

type panicking struct{ *httptest.ResponseRecorder }

func (panicking) Write([]byte) (int, error) { panic("in Write") }

func TestPostFromAnotherOriginIsForbidden(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	if w := call(s, "POST", "/v1/master/transfer", "", "Sec-Fetch-Site: cross-site"); w.Code != 403 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := call(s, "POST", "/v1/master/transfer", "", "Origin: http://evil.example"); w.Code != 403 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
