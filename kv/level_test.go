package kv

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tenure/internal/codec"
)

func level(n int64) Command { return Command{Op: OpLevel, Num: n, Value: []byte("v9")} }

// atLevel1 makes an operation need level 1 while a test runs.
func atLevel1(t *testing.T, op Op) {
	was := catalogue[op].level
	catalogue[op].level = 1
	t.Cleanup(func() { catalogue[op].level = was })
}

func TestTheLevelOnlyGrows(t *testing.T) {
	m := newMachine(t, small)
	if m.Level() != 0 {
		t.Fatalf("a new state is at level %d", m.Level())
	}
	m.want(level(1), Result{Code: CodeDone, Revision: 1, Count: 1})
	m.want(level(1), Result{Code: CodeDone, Revision: 1, Count: 1})
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.Level() != 1 || m.digest() != before {
		t.Errorf("after a checkpoint: level %d", m.Level())
	}
	if got, err := ReadMeta(m.Applied(), m.stateDB.meta); err != nil || got != (Reached{Revision: 1, Level: 1}) {
		t.Errorf("the meta record says %+v, %v", got, err)
	}
	for _, n := range []int64{0, -1} {
		c := level(n)
		if err := c.Validate(); !errors.Is(err, ErrCommand) {
			t.Errorf("level %d: %v", n, err)
		}
	}
}

func TestACommandAboveTheLevelChangesNothing(t *testing.T) {
	atLevel1(t, OpAdd)
	m, before := newMachine(t, small), newMachine(t, small)
	m.do(set("n", "1"))
	before.do(set("n", "1"))
	add := Command{Op: OpAdd, Key: "n", Num: 5}
	above := Result{Code: CodeLevel, Revision: 2}
	m.want(add, above)
	m.want(add.keyed("w", 1), above)
	m.want(transaction(set("a", "1"), add), above)
	m.want(add.under("kv/a", 7), above)
	for before.Applied() < m.Applied() {
		before.do()
	}
	if m.digest() != before.digest() {
		t.Error("commands above the level changed the state")
	}
	m.do(level(1))
	m.want(add.keyed("w", 1), Result{Code: CodeDone, Revision: 3, Body: "6"})
	m.want(transaction(add), Result{Code: CodeDone, Revision: 4, Body: string(appendStep(nil, &Result{Code: CodeDone,
		Body: EncodeEntries(Entry{Key: "n", Value: []byte("11"), CreateIndex: 2, ModifyIndex: 4})}))})
}

// TestBelowItsLevelNothingIsDone: a state at level 0 refuses the commands of level 1, and has no record of them.
func TestBelowItsLevelNothingIsDone(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1").keyed("w", 1), newEra("run"))
	decided := set("a", "2")
	decided.Decided = 1
	for _, c := range []Command{decided, PutToken(tokenOf(1), true), PutPolicy(policyOf(1, "p"), true),
		DropToken(sessionID(1)), Bootstrap(tokenOf(1), 0), quotaOf("a", 100, 2), sequence(put("a", "2")),
		prune("a").at(2), transaction(prune("a").at(2))} {
		m.want(c, Result{Code: CodeLevel, Revision: 2})
	}
	if slices.ContainsFunc(listed(m.Freeze().Checkpoint()), func(c Change) bool { return c.Kind > KindMembers }) {
		t.Error("a state at level 0 has records of level 1")
	}
}

// A release refuses what a state of a level above its own writes.
func TestWhoDoesNotKnowTheLevelRefuses(t *testing.T) {
	m := newMachine(t, small)
	later := meta{Format: metaFormat, Slot: 1, Revision: 1, Level: NewestLevel + 1, Release: "v9"}
	if err := CheckMeta(1, codec.Marshal(&later)); !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), `release "v9"`) {
		t.Errorf("a state of the next level: %v", err)
	}
	r, err := m.Apply(1, batchOf(set("a", "1"), level(NewestLevel+1), set("b", "1")))
	if len(r) != 1 || !errors.Is(err, ErrNewer) {
		t.Errorf("a command for the next level: %v, %v", r, err)
	}
}

func TestRecordsAboveTheLevelAreNeitherWrittenNorRead(t *testing.T) {
	above := KindMembers + 1
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a record above the level was written")
			}
		}()
		m := meta{Format: metaFormat}
		m.checkKind(above)
	}()
	m := meta{Format: metaFormat, Level: 1}
	m.checkKind(above)
}
