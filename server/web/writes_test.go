package web

import (
	"context"
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

func TestPutAndCas(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for i, c := range []struct{ method, target, body, answer, index, value string }{
		{"PUT", "/v1/kv/k", "one", "true", "2", "one"},
		{"PUT", "/v1/kv/k?cas=0", "no", "false", "2", "one"}, // create only
		{"PUT", "/v1/kv/k?cas=9", "no", "false", "2", "one"},
		{"PUT", "/v1/kv/k?cas=2", "two", "true", "3", "two"},
		{"PUT", "/v1/kv/k", "two", "true", "4", "two"}, // the same value still counts as a write
		{"DELETE", "/v1/kv/k?cas=3", "", "false", "4", "two"},
		{"DELETE", "/v1/kv/k?cas=0", "", "false", "4", "two"},
		{"DELETE", "/v1/kv/k?cas=4", "", "true", "5", ""},
		{"DELETE", "/v1/kv/k", "", "true", "5", ""}, // also when absent
		{"DELETE", "/v1/kv/k?cas=4", "", "true", "5", ""},
		{"PUT", "/v1/kv/k?cas=4", "no", "false", "5", ""},
		{"PUT", "/v1/kv/k?cas=0&flags=7", "new", "true", "6", "new"},
		{"PUT", "/v1/kv/k?dc=dc1&token=t&pretty&ns=default", "x", "true", "7", "x"},
	} {
		w := call(s, c.method, c.target, c.body)
		if w.Code != 200 || w.Body.String() != c.answer || head(w, api.HeaderRevision) != c.index || head(w, "Content-Type") != "application/json" {
			t.Errorf("%d %s %s: %d %s %v", i, c.method, c.target, w.Code, w.Body, w.Header())
		}
		if e, _, _ := f.state.Get("k"); string(e.Value) != c.value {
			t.Errorf("%d %s %s: value %q, want %q", i, c.method, c.target, e.Value, c.value)
		}
	}
	if w := call(s, "PUT", "/v1/kv/flags?flags=42", "v"); w.Code != 200 || f.last.Flags != 42 {
		t.Errorf("flags: %d %+v", w.Code, f.last)
	}
}

func TestPrune(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a/1", "", "a/2", "", "b", "")
	w := call(s, "DELETE", "/v1/kv/a/?recurse", "")
	if w.Code != 200 || w.Body.String() != "true" || head(w, api.HeaderCount) != "2" || head(w, api.HeaderRevision) != "5" {
		t.Error(w.Code, w.Body, w.Header())
	}
	if w := call(s, "DELETE", "/v1/kv/?recurse", ""); w.Code != 200 || head(w, api.HeaderCount) != "1" {
		t.Error(w.Code, w.Body, w.Header())
	}
	if w := call(s, "DELETE", "/v1/kv/?recurse", ""); w.Code != 200 || w.Body.String() != "true" || head(w, api.HeaderCount) != "0" {
		t.Error(w.Code, w.Body, w.Header())
	}
}

func TestIdempotencyHeaders(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "", "b", "")
	for _, c := range []struct {
		headers []string
		key     string
		base    uint64
		refused bool
	}{
		{nil, "", 0, false},
		{[]string{"Idempotency-Key: k1", "X-Tenure-Base: 1"}, "k1", 1, false},
		{[]string{"idempotency-key: k2", "x-tenure-base: 0"}, "k2", 0, false},
		{[]string{"Idempotency-Key: k3"}, "k3", 4, false}, // this node's revision
		{[]string{"Idempotency-Key: " + strings.Repeat("k", 128), "X-Tenure-Base: 2"}, strings.Repeat("k", 128), 2, false},
		{[]string{"X-Tenure-Base: 1"}, "", 0, true},
		{[]string{"Idempotency-Key: "}, "", 0, true},
		{[]string{"Idempotency-Key: " + strings.Repeat("k", 129)}, "", 0, true},
		{[]string{"Idempotency-Key: a", "Idempotency-Key: b"}, "", 0, true},
		{[]string{"Idempotency-Key: a", "X-Tenure-Base: 1", "X-Tenure-Base: 1"}, "", 0, true},
		{[]string{"Idempotency-Key: a", "X-Tenure-Base: -1"}, "", 0, true},
		{[]string{"Idempotency-Key: a", "X-Tenure-Base: "}, "", 0, true},
	} {
		f.last = kv.Command{}
		w := call(s, "PUT", "/v1/kv/c", "v", c.headers...)
		if c.refused {
			if w.Code != 400 || code(w) != api.CodeInvalid || f.last.Key != "" {
				t.Errorf("%v: %d %s", c.headers, w.Code, w.Body)
			}
			continue
		}
		if w.Code != 200 || f.last.IdemKey != c.key {
			t.Errorf("%v: %d %s, key %q base %d", c.headers, w.Code, w.Body, f.last.IdemKey, f.last.Base)
		}
		if c.key == "k3" {
			c.base = f.state.Revision() - 1
		}
		if f.last.Base != c.base {
			t.Errorf("%v: base %d, want %d", c.headers, f.last.Base, c.base)
		}
	}
	first := call(s, "PUT", "/v1/kv/n", "v", "Idempotency-Key: again", "X-Tenure-Base: 1")
	call(s, "PUT", "/v1/kv/other", "v")
	second := call(s, "PUT", "/v1/kv/n", "v", "Idempotency-Key: again", "X-Tenure-Base: 1")
	if second.Code != 200 || head(first, api.HeaderRevision) != head(second, api.HeaderRevision) {
		t.Errorf("a retry got %d %v, the first try %v", second.Code, second.Header(), first.Header())
	}
	for _, c := range []struct{ method, target, body string }{{"PUT", "/v1/kv/n", "w"}, {"DELETE", "/v1/kv/n", ""}, {"DELETE", "/v1/kv/n?recurse", ""}} {
		if w := call(s, c.method, c.target, c.body, "Idempotency-Key: again", "X-Tenure-Base: 1"); w.Code != 409 || code(w) != api.CodeKeyReused {
			t.Errorf("%v: %d %s", c, w.Code, w.Body)
		}
	}
}

func TestWriteOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		result kv.Result
		err    error
		code   int
		says   api.Code
	}{
		{"done", kv.Result{Code: kv.CodeDone, Revision: 7}, nil, 200, ""},
		{"condition", kv.Result{Code: kv.CodeCondition, Revision: 7}, nil, 200, ""},
		{"key reused", kv.Result{Code: kv.CodeKeyReused}, nil, 409, api.CodeKeyReused},
		{"key too old", kv.Result{Code: kv.CodeKeyTooOld}, nil, 504, api.CodeKeyTooOld},
		{"base ahead", kv.Result{Code: kv.CodeBaseAhead}, nil, 400, api.CodeInvalid},
		{"too many", kv.Result{Code: kv.CodeTooMany}, nil, 413, api.CodeTooLarge},
		{"malformed", kv.Result{Code: kv.CodeMalformed}, nil, 500, api.CodeInternal},
		{"a code of the future", kv.Result{Code: 200}, nil, 500, api.CodeInternal},
		{"not applied", kv.Result{}, fmt.Errorf("%w: no master: try again", service.ErrNotApplied), 503, api.CodeNotApplied},
		{"unknown", kv.Result{}, fmt.Errorf("%w: no answer", service.ErrUnknown), 504, api.CodeUnknown},
		{"no space", kv.Result{}, fmt.Errorf("%w: delete keys", service.ErrNoSpace), 507, api.CodeNoSpace},
		{"a bare deadline", kv.Result{}, context.DeadlineExceeded, 504, api.CodeUnknown},
		{"a bare error", kv.Result{}, errors.New("oops"), 504, api.CodeUnknown},
	} {
		f := newFake(t)
		f.result, f.writeErr = c.result, c.err
		s := newServer(t, f)
		for _, method := range []string{"PUT", "DELETE"} {
			w := call(s, method, "/v1/kv/k", "")
			if w.Code != c.code || code(w) != c.says {
				t.Errorf("%s %s: %d %s", method, c.name, w.Code, w.Body)
			}
			if (head(w, "Retry-After") != "") != (c.code == 503) {
				t.Errorf("%s %s: Retry-After %q", method, c.name, head(w, "Retry-After"))
			}
			if c.code != 200 && head(w, "Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("%s %s: %s", method, c.name, head(w, "Content-Type"))
			}
		}
	}
}

// The wait for a master ends at ClientTimeout.
func TestWritesCarryADeadline(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f, func(c *Config) { c.ClientTimeout = time.Minute })
	var left time.Duration
	f.onWrite = func(timeout time.Duration) { left = timeout }
	call(s, "PUT", "/v1/kv/k", "v")
	if left != time.Minute {
		t.Error(left)
	}
}

func TestRefusedWritesReachNobody(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for _, c := range []struct{ method, target string }{
		{"PUT", "/v1/kv/k?foo"}, {"PUT", "/v1/kv/k?cas=x"}, {"PUT", "/v1/kv/k?acquire=s"}, {"PUT", "/v1/kv/k?recurse"},
		{"DELETE", "/v1/kv/k?recurse&cas=1"}, {"DELETE", "/v1/kv/"}, {"DELETE", "/v1/kv/k?recurse=false"}, {"PUT", "/v1/kv/k?dc=x"},
		{"POST", "/v1/kv/k"}, {"PATCH", "/v1/kv/k"},
	} {
		if w := call(s, c.method, c.target, "v"); w.Code < 400 {
			t.Errorf("%v: %d", c, w.Code)
		}
	}
	if d := cmp.Diff(kv.Command{}, f.last); d != "" {
		t.Error(d)
	}
}
