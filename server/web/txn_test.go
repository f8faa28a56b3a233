package web

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
)

func TestTxn(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "one", "n", "41", "t/1", "x", "t/2", "")
	id := create(t, s, "")
	entry := func(key string, lock int, value string, create, modify int, session string) string {
		if value != "null" {
			value = `"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"`
		}
		if session != "" {
			session = `"Session":"` + session + `",`
		}
		return fmt.Sprintf(`{"KV":{"LockIndex":%d,"Key":"%s","Flags":0,"Value":%s,%s"CreateIndex":%d,"ModifyIndex":%d}}`, lock, key, value, session, create, modify)
	}
	for i, c := range []struct {
		body string
		code int
		want string
	}{
		{`[]`, 200, `{"Results":[],"Errors":null}`},
		{``, 200, `{"Results":[],"Errors":null}`},
		{`[{"KV":{"Verb":"set","Key":"b","Value":"dHdv"}},{"KV":{"Verb":"get","Key":"a"}},{"KV":{"Verb":"get","Key":"b"}}]`, 200,
			`{"Results":[` + entry("b", 0, "null", 7, 7, "") + "," + entry("a", 0, "one", 2, 2, "") + "," + entry("b", 0, "two", 7, 7, "") + `],"Errors":null}`},
		{`[{"KV":{"Verb":"cas","Key":"a","Value":"dHdv","Index":2}},{"kv":{"verb":"lock","key":"l","session":"` + strings.ToUpper(id) + `","Namespace":"default"},"Node":null}]`, 200,
			`{"Results":[` + entry("a", 0, "null", 2, 8, "") + "," + entry("l", 1, "null", 8, 8, id) + `],"Errors":null}`},
		{`[{"KV":{"Verb":"check-session","Key":"l","Session":"` + id + `"}},{"KV":{"Verb":"check-index","Key":"a","Index":8}},{"KV":{"Verb":"check-not-exists","Key":"z"}},{"KV":{"Verb":"check-value","Key":"a","Value":"dHdv"}},{"KV":{"Verb":"unlock","Key":"l","Session":"` + id + `"}}]`, 200,
			`{"Results":[` + entry("l", 1, "null", 8, 8, id) + "," + entry("a", 0, "null", 2, 8, "") + "," + entry("a", 0, "null", 2, 8, "") + "," + entry("l", 1, "null", 8, 9, "") + `],"Errors":null}`},
		{`[{"KV":{"Verb":"get-tree","Key":"t/"}},{"KV":{"Verb":"get-or-empty","Key":"none"}},{"KV":{"Verb":"add","Key":"n","Num":1}}]`, 200,
			`{"Results":[` + entry("t/1", 0, "x", 4, 4, "") + "," + entry("t/2", 0, "null", 5, 5, "") + "," + entry("none", 0, "null", 0, 0, "") + "," + entry("n", 0, "42", 3, 10, "") + `],"Errors":null}`},
		{`[{"KV":{"Verb":"rename","Key":"t/1","NewKey":"t/3"}},{"KV":{"Verb":"delete","Key":"b"}},{"KV":{"Verb":"delete-cas","Key":"t/2","Index":5}},{"KV":{"Verb":"delete-tree","Key":""}}]`, 200,
			`{"Results":[` + entry("t/3", 0, "null", 11, 11, "") + `],"Errors":null}`},
	} {
		w := call(s, "PUT", "/v1/txn?consistent&index=3&wait=5s&dc=dc1", c.body)
		if w.Code != c.code || w.Body.String() != c.want || head(w, "Content-Type") != "application/json" {
			t.Errorf("%d %s: %d\n%s\nwant\n%s", i, c.body, w.Code, w.Body, c.want)
		}
	}
	if _, found, _ := f.state.Get("n"); found {
		t.Error("the last transaction left something")
	}
}

