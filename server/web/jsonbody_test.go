package web

import (
	"runtime"
	"strings"
	"testing"
)

// A list in a body is decoded up to its bound, and no further: a short text can be that of very many elements.
func TestShortTextsOfLongListsTakeNoMemory(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	const elements = 250_000
	for _, c := range []struct {
		method, path, body, want string
		code                     int
	}{
		{"PUT", "/v1/txn", "[" + strings.Repeat("{},", elements) + "{}]", "more than 128 operations", 413},
		{"PUT", "/v1/txn", `[{"Node":[` + strings.Repeat("[],", elements) + "[]]}]", "only KV operations", 400},
		{"PUT", "/v1/txn", `[{"Session":{"a":[` + strings.Repeat("{},", elements) + "{}]}}]", "only KV operations", 400},
		{"POST", "/v1/leases/renew", "[" + strings.Repeat("{},", elements) + "{}]", "more than 1024 leases", 400},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w := call(s, c.method, c.path, c.body)
		runtime.ReadMemStats(&after)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %.20s: %d %s", c.path, c.body, w.Code, w.Body)
		}
		// The body comes twice, as the buffer grows, and its parts that are kept as text once more.
		if took := after.TotalAlloc - before.TotalAlloc; took > 8*uint64(len(c.body)) {
			t.Errorf("%s %.20s: %d bytes take %d", c.path, c.body, len(c.body), took)
		}
	}
}

// A list that is cut off, or with something behind it, is none.
func TestListsThatAreNone(t *testing.T) {
	s := newServer(t, newFake(t))
	for body, want := range map[string]string{
		"[": "unexpected EOF", "[{}": "unexpected EOF", "[{},": "EOF", `[{}{}]`: "expected comma", "[] []": "more than one JSON value",
		"[]x": "more than one JSON value", "{}": "must be a list, not object", "7": "must be a list, not number", `"x"`: "must be a list, not string",
		"true": "must be a list, not true or false", "null": "must be a list, not null", `[7]`: "must be an object, not number",
		`[{"KV":{"Kye":"a"}}]`: `unknown member "Kye"`, "}": "invalid character",
	} {
		if w := call(s, "PUT", "/v1/txn", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// The name of a type that a body is made of is no member of it.
func TestEmbeddedTypesAreNoMembers(t *testing.T) {
	g := newGuarded(t)
	w := g.as(root).call("PUT", "/v1/acl/policy", `{"Name":"p","PolicyRequest":{}}`)
	if text := w.Body.String(); w.Code != 400 || strings.Count(text, "PolicyRequest") != 1 ||
		!strings.Contains(text, `unknown member "PolicyRequest": members are`) || !strings.Contains(text, "Rules") {
		t.Errorf("%d %s", w.Code, text)
	}
}

// What is no text is refused: else another key would be written than the one that was sent, and two keys become one.
func TestBodiesThatAreNoText(t *testing.T) {
	s := newServer(t, newFake(t))
	for _, key := range []string{"caf\xe9", "a\xc0\x80", `\ud800`, `\udc00\ud800`, `a\ud83d\u0041`, `\ud83d\\ude00`,
		`\uD83D`} {
		w := call(s, "PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"`+key+`","Value":"MQ=="}}]`)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "not UTF-8") {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
	w := call(s, "PUT", "/v1/session/create", "{\"Name\":\"caf\xe9\"}")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "not UTF-8") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, key := range []string{"caf\u00e9", `caf\u00e9`, `\ud83d\ude00`, `\\ud800`, `\\\\`, `\n\ufffd`, "\ufffd"} {
		if w := call(s, "PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"`+key+`","Value":"MQ=="}}]`); w.Code != 200 {
			t.Errorf("%q: %d %s", key, w.Code, w.Body)
		}
	}
	for _, text := range []string{`\`, `\u`, `\ud8`, `\ud800`, `\ud800\`, `\ud800\u00`, `"\`} {
		isText([]byte(text)) // does not panic
	}
}
