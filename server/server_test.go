package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/freeport"
)

// host is one node run in this process.
type host struct {
	cfg    Config
	cancel context.CancelFunc
	done   chan error
}

// startCluster runs size nodes on free loopback ports, with what configure says, and waits until all are ready.
func startCluster(t *testing.T, size int, configure ...func(*Config)) []*host {
	t.Helper()
	hosts := makeCluster(t, size, configure...)
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.awaitReady(t)
	}
	return hosts
}

// makeCluster returns the nodes of startCluster before they run.
func makeCluster(t *testing.T, size int, configure ...func(*Config)) []*host {
	t.Helper()
	dir := t.TempDir()
	var list []Address
	for i := range size {
		list = append(list, Address{Node: ballot.NodeID(i + 1), Addr: freeAddr(t)})
	}
	hosts := make([]*host, size)
	for i := range size {
		hosts[i] = &host{cfg: Config{
			Node: list[i].Node, Cluster: list, Data: filepath.Join(dir, fmt.Sprint(i+1)), ClientAddr: freeAddr(t), PeerAddr: list[i].Addr,
			// Three nodes share this process's scheduler: under the race detector and megabytes of values the lease
			// loops were seen to wake 200 ms late. These tests are not about lease times.
			LeaseTime: 2 * time.Second, MaxLeaseTime: 2 * time.Second, ClockDriftPPM: 10_000, LeaseMargin: 10 * time.Millisecond,
			MaxValueBytes: 1 << 20, Version: "test", Logger: zerolog.Nop(),
		}}
		for _, f := range configure {
			f(&hosts[i].cfg)
		}
	}
	return hosts
}

func freeAddr(t *testing.T) string {
	t.Helper()
	port, err := freeport.Run(1)
	if err != nil {
		t.Fatal(err)
	}
	return freeport.Address(port)
}

func (h *host) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel, h.done = cancel, make(chan error, 1)
	go func() { h.done <- Run(ctx, h.cfg) }()
	t.Cleanup(func() { h.stop(t) })
}

// stop ends the node in order; an error of Run fails the test.
func (h *host) stop(t *testing.T) {
	t.Helper()
	if h.done == nil {
		return
	}
	h.cancel()
	if err := <-h.done; err != nil {
		t.Errorf("node %d: %v", h.cfg.Node, err)
	}
	h.done = nil
}

func (h *host) awaitReady(t *testing.T) {
	t.Helper()
	h.until(t, "ready", func() bool { code, _, _ := h.call(http.MethodGet, "/health/ready", ""); return code == 200 })
}

func (h *host) until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	h.untilWithin(t, 20*time.Second, what, cond)
}

func (h *host) untilWithin(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if cond() {
			return
		}
	}
	t.Fatalf("node %d: not %s in time", h.cfg.Node, what)
}

func (h *host) call(method, path, body string) (int, string, http.Header) {
	req, err := http.NewRequest(method, "http://"+h.cfg.ClientAddr+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), nil
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(rsp.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return rsp.StatusCode, string(text), rsp.Header
}

// codeOf is the error code of an answer, or "".
func codeOf(h http.Header) api.Code { return api.Code(h.Get(api.HeaderError)) }

func (h *host) status(t *testing.T) api.Status {
	t.Helper()
	_, text, _ := h.call(http.MethodGet, "/v1/status", "")
	var s api.Status
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("status %q: %v", text, err)
	}
	return s
}

// master waits for the node that holds the lease and is ready.
func master(t *testing.T, hosts []*host) *host {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, h := range hosts {
			if h.done == nil {
				continue
			}
			if s := h.status(t); s.Lease.Held && s.Role == "master" {
				return h
			}
		}
	}
	t.Fatal("no master in time")
	return nil
}

func TestEveryNodeServesEveryMode(t *testing.T) {
	hosts := startCluster(t, 3)
	for i, h := range hosts {
		value := fmt.Sprintf("value %d", i)
		if code, text, _ := h.call(http.MethodPut, "/v1/kv/k", value); code != 200 || text != "true" {
			t.Fatalf("put through node %d: %d %s", i+1, code, text)
		}
		for _, reader := range hosts {
			for _, mode := range []string{"?raw", "?raw&consistent"} {
				if code, text, _ := reader.call(http.MethodGet, "/v1/kv/k"+mode, ""); code != 200 || text != value {
					t.Fatalf("node %d, %s: %d %q after %q", reader.cfg.Node, mode, code, text, value)
				}
			}
		}
	}
	for _, h := range hosts {
		h.until(t, "able to read its own state", func() bool {
			code, text, header := h.call(http.MethodGet, "/v1/kv/k?raw&stale", "")
			return code == 200 && text == "value 2" && header.Get("X-Consul-KnownLeader") == "true"
		})
	}
}

