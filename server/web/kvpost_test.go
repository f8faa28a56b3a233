package web

import (
	"encoding/base64"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
)

func TestPostCommands(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "n", "41", "t", "one", "r", "moved", "gone", "last words")
	for i, c := range []struct {
		target, body string
		code         int
		answer       string // or how it begins, of an error
		revision     string
	}{
		{"n", `{"Op":"add","Num":1}`, 200, `{"Value":42}`, "6"},
		{"n", `{"Op":"add","Num":-142}`, 200, `{"Value":-100}`, "7"},
		{"n", `{"op":"add","num":0}`, 200, `{"Value":-100}`, "8"},
		{"n", `{"Op":"add","Num":-9223372036854775808}`, 409, "not-number", "8"},
		{"t", `{"Op":"add","Num":1}`, 409, "not-number", "8"},
		{"none", `{"Op":"add","Num":1}`, 404, "not-found", "8"},
		{"t", `{"Op":"test-and-set","Test":"b25l","Value":"dHdv"}`, 200, `{"Success":true,"Value":"dHdv"}`, "9"},
		{"t", `{"Op":"test-and-set","Test":"b25l","Value":""}`, 200, `{"Success":false,"Value":"dHdv"}`, "9"},
		{"t", `{"Op":"test-and-set","Test":"dHdv"}`, 200, `{"Success":true,"Value":null}`, "10"},
		{"t", `{"Op":"test-and-set","Value":"dGhyZWU="}`, 200, `{"Success":true,"Value":"dGhyZWU="}`, "11"},
		{"none", `{"Op":"test-and-set","Value":"eA=="}`, 404, "not-found", "11"},
		{"r", `{"Op":"rename","NewKey":"r/2"}`, 200, "true", "12"},
		{"r", `{"Op":"rename","NewKey":"r/3"}`, 404, "not-found", "12"},
		{"r/2", `{"Op":"rename","NewKey":"r/2"}`, 200, "true", "12"}, // onto itself: nothing changes
		{"gone", `{"Op":"remove"}`, 200, `{"LockIndex":0,"Key":"gone","Flags":0,"Value":"bGFzdCB3b3Jkcw==","CreateIndex":5,"ModifyIndex":5}`, "13"},
		{"gone", `{"Op":"remove"}`, 404, "not-found", "13"},
		{"t", `{"Op":"expire","TTL":"1m"}`, 200, "true", "14"},
		{"t", `{"Op":"expire","TTL":""}`, 200, "true", "15"},
		{"none", `{"Op":"expire","TTL":"1m"}`, 404, "not-found", "15"},
	} {
		w := call(s, "POST", "/v1/kv/"+c.target, c.body)
		good := w.Body.String() == c.answer
		if c.code != 200 {
			good = string(code(w)) == c.answer
		}
		if w.Code != c.code || !good || head(w, api.HeaderRevision) != c.revision {
			t.Errorf("%d %s %s: %d %s at %s", i, c.target, c.body, w.Code, w.Body, head(w, api.HeaderRevision))
		}
		if c.code == 200 && head(w, "Content-Type") != "application/json" {
			t.Errorf("%d: %s", i, head(w, "Content-Type"))
		}
	}
	if e, _, _ := f.state.Get("r/2"); string(e.Value) != "moved" {
		t.Errorf("%+v", e)
	}
	if e, _, _ := f.state.Get("t"); e.TTL != 0 || string(e.Value) != "three" {
		t.Errorf("%+v", e)
	}
}

