package compat

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// TestConfigThatIsSentWithEverything: consul/api sends what its Config holds with every request, writes included.
// Traefik's store library sets WaitTime.
func TestConfigThatIsSentWithEverything(t *testing.T) {
	c := start(t)
	cfg := api.DefaultConfig()
	cfg.Address = c.Node(2).Client
	cfg.WaitTime = 2 * time.Second
	cfg.Datacenter, cfg.Namespace, cfg.Partition = "dc1", "default", "default"
	a, err := api.NewClient(cfg)
	must(t, err)
	kv := a.KV()
	done := func(what string, ok bool, err error) {
		t.Helper()
		if err != nil || !ok {
			t.Errorf("%s: %v, %v", what, ok, err)
		}
	}

	w, err := kv.Put(&api.KVPair{Key: "k", Value: []byte("v")}, &api.WriteOptions{RelayFactor: 2})
	done("put", w != nil, err)
	p, meta, err := kv.Get("k", &api.QueryOptions{UseCache: true, Near: "_agent", RelayFactor: 2})
	done("get", p != nil && string(p.Value) == "v", err)
	ok, _, err := kv.CAS(&api.KVPair{Key: "k", Value: []byte("w"), ModifyIndex: p.ModifyIndex}, nil)
	done("cas", ok, err)
	p, _, err = kv.Get("k", &api.QueryOptions{WaitIndex: meta.LastIndex})
	done("a blocking query", p != nil && string(p.Value) == "w", err)
	keys, _, err := kv.Keys("", "", nil)
	done("keys", len(keys) == 1, err)

	id, _, err := a.Session().Create(&api.SessionEntry{Name: "n", TTL: "30s", Behavior: "delete", NodeChecks: []string{"serfHealth"}}, nil)
	done("session", id != "", err)
	s, _, err := a.Session().Renew(id, nil)
	done("renew", s != nil, err)
	ok, _, err = kv.Acquire(&api.KVPair{Key: "lock", Session: id}, nil)
	done("acquire", ok, err)
	ok, _, err = kv.Release(&api.KVPair{Key: "lock", Session: id}, nil)
	done("release", ok, err)
	ok, result, _, err := kv.Txn(api.KVTxnOps{
		{Verb: api.KVSet, Key: "t", Value: []byte("1"), Namespace: "default", Partition: "default"}, {Verb: api.KVGet, Key: "k"},
	}, nil)
	done("txn", ok && len(result.Results) == 2, err)
	ok, _, _, err = a.Txn().Txn(api.TxnOps{{KV: &api.KVTxnOp{Verb: api.KVDelete, Key: "t"}}}, &api.QueryOptions{AllowStale: true})
	done("txn of all kinds", ok, err)
	_, err = a.Session().Destroy(id, nil)
	done("destroy", true, err)
	_, err = kv.Delete("k", nil)
	done("delete", true, err)
	_, err = kv.DeleteTree("", nil)
	done("delete tree", true, err)
	leader, err := a.Status().Leader()
	done("leader", leader != "", err)
	_, err = a.Agent().Self()
	done("agent", true, err)

	lock, err := a.LockOpts(&api.LockOptions{Key: "l", SessionTTL: "30s"})
	must(t, err)
	lost, err := lock.Lock(nil)
	done("lock", lost != nil, err)
	done("unlock", true, lock.Unlock())
	semaphore, err := a.SemaphorePrefix("sem", 2)
	must(t, err)
	lost, err = semaphore.Acquire(nil)
	done("semaphore", lost != nil, err)
	done("semaphore's release", true, semaphore.Release())

	// What would change the answer is refused, and named.
	_, _, err = kv.List("", &api.QueryOptions{Filter: `Key == "k"`})
	if err == nil || !strings.Contains(err.Error(), "filter=") {
		t.Errorf("a filter: %v", err)
	}
	if _, err := kv.Put(&api.KVPair{Key: "k"}, &api.WriteOptions{Namespace: "team"}); err == nil || !strings.Contains(err.Error(), "ns=team") {
		t.Errorf("a name space: %v", err)
	}
}
