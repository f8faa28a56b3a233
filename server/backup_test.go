package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/backup"
	"tenure/server/recovery"
)

// backup reads a backup from h.
func (h *host) backup(t *testing.T) []byte {
	t.Helper()
	code, text, _ := h.call(http.MethodGet, api.PathBackup, "")
	if code != 200 {
		t.Fatalf("backup from node %d: %d %s", h.cfg.Node, code, text)
	}
	return []byte(text)
}

// contents reads a backup to its end, and returns what it says of itself and its keys.
func contents(t *testing.T, b []byte) (backup.Info, map[string]bool) {
	t.Helper()
	r, err := backup.Open(bytes.NewReader(b))
	keys := map[string]bool{}
	if err == nil {
		err = r.Records(func(c kv.Change) error {
			if c.Kind == kv.KindData {
				keys[string(c.Key)] = true
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.Info(), keys
}

// others returns the hosts but one.
func but(hosts []*host, one *host) (out []*host) {
	for _, h := range hosts {
		if h != one {
			out = append(out, h)
		}
	}
	return out
}

// TestABackupHasEveryWriteThatWasAcknowledgedBefore, from a follower too, which may not know of it yet.
func TestABackupHasEveryWriteThatWasAcknowledgedBefore(t *testing.T) {
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	for i := range 10 {
		for j, h := range append(but(hosts, m), m) {
			key := fmt.Sprintf("key%d-%d", i, j)
			if code, text, _ := m.call(http.MethodPut, "/v1/kv/"+key, "v"); code != 200 {
				t.Fatalf("put: %d %s", code, text)
			}
			if _, keys := contents(t, h.backup(t)); !keys[key] {
				t.Fatalf("node %d (master %d): no %s among %d keys", h.cfg.Node, m.cfg.Node, key, len(keys))
			}
		}
	}
}

func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	must := func(h *host, method, path, body string) string {
		t.Helper()
		code, text, _ := h.call(method, path, body)
		if code != 200 {
			t.Fatalf("%s %s: %d %s", method, path, code, text)
		}
		return text
	}
	var session struct{ ID string }
	text := must(m, "PUT", "/v1/session/create", `{"Name":"s","TTL":"1h","Behavior":"delete"}`)
	if err := json.Unmarshal([]byte(text), &session); err != nil {
		t.Fatal(err)
	}
	must(m, "PUT", "/v1/kv/locked?flags=42&acquire="+session.ID, "by s")
	must(m, "PUT", "/v1/kv/fenced?fence=lease/f:9", "v")
	must(m, "PUT", "/v1/kv/long", strings.Repeat("long", 200_000))

	// Backups while writes run, one of them through a client that is slow at first.
	var acked atomic.Int64
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for w := range 4 {
		writers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if code, _, _ := m.call("PUT", fmt.Sprintf("/v1/kv/load/%d/%06d", w, i), "v"); code == 200 {
					acked.Add(1)
				}
			}
		})
	}
	for _, h := range hosts {
		time.Sleep(100 * time.Millisecond)
		before := acked.Load()
		_, keys := contents(t, h.backup(t))
		if len(keys) < int(before)+3 {
			t.Errorf("node %d: %d keys, and %d writes were acknowledged before", h.cfg.Node, len(keys), before)
		}
	}
	close(stop)
	writers.Wait()
	if acked.Load() < 100 {
		t.Errorf("%d writes are no load", acked.Load())
	}

	b := but(hosts, m)[0].backup(t)
	info, _ := contents(t, b)
	was := m.status(t)
	var paths = []string{"/v1/kv/?recurse", "/v1/kv/?keys", "/v1/session/list", "/v1/session/info/" + session.ID, "/v1/fence/lease/f"}
	want := map[string]string{}
	for _, path := range paths {
		want[path] = must(m, "GET", path, "")
	}
	dir := filepath.Join(t.TempDir(), "new")
	r, _, err := recovery.Restore(bytes.NewReader(b), dir)
	if err != nil {
		t.Fatal(err)
	}
	if info.Cluster.String() != was.Cluster || r.Cluster.String() == was.Cluster || info.Revision != was.Revision {
		t.Errorf("backup %+v of %+v, restored as %+v", info, was, r)
	}

	// The new cluster's node comes at the address of an old one. The others know that address, and leave it alone.
	old := hosts[0]
	if old == m {
		must(m, "POST", "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, hosts[1].cfg.Node))
	}
	old.stop(t)
	cfg := old.cfg
	cfg.Node, cfg.Cluster, cfg.Data = r.Node, nil, dir
	one := &host{cfg: cfg}
	one.start(t)
	one.awaitReady(t)
	for _, path := range paths {
		if got := must(one, "GET", path, ""); got != want[path] {
			t.Errorf("%s: %.200s\nwant %.200s", path, got, want[path])
		}
	}
	now := one.status(t)
	if now.Revision < was.Revision+1<<40 || now.Applied < was.Applied+1<<40 || now.Cluster != r.Cluster.String() {
		t.Errorf("%+v\nwas %+v", now, was)
	}
	_, _, h := one.call("PUT", "/v1/kv/new", "v")
	if at, err := strconv.ParseUint(h.Get(api.HeaderRevision), 10, 64); err != nil || at <= now.Revision {
		t.Errorf("the first write after revision %d: %v", now.Revision, h)
	}
	if code, text, _ := one.call("PUT", "/v1/kv/fenced?fence=lease/f:8", "late"); code != 409 {
		t.Errorf("a token that is too old for the old cluster: %d %s", code, text)
	}
	time.Sleep(500 * time.Millisecond)
	if l := one.members(t); len(l.Members) != 1 {
		t.Errorf("old nodes have joined: %+v", l.Members)
	}
	left := but(hosts, old)
	if s := master(t, left).status(t); s.Cluster != was.Cluster {
		t.Errorf("%+v", s)
	}

	// Another one joins, and has it all.
	two := &host{cfg: cfg}
	two.cfg.Node, two.cfg.Data, two.cfg.Join = 0, filepath.Join(t.TempDir(), "two"), cfg.PeerAddr
	two.cfg.PeerAddr, two.cfg.ClientAddr, two.cfg.NodeName = freeAddr(t), freeAddr(t), "two"
	two.start(t)
	two.awaitReady(t)
	for _, path := range paths[3:] {
		if got := must(two, "GET", path, ""); got != want[path] {
			t.Errorf("the node that joined: %s: %.200s\nwant %.200s", path, got, want[path])
		}
	}
}

// TestFewBackupsAtATime: one more is refused until one of them is done or its client is gone.
func TestFewBackupsAtATime(t *testing.T) {
	h := startCluster(t, 1)[0]
	for i := range 24 { // more than the buffers of a connection
		h.call("PUT", fmt.Sprintf("/v1/kv/key%d", i), strings.Repeat("v", 1_000_000))
	}
	var idle []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", h.cfg.ClientAddr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", api.PathBackup)
		if _, err := io.ReadFull(c, make([]byte, 12)); err != nil { // it has begun
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	code, text, head := h.call("GET", api.PathBackup, "")
	if code != 503 || codeOf(head) != api.CodeOverloaded || !strings.Contains(text, "2 backups are being read from this node") {
		t.Errorf("a third one: %d %s", code, text)
	}
	idle[0].Close()
	h.until(t, "free for another backup", func() bool { code, _, _ := h.call("GET", api.PathBackup, ""); return code == 200 })
	h.stop(t) // the other one does not hold it up
}

func TestABackupWithoutAMajorityIsRefused(t *testing.T) {
	t.Parallel()
	hosts := startCluster(t, 3)
	hosts[0].stop(t)
	hosts[1].stop(t)
	var code int
	var head http.Header
	hosts[2].until(t, "refusing", func() bool { // a master gives one until its lease ends
		code, _, head = hosts[2].call("GET", api.PathBackup, "")
		return code != 200
	})
	if code != 503 || codeOf(head) != api.CodeNotApplied {
		t.Errorf("%d %s", code, codeOf(head))
	}
}
