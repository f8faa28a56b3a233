package transport

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout is how long a test waits for what must happen.
const testTimeout = 20 * time.Second

// bell lets a test wait for a change instead of sleeping.
type bell struct {
	mu      sync.Mutex
	changed chan struct{}
}

func (b *bell) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// await returns when cond, called under the lock, is true; it fails the test if that takes too long.
func (b *bell) await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	late := time.After(testTimeout)
	for {
		b.mu.Lock()
		if cond() {
			b.mu.Unlock()
			return
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// logs is a log that can be waited on.
type logs struct {
	bell
	text bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.change(func() { l.text.Write(p) })
	return len(p), nil
}

func (l *logs) awaitAll(t *testing.T, words ...string) {
	t.Helper()
	l.await(t, "log with "+strings.Join(words, " and "), func() bool { return hasLine(l.text.String(), words) })
}

// count returns the number of lines with all words.
func (l *logs) count(words ...string) (n int) {
	l.change(func() {
		for line := range strings.Lines(l.text.String()) {
			if hasLine(line, words) {
				n++
			}
		}
	})
	return n
}

func (l *logs) lines() int {
	n := 0
	l.change(func() { n = bytes.Count(l.text.Bytes(), []byte("\n")) })
	return n
}

func hasLine(text string, words []string) bool {
	for line := range strings.Lines(text) {
		n := 0
		for _, w := range words {
			if strings.Contains(line, w) {
				n++
			}
		}
		if n == len(words) {
			return true
		}
	}
	return false
}

// recorder is a Handler that keeps all it gets.
type recorder struct {
	bell
	events []string // "+lease 2", "-log 3"
	lease  [][]byte
	log    [][]byte
	named  [][]byte
	dead   []wire.Release // Owner and Counters of what guardians said
	block  chan struct{}  // LogFrame waits for it, if not nil
}

func (r *recorder) LeaseFrame(_ ballot.NodeID, _ ballot.Incarnation, b []byte) {
	r.change(func() { r.lease = append(r.lease, b) })
}

func (r *recorder) LogFrame(_ ballot.NodeID, _ ballot.Incarnation, b []byte, _ bool) {
	if r.block != nil {
		<-r.block
	}
	r.change(func() { r.log = append(r.log, b) })
}

func (r *recorder) NamedFrame(_ ballot.NodeID, _ ballot.Incarnation, b []byte, _ bool) {
	r.change(func() { r.named = append(r.named, b) })
}

func (r *recorder) CrashReleased(owner ballot.Incarnation, counters []uint64) {
	r.change(func() { r.dead = append(r.dead, wire.Release{Owner: owner, Counters: counters}) })
}

func (r *recorder) Connected(p ballot.NodeID, k wire.Kind) { r.event("+", p, k) }

func (r *recorder) Disconnected(p ballot.NodeID, k wire.Kind) { r.event("-", p, k) }

func (r *recorder) event(sign string, p ballot.NodeID, k wire.Kind) {
	r.change(func() { r.events = append(r.events, sign+k.String()+" "+string(rune('0'+p))) })
}

func (r *recorder) awaitEvent(t *testing.T, event string, times int) {
	t.Helper()
	r.await(t, event, func() bool { return count(r.events, event) >= times })
}

func (r *recorder) history() []string {
	var out []string
	r.change(func() { out = slices.Clone(r.events) })
	return out
}

func count(events []string, event string) int {
	n := 0
	for _, e := range events {
		if e == event {
			n++
		}
	}
	return n
}

var testConstants = wire.Constants{LeaseTime: time.Second, MaxLeaseTime: 30 * time.Second, DriftPPM: 10000,
	Margin: 10 * time.Millisecond}

// node is a Transport with what belongs to it.
type node struct {
	*Transport
	recorder
	logs  logs
	hello wire.Hello
}

func store(n ballot.NodeID) ident.StoreID { return ident.StoreID{0xaa, byte(n)} }

func members(ids ...ballot.NodeID) ident.Membership {
	m := ident.Membership{Number: 1}
	for _, id := range ids {
		m.Members = append(m.Members, ident.Member{Node: id, Store: store(id)})
	}
	return m
}

func honest(id ballot.NodeID) wire.Hello {
	return wire.Hello{Cluster: ident.ClusterID{0xcc}, Node: id, Store: store(id), Constants: testConstants,
		ClientAddr:  fmt.Sprint("127.0.0.1:", 8500+int(id)),
		Incarnation: ballot.Incarnation{Restart: 1, Node: id, Nonce: 100 + uint64(id)}}
}

// listen makes a node on a free port, or on addr if it is not empty.
func listen(t *testing.T, id ballot.NodeID, addr string, change func(*Config, *wire.Hello)) *node {
	t.Helper()
	n := &node{hello: honest(id)}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	cfg := Config{Self: id, Addr: addr, Log: zerolog.New(&n.logs), Hello: func() wire.Hello { return n.hello }}
	if change != nil {
		change(&cfg, &n.hello)
	}
	tr, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	n.Transport = tr
	t.Cleanup(tr.Close)
	return n
}

func (n *node) serve(m ident.Membership, peers ...*node) {
	addrs := map[ballot.NodeID]string{}
	for _, p := range peers {
		addrs[p.cfg.Self] = p.Addr().String()
	}
	n.Serve(n, m, addrs)
}

// pair is nodes 1 and 2, connected.
func pair(t *testing.T, change func(*Config, *wire.Hello)) (*node, *node) {
	t.Helper()
	a, b := listen(t, 1, "", change), listen(t, 2, "", change)
	m := members(1, 2)
	a.serve(m, b)
	b.serve(m, a)
	for _, k := range wire.Kinds {
		a.awaitEvent(t, "+"+k.String()+" 2", 1)
		b.awaitEvent(t, "+"+k.String()+" 1", 1)
	}
	return a, b
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// leaseBody and logBody return bodies of n bytes, and more behind them, of types that are sent on connections of their
// kinds. Transport looks at the type only.
func leaseBody(n int, more ...byte) []byte { return body(wire.EncodeNudge(wire.Nudge{})[0], n, more) }
func logBody(n int, more ...byte) []byte {
	return body(wire.EncodeQuestion(&wire.Question{})[0], n, more)
}

func body(typ byte, n int, more []byte) []byte {
	b := make([]byte, n)
	b[0] = typ
	return append(b, more...)
}

// writeFrames writes a frame for each body.
func writeFrames(t *testing.T, to io.Writer, bodies ...[]byte) {
	t.Helper()
	var raw []byte
	for _, b := range bodies {
		raw = wire.AppendFrame(raw, b)
	}
	if _, err := to.Write(raw); err != nil {
		t.Fatal(err)
	}
}
