package kv

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"tenure/internal/codec"
)

func level(n int64) Command { return Command{Op: OpLevel, Num: n, Value: []byte("v9")} }

// atLevel1 makes an operation need level 1 while a test runs.
func atLevel1(t *testing.T, op Op) {
	was := rules[op].level
	rules[op].level = 1
	t.Cleanup(func() { rules[op].level = was })
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
	m.want(transaction(add), Result{Code: CodeDone, Revision: 4, Body: EncodeOutcomes(Outcomes{
		Results: []Outcome{{Entry: &Entry{Key: "n", Value: []byte("11"), CreateIndex: 2, ModifyIndex: 4}}}})})
}

// A state at level 0 has the meta record that the release before feature levels wrote, byte for byte.
func TestLevel0KeepsTheBytesOfTheReleaseBefore(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1").keyed("w", 1), newEra("run"))
	f := m.Freeze().Checkpoint()
	const want = "dc0012010102000002000000000000000000000100"
	if got := hex.EncodeToString(f.Meta); got != want {
		t.Errorf("the meta record is\n%s, was\n%s", got, want)
	}
	if slices.ContainsFunc(listed(f), func(c Change) bool { return c.Space > SpaceMembers }) {
		t.Error("a state at level 0 has records of a space that came later")
	}
}

// The release before refuses what a state above level 0 writes, and this one what a newer one does.
func TestWhoDoesNotKnowTheLevelRefuses(t *testing.T) {
	m := newMachine(t, small)
	m.do(level(1))
	m.takeCheckpoint()
	var first metaOfLevel0
	if err := codec.Unmarshal(m.stateDB.meta, &first); err != nil || first.Format != metaFormatLevel {
		t.Errorf("the release before reads format %d, %v", first.Format, err)
	}
	later := meta{Format: metaFormatLevel, Slot: 1, Revision: 1, Level: NewestLevel + 1, Release: "v9"}
	if err := CheckMeta(1, codec.Marshal(&later)); !errors.Is(err, ErrNewer) || errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), `release "v9"`) {
		t.Errorf("a state of the next level: %v", err)
	}
	for _, bad := range []meta{{Format: metaFormatLevel, Slot: 1}, {Format: metaFormat, Slot: 1, Level: 1}} {
		if err := CheckMeta(1, codec.Marshal(&bad)); !errors.Is(err, ErrDamaged) {
			t.Errorf("format %d with level %d: %v", bad.Format, bad.Level, err)
		}
	}
	r, err := m.Apply(2, batchOf(set("a", "1"), level(NewestLevel+1), set("b", "1")))
	if len(r) != 1 || !errors.Is(err, ErrNewer) {
		t.Errorf("a command for the next level: %v, %v", r, err)
	}
}

func TestRecordsAboveTheLevelAreNeitherWrittenNorRead(t *testing.T) {
	above := SpaceMembers + 1
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a record above the level was written")
			}
		}()
		m := meta{Format: metaFormat}
		m.checkSpace(above)
	}()
	m := meta{Format: metaFormatLevel, Level: 1}
	m.checkSpace(above)
	if m.Level = 2; !bytes.Equal(m.encode(), codec.Marshal(&m)) {
		t.Error("level 2 writes another record than all of it")
	}
}

// A state at level 1 has the meta record and the digest of the release before level 2, byte for byte, and no record of
// a later space. Later commands are refused as by that release.
func TestLevel1KeepsTheBytesOfTheReleaseBefore(t *testing.T) {
	m := newMachine(t, small)
	m.do(level(1), set("a", "1").keyed("w", 1), newEra("run"), quotaOf("a", 100, 2))
	before := m.digest()
	if got := hex.EncodeToString(before[:]); got != "cc6d1599d9585e8137f5b9cc1007dccbf28fdbef8342f8cf65cda85fa520d0b0" {
		t.Errorf("the digest is %s", got)
	}
	decided := set("a", "2")
	decided.Decided = 1
	for _, c := range []Command{decided, PutToken(tokenOf(1), true), PutPolicy(policyOf(1, "p"), true),
		DropToken(sessionID(1)), Bootstrap(tokenOf(1), 0)} {
		m.want(c, Result{Code: CodeLevel, Revision: 2})
	}
	f := m.Freeze().Checkpoint()
	if slices.ContainsFunc(listed(f), func(c Change) bool { return c.Space > SpaceStaged }) {
		t.Error("a state at level 1 has records of a space that came later")
	}
	const want = "dc001602060200000200000000000000000000010001a276390100"
	if got := hex.EncodeToString(f.Meta); got != want {
		t.Errorf("the meta record is\n%s, was\n%s", got, want)
	}
}
