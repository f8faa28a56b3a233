package server

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/replica"
	"tenure/storage"
)

// comparing has nodes compare digests often.
func comparing(c *Config) { c.CompareEvery = 300 * time.Millisecond }

// tamper changes the value of key in the state database of a node that is stopped, with right checksums.
func (h *host) tamper(t *testing.T, key string) {
	t.Helper()
	s, err := storage.Open(h.cfg.Data, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	slot, meta, _ := s.Loaded()
	v, err := s.View()
	if err != nil {
		t.Fatal(err)
	}
	record, err := v.Get(kv.KindData, []byte(key))
	record = append([]byte(nil), record...)
	v.Close() // a store waits for its views
	if err != nil || len(record) == 0 {
		t.Fatalf("%s is not in the checkpoint of slot %d: %v", key, slot, err)
	}
	record[len(record)-1] ^= 1
	if err := s.Checkpoint(&kv.Checkpoint{Slot: slot, Meta: meta,
		Changes: slices.Values([]kv.Change{{Kind: kv.KindData, Key: []byte(key), Value: record}})}); err != nil {
		t.Fatal(err)
	}
}

// agreed waits until all nodes are beyond a revision, and have everything that is applied in a checkpoint.
func agreed(t *testing.T, hosts []*host, revision uint64) {
	t.Helper()
	for _, h := range hosts {
		h.until(t, "checkpointed", func() bool {
			s := h.status(t)
			return s.Applied > 0 && s.Revision > revision && s.Checkpointed == s.Applied
		})
	}
}

// ends waits until the node has ended, and returns why.
func (h *host) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.done:
		h.done = nil
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("node %d goes on", h.cfg.Node)
		return nil
	}
}

// A node whose state was changed while it was down, with right checksums, is found, ends, says why, and does not start
// again. The others go on.
func TestANodeThatDiffersEndsAndStaysOut(t *testing.T) {
	hosts := startCluster(t, 3, comparing)
	before := hosts[0].status(t).Revision
	if code, body, _ := hosts[0].call(http.MethodPut, "/v1/kv/k", "right"); code != 200 {
		t.Fatal(code, body)
	}
	agreed(t, hosts, before)
	bad := hosts[2]
	bad.stop(t)
	bad.tamper(t, "k")
	bad.start(t)
	err := bad.ends(t)
	var differs *replica.Differs
	if !errors.As(err, &differs) || len(differs.Agree) != 2 {
		t.Fatalf("it ended of %v", err)
	}
	mark, err := os.ReadFile(filepath.Join(bad.cfg.Data, "differs"))
	if err != nil || !strings.Contains(string(mark), "kvnode rejoin") {
		t.Errorf("its mark: %q, %v", mark, err)
	}
	bad.start(t)
	if err := bad.ends(t); !errors.Is(err, storage.ErrDiffers) {
		t.Errorf("started again it ended of %v", err)
	}
	for _, h := range hosts[:2] {
		if code, body, _ := h.call(http.MethodGet, "/v1/kv/k?raw", ""); code != 200 || body != "right" {
			t.Errorf("node %d answers %d %q", h.cfg.Node, code, body)
		}
		// It may have heard the wrong digest before the right one.
		h.until(t, "sure", func() bool { return h.status(t).Problem == "" })
	}
}

// Of two that differ while the third is down neither stops. Both say so, no backup is made, and the third settles it.
func TestTwoNodesThatDifferMakeNoBackup(t *testing.T) {
	hosts := startCluster(t, 3, comparing)
	agreed(t, hosts, 0)
	hosts[0].stop(t)
	good, bad := hosts[1], hosts[2]
	good.awaitReady(t)
	before := good.status(t).Revision
	if code, body, _ := good.call(http.MethodPut, "/v1/kv/k", "right"); code != 200 {
		t.Fatal(code, body)
	}
	agreed(t, hosts[1:], before)
	bad.stop(t)
	bad.tamper(t, "k")
	bad.start(t)
	for _, h := range hosts[1:] {
		h.until(t, "alarmed", func() bool { return strings.Contains(h.status(t).Problem, "replicas differ") })
		code, body, _ := h.call(http.MethodGet, api.PathBackup, "")
		if code != 503 || !strings.Contains(body, "replicas differ") {
			t.Errorf("node %d answers a backup with %d %s", h.cfg.Node, code, body)
		}
		if _, body, _ := h.call(http.MethodGet, "/metrics", ""); !strings.Contains(body, "replicas_differ 1") {
			t.Errorf("node %d: no metric", h.cfg.Node)
		}
	}
	hosts[0].start(t)
	var differs *replica.Differs
	if err := bad.ends(t); !errors.As(err, &differs) {
		t.Errorf("it ended of %v", err)
	}
	good.until(t, "sure again", func() bool { return good.status(t).Problem == "" })
	if code, _, _ := good.call(http.MethodGet, api.PathBackup, ""); code != 200 {
		t.Errorf("a backup after that: %d", code)
	}
}