// One operation that fails keeps all from being done; every one that fails is named.
func TestTxnConflict(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "one")
	w := call(s, "PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"b"}},{"KV":{"Verb":"cas","Key":"a","Index":7}},{"KV":{"Verb":"get","Key":"\"none\""}}]`)
	if w.Code != 409 || !strings.HasPrefix(w.Body.String(), `{"Results":null,"Errors":[{"OpIndex":1,"What":"`) || !strings.Contains(w.Body.String(), `},{"OpIndex":2,"What":"key \"\\\"none\\\"\" doesn't exist"}]}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, verb := range []string{"lock", "unlock", "check-session"} {
		for session, says := range map[string]string{
			"": `missing session"}`, "X": `invalid session \"X\""}`, strings.ToUpper(strings.Repeat("a", 36)): `invalid session \"AAAA`,
			"AAAAAAAA-0000-0000-0000-000000000000": `invalid session \"aaaaaaaa-0000-0000-0000-000000000000\""}`,
		} {
			w := call(s, "PUT", "/v1/txn", `[{"KV":{"Verb":"set","Key":"b"}},{"KV":{"Verb":"`+verb+`","Key":"a","Session":"`+session+`"}},{"KV":{"Verb":"get","Key":"none"}}]`)
			body := w.Body.String()
			if w.Code != 409 || !strings.HasPrefix(body, `{"Results":null,"Errors":[{"OpIndex":1,"What":"`) || !strings.Contains(body, says) ||
				!strings.HasSuffix(body, `,{"OpIndex":2,"What":"key \"none\" doesn't exist"}]}`) {
				t.Errorf("%s by %q: %d %s", verb, session, w.Code, w.Body)
			}
		}
	}
	if f.state.Revision() != 2 {
		t.Errorf("revision %d", f.state.Revision())
	}
}

func TestTxnsThatAreRefused(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	set := `{"KV":{"Verb":"set","Key":"k"}}`
	value := base64.StdEncoding.EncodeToString(make([]byte, 300<<10))
	for _, c := range []struct {
		query, body string
		code        int
		says        string
	}{
		{"", "[" + strings.Repeat(set+",", 128) + set + "]", 413, "129 operations, at most 128"},
		{"", `[{"KV":{"Verb":"set","Key":"a","Value":"` + value + `"}},{"KV":{"Verb":"set","Key":"b","Value":"` + value + `"}}]`, 413, "too large"},
		{"", `[{"KV":{"Verb":"set","Key":"a","Value":"` + strings.Repeat(value, 3) + `"}}]`, 413, "too large"},
		{"", "[" + strings.Repeat(" ", 4<<20) + "]", 413, "too large"},
		{"", `[{"KV":{"Verb":"explode","Key":"a"}}]`, 400, `operation 0: unknown KV verb "explode"`},
		{"", `[` + set + `,{"Node":{"Verb":"get"}}]`, 400, "operation 1: only KV"},
		{"", `[{}]`, 400, "only KV"},
		{"", `[{"KV":{"Verb":"set","Key":""}}]`, 400, "key is empty"},
		{"", `[{"KV":{"Verb":"get","Key":"` + strings.Repeat("k", 1025) + `"}}]`, 400, "1025 bytes"},
		{"", `[{"KV":{"Verb":"rename","Key":"k"}}]`, 400, "NewKey"},
		{"", `[{"KV":{"Verb":"lock","Key":"k","Session":"` + strings.Repeat("s", 129) + `"}}]`, 400, "operation 0: Session: it has 129 bytes"},
		{"", `[{"KV":{"Verb":"set","Key":"k","Value":"%"}}]`, 400, "Request decode failed"},
		{"", `{}`, 400, "Request decode failed"},
		{"", `[{"KV":{"Verb":"add","Key":"k","Num":"1"}}]`, 400, "a whole number from -9223372036854775808 to 9223372036854775807"},
		{"", `[{"KV":{"Verb":"set","Key":"k","Valeu":"dg=="}}]`, 400, `unknown member "Valeu": did you mean "Value"?`},
		{"", `[{"VK":{"Verb":"set","Key":"k"}}]`, 400, `unknown member "VK": did you mean "KV"?`},
		{"", `[{"KV":{"Verb":"stet","Key":"k"}}]`, 400, `unknown KV verb "stet": did you mean "set"?`},
		{"", `[{"KV":{"Verb":"set","Key":"k","Num":1}}]`, 400, `verb "set" takes no Num`},
		{"", `[{"KV":{"Verb":"set","Key":"k","NewKey":"l"}}]`, 400, `verb "set" takes no NewKey`},
		{"", `[{"KV":{"Verb":"set","Key":"k","Namespace":"team"}}]`, 400, `Namespace "team"`},
		{"", `[{"KV":{"Verb":"set","Key":"k","Partition":"south"}}]`, 400, `Partition "south"`},
		{"", `[{"KV":{"Verb":"set","Key":"k"},"Node":{"Verb":"set"}}]`, 400, "only KV operations"},
		{"?filter=a", `[]`, 400, "filter=a"},
		{"?cas=1", "[" + set + "]", 400, `"cas"`},
		{"?fence=kv/a", "[" + set + "]", 400, "TOKEN"},
	} {
		if w := call(s, "PUT", "/v1/txn"+c.query, c.body); w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %.80s: %d %s", c.query, c.body, w.Code, w.Body)
		}
	}
	if f.writes != 0 {
		t.Errorf("%d writes", f.writes)
	}
	full := "[" + strings.Repeat(set+",", 127) + set + "]"
	if w := call(s, "PUT", "/v1/txn", full); w.Code != 200 {
		t.Errorf("128 operations: %d %s", w.Code, w.Body)
	}
}

