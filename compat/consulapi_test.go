package compat

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

// TestConsulAPI uses each part of the library through all three nodes in turn: whichever is asked, what another one
// acknowledged is there.
func TestConsulAPI(t *testing.T) {
	c := start(t, "--session-ttl-min", "500ms")
	var nodes []*api.Client
	for _, n := range c.Nodes() {
		nodes = append(nodes, dial(t, n))
	}
	t.Run("keys", func(t *testing.T) { keys(t, nodes) })
	t.Run("conditions", func(t *testing.T) { conditions(t, nodes) })
	t.Run("sessions", func(t *testing.T) { sessions(t, nodes) })
	t.Run("lock delay", func(t *testing.T) { lockDelay(t, nodes) })
	t.Run("expiry", func(t *testing.T) { expiry(t, nodes) })
	t.Run("transactions", func(t *testing.T) { transactions(t, nodes) })
	t.Run("blocking queries", func(t *testing.T) { blocking(t, nodes) })
	t.Run("status", func(t *testing.T) { status(t, nodes) })
	t.Run("members", func(t *testing.T) { members(t, nodes) })
}

// members asks what `consul operator raft list-peers`, `consul operator autopilot health` and `consul catalog nodes` ask.
func members(t *testing.T, nodes []*api.Client) {
	for i, n := range nodes {
		raft, err := n.Operator().RaftGetConfiguration(nil)
		must(t, err)
		leaders, voters := 0, 0
		for _, s := range raft.Servers {
			if s.Leader {
				leaders++
			}
			if s.Voter && s.ID != "" && s.Node != "" && s.Address != "" && s.LastIndex > 0 {
				voters++
			}
		}
		if leaders != 1 || voters != 3 || len(raft.Servers) != 3 {
			t.Errorf("node %d: %d leaders, %d voters of %d servers", i+1, leaders, voters, len(raft.Servers))
		}
		health, err := n.Operator().AutopilotServerHealth(nil)
		must(t, err)
		if !health.Healthy || health.FailureTolerance != 1 || len(health.Servers) != 3 {
			t.Errorf("node %d: %+v", i+1, health)
		}
		list, _, err := n.Catalog().Nodes(nil)
		must(t, err)
		if len(list) != 3 || list[0].Node != "node-1" || list[0].Address == "" {
			t.Errorf("node %d: %+v", i+1, list)
		}
	}
}

