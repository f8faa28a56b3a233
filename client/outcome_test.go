package client

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"tenure/api"
)

func TestClassify(t *testing.T) {
	cut := errors.New("connection reset")
	for _, c := range []struct {
		name   string
		status int
		code   api.Code
		body   string
		sent   bool
		err    error
		class  class
		kind   error
	}{
		{"done", 200, "", "true", true, nil, decided, nil},
		{"done, with a line end", 200, "", "true\n", true, nil, decided, nil},
		{"condition", 200, "", "false", true, nil, decided, ErrCondition},
		{"never left", 0, "", "", false, cut, notApplied, nil},
		{"cut", 0, "", "", true, cut, unknown, nil},
		{"no master", 503, api.CodeNotApplied, "", true, nil, notApplied, nil},
		{"too many requests", 503, api.CodeOverloaded, "", true, nil, notApplied, nil},
		{"leases begin later", 503, api.CodeQuarantine, "", true, nil, notApplied, nil},
		{"not ready", 503, api.CodeNotReady, "", true, nil, notApplied, nil},
		{"timed out", 504, api.CodeUnknown, "", true, nil, unknown, nil},
		{"too old", 504, api.CodeKeyTooOld, "", true, nil, forgotten, ErrUnknown},
		{"no space", 507, api.CodeNoSpace, "", true, nil, refused, ErrNoSpace},
		{"bad key", 400, api.CodeInvalid, "", true, nil, refused, ErrInvalid},
		{"forbidden", 403, api.CodeForbidden, "", true, nil, refused, ErrForbidden},
		{"denied", 403, api.CodeDenied, "", true, nil, refused, ErrDenied},
		{"no such token", 403, api.CodeUnknownToken, "", true, nil, refused, ErrUnknownToken},
		{"key reused", 409, api.CodeKeyReused, "", true, nil, refused, ErrKeyReused},
		{"fenced", 409, api.CodeFenced, "", true, nil, decided, ErrFenced},
		{"no number", 409, api.CodeNotNumber, "", true, nil, decided, ErrNotNumber},
		{"a failed transaction", 409, api.CodeCondition, "", true, nil, decided, ErrCondition},
		{"busy", 409, api.CodeBusy, "", true, nil, decided, ErrBusy},
		{"lost", 409, api.CodeLost, "", true, nil, decided, ErrLost},
		{"no key", 404, api.CodeNotFound, "", true, nil, decided, ErrNotFound},
		{"no endpoint", 404, api.CodeInvalid, "", true, nil, refused, ErrInvalid},
		{"no session", 500, api.CodeNoSession, "", true, nil, decided, ErrNoSession},
		{"a bad TTL", 500, api.CodeInvalid, "", true, nil, refused, ErrInvalid},
		{"too large", 413, api.CodeTooLarge, "", true, nil, refused, ErrTooLarge},
		{"a crash in the node", 500, api.CodeInternal, "", true, nil, unknown, nil},
		{"a code of a newer version", 409, "no-such-code", "", true, nil, unknown, nil},
		{"a code with another status", 400, api.CodeNotApplied, "", true, nil, notApplied, nil},
		{"a node without codes", 503, "", "not applied", true, nil, unknown, nil},
		{"a node without codes refuses", 400, "", "fenced: ", true, nil, unknown, nil},
		{"a proxy's", 502, "", "", true, nil, unknown, nil},
		{"a page", 200, "", "<html>", true, nil, unknown, nil},
		{"a redirect", 302, "", "", true, nil, unknown, nil},
		{"no body", 200, "", "", true, nil, unknown, nil},
	} {
		h := http.Header{api.HeaderNode: {"1"}}
		if c.code != "" {
			h[api.HeaderError] = []string{string(c.code)}
		}
		v := classify(answer{endpoint: "n", status: c.status, header: h, body: []byte(c.body)}, c.sent, c.err, nil)
		if v.class != c.class || v.kind != c.kind {
			t.Errorf("%s: word %d kind %v, want %d %v", c.name, v.class, v.kind, c.class, c.kind)
		}
		if v.err == nil && !(v.class == decided) {
			t.Errorf("%s: nothing is said about why", c.name)
		}
	}
}

// Every code means something to the client: none falls through to "unknown" for want of a row.
func TestEveryCodeIsClassified(t *testing.T) {
	for _, code := range api.Codes() {
		doubtful := code == api.CodeUnknown || code == api.CodeInternal
		if v := outcomeOf(code); (v.class == unknown) != doubtful || (v.class == refused || v.class == decided || v.class == forgotten) != (v.kind != nil) {
			t.Errorf("%s: %+v", code, v)
		}
	}
}

// A refusal is believed only for its code: a proxy may say the same after it has passed the write on, and the texts are
// for people.
func TestClassifyForeignAnswers(t *testing.T) {
	for status, body := range map[int]string{
		503: "not applied", 429: "", 404: "there is no such key", 400: "", 403: "", 409: "fenced: ", 413: "", 507: "", 500: "invalid session",
	} {
		for _, marked := range []bool{false, true} {
			a := answer{endpoint: "n", status: status, header: http.Header{}, body: []byte(body)}
			why := errNotUnderstood
			if marked {
				a.header[api.HeaderNode], why = []string{"1"}, errNoCode
			}
			for name, interpret := range map[string]interpreter{"write": nil, "lease": (&acquisition{now: func() time.Duration { return 0 }}).interpret, "renewal": interpretGrant("l", new(LeaseGrant))} {
				if v := classify(a, true, nil, interpret); v.class != unknown || !errors.Is(v.err, why) {
					t.Errorf("%s: a %d without a code, marked %v: word %d, %v, want unknown", name, status, marked, v.class, v.err)
				}
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

func TestRevisionSeenStartsAgainWithAnotherCluster(t *testing.T) {
	var s revisionSeen
	s.observeStatus(100)
	s.observeStatus(90)
	if r, ok := s.newest(); r != 100 || !ok {
		t.Fatalf("revision %d %v, want the highest", r, ok)
	}
	s.forget()
	s.observeStatus(7)
	if r, ok := s.newest(); r != 7 || !ok {
		t.Fatalf("revision %d %v, want the new cluster's", r, ok)
	}
}

func TestRevisionSeenLearnsNothingFromIndexOne(t *testing.T) {
	var s revisionSeen
	s.observe(answer{header: http.Header{api.HeaderIndex: {"1"}}})
	if r, ok := s.newest(); r != 0 || ok {
		t.Fatalf("revision %d, fresh %v, want nothing learned", r, ok)
	}
	s.observe(answer{header: http.Header{api.HeaderIndex: {"40"}}})
	if r, ok := s.newest(); r != 40 || ok {
		t.Fatalf("revision %d, fresh %v: an entry's index may be old", r, ok)
	}
	s.observe(answer{header: http.Header{api.HeaderIndex: {"39"}}})
	if r, _ := s.newest(); r != 40 {
		t.Fatalf("revision %d after an older entry", r)
	}
}

// The revision of a store is news even if it is 1, that of a new one: a write that follows needs no status.
func TestRevisionSeenLearnsTheRevisionOfANewStore(t *testing.T) {
	var s revisionSeen
	s.observe(answer{header: http.Header{api.HeaderRevision: {"1"}}})
	if r, ok := s.newest(); r != 1 || !ok {
		t.Fatalf("revision %d, fresh %v", r, ok)
	}
}

// The cause that a call reports for an inner call is the inner call's own cause or, without one, the inner call's
// error.
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
