package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
)

// behind runs a cluster, stops a follower, and writes until the others have truncated what it lacks. It returns the
// follower, stopped, the others, and some keys with their values.
func behind(t *testing.T, size int) (lagging *host, others []*host, want map[string]string) {
	t.Helper()
	hosts := startCluster(t, size, func(c *Config) { c.QuotaBytes = 128 << 20 }) // small checkpoints
	m := master(t, hosts)
	for _, h := range hosts {
		if h != m && lagging == nil {
			lagging = h
		} else {
			others = append(others, h)
		}
	}
	want = map[string]string{}
	write := func(n int) {
		for i := range n {
			key, value := fmt.Sprintf("key%03d", i), make([]byte, 100<<10)
			for j := range value {
				value[j] = byte('a' + rand.IntN(26))
			}
			if code, text, _ := m.call(http.MethodPut, "/v1/kv/"+key, string(value)); code != 200 {
				t.Fatalf("put: %d %s", code, text)
			}
			want[key] = string(value)
		}
	}
	write(20)
	lagging.stop(t)
	has := m.status(t).Chosen
	for range 20 {
		write(100)
		all := true
		for _, h := range others {
			all = all && h.status(t).Truncated > has
		}
		if all {
			return lagging, others, want
		}
	}
	t.Fatalf("the others keep a log behind slot %d: %+v", has, m.status(t))
	return nil, nil, nil
}

// shows waits until h answers with all of want from its own state.
func shows(t *testing.T, h *host, want map[string]string) {
	t.Helper()
	for key, value := range want {
		h.until(t, "caught up", func() bool {
			code, text, _ := h.call(http.MethodGet, "/v1/kv/"+key+"?raw&stale", "")
			return code == 200 && text == value
		})
	}
}

// logText is what a node has logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logText) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), words)
}

func (l *logText) has(words string) bool { return l.count(words) > 0 }

// watchLog has the next runs of h log into what it returns.
func (h *host) watchLog() *logText {
	l := &logText{}
	h.cfg.Logger = zerolog.New(l)
	return l
}

// receives waits until h is in the middle of receiving a snapshot, and returns from whom.
func (h *host) receives(t *testing.T) (from uint64) {
	t.Helper()
	h.until(t, "receiving a snapshot", func() bool {
		var s api.Status
		_, text, _ := h.call(http.MethodGet, "/v1/status", "")
		if json.Unmarshal([]byte(text), &s) != nil || s.Snapshot == nil || s.Snapshot.Bytes == 0 || s.Snapshot.Installing {
			return false
		}
		from = s.Snapshot.From
		return true
	})
	return from
}

// A node whose log the others have truncated gets their state, begins anew with it in the same process, and follows
// the log from there.
func TestANodeThatIsFarBehindGetsASnapshot(t *testing.T) {
	t.Parallel()
	h, others, want := behind(t, 3)
	log := h.watchLog()
	h.start(t)
	h.until(t, "given a snapshot", func() bool { return log.has("the snapshot is whole") })
	shows(t, h, want)
	h.until(t, "caught up", func() bool {
		return h.status(t).Applied >= master(t, others).status(t).Chosen
	})
	if s := h.status(t); s.Snapshot != nil || s.Role != api.RoleFollower {
		t.Errorf("%+v", s)
	}
	if log.count("the snapshot is whole") != 1 {
		t.Errorf("%d snapshots in a row", log.count("the snapshot is whole"))
	}
	_, text, _ := others[0].call(http.MethodGet, "/metrics", "")
	if !strings.Contains(text, "tenure_snapshot_sent_bytes") {
		t.Error("no metric says what was sent")
	}
	h.stop(t)
	h.start(t)
	shows(t, h, want)
}

// The sender dies in the middle: another node sends, and nothing of the first attempt is left.
func TestTheSenderOfASnapshotDies(t *testing.T) {
	t.Parallel()
	h, others, want := behind(t, 5)
	log := h.watchLog()
	h.start(t)
	from := h.receives(t)
	for _, o := range others {
		if uint64(o.cfg.Node) == from {
			o.stop(t)
		}
	}
	h.untilWithin(t, 2*time.Minute, "given a snapshot", func() bool { return log.has("the snapshot is whole") })
	shows(t, h, want)
	if log.count("receiving a snapshot") < 2 {
		t.Error("the first sender was through before it died: nothing was tested")
	}
}

// The receiver dies in the middle: its next run asks anew.
func TestTheReceiverOfASnapshotDies(t *testing.T) {
	t.Parallel()
	h, _, want := behind(t, 3)
	h.start(t)
	h.receives(t)
	h.stop(t)
	if left, _ := filepath.Glob(filepath.Join(h.cfg.Data, "state.db.receiv*")); len(left) > 0 {
		t.Errorf("an orderly stop leaves %v", left)
	}
	half := filepath.Join(h.cfg.Data, "state.db.receiving") // as a process that is killed leaves it
	if err := os.WriteFile(half, bytes.Repeat([]byte("x"), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	log := h.watchLog()
	h.start(t)
	h.until(t, "given a snapshot", func() bool { return log.has("the snapshot is whole") })
	shows(t, h, want)
}

// A node that joins where the log does not reach back to the beginning gets the state, and becomes a voter with it.
func TestANodeThatJoinsGetsASnapshot(t *testing.T) {
	t.Parallel()
	_, others, want := behind(t, 3)
	log := &logText{}
	h := master(t, others).joiner(t, func(c *Config) { c.Logger = zerolog.New(log) })
	h.awaitStatus(t, func(s api.Status) bool { return s.Node == 4 && s.Role == api.RoleFollower })
	if log.count("the snapshot is whole") != 1 {
		t.Errorf("it was given %d snapshots", log.count("the snapshot is whole"))
	}
	shows(t, h, want)
}
