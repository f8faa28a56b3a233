package kv

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/codec"
)

func TestDedupRetryGetsItsFirstResult(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		first := set("a", "1").at(0).keyed("w1", 0)
		m.want(first, done(2))
		next()
		m.want(set("a", "2"), done(3))
		next()
		m.want(first, done(2))
		m.want(prune("").keyed("w2", 2), deleted(4, 1))
		next()
		m.do(set("a", "3"))
		m.want(prune("").keyed("w2", 2), deleted(4, 1))
		if got := m.get("a"); got != "a=3 f0 c5 m5 l0" {
			t.Fatalf("a retry was applied again: %s", got)
		}
		if m.Revision() != 5 {
			t.Fatalf("a retry took a revision: %d", m.Revision())
		}
	})
}

func TestDedupRetryInTheSameBatch(t *testing.T) {
	m := newMachine(t, small)
	c := del("a").keyed("w", 0)
	if got := m.do(c, set("a", "1"), c); !slices.Equal(got, []Result{done(1), done(2), done(1)}) {
		t.Fatalf("%+v", got)
	}
}

func TestDedupRemembersARefusedCondition(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		c := set("a", "1").at(2).keyed("w", 0)
		m.want(c, refused(1))
		next()
		m.want(set("a", "0"), done(2)) // now the condition would hold
		next()
		m.want(c, refused(1))
	})
}

func TestDedupAnotherCommandUnderTheKeyIsAnError(t *testing.T) {
	flagged, valued, keyed := set("a", "1"), set("a", "2"), set("a1", "")
	flagged.Flags = 1
	for i, other := range []Command{flagged, valued, keyed, set("b", "1"), set("a", "1").at(0), del("a"), prune("a"),
		set("a", "1").at(2)} {
		m := newMachine(t, small)
		m.do(set("a", "1").keyed("w", 0))
		m.want(other.keyed("w", 0), Result{Code: CodeKeyReused, Revision: 2})
		m.want(set("a", "1").keyed("w", 0), done(2))
		if m.get("a") != "a=1 f0 c2 m2 l0" {
			t.Errorf("case %d: the other command was applied", i)
		}
	}
}

// A command whose key was forgotten, and then used by another one, may have been applied.
func TestDedupAReusedKeyThatWasForgottenLeavesDoubt(t *testing.T) {
	m := newMachine(t, small)
	first, second := set("a", "1").keyed("w", 1), set("a", "2")
	m.do(first)
	for i := range small.DedupEntries {
		m.do(set("x", "1").keyed(fmt.Sprint("n", i), 1))
	}
	second = second.keyed("w", m.Revision())
	m.do(second)
	revision := m.Revision()
	m.want(first, Result{Code: CodeKeyTooOld, Revision: revision})
	m.want(set("a", "3").keyed("w", revision), Result{Code: CodeKeyReused, Revision: revision})
	m.want(second, Result{Code: CodeDone, Revision: revision})
}

// What the client has sent stands for what a node has made of it, and for nothing else of a command.
func TestDedupComparesWhatWasSaid(t *testing.T) {
	hash, other := strings.Repeat("1", 32), strings.Repeat("2", 32)
	said := func(said string, parts ...Part) Command { return Command{Op: OpSequence, Parts: parts, Said: said} }
	first := Command{Op: OpSet, Key: "a", Value: []byte("1"), TTL: 9}
	later, gone := first, Command{Op: OpDelete, Key: "a"}
	later.TTL = 8
	m := newMachine(t, small).atLevel()
	m.do(said(hash, first).keyed("w", 1))
	for _, same := range [][]Part{{first}, {later}, {gone}, {gone, gone}, {}} {
		if r := m.do(said(hash, same...).keyed("w", 1))[0]; r.Code != CodeDone || r.Revision != 2 || m.get("a") == "-" {
			t.Errorf("%+v: %+v", same, r)
		}
	}
	for _, another := range []Command{said(other, first), said("", first), said(hash, first).under("kv/a", 9)} {
		m.want(another.keyed("w", 1), Result{Code: CodeKeyReused, Revision: 2})
	}
}

// A result without its body says how many steps of a sequence were done.
func TestDedupCountsTheStepsOfALargeResult(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(set("a", strings.Repeat("x", MaxRememberedBody+1)))
	exchanged := Part{Op: OpSet, Key: "a", Value: []byte("1"), Mode: ModeReturn}
	refused := exchanged
	refused.Mode |= ModeAbsent
	for i, c := range []Command{{Op: OpSequence, Parts: []Part{refused}}, {Op: OpSequence, Parts: []Part{refused, exchanged}}} {
		c = c.keyed(fmt.Sprint(i), 1)
		first := m.do(c)[0]
		again := m.do(c)[0]
		if first.Count != 0 || first.Dropped || again.Count != uint64(i) || !again.Dropped || again.Body != "" {
			t.Errorf("%+v, and once more %+v", first, again)
		}
	}
}

