package kv

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tenure/internal/codec"
)

func TestFreezeHasOneOutstanding(t *testing.T) {
	m := newMachine(t, small)
	if m.Freeze() != nil {
		t.Fatal("froze a new state")
	}
	m.do(set("a", "1"))
	f := m.Freeze()
	m.do(set("a", "2"))
	if f == nil || f.Slot() != 1 || m.Freeze() != nil {
		t.Fatal("a second freeze while one is outstanding")
	}
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		t.Fatal(err)
	}
	if f = m.Freeze(); f == nil || f.Slot() != 2 {
		t.Fatal("nothing to freeze after the first checkpoint")
	}
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		t.Fatal(err)
	}
	if m.Freeze() != nil {
		t.Fatal("froze when all is checkpointed")
	}
	m.do() // the slot alone
	if f = m.Freeze(); f == nil || len(listed(f.Checkpoint())) != 0 || f.Checkpoint().Slot != 3 {
		t.Fatal("a slot without changes was not frozen")
	}
}

// A checkpoint of exactly this slot follows the one that is outstanding, whatever is applied meanwhile.
func TestFreezeNextFollowsTheOneOutstanding(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1"), set("b", "1"))
	if m.FreezeNext() != nil {
		t.Fatal("nothing is outstanding")
	}
	m.takeCheckpoint()
	m.do(del("a").keyed("v", 1))
	first := m.Freeze()
	if m.FreezeNext() != nil {
		t.Fatal("there is nothing new")
	}
	m.do(set("b", "2").keyed("w", 0))
	dropped := m.FreezeNext()
	for i := range small.DedupEntries { // which has "v", of the checkpoint before, forgotten
		m.do(set("c", fmt.Sprint(i)).keyed(fmt.Sprint("c", i), 1))
	}
	next, want := m.FreezeNext(), m.digest()
	m.do(set("b", "4"), del("c"))
	if dropped.Slot() != 3 || next.Slot() != 7 || m.Freeze() != nil {
		t.Fatalf("slots %d and %d are frozen", dropped.Slot(), next.Slot())
	}
	for _, f := range []*Frozen{first, next} {
		m.stateDB.Merge(f.Checkpoint())
		if err := m.Checkpointed(); err != nil {
			t.Fatal(err)
		}
	}
	last := m.digest()
	at := &machine{t: t, stateDB: m.stateDB, l: small}
	if at.reopen(); at.digest() != want {
		t.Error("the state database is not what was applied through slot 7")
	}
	m.takeCheckpoint()
	m.reopen()
	if m.Applied() != 8 || m.digest() != last {
		t.Errorf("slot %d: the next checkpoint has not all", m.Applied())
	}
}

func TestCheckpointIsSortedAndHasEachKeyOnce(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	for i := range 300 {
		k := fmt.Sprint("k", i*7%100)
		m.do(set(k, fmt.Sprint(i)).keyed(fmt.Sprint("w", i), m.Revision()), del(fmt.Sprint("k", i%10)))
	}
	f := m.Freeze().Checkpoint()
	changes := listed(f)
	if !slices.IsSortedFunc(changes, func(a, b Change) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		if c := bytes.Compare(a.Key, b.Key); c != 0 {
			return c
		}
		t.Fatalf("key %q comes twice", a.Key)
		return 0
	}) {
		t.Fatal("changes are not sorted")
	}
	if again := listed(f); !reflect.DeepEqual(again, changes) {
		t.Fatal("the changes are others when they are ranged over again")
	}
	for n := range len(changes) {
		left := n
		for range f.Changes {
			if left == 0 {
				break // an iterator that goes on panics
			}
			left--
		}
	}
	m.stateDB.Merge(f)
	before := m.digest()
	m.reopen()
	if m.digest() != before {
		t.Fatal("the state database is not what was frozen")
	}
}

func TestCheckpointedChecksTheStateDB(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a", "1"))
	m.Freeze()
	if err := m.Checkpointed(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("took a checkpoint for done that the state database does not have: %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Fatal("Checkpointed without Freeze")
		}
	}()
	newMachine(t, small).Checkpointed()
}

