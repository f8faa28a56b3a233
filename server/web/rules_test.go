package web

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"tenure/api"
)

// A key is what follows /v1/kv/ in the path after one decoding, and nothing else happens to it.
func TestKeysMeanThemselves(t *testing.T) {
	for path, key := range map[string]string{
		"a":                       "a",
		"a/b":                     "a/b",
		"a%2Fb":                   "a/b",
		"a%2fb":                   "a/b",
		"%252F":                   "%2F",
		"%2525":                   "%25",
		"a//b":                    "a//b",
		"/a":                      "/a",
		"//":                      "//",
		"a/":                      "a/",
		"..":                      "..",
		"../kv/x":                 "../kv/x",
		"a/../b":                  "a/../b",
		"a/./b":                   "a/./b",
		"%2e%2e/%2e":              "../.",
		"a+b":                     "a+b", // a plus is a space in queries only
		"a%20b":                   "a b",
		"%00":                     "\x00",
		"%0A%0D":                  "\n\r",
		"%3Fraw%23x":              "?raw#x",
		"a;b=c&d":                 "a;b=c&d",
		"%E4%BD%A0":               "你",
		"v1/kv/a":                 "v1/kv/a",
		`%22%5C%3C`:               `"\<`,
		"{x}":                     "{x}",
		strings.Repeat("k", 1024): strings.Repeat("k", 1024),
		strings.Repeat("%ff", 0) + strings.Repeat("%C3%BC", 512): strings.Repeat("ü", 512),
	} {
		f := newFake(t)
		s := newServer(t, f)
		if w := call(s, "PUT", api.PathKV+path, "v"); w.Code != 200 || w.Body.String() != "true" {
			t.Errorf("PUT %s: %d %s", path, w.Code, w.Body)
			continue
		}
		if f.last.Key != key {
			t.Errorf("PUT %s wrote %q, want %q", path, f.last.Key, key)
		}
		if w := call(s, "GET", api.PathKV+path+"?raw", ""); w.Code != 200 || w.Body.String() != "v" {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
		if w := call(s, "DELETE", api.PathKV+path, ""); w.Code != 200 || f.last.Key != key {
			t.Errorf("DELETE %s: %d, deleted %q", path, w.Code, f.last.Key)
		}
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for _, path := range []string{
		"", strings.Repeat("k", 1025), strings.Repeat("%C3%BC", 512) + "k", "%ff", "a%C3",
		"%ED%A0%80", // half a surrogate pair
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			if w := call(s, method, api.PathKV+path, ""); w.Code != 400 || code(w) != api.CodeInvalid {
				t.Errorf("%s %.20s: %d %s", method, path, w.Code, w.Body)
			}
		}
		if path != "" {
			if w := call(s, "GET", api.PathKV+path+"?keys", ""); w.Code != 400 {
				t.Errorf("prefix %.20s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	if w := call(s, "PUT", "/v1/kv", "v"); w.Code != 400 {
		t.Errorf("PUT /v1/kv: %d", w.Code)
	}
	if f.writes != 0 {
		t.Errorf("%d writes", f.writes)
	}
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "a%2Fb", "%252F", "..//", "%ff", "?", "%00"} {
		f.Add(s)
	}
	fk := newFake(f)
	s := newServer(f, fk)
	f.Fuzz(func(t *testing.T, path string) {
		if strings.ContainsAny(path, "?# \x7f") || strings.IndexFunc(path, func(r rune) bool { return r < ' ' }) >= 0 || len(path) > 4000 {
			return // not what net/http would hand on in a path
		}
		want, err := url.PathUnescape(path)
		if err != nil {
			return
		}
		fk.writes = 0
		r := httptest.NewRequest("PUT", "http://x/v1/kv/x", nil)
		if r.URL, err = url.ParseRequestURI("http://x/v1/kv/" + path); err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		valid := want != "" && len(want) <= 1024 && utf8.ValidString(want)
		if valid != (w.Code == 200) || valid && fk.last.Key != want || valid != (fk.writes == 1) {
			t.Fatalf("%q: %d %s, wrote %q", path, w.Code, w.Body, fk.last.Key)
		}
	})
}