func TestDedupHashLeavesBaseOut(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1"))
	m.want(set("a", "2").keyed("w", 0), done(3))
	m.want(set("a", "2").keyed("w", 2), done(3)) // a node that stamps its own base
}

// A session without a node gets the name of the node that was asked, and the answer may be lost.
func TestASessionIsCreatedOnceThroughTwoNodes(t *testing.T) {
	m := newMachine(t, small)
	create := func(id, node string) Result {
		c := Command{Op: OpSessionCreate, IdemKey: "w", Session: Session{ID: id, Node: node, TTL: time.Minute}}
		return m.do(c)[0]
	}
	first := create("11111111-2222-4333-8444-555555555555", "node-1")
	if again := create("66666666-2222-4333-8444-555555555555", "node-2"); first.Code != CodeDone || again != first {
		t.Errorf("%+v, and through another node %+v", first, again)
	}
}

// A client that has read nothing has base 0, and one that has read the empty store has 1. No client has seen more.
func TestDedupFreshStoreAcceptsWhatCanBeSeenOfIt(t *testing.T) {
	for base, want := range []Result{done(2), done(2), {Code: CodeBaseAhead, Revision: 1}} {
		newMachine(t, small).want(set("a", "1").keyed("w", uint64(base)), want)
	}
}

// A key forgotten by a store that never changed makes all bases that were seen of the store too old. Some stores began
// at revision 0: there F = 0 is not "none forgotten".
func TestDedupForgottenBeforeTheFirstChange(t *testing.T) {
	old := NewMemStateDB()
	old.Merge(&Checkpoint{Slot: 1, Meta: codec.Marshal(&meta{Format: metaFormat, Slot: 1})})
	for first, stateDB := range map[uint64]*MemStateDB{0: old, 1: NewMemStateDB()} {
		m := &machine{t: t, stateDB: stateDB, l: small}
		m.reopen()
		for i := range small.DedupEntries {
			m.want(set("a", "1").at(9).keyed(fmt.Sprint("w", i), 0), refused(first))
		}
		m.want(set("b", "1").keyed("v", 0), done(first+1)) // nothing forgotten before this one
		for base := range first + 1 {
			m.want(set("b", "1").keyed("u", base), Result{Code: CodeKeyTooOld, Revision: first + 1})
		}
		m.want(set("b", "1").keyed("u", first+1), done(first+2))
	}
}

// The rule that the mutant "dedup without base" breaks: an old copy, whose key is forgotten, comes back.
func TestDedupWithoutBaseAppliesAnOldCopyAgain(t *testing.T) {
	for name, forget := range map[string]func(m *machine){
		"by number": func(m *machine) {
			for i := range small.DedupEntries {
				m.do(set("x", "1").keyed(fmt.Sprint("n", i), m.Revision()))
			}
		},
		"by age": func(m *machine) {
			for range small.DedupRevisions {
				m.do(set("x", "1"))
			}
		},
	} {
		for _, reopen := range []bool{false, true} {
			t.Run(fmt.Sprint(name, reopen), func(t *testing.T) {
				m := newMachine(t, small)
				m.do(set("a", "old").keyed("w", 0)) // is at revision 2
				m.do(set("a", "new"))
				forget(m)
				if reopen {
					m.takeCheckpoint()
					m.reopen()
				}
				if m.dedup.floor != 3 {
					t.Fatalf("floor %d, want 3: w was remembered at revision 2", m.dedup.floor)
				}
				revision := m.Revision()
				m.want(set("a", "old").keyed("w", 0), Result{Code: CodeKeyTooOld, Revision: revision})
				m.want(set("a", "old").keyed("other", 2), Result{Code: CodeKeyTooOld, Revision: revision})
				if m.get("a") != "a=new f0 c2 m3 l0" {
					t.Fatal("an old copy was applied over newer data")
				}
				m.want(set("a", "2").keyed("other", 3), done(revision+1))
			})
		}
	}
}

// The rule that the mutant "dedup table missing from the checkpointed state database" breaks.
func TestDedupTableMissingFromTheCheckpointedStateDB(t *testing.T) {
	m := newMachine(t, small)
	c := set("a", "1").keyed("w", 0)
	m.want(c, done(2))
	m.do(set("a", "2"))
	m.takeCheckpoint()
	m.reopen()
	m.want(c, done(2))
	if m.get("a") != "a=2 f0 c2 m3 l0" {
		t.Fatal("a retry was applied again after a restart from the checkpointed state database")
	}
}

