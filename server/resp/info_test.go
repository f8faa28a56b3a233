package resp

import (
	"fmt"
	"strings"
	"testing"

	"tenure/api"
	"tenure/kv"
)

// infoOf returns the fields of an INFO.
func (s *session) infoOf(sections string) map[string]string {
	s.t.Helper()
	s.send("info " + sections)
	fields := map[string]string{}
	for line := range strings.SplitSeq(s.reply(), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		} else if line != "" && !strings.HasPrefix(line, "# ") {
			s.t.Errorf("a line of INFO: %q", line)
		}
	}
	return fields
}

// INFO says only what is true: how many keys there are and how many of them expire, and what this node is.
func TestInfoIsTrue(t *testing.T) {
	f := newFake(t)
	s := dial(t, start(t, f, Config{}))
	if got, there := s.infoOf("")["db0"]; there {
		t.Errorf("an empty store: %q", got)
	}
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "forever", Value: []byte("v")})
	for i := range 3 {
		s.want(fmt.Sprintf("set k%d v ex 1000", i), "OK")
	}
	if got := s.infoOf("")["db0"]; got != "keys=4,expires=3" {
		t.Errorf("4 keys of which 3 expire: %q", got)
	}
	s.want("persist k1", "1")
	if got := s.infoOf("keyspace")["db0"]; got != "keys=4,expires=2" {
		t.Errorf("4 keys of which 2 expire: %q", got)
	}
	all := s.infoOf("everything")
	for name := range strings.FieldsSeq("redis_version tcp_port uptime_in_seconds connected_clients used_memory role") {
		if all[name] == "" {
			t.Errorf("%s is missing: %v", name, all)
		}
	}
	if all["role"] != "master" || all["tenure_role"] != "master" || all["used_memory"] == "0" ||
		all["connected_clients"] != "1" {
		t.Errorf("%v", all)
	}
	f.mu.Lock()
	f.status.Role, f.status.Master = api.RoleFollower, 2
	f.mu.Unlock()
	// A follower takes writes, and clients exist that send none to a server whose role is "slave".
	got := s.infoOf("replication")
	if got["role"] != "master" || got["tenure_role"] != "follower" || got["tenure_master"] != "b:2" {
		t.Errorf("a follower: %v", got)
	}
	s.send("hello")
	if got := s.reply(); !strings.Contains(got, "role master") {
		t.Errorf("hello: %s", got)
	}
}

// INFO answers the sections that were asked for.
func TestSectionsOfInfo(t *testing.T) {
	s := dial(t, start(t, newFake(t), Config{}))
	for sections, want := range map[string]string{
		"clients":        "connected_clients maxclients",
		"CLUSTER memory": "cluster_enabled maxmemory_policy used_memory used_memory_human",
		"nosuch":         "", "persistence": "aof_enabled loading",
	} {
		fields := s.infoOf(sections)
		for _, name := range strings.Fields(want) {
			if _, there := fields[name]; !there {
				t.Errorf("info %s lacks %s: %v", sections, name, fields)
			}
		}
		if len(fields) != len(strings.Fields(want)) {
			t.Errorf("info %s: %v", sections, fields)
		}
	}
	if a, b := s.infoOf(""), s.infoOf("all"); len(a) != len(b) || len(a) < 12 {
		t.Errorf("%v, and with all: %v", a, b)
	}
}

// A large store is not counted for each INFO, and a client that may not read all keys learns no number.
func TestInfoCountsAtABoundedCost(t *testing.T) {
	for keys, want := range map[int]string{5: "keys=5,expires=0", countedKeys + 5: "keys=7,expires=0"} { // the node's own count
		g := newGuarded(t)
		g.may("few", `key_prefix "a" { policy = "read" }`)
		fill(t, g.fake, keys, animal)
		if got := g.as(root).infoOf("")["db0"]; got != want {
			t.Errorf("%d keys are told as %q, want %q", keys, got, want)
		}
		if got, there := g.as("few").infoOf("")["db0"]; there {
			t.Errorf("a client that may not read all of %d keys: %q", keys, got)
		}
	}
}
