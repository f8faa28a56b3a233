package web

import (
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
)

// A retry whose first answer was too large to be remembered says what the first copy came to, and that the rest is
// missing.
func TestARetryWhoseAnswerIsNotRemembered(t *testing.T) {
	large := strings.Repeat("x", kv.MaxRememberedBody+1)
	for name, c := range map[string]struct {
		method, target, body string
		status               int
		again                string
	}{
		"test-and-set, not done": {"POST", "/v1/kv/k", `{"Op":"test-and-set","Test":"","Value":""}`, 200,
			`{"Success":false,"Value":null}`},
		"remove":      {"POST", "/v1/kv/k", `{"Op":"remove"}`, 200, "null"},
		"transaction": {"PUT", "/v1/txn", `[{"KV":{"Verb":"get","Key":"k"}}]`, 200, `{"Results":[],"Errors":null}`},
		"transaction, refused": {"PUT", "/v1/txn", "[" + strings.Repeat(`{"KV":{"Verb":"check-index","Key":"k","Index":1}},`, 99) +
			`{"KV":{"Verb":"set","Key":"k","Value":""}}]`, 409, `{"Results":null,"Errors":[]}`},
	} {
		f := newFake(t)
		f.apply(t, kv.Command{Op: kv.OpSet, Key: "k", Value: []byte(large)})
		s := newServer(t, f)
		headers := []string{api.HeaderIdempotencyKey + ": w", api.HeaderBase + ": 1"}
		first := call(s, c.method, c.target, c.body, headers...)
		again := call(s, c.method, c.target, c.body, headers...)
		if first.Code != c.status || first.Header().Get(api.HeaderDropped) != "" {
			t.Errorf("%s: %d %v %.200s", name, first.Code, first.Header(), first.Body)
		}
		if again.Code != c.status || again.Header().Get(api.HeaderDropped) != "true" || again.Body.String() != c.again {
			t.Errorf("%s, once more: %d %v %.200s", name, again.Code, again.Header(), again.Body)
		}
	}
}