func TestDedupBaseAheadIsNeverApplied(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1"))
	c := set("a", "2").keyed("w", 3)
	m.want(c, Result{Code: CodeBaseAhead, Revision: 2})
	m.do(set("b", "1"))
	m.want(c, done(4)) // it was not applied before, and is remembered now
	m.want(c, done(4))
}

func TestDedupBoundsByNumber(t *testing.T) {
	m := newMachine(t, small)
	for i := range 3 * chunkRecords {
		m.do(set("a", "1").at(99999).keyed(fmt.Sprint(i), m.Revision()), set("b", "1"))
		if n := m.dedup.queue.next - m.dedup.queue.first; n > uint64(small.DedupEntries) ||
			int(n) != len(m.dedup.index) {
			t.Fatalf("%d keys are remembered, %d in the index", n, len(m.dedup.index))
		}
	}
	if len(m.dedup.queue.chunks) > 2 {
		t.Fatalf("%d chunks for %d keys", len(m.dedup.queue.chunks), small.DedupEntries)
	}
}

func TestDedupBoundsByAge(t *testing.T) {
	m := newMachine(t, small)
	c := set("a", "1").keyed("w", 0)
	m.want(c, done(2))
	for range small.DedupRevisions - 1 {
		m.do(set("b", "1"))
	}
	m.want(c, done(2)) // at revision 7, remembered at 2: five revisions old
	m.do(set("b", "1"))
	m.want(c, Result{Code: CodeKeyTooOld, Revision: 8})
	if len(m.dedup.index) != 0 {
		t.Fatal("an old key takes space")
	}
}

// Only what changed is written: records new and still remembered, deletions of forgotten ones.
func TestDedupCheckpointsOnlyItsChanges(t *testing.T) {
	m := newMachine(t, small.with(3, 1000, 10))
	step := func(n int, want ...string) {
		t.Helper()
		for range n {
			m.do(del("x").keyed(fmt.Sprint("k", m.dedup.queue.next), 0))
		}
		m.dedup.floor = 0 // so that base 0 is good; the test is about records
		f := m.Freeze().Checkpoint()
		var got []string
		for c := range f.Changes {
			seq, err := parseSequenceKey(c.Key)
			if err != nil || c.Kind != KindDedup {
				t.Fatal(c, err)
			}
			got = append(got, fmt.Sprintf("%d %v", seq, c.Value != nil))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("checkpointed %q, want %q", got, want)
		}
		m.stateDB.Merge(f)
		if err := m.Checkpointed(); err != nil {
			t.Fatal(err)
		}
	}
	step(2, "0 true", "1 true")
	step(1, "2 true")
	m.dedup.floor = 0
	m.do(del("x").keyed("k3", 0))
	step(0, "0 false", "3 true")
	m.do(del("x"))
	step(0)
	for i := range 5 { // two of these come and go between checkpoints
		m.dedup.floor = 0
		m.do(del("x").keyed(fmt.Sprint("k", 4+i), 0))
	}
	step(0, "1 false", "2 false", "3 false", "6 true", "7 true", "8 true")
	m.reopen()
}

func TestDedupDamageIsNoticed(t *testing.T) {
	build := func() *machine {
		m := newMachine(t, small)
		for i := range 3 {
			m.do(set("a", "1").keyed(fmt.Sprint("w", i), 0))
		}
		m.takeCheckpoint()
		return m
	}
	for name, harm := range map[string]func(m *MemStateDB){
		"first gone":  func(m *MemStateDB) { m.records.Delete(recordKey(KindDedup, sequenceKey(0))) },
		"middle gone": func(m *MemStateDB) { m.records.Delete(recordKey(KindDedup, sequenceKey(1))) },
		"last gone":   func(m *MemStateDB) { m.records.Delete(recordKey(KindDedup, sequenceKey(2))) },
		"one more": func(m *MemStateDB) {
			b, _ := m.records.Get(recordKey(KindDedup, sequenceKey(2)))
			m.records.Set(recordKey(KindDedup, sequenceKey(3)), b)
		},
		"broken":     func(m *MemStateDB) { m.records.Set(recordKey(KindDedup, sequenceKey(1)), []byte{9}) },
		"odd key":    func(m *MemStateDB) { m.records.Set(recordKey(KindDedup, []byte{1}), []byte{9}) },
		"no meta":    func(m *MemStateDB) { m.meta = nil },
		"wrong slot": func(m *MemStateDB) { m.slot++ },
	} {
		m := build()
		harm(m.stateDB)
		if _, err := Open(m.stateDB, small); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: opened with %v", name, err)
		}
	}
}