// A retry gets the first answer; a large one is not remembered, and the header says so.
func TestPostsAgain(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "n", "1", "big", strings.Repeat("x", 4000))
	for range 2 {
		if w := call(s, "POST", "/v1/kv/n", `{"Op":"add","Num":1}`, "Idempotency-Key: a", "X-Tenure-Base: 0"); w.Body.String() != `{"Value":2}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	first := call(s, "POST", "/v1/kv/big", `{"Op":"remove"}`, "Idempotency-Key: b", "X-Tenure-Base: 0")
	again := call(s, "POST", "/v1/kv/big", `{"Op":"remove"}`, "Idempotency-Key: b", "X-Tenure-Base: 0")
	if first.Code != 200 || first.Body.Len() < 4000 || head(first, api.HeaderDropped) != "" {
		t.Errorf("%d %.100s", first.Code, first.Body)
	}
	if again.Code != 200 || again.Body.String() != "null" || head(again, api.HeaderDropped) != "true" || head(again, api.HeaderRevision) != head(first, api.HeaderRevision) {
		t.Errorf("%d %s %v", again.Code, again.Body, again.Header())
	}
}

// The answer to a test-and-set that is done has all that it says from the request: a retry gets it whole.
func TestATestAndSetAgain(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	large := strings.Repeat("x", kv.MaxRememberedBody+1)
	f.set(t, "k", large)
	body := `{"Op":"test-and-set","Test":"` + base64.StdEncoding.EncodeToString([]byte(large)) + `","Value":"eQ=="}`
	for range 2 {
		w := call(s, "POST", "/v1/kv/k", body, "Idempotency-Key: a", "X-Tenure-Base: 0")
		if w.Code != 200 || w.Body.String() != `{"Success":true,"Value":"eQ=="}` || head(w, api.HeaderDropped) != "" {
			t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
		}
	}
}

// Together, the two values of a test-and-set have no more space in the log than one.
func TestATestAndSetTooLarge(t *testing.T) {
	s := newServer(t, newFake(t), func(c *Config) { c.MaxValueBytes = kv.MaxValueBytes })
	text := base64.StdEncoding.EncodeToString(make([]byte, kv.MaxValueBytes/2+1))
	w := call(s, "POST", "/v1/kv/k", `{"Op":"test-and-set","Test":"`+text+`","Value":"`+text+`"}`)
	if w.Code != 413 || code(w) != api.CodeTooLarge {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPostResultsThatCannotBeRead(t *testing.T) {
	for body, result := range map[string]kv.Result{
		`{"Op":"add","Num":1}`: {Code: kv.CodeDone, Body: "x"}, `{"Op":"remove"}`: {Code: kv.CodeDone, Count: 1, Body: "\xff"},
	} {
		f := newFake(t)
		f.result = result
		if w := call(newServer(t, f), "POST", "/v1/kv/k", body); w.Code != 504 || code(w) != api.CodeUnknown {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// A token that is smaller than one seen is refused, on every kind of write; others are not.
func TestFences(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "k", "1")
	if w := call(s, "PUT", "/v1/kv/k?fence=kv/lock:10&cas=99", ""); w.Body.String() != "false" {
		t.Errorf("%d %s", w.Code, w.Body) // the token counts, whatever became of the condition
	}
	for _, c := range []struct{ method, target, body string }{
		{"PUT", "/v1/kv/k?fence=kv/lock:9", "v"}, {"PUT", "/v1/kv/k?cas=0&fence=kv/lock:9", "v"},
		{"DELETE", "/v1/kv/k?fence=kv/lock:9", ""}, {"DELETE", "/v1/kv/k?recurse&fence=kv/lock:9", ""},
		{"POST", "/v1/kv/k?fence=kv/lock:9", `{"Op":"add","Num":1}`}, {"PUT", "/v1/txn?fence=kv/lock:9", `[{"KV":{"Verb":"set","Key":"k"}}]`},
	} {
		w := call(s, c.method, c.target, c.body)
		if w.Code != 409 || code(w) != api.CodeFenced {
			t.Errorf("%s %s: %d %s", c.method, c.target, w.Code, w.Body)
		}
	}
	for _, target := range []string{"/v1/kv/k?fence=kv/lock:10", "/v1/kv/k?fence=kv/lock:11", "/v1/kv/k?fence=kv/other:1", "/v1/kv/k?fence=lease/lock:1", "/v1/kv/k?fence=kv/a:b/c:3"} {
		if w := call(s, "PUT", target, "v"); w.Code != 200 || w.Body.String() != "true" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	show := func(name, want string) {
		t.Helper()
		if w := call(s, "GET", api.PathFence+name, ""); w.Code != 200 || w.Body.String() != want || head(w, api.HeaderRevision) == "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	show("kv/lock", `{"Name":"kv/lock","Token":11,"Floor":false}`)
	show("kv/a:b/c", `{"Name":"kv/a:b/c","Token":3,"Floor":false}`)
	show("kv/none", `{"Name":"kv/none","Token":0,"Floor":true}`)
	for range 2 {
		if w := call(s, "DELETE", api.PathFence+"kv/lock", ""); w.Code != 200 || w.Body.String() != "true" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	show("kv/lock", `{"Name":"kv/lock","Token":11,"Floor":true}`)
	show("kv/none", `{"Name":"kv/none","Token":11,"Floor":true}`)
	show("lease/none", `{"Name":"lease/none","Token":0,"Floor":true}`)
	if w := call(s, "PUT", "/v1/kv/k?fence=kv/lock:10", ""); w.Code != 409 {
		t.Errorf("below the floor: %d", w.Code)
	}
	for _, name := range []string{"", "x", "kv/", "lease/", "kv/%ff"} {
		for _, method := range []string{"GET", "DELETE"} {
			if w := call(s, method, api.PathFence+name, ""); w.Code != 400 {
				t.Errorf("%s %q: %d %s", method, name, w.Code, w.Body)
			}
		}
	}
}
