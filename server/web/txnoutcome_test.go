package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tenure/api"
)

// Each operation of a transaction that fails says why, in words that people know from Consul.
func TestTxnSaysWhy(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.set(t, "a", "one", "k", "", "free", "") // 2, 3, 4
	id, other := create(t, s, ""), create(t, s, "")
	none := strings.Repeat("1", 8) + "-0000-4000-8000-000000000000"
	if w := call(s, "PUT", "/v1/kv/k?acquire="+id, ""); w.Body.String() != "true" {
		t.Fatal(w.Body)
	}
	texts := []struct{ op, want string }{
		{`"lock","Key":"x"`, `failed to lock key "x", missing session`},
		{`"unlock","Key":"free"`, `failed to unlock key "free", missing session`},
		{`"check-session","Key":"free"`, `failed to check the session of key "free", missing session`},
		{`"lock","Key":"x","Session":"X"`, `failed to lock key "x", invalid session "X"`},
		{`"unlock","Key":"free","Session":"x\n"`, `failed to unlock key "free", invalid session "x\n"`},
		{`"check-session","Key":"free","Session":"` + none + `"`, `failed to check the session of key "free", invalid session "` + none + `"`},
		{`"get","Key":"x"`, `key "x" doesn't exist`},
		{`"check-index","Key":"x","Index":1`, `key "x" doesn't exist`},
		{`"cas","Key":"a","Index":9`, `failed to set key "a", index is stale`},
		{`"delete-cas","Key":"a","Index":9`, `failed to delete key "a", index is stale`},
		{`"lock","Key":"k","Session":"` + other + `"`, `failed to lock key "k", lock is already held, or its lock-delay runs`},
		{`"unlock","Key":"k","Session":"` + other + `"`, `failed to unlock key "k", lock isn't held, or is held by another session`},
		{`"check-not-exists","Key":"a"`, `key "a" exists`},
		{`"check-index","Key":"a","Index":1`, `failed index check for key "a": its modify index is 2, not 1`},
		{`"check-session","Key":"k","Session":"` + other + `"`, `failed session check for key "k": its session is "` + id + `", not "` + other + `"`},
		{`"check-value","Key":"a","Value":"eA=="`, `failed value check for key "a": it holds another value`},
		{`"add","Key":"a","Num":1`, `failed at key "a": not a number`},
		{`"rename","Key":"k","NewKey":"z"`, `failed to rename key "k" to "z", one of them is locked`},
	}
	var ops []string
	for _, x := range texts {
		ops = append(ops, `{"KV":{"Verb":`+x.op+`}}`)
	}
	w := call(s, "PUT", "/v1/txn", "["+strings.Join(ops, ",")+"]")
	var got api.TxnAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 409 || len(got.Errors) != len(texts) {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	for i, x := range texts {
		if e := got.Errors[i]; e.OpIndex != i || e.What != x.want {
			t.Errorf("%s: %s, want %s", x.op, fmt.Sprint(e), x.want)
		}
	}
}
