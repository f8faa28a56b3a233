package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// jsonEntry is an entry as encoding/json writes it: what ours must equal byte for byte.
type jsonEntry struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	CreateIndex uint64
	ModifyIndex uint64
}

func TestGetShowsTheEntryAsConsulDoes(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a<b>", "one", "other", "x", "a<b>", "hello\x00")
	call(s, "PUT", "/v1/kv/a%3Cb%3E?flags=18446744073709551615", "hello\x00")
	w := call(s, "GET", "/v1/kv/a%3Cb%3E", "")
	want := []jsonEntry{{Key: "a<b>", Flags: 1<<64 - 1, Value: []byte("hello\x00"), CreateIndex: 2, ModifyIndex: 5}}
	compact, _ := json.Marshal(want)
	if w.Code != 200 || w.Body.String() != string(compact) {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, compact)
	}
	for name, v := range map[string]string{"Content-Type": "application/json", api.HeaderIndex: "5", api.HeaderKnownLeader: "true", api.HeaderLastContact: "0",
		"Content-Length": fmt.Sprint(len(compact))} {
		if head(w, name) != v {
			t.Errorf("%s: %q, want %q", name, head(w, name), v)
		}
	}
	pretty, _ := json.MarshalIndent(want, "", "    ")
	if w := call(s, "GET", "/v1/kv/a%3Cb%3E?pretty", ""); w.Body.String() != string(pretty)+"\n" {
		t.Error(cmp.Diff(string(pretty)+"\n", w.Body.String()))
	}
}

func TestGetOfAnEmptyValueIsNull(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "e", "")
	if w := call(s, "GET", "/v1/kv/e", ""); !strings.Contains(w.Body.String(), `"Value":null,`) {
		t.Error(w.Body)
	}
	if w := call(s, "GET", "/v1/kv/e?raw", ""); w.Code != 200 || w.Body.Len() != 0 || head(w, "Content-Length") != "0" {
		t.Error(w.Code, w.Body, w.Header())
	}
}

func TestGetRawIsTheBytesAndNoPage(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "page", "<script>alert(1)</script>")
	w := call(s, "GET", "/v1/kv/page?raw", "")
	if w.Code != 200 || w.Body.String() != "<script>alert(1)</script>" {
		t.Error(w.Code, w.Body)
	}
	for name, v := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox", api.HeaderIndex: "2"} {
		if head(w, name) != v {
			t.Errorf("%s: %q", name, head(w, name))
		}
	}
}

func TestGetOfAMissingKeyHasAnIndexAndNoBody(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	check := func(target, index string) {
		t.Helper()
		w := call(s, "GET", target, "")
		if w.Code != 404 || w.Body.Len() != 0 || head(w, api.HeaderIndex) != index || head(w, api.HeaderKnownLeader) != "true" || head(w, api.HeaderLastContact) != "0" {
			t.Errorf("%s: %d %q %v", target, w.Code, w.Body, w.Header())
		}
	}
	for _, q := range []string{"", "?raw", "?recurse", "?keys"} {
		check("/v1/kv/none"+q, "1") // never 0, also when nothing was ever written
	}
	f.set(t, "a", "", "b", "", "c", "")
	for _, q := range []string{"", "?raw", "?recurse", "?keys"} {
		check("/v1/kv/none"+q, "4")
	}
	check("/v1/kv/?recurse&start=d", "4")
}

func TestReadModesAndContact(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "1")
	f.meta = service.ReadMeta{LastContact: 2500*time.Millisecond + 999*time.Microsecond}
	for q, mode := range map[string]service.Mode{"": service.Default, "stale": service.Stale, "consistent": service.Consistent, "keys": service.Default, "keys&stale": service.Stale, "count&consistent": service.Consistent} {
		f.mode = 99
		w := call(s, "GET", "/v1/kv/a?"+q, "")
		if w.Code != 200 || f.mode != mode || head(w, api.HeaderLastContact) != "2500" || head(w, api.HeaderKnownLeader) != "false" {
			t.Errorf("%s: %d, mode %d, %v", q, w.Code, f.mode, w.Header())
		}
	}
}

func TestHeadIsGetWithoutItsBody(t *testing.T) {
	f := newFake(t)
	f.set(t, "a", "1")
	addr := serve(t, newServer(t, f))
	got := say(t, addr, "HEAD /v1/kv/a?raw HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 200") || !strings.Contains(got, "Content-Length: 1\r\n") || !strings.HasSuffix(got, "\r\n\r\n") {
		t.Error(got)
	}
}

func TestReadsThatFail(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
	}{
		{fmt.Errorf("%w: no master is known: try again", service.ErrNotApplied), 503},
		{errors.New("damaged"), 500},
		{kv.ErrDamaged, 500},
	} {
		f := newFake(t)
		s := newServer(t, f)
		f.readErr = c.err
		for _, q := range []string{"", "?raw", "?keys", "?recurse", "?count"} {
			w := call(s, "GET", "/v1/kv/a"+q, "")
			if w.Code != c.code || w.Body.String() != c.err.Error()+"\n" || head(w, "Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%v%s: %d %s", c.err, q, w.Code, w.Body)
			}
			if (head(w, "Retry-After") != "") != (c.code == 503) {
				t.Errorf("%v: Retry-After %q", c.err, head(w, "Retry-After"))
			}
		}
	}
}
