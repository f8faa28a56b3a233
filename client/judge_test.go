package client

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	cut := errors.New("connection reset")
	for _, c := range []struct {
		name   string
		status int
		body   string
		sent   bool
		err    error
		word   word
		kind   error
	}{
		{"done", 200, "true", true, nil, settled, nil},
		{"done, with a line end", 200, "true\n", true, nil, settled, nil},
		{"condition", 200, "false", true, nil, settled, ErrCondition},
		{"never left", 0, "", false, cut, notApplied, nil},
		{"cut", 0, "", true, cut, unknown, nil},
		{"no master", 503, "not applied", true, nil, notApplied, nil},
		{"too many requests", 429, "", true, nil, notApplied, nil},
		{"timed out", 504, "outcome unknown", true, nil, unknown, nil},
		{"too old", 504, "key too old: outcome unknown", true, nil, lost, nil},
		{"no room", 507, "", true, nil, refused, ErrNoRoom},
		{"bad key", 400, "", true, nil, refused, ErrInvalid},
		{"forbidden", 403, "", true, nil, refused, ErrForbidden},
		{"key reused", 409, "Idempotency-Key was used by another write", true, nil, refused, ErrKeyReused},
		{"fenced", 409, "fenced: a larger token than 3 was seen", true, nil, settled, ErrFenced},
		{"no number", 409, "the key does not hold a decimal number, or ...", true, nil, settled, ErrNotNumber},
		{"no key", 404, "there is no such key: nothing was changed", true, nil, settled, ErrNotFound},
		{"no endpoint", 404, "no such endpoint", true, nil, refused, ErrInvalid},
		{"no session", 500, `invalid session "x"`, true, nil, settled, ErrNoSession},
		{"a bad TTL", 500, "Invalid Session TTL '1', must be between", true, nil, refused, ErrInvalid},
		{"too large", 413, "", true, nil, refused, ErrTooLarge},
		{"a crash in the node", 500, "", true, nil, unknown, nil},
		{"a proxy's", 502, "", true, nil, unknown, nil},
		{"a page", 200, "<html>", true, nil, unknown, nil},
		{"a redirect", 302, "", true, nil, unknown, nil},
		{"no body", 200, "", true, nil, unknown, nil},
	} {
		v := judge(answer{endpoint: "n", status: c.status, header: http.Header{headerNode: {"1"}}, body: []byte(c.body)}, c.sent, c.err, nil)
		if v.word != c.word || v.kind != c.kind {
			t.Errorf("%s: word %d kind %v, want %d %v", c.name, v.word, v.kind, c.word, c.kind)
		}
		if v.err == nil && !(v.word == settled) {
			t.Errorf("%s: nothing is said about why", c.name)
		}
	}
}

// A refusal is believed only of a node: a proxy may say the same after it has passed the write on.
func TestJudgeStrangers(t *testing.T) {
	for status, body := range map[int]string{
		503: "not applied", 429: "", 404: "there is no such key", 400: "", 403: "", 409: "fenced: ", 413: "", 507: "", 500: "invalid session",
	} {
		a := answer{endpoint: "n", status: status, header: http.Header{}, body: []byte(body)}
		for name, understand := range map[string]understanding{"write": nil, "lease": (&acquisition{now: func() time.Duration { return 0 }}).understand, "renewal": renewed("l", new(LeaseGrant))} {
			if v := judge(a, true, nil, understand); v.word != unknown || !errors.Is(v.err, errNotUnderstood) {
				t.Errorf("%s: a stranger's %d: word %d, %v, want unknown", name, status, v.word, v.err)
			}
		}
	}
}

func TestEscapePath(t *testing.T) {
	for in, want := range map[string]string{
		"/v1/kv/a/b":    "/v1/kv/a/b",
		"/v1/kv//a/../": "/v1/kv//a/../",
		"/v1/kv/a%2Fb":  "/v1/kv/a%252Fb",
		"/v1/kv/a ?#é":  "/v1/kv/a%20%3F%23%C3%A9",
		"/v1/kv/a+b;c":  "/v1/kv/a+b%3Bc",
		"/v1/kv/\x00\n": "/v1/kv/%00%0A",
	} {
		if got := escapePath(in); got != want {
			t.Errorf("escapePath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSeenStartsAgainWithAnotherCluster(t *testing.T) {
	var s seen
	s.learned("a", 100)
	s.learned("a", 90)
	if r, ok := s.fresh(); r != 100 || !ok {
		t.Fatalf("revision %d %v, want the highest", r, ok)
	}
	s.learned("b", 7)
	if r, ok := s.fresh(); r != 7 || !ok {
		t.Fatalf("revision %d %v, want the new cluster's", r, ok)
	}
}

func TestSeenLearnsNothingFromIndexOne(t *testing.T) {
	var s seen
	s.observe(answer{header: http.Header{headerIndex: {"1"}}})
	if r, ok := s.fresh(); r != 0 || ok {
		t.Fatalf("revision %d, fresh %v, want nothing learned", r, ok)
	}
	s.observe(answer{header: http.Header{headerIndex: {"40"}}})
	if r, ok := s.fresh(); r != 40 || ok {
		t.Fatalf("revision %d, fresh %v: an entry's index may be old", r, ok)
	}
	s.observe(answer{header: http.Header{headerIndex: {"39"}}})
	if r, _ := s.fresh(); r != 40 {
		t.Fatalf("revision %d after an older entry", r)
	}
}

// The revision of a store is news even if it is 1, that of a new one: a write that follows needs no status.
func TestSeenLearnsTheRevisionOfANewStore(t *testing.T) {
	var s seen
	s.observe(answer{header: http.Header{headerRevision: {"1"}}})
	if r, ok := s.fresh(); r != 1 || !ok {
		t.Fatalf("revision %d, fresh %v", r, ok)
	}
}

// What a call says about a call inside it is that one's reason, or the call's error itself if it gives none: never nothing.
func TestCause(t *testing.T) {
	why, bare := errors.New("why"), &Error{Op: "renew session", Key: "s", Kind: ErrNoSession}
	for _, x := range []struct{ err, want error }{
		{why, why},
		{&Error{Op: "session", Kind: ErrLost, Err: why}, why},
		{&Error{Op: "session", Kind: ErrLost, Err: bare}, bare},
		{bare, bare},
	} {
		if got := cause(x.err); got != x.want {
			t.Errorf("of %v: %v, want %v", x.err, got, x.want)
		}
	}
}
