package kv

import (
	"bytes"
	"testing"
)

func done(revision uint64) Result       { return Result{Code: CodeDone, Revision: revision} }
func deleted(revision, n uint64) Result { return Result{Code: CodeDone, Revision: revision, Count: n} }
func refused(revision uint64) Result    { return Result{Code: CodeCondition, Revision: revision} }

// The same story must come out whether entries are in the table, frozen or in the state database.
func inEveryLayer(t *testing.T, story func(t *testing.T, m *machine, next func())) {
	for name, between := range map[string]func(m *machine){
		"active": func(*machine) {},
		"frozen": func(m *machine) {
			if m.checkpoint.frozen != nil {
				m.stateDB.Merge(m.checkpoint.frozen.Checkpoint())
				if err := m.Checkpointed(); err != nil {
					m.t.Fatal(err)
				}
			}
			m.Freeze()
		},
		"image":  (*machine).takeCheckpoint,
		"reopen": func(m *machine) { m.takeCheckpoint(); m.reopen() },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, DefaultLimits)
			story(t, m, func() { between(m) })
		})
	}
}

func TestSetKeepsCreateIndexUntilDeleted(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		flagged := set("a", "1")
		flagged.Flags = 7
		m.want(flagged, done(2))
		next()
		if got := m.get("a"); got != "a=1 f7 c2 m2 l0" {
			t.Fatal(got)
		}
		m.want(set("a", "1"), done(3)) // the identical value is a write, and flags not given are 0
		next()
		if got := m.get("a"); got != "a=1 f0 c2 m3 l0" {
			t.Fatal(got)
		}
		m.want(del("a"), deleted(4, 1))
		next()
		if got := m.get("a"); got != "-" {
			t.Fatal(got)
		}
		m.want(set("a", ""), done(5))
		next()
		if got := m.get("a"); got != "a= f0 c5 m5 l0" {
			t.Fatal(got)
		}
		if m.Revision() != 5 || m.Applied() != 4 {
			t.Fatalf("revision %d, applied %d", m.Revision(), m.Applied())
		}
	})
}

func TestConditionsByIndex(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		for _, c := range []struct {
			command Command
			want    Result
		}{
			{set("a", "x").at(9), refused(1)}, // absent: only index 0 holds
			{set("a", "1").at(0), done(2)},
			{set("a", "2").at(0), refused(2)}, // present: create only fails
			{set("b", "1"), done(3)},
			{set("a", "2").at(3), refused(3)},
			{set("a", "2").at(2), done(4)},
			{del("a").at(0), refused(4)}, // a present key is never at 0
			{del("a").at(2), refused(4)},
			{del("a").at(4), deleted(5, 1)},
			{del("a").at(4), done(5)}, // absent: every index holds
			{del("a").at(0), done(5)},
			{del("a"), done(5)},
			{set("a", "3").at(0), done(6)},
		} {
			m.want(c.command, c.want)
			next()
		}
		if a, b := m.get("a"), m.get("b"); a != "a=3 f0 c6 m6 l0" || b != "b=1 f0 c3 m3 l0" {
			t.Fatal(a, b)
		}
	})
}

func TestPruneTakesOneRevision(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		for _, k := range []string{"a", "a/1", "a/2", "a0", "b", "é"} {
			m.do(set(k, "x"))
			next()
		}
		m.want(prune("c"), done(7))
		m.want(prune("a/"), deleted(8, 2))
		next()
		m.want(prune("a/"), done(8))
		if m.get("a/1") != "-" || m.get("a0") == "-" || m.get("a") == "-" {
			t.Fatal("the wrong keys are gone")
		}
		m.do(set("a/2", "again"))
		next()
		m.want(prune(""), deleted(10, 5))
		next()
		m.want(prune(""), done(10))
	})
}

// A prune with an index deletes what was there at that revision, and nothing if a key has come or changed since. What
// was deleted since does not matter.
func TestAPruneWithAnIndexDeletesOnlyWhatWasSeen(t *testing.T) {
	inEveryLayer(t, func(t *testing.T, m *machine, next func()) {
		m.atLevel().do(set("a/1", "x"), set("a/2", "x"), set("b", "x")) // 2 to 4
		next()
		m.want(prune("a/").at(2), refused(4))
		m.want(set("a/1", "y"), done(5))
		m.want(prune("a/").at(4), refused(5))
		m.want(set("a/3", "y"), done(6))
		r := m.do(transaction(del("b"), prune("a/").at(5)))[0]
		if got := story(t, r); got != "condition not met 6; 1! condition not met" {
			t.Fatal(got)
		}
		next()
		m.want(del("a/3"), deleted(7, 1))
		m.want(prune("a/").at(5), deleted(8, 2))
		m.want(prune("a/").at(0), done(8))
		m.shows("b", "b=x f0 c4 m4 l0")
	})
}

