package compat

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// transactions runs every verb for keys that the library has, and one transaction that fails as a whole.
func transactions(t *testing.T, nodes []*api.Client) {
	id, _, err := nodes[0].Session().CreateNoChecks(nil, nil)
	must(t, err)
	run := func(node int, want bool, ops ...*api.KVTxnOp) *api.KVTxnResponse {
		t.Helper()
		done, rsp, _, err := nodes[node].KV().Txn(ops, nil)
		if err != nil || done != want {
			t.Fatalf("transaction: %v, %+v, %v", done, rsp, err)
		}
		return rsp
	}
	run(0, true,
		&api.KVTxnOp{Verb: api.KVCheckNotExists, Key: "txn/a"},
		&api.KVTxnOp{Verb: api.KVSet, Key: "txn/a", Value: []byte("1"), Flags: 7},
		&api.KVTxnOp{Verb: api.KVSet, Key: "txn/b/1"}, &api.KVTxnOp{Verb: api.KVSet, Key: "txn/b/2"},
		&api.KVTxnOp{Verb: api.KVLock, Key: "txn/lock", Value: []byte("mine"), Session: id})
	rsp := run(1, true,
		&api.KVTxnOp{Verb: api.KVGet, Key: "txn/a"},
		&api.KVTxnOp{Verb: api.KVGetTree, Key: "txn/b/"},
		&api.KVTxnOp{Verb: api.KVGetOrEmpty, Key: "txn/none"},
		&api.KVTxnOp{Verb: api.KVCheckSession, Key: "txn/lock", Session: id})
	var got []string
	for _, p := range rsp.Results {
		got = append(got, p.Key+"="+string(p.Value))
	}
	if want := []string{"txn/a=1", "txn/b/1=", "txn/b/2=", "txn/none=", "txn/lock="}; !slices.Equal(got, want) {
		t.Fatalf("results %q, want %q", got, want)
	}
	a := rsp.Results[0]
	if a.Flags != 7 || a.ModifyIndex == 0 || rsp.Results[1].ModifyIndex != a.ModifyIndex {
		t.Errorf("one transaction, several indexes: %+v", rsp.Results)
	}
	failed := run(2, false,
		&api.KVTxnOp{Verb: api.KVSet, Key: "txn/a", Value: []byte("2")},
		&api.KVTxnOp{Verb: api.KVCheckIndex, Key: "txn/a", Index: a.ModifyIndex + 1000},
		&api.KVTxnOp{Verb: api.KVGet, Key: "txn/none"},
		&api.KVTxnOp{Verb: api.KVCheckNotExists, Key: "txn/b/1"})
	var at []int
	for _, e := range failed.Errors {
		at = append(at, e.OpIndex)
	}
	if len(failed.Results) != 0 || !slices.Equal(at, []int{1, 2, 3}) {
		t.Errorf("errors of operations %v, want 1, 2 and 3: %+v", at, failed)
	}
	if p, _, err := nodes[0].KV().Get("txn/a", nil); err != nil || string(p.Value) != "1" {
		t.Errorf("after a failed transaction: %+v, %v", p, err)
	}
	run(0, true,
		&api.KVTxnOp{Verb: api.KVCAS, Key: "txn/a", Value: []byte("3"), Index: a.ModifyIndex},
		&api.KVTxnOp{Verb: api.KVUnlock, Key: "txn/lock", Session: id},
		&api.KVTxnOp{Verb: api.KVDeleteTree, Key: "txn/b/"},
		&api.KVTxnOp{Verb: api.KVDelete, Key: "txn/none"})
	run(1, false, &api.KVTxnOp{Verb: api.KVDeleteCAS, Key: "txn/a", Index: a.ModifyIndex})
	left, _, err := nodes[2].KV().Keys("txn/", "", nil)
	if want := []string{"txn/a", "txn/lock"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %q, %v, want %q", left, err, want)
	}
	many := slices.Repeat(api.KVTxnOps{{Verb: api.KVGet, Key: "txn/a"}}, 129)
	if _, _, _, err := nodes[0].KV().Txn(many, nil); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("a transaction of 129 operations: %v", err)
	}
}

// blocking waits for changes of keys, prefixes, lists of names and sessions, each through one node while another is
// written to. It also waits without a change: the query must take the time asked for and not lower the index.
func blocking(t *testing.T, nodes []*api.Client) {
	opts := func(index uint64, wait time.Duration) *api.QueryOptions {
		return (&api.QueryOptions{WaitIndex: index, WaitTime: wait}).WithContext(t.Context())
	}
	kv := nodes[1].KV()
	queries := map[string]struct {
		ask    func(*api.QueryOptions) (any, *api.QueryMeta, error)
		change func() error
	}{
		"key": {
			func(o *api.QueryOptions) (any, *api.QueryMeta, error) { return first(kv.Get("wait/key", o)) },
			func() error { return second(nodes[2].KV().Put(&api.KVPair{Key: "wait/key"}, nil)) }},
		"prefix": {
			func(o *api.QueryOptions) (any, *api.QueryMeta, error) { return first(kv.List("wait/prefix/", o)) },
			func() error { return second(nodes[2].KV().Put(&api.KVPair{Key: "wait/prefix/a"}, nil)) }},
		"deletion under a prefix": {
			func(o *api.QueryOptions) (any, *api.QueryMeta, error) { return first(kv.List("wait/prefix/", o)) },
			func() error { return second(nodes[0].KV().Delete("wait/prefix/a", nil)) }},
		"names": {
			func(o *api.QueryOptions) (any, *api.QueryMeta, error) { return first(kv.Keys("wait/names/", "/", o)) },
			func() error { return second(nodes[2].KV().Put(&api.KVPair{Key: "wait/names/b"}, nil)) }},
		"sessions": {
			func(o *api.QueryOptions) (any, *api.QueryMeta, error) { return first(nodes[1].Session().List(o)) },
			func() error {
				_, _, err := nodes[2].Session().CreateNoChecks(nil, nil)
				return err
			}},
	}
	for _, name := range []string{"key", "prefix", "deletion under a prefix", "names", "sessions"} {
		q := queries[name]
		_, meta, err := q.ask(nil)
		must(t, err)
		// What is written elsewhere is no news.
		must(t, second(nodes[0].KV().Put(&api.KVPair{Key: "elsewhere"}, nil)))
		const short = 300 * time.Millisecond
		began := time.Now()
		_, same, err := q.ask(opts(meta.LastIndex, short))
		must(t, err)
		if took := time.Since(began); took < short {
			t.Errorf("%s: with no news a query of %v came back after %v, index %d after %d", name, short, took, same.LastIndex, meta.LastIndex)
		}
		if same.LastIndex < meta.LastIndex {
			t.Errorf("%s: the index went back from %d to %d", name, meta.LastIndex, same.LastIndex)
		}
		done := make(chan error, 1)
		go func() { done <- q.change() }()
		began = time.Now()
		_, news, err := q.ask(opts(same.LastIndex, 10*time.Minute))
		must(t, err)
		must(t, <-done)
		if news.LastIndex <= same.LastIndex || time.Since(began) > soon {
			t.Errorf("%s: index %d after %d, after %v", name, news.LastIndex, same.LastIndex, time.Since(began))
		}
	}
}

func first[T any](v T, meta *api.QueryMeta, err error) (any, *api.QueryMeta, error) {
	return v, meta, err
}

func second[T any](_ T, err error) error { return err }
