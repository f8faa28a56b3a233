package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// few is how many of the keys each of the libraries fetches, deletes and makes again.
const few = 200

// libraries do the same through hashicorp/consul/api, the Go client and kvctl, for a part of the keys. What is stored
// is as it was afterwards.
func libraries(t *testing.T, c *cluster.Cluster, keys []string) {
	consulAPI(t, c, keys)
	goClient(t, c, keys)
	commandLine(t, c, keys)
}

// consulAPI takes no key that begins with a slash.
func consulAPI(t *testing.T, c *cluster.Cluster, keys []string) {
	kv := dial(t, c.Node(1)).KV()
	all, _, err := kv.List("", nil)
	must(t, err)
	if len(all) != len(keys) {
		t.Errorf("consul/api lists %d keys, want %d", len(all), len(keys))
	}
	tried := 0
	for i := 0; i < len(keys); i += max(1, len(keys)/few) {
		key := keys[i]
		if strings.HasPrefix(key, "/") {
			continue
		}
		tried++
		p, _, err := kv.Get(key, nil)
		if err != nil || p == nil || p.Key != key {
			t.Errorf("consul/api gets %q as %+v, %v", key, p, err)
			continue
		}
		if done, _, err := kv.DeleteCAS(p, nil); err != nil || !done {
			t.Errorf("consul/api deletes %q: %v, %v", key, done, err)
		}
		again := &api.KVPair{Key: key, Value: p.Value}
		if done, _, err := kv.CAS(again, nil); err != nil || !done {
			t.Errorf("consul/api creates %q: %v, %v", key, done, err)
		}
		if q, _, err := kv.Get(key, nil); err != nil || q == nil || q.Key != key || !bytes.Equal(q.Value, p.Value) {
			t.Errorf("consul/api gets %q as %+v, %v", key, q, err)
		}
	}
	if tried < 50 && !testing.Short() {
		t.Errorf("only %d keys were tried", tried)
	}
}

func goClient(t *testing.T, c *cluster.Cluster, keys []string) {
	ctx := within(t, soon)
	cl, err := client.New(client.Config{Endpoints: c.Endpoints()})
	must(t, err)
	defer cl.Close()
	listed, _, err := cl.Keys(ctx, "", client.ListOptions{})
	if err != nil || !slices.Equal(listed, keys) {
		t.Errorf("the Go client lists %d keys, %v, want %d", len(listed), err, len(keys))
	}
	for i := 0; i < len(keys); i += max(1, len(keys)/few) {
		key := keys[i]
		e, _, err := cl.Get(ctx, key, client.ReadOptions{})
		if err != nil || e.Key != key {
			t.Errorf("the Go client gets %q as %+v, %v", key, e, err)
			continue
		}
		_, err = cl.CompareAndDelete(ctx, key, e.ModifyIndex, client.WriteOptions{})
		if _, _, gone := cl.Get(ctx, key, client.ReadOptions{}); err != nil || !errors.Is(gone, client.ErrNotFound) {
			t.Errorf("the Go client deletes %q: %v, %v", key, err, gone)
		}
		if _, err := cl.Set(ctx, key, e.Value, client.WriteOptions{}); err != nil {
			t.Errorf("the Go client puts %q: %v", key, err)
		}
	}
	for _, bad := range append([]string{"", strings.Repeat("k", maxKeyBytes+1)}, brokenPieces...) {
		if _, err := cl.Set(ctx, bad, nil, client.WriteOptions{}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("the Go client puts %.80q: %v", bad, err)
		}
	}
}

// commandLine runs kvctl, for fewer keys: each call is a process. No argument of a program can hold a zero byte.
func commandLine(t *testing.T, c *cluster.Cluster, keys []string) {
	kvctl := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program("kvctl"), append([]string{"--endpoints", strings.Join(c.Endpoints(), ",")}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		return string(out), err
	}
	var listed []string
	out, err := kvctl("", "list", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &listed)
	}
	if err != nil || !slices.Equal(listed, keys) {
		t.Errorf("kvctl lists %d keys, %v, want %d: %.200s", len(listed), err, len(keys), out)
	}
	tried := 0
	for i := 7; i < len(keys); i += max(1, 10*len(keys)/few) {
		key := keys[i]
		if strings.Contains(key, "\x00") {
			continue
		}
		tried++
		value, err := kvctl("", "get", "--", key)
		if err != nil || value != "of "+key {
			t.Errorf("kvctl gets %q as %q, %v", key, value, err)
		}
		if _, err := kvctl("", "delete", "--", key); err != nil {
			t.Errorf("kvctl deletes %q: %v", key, err)
		}
		if _, err := kvctl(value, "set", "--", key, "-"); err != nil {
			t.Errorf("kvctl sets %q: %v", key, err)
		}
		if again, err := kvctl("", "get", "--", key); err != nil || again != value {
			t.Errorf("kvctl gets %q as %q, %v", key, again, err)
		}
	}
	if tried < few/20 {
		t.Errorf("kvctl was tried with %d keys only", tried)
	}
}
