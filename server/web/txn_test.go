package web

import (
	"encoding/base64"
	"encoding/json"
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
	if w := call(s, "PUT", "/v1/txn", " null "); w.Code != 400 || !strings.Contains(w.Body.String(), "must be a list, not null") {
		t.Errorf("null is answered %d %s", w.Code, w.Body)
	}
	if _, found, _ := f.state.Get("n"); found {
		t.Error("the last transaction left something")
	}
}

// A tree is deleted as it was seen, or not at all.
func TestTxnDeletesATreeAsItWasSeen(t *testing.T) {
	f := newFake(t)
	f.apply(t, kv.Command{Op: kv.OpLevel, Num: kv.NewestLevel})
	s := newServer(t, f)
	for _, key := range []string{"t/1", "t/2", "u"} {
		f.set(t, key, "x")
	}
	seen := head(call(s, "GET", "/v1/kv/t/?count", ""), api.HeaderIndex)
	drop := `[{"KV":{"Verb":"delete","Key":"u"}},{"KV":{"Verb":"delete-tree-cas","Key":"t/","Index":` + seen + `}}]`
	f.set(t, "u", "later")
	f.set(t, "t/3", "later")
	w := call(s, "PUT", "/v1/txn", drop)
	if w.Code != 409 || code(w) != api.CodeCondition || !strings.Contains(w.Body.String(), `{"OpIndex":1,"What":"failed to `+
		`delete keys with prefix \"t/\", one was made or changed since index `+seen+`"}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := call(s, "GET", "/v1/kv/?count", "").Body.String(); n != "4" {
		t.Errorf("%s keys are left", n)
	}
	f.apply(t, kv.Command{Op: kv.OpDelete, Key: "t/3"})
	if w := call(s, "PUT", "/v1/txn", drop); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if n := call(s, "GET", "/v1/kv/?count", "").Body.String(); n != "0" {
		t.Errorf("%s keys are left", n)
	}
}

// One operation that fails keeps all from being done; every one that fails is named.
func TestTxnConflict(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "one")
	for _, op := range []string{
		`"cas","Key":"a","Index":7`, `"lock","Key":"a"`, `"unlock","Key":"a","Session":"X"`, `"check-session","Key":"a"`,
		`"lock","Key":"a","Session":"AAAAAAAA-0000-0000-0000-000000000000"`,
		`"check-session","Key":"a","Session":"` + strings.Repeat("A", 36) + `"`,
	} {
		w := call(s, "PUT", "/v1/txn",
			`[{"KV":{"Verb":"set","Key":"b"}},{"KV":{"Verb":`+op+`}},{"KV":{"Verb":"get","Key":"\"none\""}}]`)
		var got api.TxnAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 409 || code(w) != api.CodeCondition ||
			got.Results != nil || len(got.Errors) != 2 || got.Errors[0].OpIndex != 1 || got.Errors[1].OpIndex != 2 {
			t.Errorf("%s: %d %s %v", op, w.Code, w.Body, err)
		}
	}
	if f.state.Revision() != 2 {
		t.Errorf("revision %d", f.state.Revision())
	}
}

// A value that PUT takes is taken in a transaction too, under the longest key and beside other operations. So it is
// with the test and the value of a test-and-set.
func TestTheLargestValueInATransaction(t *testing.T) {
	for _, most := range []int{1 << 10, 512 << 10, 4 << 20} {
		s := newServer(t, newFake(t), func(c *Config) { c.MaxValueBytes = most })
		key, value := strings.Repeat("k", api.MaxKeyBytes), strings.Repeat("v", most)
		if w := call(s, "PUT", "/v1/kv/"+key, value); w.Code != 200 {
			t.Errorf("%d bytes by PUT: %d %s", most, w.Code, w.Body)
		}
		text := base64.StdEncoding.EncodeToString([]byte(value))
		set := `{"KV":{"Verb":"set","Key":"` + key + `","Value":"` + text + `"}}`
		others := strings.Repeat(`,{"KV":{"Verb":"delete","Key":"k"}}`, api.MaxTxnOps-1)
		if w := call(s, "PUT", "/v1/txn", "["+set+others+"]"); w.Code != 200 {
			t.Errorf("%d bytes in a transaction: %d %s", most, w.Code, w.Body)
		}
		same := `{"Op":"test-and-set","Test":"` + text + `","Value":"` + text + `"}`
		if w := call(s, "POST", "/v1/kv/"+key, same); w.Code != 200 {
			t.Errorf("%d bytes in a test-and-set: %d %s", most, w.Code, w.Body)
		}
	}
}

// A transaction that is too large, by any amount, is refused with the words that Vault looks for.
func TestTxnTooLarge(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	one := func(n int) string {
		return `{"KV":{"Verb":"set","Key":"k","Value":"` + base64.StdEncoding.EncodeToString(make([]byte, n)) + `"}}`
	}
	for name, body := range map[string]string{
		"a value": "[" + one(512<<10+1) + "]", "a very large value": "[" + one(8<<20) + "]",
		"values": "[" + one(300<<10) + "," + one(300<<10) + "]",
	} {
		w := call(s, "PUT", "/v1/txn", body)
		if w.Code != 413 || code(w) != api.CodeTooLarge || !strings.Contains(w.Body.String(), "is too large") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if f.writes != 0 {
		t.Error("something was written")
	}
}

// A transaction of as many operations as it may have is taken.
func TestLargestTxn(t *testing.T) {
	s := newServer(t, newFake(t))
	set := `{"KV":{"Verb":"set","Key":"k"}}`
	full := "[" + strings.Repeat(set+",", 127) + set + "]"
	if w := call(s, "PUT", "/v1/txn", full); w.Code != 200 {
		t.Errorf("128 operations: %d %s", w.Code, w.Body)
	}
}

func TestTxnResults(t *testing.T) {
	entry := kv.Entry{Key: "k", CreateIndex: 1, ModifyIndex: 1}
	for _, c := range []struct {
		name   string
		result kv.Result
		code   int
		says   string // the code, or the body
	}{
		{"a late retry", kv.Result{Code: kv.CodeDone, Dropped: true}, 200, `{"Results":[],"Errors":null}`},
		{"a late retry of a conflict", kv.Result{Code: kv.CodeCondition, Dropped: true}, 409, `{"Results":null,"Errors":[]}`},
		{"fenced", kv.Result{Code: kv.CodeFenced}, 409, "fenced"},
		{"full", kv.Result{Code: kv.CodeFull}, 507, "no-space"},
		{"too large", kv.Result{Code: kv.CodeTooLarge}, 413, "too-large"},
		{"not a body", kv.Result{Code: kv.CodeDone, Body: "\xff"}, 504, "unknown"},
		{"not a body, refused", kv.Result{Code: kv.CodeCondition, Body: "\xff"}, 409, `{"Results":null,"Errors":[]}`},
		{"of another transaction", kv.Result{Code: kv.CodeDone, Body: string(kv.AppendBatch([]byte{byte(kv.CodeDone), 0}, []byte(kv.EncodeEntries(entry, entry))))}, 504, "unknown"},
	} {
		f := newFake(t)
		f.result = c.result
		w := call(newServer(t, f), "PUT", "/v1/txn?fence=kv/a:5", `[{"KV":{"Verb":"set","Key":"k"}}]`)
		if w.Code != c.code || string(code(w)) != c.says && w.Body.String() != c.says || (head(w, api.HeaderDropped) == "true") != c.result.Dropped {
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