func TestOrderlyStopOfTheMasterAndRestart(t *testing.T) {
	hosts := startCluster(t, 3)
	old := master(t, hosts)
	if code, text, _ := old.call(http.MethodPut, "/v1/kv/k", "before"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	epoch := old.status(t).Epoch
	old.stop(t)
	next := master(t, hosts)
	if now := next.status(t).Epoch; now <= epoch {
		t.Fatalf("epoch %d after %d", now, epoch)
	}
	if code, text, _ := next.call(http.MethodGet, "/v1/kv/k?raw", ""); text != "before" {
		t.Fatalf("%d %q", code, text)
	}
	old.start(t)
	old.awaitReady(t)
	if code, text, _ := old.call(http.MethodGet, "/v1/kv/k?raw", ""); text != "before" {
		t.Fatalf("after the restart: %d %q", code, text)
	}
	if s := old.status(t); s.Lease.QuarantineMS == 0 && s.UptimeMS < 200 {
		t.Fatalf("a restarted acceptor serves no quarantine: %+v", s.Lease)
	}
}

func TestTransferGoesWhereItIsTold(t *testing.T) {
	hosts := startCluster(t, 3)
	for _, h := range hosts { // a node that is not connected cannot take over
		h.until(t, "connected to all", func() bool {
			return !slices.ContainsFunc(h.status(t).Peers, func(p api.PeerStatus) bool { return !p.Connected })
		})
	}
	// The others stand off for a moment only: on a machine that is busy elsewhere the named node may miss it once.
	missed := 0
	for range 4 {
		old := master(t, hosts)
		to := hosts[int(old.cfg.Node)%3] // the next one
		to = hosts[int(to.cfg.Node)%3]   // and the one after it, which would not be the first to try
		asked := hosts[int(old.cfg.Node)%3]
		if code, text, _ := asked.call(http.MethodPost, "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, to.cfg.Node)); code != 200 {
			t.Fatalf("transfer from %d to %d: %d %s", old.cfg.Node, to.cfg.Node, code, text)
		}
		if now := master(t, hosts); now != to {
			t.Logf("transfer from %d to %d made %d master", old.cfg.Node, to.cfg.Node, now.cfg.Node)
			missed++
		}
	}
	if missed > 1 {
		t.Fatalf("%d of 4 transfers made another node master", missed)
	}
}

// A node that is alone has nobody to hand over to, and stays master also when it is drained.
func TestANodeAloneStaysMaster(t *testing.T) {
	h := startCluster(t, 1)[0]
	epoch := h.status(t).Epoch
	code, text, head := h.call(http.MethodPost, "/v1/master/transfer", "")
	if code != 503 || codeOf(head) != api.CodeNotApplied || !strings.Contains(text, "nobody to hand over to") {
		t.Errorf("a transfer: %d %s", code, text)
	}
	if code, text, _ := h.call(http.MethodPost, api.PathMembersDrain, `{"node":1,"force":true}`); code != 200 {
		t.Errorf("a drain: %d %s", code, text)
	}
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/k", "v"); code != 200 {
		t.Errorf("a write at a node that is drained: %d %s", code, text)
	}
	if s := h.status(t); s.Role != api.RoleMaster || s.Epoch != epoch || !s.Draining {
		t.Errorf("%s of epoch %d, which was %d; drained: %v", s.Role, s.Epoch, epoch, s.Draining)
	}
}

