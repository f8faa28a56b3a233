package kv

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// sessionID is the n-th ID that tests use.
func sessionID(n int) string {
	return strings.Repeat(fmt.Sprint(n), 8) + "-0000-4000-8000-000000000000"
}

// drawSession is mostly the ID of a session that there is.
func drawSession(t *rapid.T, m *model) string {
	ids := slices.Sorted(maps.Keys(m.sessions))
	ids = append(append(ids, ids...), sessionID(rapid.IntRange(1, 4).Draw(t, "session")))
	return rapid.SampledFrom(ids).Draw(t, "id")
}

// lockedKeys is the keys that are locked.
func (m *model) lockedKeys() (keys []string) {
	for _, k := range m.keys("") {
		if m.entries[k].Session != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

var drawTTL = rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute})

func drawValue(t *rapid.T) []byte {
	return []byte(rapid.SampledFrom([]string{"", "x", "-7", "9223372036854775807",
		strings.Repeat("z", MaxRememberedBody)}).Draw(t, "value"))
}

var (
	plainOps = []Op{OpSet, OpSet, OpSet, OpDelete, OpDelete, OpPrune}
	allOps   = append([]Op{OpSet, OpSet, OpAdd, OpRename, OpTransaction,
		OpTransaction, OpSessionCreate, OpSessionCreate,
		OpSessionDestroy, OpSessionRenew, OpDropFence, OpEndSession, OpEndKey, OpEndDelay,
		OpQuota, OpQuota, OpSequence, OpSequence, OpSequence}, append(stepOps, plainOps...)...)
	stepOps = []Op{OpSet, OpSet, OpSet, OpAppend, OpAdd, OpDelete, OpSetTTL, OpRename}
	partOps = append([]Op{OpSet, OpAdd, OpRename, OpGet, OpGetOrEmpty, OpGetTree, OpCheckIndex, OpCheckSession,
		OpCheckNotExists, OpCheckValue}, plainOps...)
)

// drawCommand draws a valid command, mostly one that does something to m.
func drawCommand(t *rapid.T, m *model, ops []Op) Command {
	c := drawOp(t, m, rapid.SampledFrom(ops).Draw(t, "op"))
	takes := catalogue[c.Op].takes
	if takes&hasIdem != 0 && rapid.Bool().Draw(t, "keyed") {
		c.IdemKey = rapid.StringMatching("[k-p]").Draw(t, "idem")
		back := rapid.Uint64Range(0, 8).Draw(t, "back")
		c.Base = m.revision - min(back, m.revision)
		if back == 8 {
			c.Base = m.revision + 1
		}
	}
	if takes&hasFence != 0 && (c.Op == OpDropFence || rapid.IntRange(0, 3).Draw(t, "fenced") == 0) {
		c.Fence = rapid.SampledFrom([]string{"lease/a", "lease/b", "kv/a", "kv/b"}).Draw(t, "fence")
		if c.Op != OpDropFence {
			c.Token = rapid.Uint64Range(0, 4).Draw(t, "token")
		} else if c.HasIndex = rapid.Bool().Draw(t, "floored"); c.HasIndex {
			c.Index = rapid.Uint64Range(0, 4).Draw(t, "floor")
		}
	}
	return c
}

