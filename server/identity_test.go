package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/storage"
)

// formedDir is the data directory of the first of nodes, after it founded a cluster with the others.
func formedDir(t *testing.T, nodes ...ballot.NodeID) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	store, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	m := ident.Membership{Number: 1}
	for i, id := range nodes {
		x := ident.Member{Node: id, Store: store.Identity().Store}
		if i > 0 {
			x.Store[0]++
		}
		m.Members = append(m.Members, x)
	}
	if err := errors.Join(store.SetNode(nodes[0]), store.Found(ident.ClusterID{1}, m), store.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fingerprint is every file of dir: name, time of the last change, content.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("%s %d %x\n", f.Name(), info.ModTime().UnixNano(), sha256.Sum256(b))
	}
	return text
}

func listOf(nodes ...ballot.NodeID) (list []Address) {
	for _, id := range nodes {
		list = append(list, Address{Node: id, Addr: fmt.Sprintf("127.0.0.1:%d", 20+id)})
	}
	return list
}

// A list that contradicts the data directory is refused before anything is written, with both lists.
func TestAListThatContradictsTheDataIsRefused(t *testing.T) {
	alone, three := []ballot.NodeID{1}, []ballot.NodeID{1, 2, 3}
	for name, c := range map[string]struct {
		formed []ballot.NodeID
		id     ballot.NodeID
		list   []ballot.NodeID
		says   string
	}{
		"once alone, now three":  {alone, 1, three, "lists 1=127.0.0.1:21,2=127.0.0.1:22,3=127.0.0.1:23, but DIR belongs to a cluster of node 1 alone"},
		"once three, now alone":  {three, 1, alone, "lists 1=127.0.0.1:21 alone (as does leaving it out), but DIR belongs to a cluster of nodes 1, 2, 3"},
		"a stranger":             {three, 1, []ballot.NodeID{1, 2, 4}, "lists 1=127.0.0.1:21,2=127.0.0.1:22,4=127.0.0.1:24, but DIR belongs to a cluster of nodes 1, 2, 3"},
		"one more":               {three, 1, []ballot.NodeID{1, 2, 3, 4}, "4=127.0.0.1:24, but DIR belongs to a cluster of nodes 1, 2, 3"},
		"one less":               {three, 1, []ballot.NodeID{1, 3}, "lists 1=127.0.0.1:21,3=127.0.0.1:23, but DIR belongs to a cluster of nodes 1, 2, 3"},
		"without itself":         {three, 2, []ballot.NodeID{2, 3}, "--id 2, but DIR is the data directory of node 1: start it with --id 1"},
		"alone under another id": {alone, 2, []ballot.NodeID{2}, "--id 2, but DIR is the data directory of node 1: start it with --id 1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := formedDir(t, c.formed...)
			before := fingerprint(t, dir)
			cfg := Config{
				Node: c.id, Cluster: listOf(c.list...), Data: dir, ClientAddr: freeAddr(t), PeerAddr: freeAddr(t),
				LeaseTime: time.Second, MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, MaxValueBytes: 1 << 20, Logger: zerolog.Nop(),
			}
			err := Run(t.Context(), cfg)
			if want := strings.ReplaceAll(c.says, "DIR", dir); !errors.Is(err, ErrConfig) || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%v\nwant %s", err, want)
			}
			if after := fingerprint(t, dir); after != before {
				t.Errorf("the refusal has changed the directory:\n%s\nwas\n%s", after, before)
			}
		})
	}
}

// Addresses are hints: a node that moved, with all its peers, serves.
func TestAListWithOtherAddressesIsTaken(t *testing.T) {
	dir := formedDir(t, 1, 2, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cfg := Config{
		Node: 1, Cluster: listOf(1, 2, 3), Data: dir, ClientAddr: freeAddr(t), PeerAddr: freeAddr(t),
		LeaseTime: time.Second, MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, MaxValueBytes: 1 << 20, Logger: zerolog.Nop(),
	}
	h := &host{cfg: cfg, cancel: cancel, done: make(chan error, 1)}
	go func() { h.done <- Run(ctx, cfg) }()
	h.until(t, "serving", func() bool {
		code, text, _ := h.call("GET", "/v1/status", "")
		return code == 200 && strings.Contains(text, `"follower"`)
	})
	h.stop(t)
}

// Once members have changed the directory decides. Before, a list is needed: nothing else says where the others are.
func TestWhatADirectoryAllows(t *testing.T) {
	member := func(number, change uint64) storage.Identity {
		store := ident.StoreID{1}
		return storage.Identity{Store: store, Node: 1, Cluster: ident.ClusterID{1}, Formed: true, Membership: ident.Membership{
			Number: number, Change: change, Members: []ident.Member{{Node: 1, Store: store}, {Node: 5, Store: ident.StoreID{5}}}}}
	}
	for name, c := range map[string]struct {
		cfg  Config
		id   storage.Identity
		says string // "": allowed
	}{
		"a list before any change": {Config{Node: 1, Cluster: listOf(1, 2)}, member(1, 0), "belongs to a cluster of nodes 1, 5"},
		"a list after a change":    {Config{Node: 1, Cluster: listOf(1, 2)}, member(2, 1), ""},
		"with a non-voter":         {Config{Node: 1, Cluster: listOf(1, 2)}, member(1, 1), ""},
		"no list":                  {Config{Node: 1}, member(1, 0), "of nodes 1, 5 (01"},
		"no list after a change":   {Config{Node: 1}, member(1, 1), ""},
		"joined already":           {Config{Join: "m:1"}, member(2, 1), ""},
		"another id":               {Config{Node: 5}, member(2, 1), "--id 5, but D is the data directory of node 1"},
		"to join":                  {Config{Join: "m:1"}, storage.Identity{Store: ident.StoreID{1}}, ""},
		"nothing to begin with": {Config{Node: 1}, storage.Identity{Store: ident.StoreID{1}},
			"D is not a member's yet: start it with --cluster, or with --join"},
	} {
		c.cfg.Data = "D"
		err := c.cfg.checkIdentity(c.id)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestContradictionsOfJoin(t *testing.T) {
	good := Config{
		Join: "member.example:8300", Data: "D", ClientAddr: "127.0.0.1:1", PeerAddr: "127.0.0.1:2", LeaseTime: time.Second,
		MaxLeaseTime: time.Second, ClockDriftPPM: 10_000, MaxValueBytes: 1 << 20,
	}
	for says, change := range map[string]func(*Config){
		"":                  func(c *Config) {},
		"a node id, or":     func(c *Config) { c.Join = "" },
		"is not host:port":  func(c *Config) { c.Join = "member" },
		"exclude each":      func(c *Config) { c.Node, c.Cluster = 1, listOf(1) },
		"needs --peer":      func(c *Config) { c.PeerAddr = "" },
		"makes a voter":     func(c *Config) { c.Replace, c.Spare = "node-2", true },
		"makes a voter, --": func(c *Config) { c.Replace, c.NonVoter = "node-2", true },
		"needs --spare":     func(c *Config) { c.ReplaceAfter = time.Minute },
		"--advertise-client": func(c *Config) {
			c.ClientAdvertise = "nowhere"
		},
		"need --join": func(c *Config) { c.Join, c.Node, c.Cluster, c.Replace = "", 1, listOf(1), "node-2" },
	} {
		c := good
		change(&c)
		err := c.Validate()
		if (err == nil) != (says == "") || err != nil && (!errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v", says, err)
		}
	}
}