func TestPruneOfTooManyIsRefusedWhole(t *testing.T) {
	m := newMachine(t, small.with(1, 1, 2))
	m.do(set("a", "1"), set("b", "1"))
	m.takeCheckpoint()
	m.do(set("c", "1"))
	m.want(prune(""), Result{Code: CodeTooMany, Revision: 4})
	if m.get("a") == "-" || m.get("c") == "-" {
		t.Fatal("a refused prune deleted something")
	}
	m.do(del("b"))
	m.want(prune(""), deleted(6, 2))
}

func TestEmptyBatchMovesTheSlotAlone(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	if r, err := m.Apply(1, nil); err != nil || len(r) != 0 {
		t.Fatal(r, err)
	}
	if m.Applied() != 1 || m.Revision() != 1 || m.TableBytes() != 0 {
		t.Fatal("an empty batch changed something")
	}
}

func TestSlotsAreAppliedInARow(t *testing.T) {
	for _, slot := range []uint64{0, 1, 3} {
		m := newMachine(t, DefaultLimits)
		m.do()
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("slot %d was applied after slot 1", slot)
				}
			}()
			m.Apply(slot, nil)
		}()
	}
}

func TestMalformedCommandsGetTheirOwnResult(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	bad := Command{Op: 99, Key: "a"}
	batch := AppendBatch(batchOf(set("a", "1"), bad, Command{Op: OpSet}), []byte("rubbish"))
	batch = append(batch, batchOf(set("b", "1"))...)
	batch = append(batch, 50, 1, 2) // breaks off
	got, err := m.Apply(1, batch)
	if err != nil {
		t.Fatal(err)
	}
	malformed := func(r uint64) Result { return Result{Code: CodeMalformed, Revision: r} }
	want := []Result{done(2), malformed(2), malformed(2), malformed(2), done(3), malformed(3)}
	if len(got) != len(want) {
		t.Fatalf("results %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("command %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestBatchOfTooManyCommandsIsCutOff(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	got, err := m.Apply(1, make([]byte, 3*MaxBatchCommands)) // commands of no bytes
	if err != nil || len(got) != MaxBatchCommands+1 {
		t.Fatalf("%d results, %v", len(got), err)
	}
}

// The batch may be a buffer that is used again, and a small value must not keep it alive.
func TestValuesDoNotAliasTheBatch(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	batch := batchOf(set("key", "value").keyed("idem", 0))
	if _, err := m.Apply(1, batch); err != nil {
		t.Fatal(err)
	}
	clear(batch)
	if got := m.get("key"); got != "key=value f0 c2 m2 l0" {
		t.Fatal(got)
	}
	m.want(set("key", "value").keyed("idem", 0), done(2))
}

// A view that stayed open would keep storage from growing its file.
func TestApplyAndGetCloseTheirViews(t *testing.T) {
	open := 0
	s, err := Open(poisoned{MemStateDB: NewMemStateDB(), open: &open}, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(1, batchOf(set("a", "1"), del("x"), prune(""))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Get("absent"); err != nil || open != 0 {
		t.Fatalf("%d views are open, %v", open, err)
	}
}

func TestTableBytesFollowWhatIsHeld(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	m.do(Command{Op: OpSet, Key: "k", Value: bytes.Repeat([]byte{1}, 5000)})
	one := m.TableBytes()
	if one < 5001 || one > 6000 {
		t.Fatalf("%d bytes for one entry of 5001", one)
	}
	m.do(Command{Op: OpSet, Key: "k", Value: bytes.Repeat([]byte{2}, 5000)})
	if m.TableBytes() != one {
		t.Fatalf("%d bytes after overwriting, %d before", m.TableBytes(), one)
	}
	f := m.Freeze()
	m.do(del("k").keyed("idem", 0))
	if now := m.TableBytes(); now < one+5 || now > one+500 {
		t.Fatalf("%d bytes with a frozen entry of %d and a tombstone", now, one)
	}
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		t.Fatal(err)
	}
	m.takeCheckpoint()
	if m.TableBytes() != 0 {
		t.Fatalf("%d bytes when all is checkpointed", m.TableBytes())
	}
}