func TestTxnResults(t *testing.T) {
	for _, c := range []struct {
		name   string
		result kv.Result
		code   int
		says   string
	}{
		{"a late retry", kv.Result{Code: kv.CodeDone, Dropped: true}, 200, `{"Results":[],"Errors":null}`},
		{"a late retry of a conflict", kv.Result{Code: kv.CodeCondition, Dropped: true}, 409, `{"Results":null,"Errors":[]}`},
		{"fenced", kv.Result{Code: kv.CodeFenced}, 409, "fenced: a larger token than 5 of \"kv/a\""},
		{"full", kv.Result{Code: kv.CodeFull}, 507, "no room"},
		{"too large", kv.Result{Code: kv.CodeTooLarge}, 413, "result too large"},
		{"not a body", kv.Result{Code: kv.CodeDone, Body: "\xff"}, 504, "outcome unknown"},
		{"of another transaction", kv.Result{Code: kv.CodeDone, Body: kv.EncodeOutcomes(kv.Outcomes{Results: []kv.Outcome{{Part: 7, Entry: &kv.Entry{Key: "k", CreateIndex: 1, ModifyIndex: 1}}}})}, 504, "outcome unknown"},
	} {
		f := newFake(t)
		f.result = c.result
		w := call(newServer(t, f), "PUT", "/v1/txn?fence=kv/a:5", `[{"KV":{"Verb":"set","Key":"k"}}]`)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) || (head(w, api.HeaderDropped) == "true") != c.result.Dropped {
			t.Errorf("%s: %d %s %v", c.name, w.Code, w.Body, w.Header())
		}
	}
}

func FuzzTxn(f *testing.F) {
	f.Add(`[{"KV":{"Verb":"set","Key":"k","Value":"YQ==","Flags":1,"Index":2,"Session":"s","Num":3,"NewKey":"n"}}]`)
	f.Add(`[{"KV":{"Verb":"lock","Key":"k"}},{"Node":{}}]`)
	f.Add(`[{"KV":{"Verb":"get-tree"}}]`)
	fk := newFake(f)
	s := newServer(f, fk)
	f.Fuzz(func(t *testing.T, body string) {
		fk.last = kv.Command{}
		w := call(s, "PUT", "/v1/txn", body)
		switch w.Code {
		case 200, 400, 409, 413:
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		if err := fk.last.Validate(); fk.last.Op != 0 && err != nil {
			t.Fatalf("%v reached the log", err)
		}
	})
}