func TestTransferToNobodyIsRefused(t *testing.T) {
	hosts := startCluster(t, 3)
	m := master(t, hosts)
	if code, text, h := m.call(http.MethodPost, "/v1/master/transfer", `{"Node":9}`); code != 400 || codeOf(h) != api.CodeInvalid {
		t.Fatalf("%d %s", code, text)
	}
	gone := hosts[int(m.cfg.Node)%3]
	gone.stop(t)
	m.until(t, "aware that a node is gone", func() bool {
		for _, p := range m.status(t).Peers {
			if p.Node == uint64(gone.cfg.Node) {
				return !p.Connected
			}
		}
		return false
	})
	code, text, head := m.call(http.MethodPost, "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, gone.cfg.Node))
	if code != 503 || codeOf(head) != api.CodeNotApplied {
		t.Fatalf("%d %s", code, text)
	}
	// Through another node the words are not doubled.
	other := hosts[int(m.cfg.Node+1)%3]
	code, text, head = other.call(http.MethodPost, "/v1/master/transfer", fmt.Sprintf(`{"Node":%d}`, gone.cfg.Node))
	if code != 503 || codeOf(head) != api.CodeNotApplied || strings.Count(text, "not applied") > 1 {
		t.Fatalf("%d %s", code, text)
	}
	if now := master(t, hosts); now != m {
		t.Fatal("a refused transfer changed the master")
	}
}

func TestSingleNodeKeepsItsData(t *testing.T) {
	t.Parallel()
	h := startCluster(t, 1)[0]
	if code, text, _ := h.call(http.MethodPut, "/v1/kv/k", "v"); code != 200 {
		t.Fatalf("%d %s", code, text)
	}
	h.stop(t)
	h.start(t)
	h.awaitReady(t)
	if code, text, _ := h.call(http.MethodGet, "/v1/kv/k?raw", ""); text != "v" {
		t.Fatalf("%d %q", code, text)
	}
}

func TestLargeValuesTravel(t *testing.T) {
	hosts := startCluster(t, 3)
	big := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	for _, h := range hosts {
		if code, text, _ := h.call(http.MethodPut, "/v1/kv/big", big); code != 200 {
			t.Fatalf("node %d: %d %.100s", h.cfg.Node, code, text)
		}
		if code, text, _ := h.call(http.MethodGet, "/v1/kv/big?raw", ""); code != 200 || text != big {
			t.Fatalf("node %d: %d, %d bytes", h.cfg.Node, code, len(text))
		}
	}
	// The outcome of a transaction may be larger than any value; it comes back to a follower in one frame.
	for i := range 8 {
		hosts[0].call(http.MethodPut, fmt.Sprint("/v1/kv/tree/", i), big)
	}
	for _, h := range hosts {
		code, text, _ := h.call(http.MethodPut, "/v1/txn", `[{"KV":{"Verb":"get-tree","Key":"tree/"}},{"KV":{"Verb":"set","Key":"x"}}]`)
		if code != 200 || len(text) < 8<<20 {
			t.Fatalf("node %d: %d, %d bytes: %.100s", h.cfg.Node, code, len(text), text)
		}
	}
}

func TestBadConfigurationTouchesNothing(t *testing.T) {
	good := Config{Node: 1, Cluster: []Address{{1, "127.0.0.1:1"}}, ClientAddr: "127.0.0.1:0", LeaseTime: time.Second, MaxLeaseTime: time.Second,
		ClockDriftPPM: 10_000, LeaseMargin: time.Millisecond, MaxValueBytes: 1 << 10, Data: filepath.Join(t.TempDir(), "data")}
	for name, change := range map[string]func(*Config){
		"id not in the list": func(c *Config) { c.Node = 2 },
		"twice in the list":  func(c *Config) { c.Cluster = append(c.Cluster, c.Cluster[0]) },
		"no lease time":      func(c *Config) { c.LeaseTime = 0 },
		"drift of 100 %":     func(c *Config) { c.ClockDriftPPM = 1_000_000 },
		"open to the world":  func(c *Config) { c.ClientAddr = "0.0.0.0:0" },
		"no peer address":    func(c *Config) { c.Cluster = append(c.Cluster, Address{2, "127.0.0.1:2"}) },
		"no data directory":  func(c *Config) { c.Data = "" },
		"a TTL of no time":   func(c *Config) { c.SessionTTLMin = time.Millisecond },
		"no history":         func(c *Config) { c.WatchHistoryBytes = 64<<10 - 1 },
		"too much history":   func(c *Config) { c.WatchHistoryBytes = 1<<30 + 1 },
	} {
		cfg := good
		change(&cfg)
		if err := Run(context.Background(), cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWatchHistoryIsWhatWasConfigured(t *testing.T) {
	for bytes, want := range map[int64][2]int64{0: {16384, 4 << 20}, 64 << 10: {256, 64 << 10}, 1 << 30: {4 << 20, 1 << 30}} {
		l := Config{WatchHistoryBytes: bytes}.watch()
		if int64(l.Events) != want[0] || l.Bytes != want[1] || l.Validate() != nil {
			t.Errorf("%d: %+v", bytes, l)
		}
	}
}