func drawOp(t *rapid.T, m *model, op Op) Command {
	c := Command{Op: op}
	r := catalogue[op]
	switch r.named {
	case byKey:
		c.Key = drawKey.Draw(t, "key")
		if locked := m.lockedKeys(); len(locked) > 0 && rapid.IntRange(0, 2).Draw(t, "locked") == 0 {
			c.Key = rapid.SampledFrom(locked).Draw(t, "key")
		}
	case byPrefix:
		c.Key = drawPrefix.Draw(t, "prefix")
	}
	if r.takes&hasValue != 0 {
		c.Value = drawValue(t)
	}
	if r.takes&hasFlags != 0 {
		c.Flags = rapid.Uint64Range(0, 1).Draw(t, "flags")
	}
	if r.takes&hasTTL != 0 {
		c.TTL = drawTTL.Draw(t, "ttl")
	}
	if r.takes&hasNum != 0 {
		c.Num = rapid.SampledFrom([]int64{0, 1, -9223372036854775808}).Draw(t, "num")
	}
	if r.modes != 0 {
		drawMode(t, &c)
	}
	if r.takes&hasNewKey != 0 {
		c.NewKey = drawKey.Draw(t, "new key")
	}
	if r.takes&hasTest != 0 && c.Mode&ModeEqual != 0 {
		if c.Test = m.entries[c.Key].Value; rapid.IntRange(0, 3).Draw(t, "other") == 0 {
			c.Test = drawValue(t)
		}
	}
	drawRest(t, m, &c, r.takes)
	return c
}

// drawRest draws what depends on the operation.
func drawRest(t *rapid.T, m *model, c *Command, takes fields) {
	switch c.Op {
	case OpSessionCreate:
		c.Session = Session{Name: "n", Node: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "node"),
			LockDelay: drawTTL.Draw(t, "delay"),
			Behavior:  Behavior(rapid.IntRange(0, 1).Draw(t, "behavior")), TTL: drawTTL.Draw(t, "ttl")}
	case OpSet, OpDelete, OpCheckIndex:
		c.HasIndex = c.Op == OpCheckIndex || rapid.IntRange(0, 2).Draw(t, "conditional") == 2
		if c.HasIndex {
			c.Index = rapid.SampledFrom([]uint64{0, m.entries[c.Key].ModifyIndex, 1}).Draw(t, "index")
		} else if c.Op == OpSet {
			c.Lock = rapid.SampledFrom([]Lock{LockAcquire, LockNone, LockAcquire, LockRelease}).Draw(t, "lock")
		}
	case OpPrune:
		if c.HasIndex = rapid.IntRange(0, 2).Draw(t, "conditional") == 2; c.HasIndex {
			c.Index = m.revision - min(m.revision, rapid.Uint64Range(0, 3).Draw(t, "ago"))
		}
	case OpTransaction:
		for range rapid.IntRange(0, 5).Draw(t, "parts") {
			p := drawOp(t, m, rapid.SampledFrom(partOps).Draw(t, "op"))
			p.Mode, p.Test = 0, nil
			if p.Session.ID != "" && rapid.IntRange(0, 7).Draw(t, "no session") == 0 {
				p.Session.ID = rapid.SampledFrom([]string{"", "x", strings.ToUpper(sessionID(1))}).Draw(t, "no ID")
			}
			c.Parts = append(c.Parts, p)
		}
	case OpSequence:
		drawSteps(t, m, c)
	case OpPutAll:
		drawPairs(t, c)
	case OpQuota:
		drawQuota(t, m, c)
	case OpEndKey:
		c.Arm = m.expiry[c.Key].arm
	case OpEndDelay:
		if keys := slices.Sorted(maps.Keys(m.delays)); len(keys) > 0 {
			c.Key = rapid.SampledFrom(keys).Draw(t, "delayed")
		}
		c.Arm = m.delays[c.Key].arm
	}
	if takes&hasSessionID != 0 && (c.Op != OpSet || c.Lock != LockNone) {
		c.Session.ID = drawSession(t, m)
		if held := m.entries[c.Key].Session; c.Op == OpSet && held != "" && rapid.Bool().Draw(t, "the holder") {
			c.Session.ID = held
		}
	}
	if c.Op == OpEndSession {
		c.Arm = m.sessions[c.Session.ID].Renewals
	}
	if takes&hasArm != 0 && c.Op != OpQuota && rapid.IntRange(0, 3).Draw(t, "stale") == 0 {
		c.Arm++
	}
}

// mirror is the state as an observer knows it.
type mirror struct {
	entries map[string]Entry
	timed   map[string]Timed
	last    bool
	at      uint64
	fault   string
}