// A crash between the checkpoint's commit and anything else: what is in the state database is one whole slot.
func TestOpenTakesUpAfterTheCheckpoint(t *testing.T) {
	m := newMachine(t, small)
	log := [][]Command{{set("a", "1").keyed("w", 0)}, {set("b", "1")}, {del("a").at(2).keyed("v", 3), set("c", "1")}}
	for _, c := range log[:2] {
		m.do(c...)
	}
	f := m.Freeze()
	m.do(log[2]...)
	m.stateDB.Merge(f.Checkpoint())
	want := m.digest()
	m.reopen()
	if m.Applied() != 2 || m.Revision() != 3 {
		t.Fatalf("opened at slot %d, revision %d", m.Applied(), m.Revision())
	}
	m.do(log[2]...)
	if m.digest() != want {
		t.Fatal("replaying the tail gives another state")
	}
}

// A client that read a new store, and waits behind that index, must not miss the first change. A restart must not lower
// the revision. A store that an older version has checkpointed at revision 0 goes on from there.
func TestTheFirstRevision(t *testing.T) {
	m := newMachine(t, small)
	if m.Revision() != 1 {
		t.Fatalf("a new store is at revision %d", m.Revision())
	}
	m.do()
	m.takeCheckpoint()
	m.reopen()
	m.want(set("a", "1"), done(2))

	m = newMachine(t, small)
	m.stateDB.Merge(&Checkpoint{Slot: 1, Meta: codec.Marshal(&meta{Format: metaFormat, Slot: 1})})
	m.reopen()
	m.want(set("a", "1"), done(1))
}

func TestDamagedEntryNamesItsKey(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a/1", "1"), set("b", "1"))
	m.takeCheckpoint()
	m.stateDB.records.Set(recordKey(KindData, []byte("a/1")), []byte{recordVersion})
	_, _, getErr := m.Get("a/1")
	_, applyErr := m.Apply(2, batchOf(set("a/1", "2")))
	for name, err := range map[string]error{"get": getErr, "apply": applyErr} {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range []string{`"a/1"`, "state.db", "replace it"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %s", err, want)
			}
		}
	}
	v, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.Walk(Range{Prefix: "a"}, func(Entry) bool { return true }); !errors.Is(err, ErrDamaged) {
		t.Errorf("walk: %v", err)
	}
}

func TestDigestSeesEverything(t *testing.T) {
	seen := map[[32]byte]string{}
	for name, cs := range map[string][]Command{
		"nothing": {}, "set": {set("a", "1")}, "value": {set("a", "2")}, "key": {set("b", "1")},
		"empty": {set("a", "")},
		"keyed": {set("a", "1").keyed("w", 0)}, "other key": {set("a", "1").keyed("v", 0)},
		"deleted": {set("a", "1"), del("a")}, "twice": {set("a", "1"), set("a", "1")},
		"refused": {set("a", "1").at(1).keyed("w", 0)}, "absent": {del("a").keyed("w", 0)},
	} {
		m := newMachine(t, small)
		m.do(cs...)
		d := m.digest()
		if other, twice := seen[d]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[d] = name
		m.takeCheckpoint()
		if m.digest() != d {
			t.Errorf("%s: the digest depends on the checkpoint", name)
		}
	}
}

func TestLimitsAreChecked(t *testing.T) {
	bad := []Limits{{}}
	for _, zero := range []func(*Limits){
		func(l *Limits) { l.DedupEntries = 0 }, func(l *Limits) { l.DedupRevisions = 0 },
		func(l *Limits) { l.PruneKeys = -1 },
		func(l *Limits) { l.Sessions = 0 }, func(l *Limits) { l.Locks = 0 }, func(l *Limits) { l.ExpiringKeys = 0 },
		func(l *Limits) { l.Fences = 0 }, func(l *Limits) { l.Tombstones = 0 },
	} {
		l := DefaultLimits
		zero(&l)
		bad = append(bad, l)
	}
	for _, l := range bad {
		if _, err := Open(NewMemStateDB(), l); err == nil {
			t.Errorf("opened with %+v", l)
		}
	}
}

// listed returns copies of the changes of f.
func listed(f *Checkpoint) (changes []Change) {
	for c := range f.Changes {
		c.Key, c.Value = slices.Clone(c.Key), slices.Clone(c.Value)
		changes = append(changes, c)
	}
	return changes
}