// keys writes through one node and reads through another, in each of the read modes.
func keys(t *testing.T, nodes []*api.Client) {
	modes := []*api.QueryOptions{nil, {RequireConsistent: true}}
	for i, mode := range modes {
		for j := range nodes {
			p := &api.KVPair{Key: fmt.Sprintf("keys/%d/%d", i, j), Flags: 1<<64 - 1, Value: []byte{0, 0xff, byte(j)}}
			_, err := nodes[j].KV().Put(p, nil)
			must(t, err)
			got, meta, err := nodes[(j+1)%3].KV().Get(p.Key, mode)
			must(t, err)
			if got == nil || string(got.Value) != string(p.Value) || got.Flags != p.Flags || got.ModifyIndex != got.CreateIndex {
				t.Errorf("%s: got %+v", p.Key, got)
			}
			if !meta.KnownLeader || got != nil && meta.LastIndex != got.ModifyIndex {
				t.Errorf("%s: meta %+v of %+v", p.Key, meta, got)
			}
		}
	}
	kv := nodes[0].KV()
	if _, _, err := nodes[1].KV().Get("keys/0/0", &api.QueryOptions{AllowStale: true}); err != nil {
		t.Error(err)
	}
	names, _, err := kv.Keys("keys/", "/", nil)
	must(t, err)
	if want := []string{"keys/0/", "keys/1/"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	all, _, err := kv.List("keys/", nil)
	must(t, err)
	if len(all) != 6 {
		t.Errorf("%d entries, want 6", len(all))
	}
	_, err = kv.DeleteTree("keys/0/", nil)
	must(t, err)
	if all, _, err := nodes[2].KV().List("keys/", nil); err != nil || len(all) != 3 {
		t.Errorf("%d entries, %v, want 3", len(all), err)
	}
	if p, meta, err := kv.Get("keys/0/0", nil); err != nil || p != nil || meta.LastIndex == 0 {
		t.Errorf("a deleted key: %+v, %+v, %v", p, meta, err)
	}
}

func conditions(t *testing.T, nodes []*api.Client) {
	put := func(node int, index uint64, want bool) {
		t.Helper()
		done, _, err := nodes[node].KV().CAS(&api.KVPair{Key: "cas", ModifyIndex: index}, nil)
		if err != nil || done != want {
			t.Errorf("CAS at index %d: %v, %v", index, done, err)
		}
	}
	put(0, 1, false) // nothing has index 1
	put(1, 0, true)
	put(2, 0, false)
	p, _, err := nodes[2].KV().Get("cas", nil)
	must(t, err)
	put(1, p.ModifyIndex, true)
	put(0, p.ModifyIndex, false)
	if done, _, err := nodes[0].KV().DeleteCAS(p, nil); err != nil || done {
		t.Errorf("a delete at an old index: %v, %v", done, err)
	}
	p, _, err = nodes[0].KV().Get("cas", nil)
	must(t, err)
	if done, _, err := nodes[1].KV().DeleteCAS(p, nil); err != nil || !done {
		t.Errorf("a delete at the index: %v, %v", done, err)
	}
}

func sessions(t *testing.T, nodes []*api.Client) {
	in := &api.SessionEntry{Name: "ours", Behavior: api.SessionBehaviorDelete, TTL: "3600s", LockDelay: 3 * time.Second}
	id, _, err := nodes[0].Session().Create(in, nil)
	must(t, err)
	got, meta, err := nodes[1].Session().Info(id, nil)
	must(t, err)
	if got == nil || got.Name != in.Name || got.TTL != in.TTL || got.Behavior != in.Behavior || got.LockDelay != in.LockDelay || meta.LastIndex == 0 {
		t.Fatalf("session %+v, meta %+v", got, meta)
	}
	p := &api.KVPair{Key: "sessions/lock", Session: id}
	acquire := func(node int, want bool) {
		t.Helper()
		if done, _, err := nodes[node].KV().Acquire(p, nil); err != nil || done != want {
			t.Errorf("acquire by %s: %v, %v", p.Session, done, err)
		}
	}
	acquire(1, true)
	acquire(2, true) // again, by its holder
	other, _, err := nodes[2].Session().CreateNoChecks(nil, nil)
	must(t, err)
	p.Session = other
	acquire(0, false)
	if done, _, err := nodes[0].KV().Release(p, nil); err != nil || done {
		t.Errorf("release by another: %v, %v", done, err)
	}
	held, _, err := nodes[2].KV().Get(p.Key, nil)
	must(t, err)
	if held.Session != id || held.LockIndex != 1 {
		t.Errorf("the lock: %+v", held)
	}
	p.Session = "f3a3b5a4-8a39-4b86-9f24-4c4e1a3f7d10"
	if _, _, err := nodes[1].KV().Acquire(p, nil); err == nil || !strings.Contains(err.Error(), "500 (invalid session") {
		t.Errorf("acquire by no session: %v", err)
	}
	if _, _, err := nodes[1].Session().Create(&api.SessionEntry{TTL: "1ms"}, nil); err == nil || !strings.Contains(err.Error(), "500 (Invalid Session TTL") {
		t.Errorf("a short TTL: %v", err)
	}
	_, err = nodes[0].Session().Destroy(id, nil)
	must(t, err)
	if p, _, err := nodes[1].KV().Get(p.Key, nil); err != nil || p != nil {
		t.Errorf("the lock outlives its session, which deletes: %+v, %v", p, err)
	}
	if e, _, err := nodes[2].Session().Renew(id, nil); err != nil || e != nil {
		t.Errorf("renewal of what was destroyed: %+v, %v", e, err)
	}
	list, _, err := nodes[1].Session().List(nil)
	if err != nil || len(list) != 1 || list[0].ID != other {
		t.Errorf("sessions: %+v, %v", list, err)
	}
}

// lockDelay ends a session that holds a lock: the next owner has to wait.
func lockDelay(t *testing.T, nodes []*api.Client) {
	acquire := func(id string) bool {
		done, _, err := nodes[1].KV().Acquire(&api.KVPair{Key: "delayed", Session: id}, nil)
		must(t, err)
		return done
	}
	const delay = time.Second
	first, _, err := nodes[0].Session().CreateNoChecks(&api.SessionEntry{LockDelay: delay}, nil)
	must(t, err)
	next, _, err := nodes[2].Session().CreateNoChecks(nil, nil)
	must(t, err)
	if !acquire(first) {
		t.Fatal("a free lock was not had")
	}
	began := time.Now()
	_, err = nodes[2].Session().Destroy(first, nil)
	must(t, err)
	for !acquire(next) {
		if time.Since(began) > soon {
			t.Fatalf("the lock is still held back after %v", soon)
		}
	}
	if took := time.Since(began); took < delay {
		t.Errorf("the lock was had after %v, its delay is %v", took, delay)
	}
}

// expiry lets a session end that nobody renews, and watches its lock go.
func expiry(t *testing.T, nodes []*api.Client) {
	const ttl = time.Second
	began := time.Now()
	id, _, err := nodes[0].Session().CreateNoChecks(&api.SessionEntry{TTL: ttl.String()}, nil)
	must(t, err)
	p := &api.KVPair{Key: "expiry", Session: id}
	if done, _, err := nodes[1].KV().Acquire(p, nil); err != nil || !done {
		t.Fatalf("acquire: %v, %v", done, err)
	}
	held, meta, err := nodes[2].KV().Get(p.Key, nil)
	must(t, err)
	for held.Session != "" {
		if time.Since(began) > soon {
			t.Fatalf("the session is not over after %v", soon)
		}
		held, meta, err = nodes[2].KV().Get(p.Key, (&api.QueryOptions{WaitIndex: meta.LastIndex, WaitTime: soon}).WithContext(t.Context()))
		must(t, err)
	}
	if took := time.Since(began); took < ttl {
		t.Errorf("the session was over after %v, its TTL is %v", took, ttl)
	}
	if e, _, err := nodes[1].Session().Info(id, nil); err != nil || e != nil {
		t.Errorf("an expired session: %+v, %v", e, err)
	}
}

func status(t *testing.T, nodes []*api.Client) {
	leaders := map[string]bool{}
	for _, n := range nodes {
		leader, err := n.Status().Leader()
		must(t, err)
		leaders[leader] = true
		peers, err := n.Status().Peers()
		if err != nil || len(peers) != 3 || !slices.Contains(peers, leader) {
			t.Errorf("leader %q, peers %q, %v", leader, peers, err)
		}
		self, err := n.Agent().Self()
		if err != nil || self["Config"]["Datacenter"] == "" || self["Config"]["NodeName"] == "" {
			t.Errorf("agent/self: %v, %v", self, err)
		}
		if _, _, err := n.KV().Get("x", &api.QueryOptions{Datacenter: "elsewhere"}); err == nil || !strings.Contains(err.Error(), "No path to datacenter") {
			t.Errorf("another datacenter: %v", err)
		}
	}
	if len(leaders) != 1 {
		t.Errorf("leaders %v", leaders)
	}
}