func newWorld(t testing.TB, l Limits) *world {
	w := &world{machine: newMachine(t, l), model: newModel(l), ops: allOps}
	w.seen = mirror{entries: map[string]Entry{}, timed: map[string]Timed{}, last: true}
	w.observe()
	raise := func(slot uint64, s *State) error { // operations that need it are drawn
		_, err := s.Apply(slot, batchOf(level(NewestLevel)))
		return err
	}
	if err := raise(1, w.State); err != nil {
		t.Fatal(err)
	}
	w.log = append(w.log, raise)
	return w
}

func timedKey(t Timed) string { return fmt.Sprint(t.Kind, t.Name) }

// observe makes the mirror follow the state, which has just been opened or is new.
func (w *world) observe() {
	w.Observe(Observer{Timed: func(t Timed) {
		w.seen.timed[timedKey(t)] = t
		if t.After == 0 {
			delete(w.seen.timed, timedKey(t))
		}
	}})
	w.Observe(Observer{Changed: w.seen.changed})
}

func (s *mirror) changed(c Changed) {
	if s.last && c.Revision <= s.at || !s.last && c.Revision != s.at {
		s.fault = fmt.Sprintf("told of revision %d after %d", c.Revision, s.at)
	}
	s.at, s.last = c.Revision, c.Last
	switch {
	case c.Session != "":
	case c.Entry == nil:
		delete(s.entries, c.Key)
	default:
		s.entries[c.Key] = *c.Entry
	}
}

// check compares the entries and times of the observer with those of w.
func (s *mirror) check(t *rapid.T, w *world) {
	if d := cmp.Diff(w.model.entries, s.entries); d != "" || s.fault != "" || !s.last {
		t.Fatalf("the observer knows other entries: %s %s", d, s.fault)
	}
	runs := map[string]Timed{}
	w.Timed(func(t Timed) { runs[timedKey(t)] = t })
	if d := cmp.Diff(runs, s.timed); d != "" {
		t.Fatalf("the observer knows other times: %s", d)
	}
	n := 0
	for id, e := range w.model.sessions {
		if e.TTL > 0 {
			n++
			if got := runs[timedKey(Timed{Kind: TimedSession, Name: id})]; got.Arm != e.Renewals || got.After != e.TTL {
				t.Fatalf("time of session %s: %+v, want %+v", id, got, e)
			}
		}
	}
	for prefix, q := range w.model.quotas {
		if q.counting {
			n++
			if got := runs[timedKey(Timed{Kind: TimedQuota, Name: prefix})]; got.Arm != q.steps {
				t.Fatalf("count of prefix %q: %+v, want %+v", prefix, got, q)
			}
		}
	}
	for kind, list := range map[TimedKind]map[string]running{TimedKey: w.model.expiry, TimedDelay: w.model.delays} {
		for name, want := range list {
			n++
			if got := runs[timedKey(Timed{Kind: kind, Name: name})]; got.Arm != want.arm || got.After != want.after {
				t.Fatalf("time of %q: %+v, want %+v", name, got, want)
			}
		}
	}
	if n != len(runs) {
		t.Fatalf("%d times run, want %d", len(runs), n)
	}
}

func checkSessions(t *rapid.T, h heldSnapshot) {
	node := rapid.SampledFrom([]string{"", "x"}).Draw(t, "node")
	var got, want []Session
	h.Sessions(node, func(s Session) bool { got = append(got, s); return true })
	for _, id := range slices.Sorted(maps.Keys(h.model.sessions)) {
		if s := h.model.sessions[id]; node == "" || s.Node == node {
			want = append(want, s)
		}
	}
	if d := cmp.Diff(want, got); d != "" || h.SessionsIndex() != h.model.sessionsIndex {
		t.Fatalf("sessions at %d, want %d: %s", h.SessionsIndex(), h.model.sessionsIndex, d)
	}
}
