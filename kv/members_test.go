package kv

import (
	"errors"
	"slices"
	"testing"

	"tenure/internal/codec"
)

func (m *machine) setMembers(record string, era uint64) {
	m.t.Helper()
	if err := m.SetMembers(m.Applied()+1, []byte(record), era); err != nil {
		m.t.Fatal(err)
	}
}

// The record of the members is part of the state: of a checkpoint, of the digest, and of what a restart finds.
func TestMembersAreKept(t *testing.T) {
	m := newMachine(t, small)
	if m.Members() != nil || m.Eras() != 0 {
		t.Fatalf("a new state has members %q and era %d", m.Members(), m.Eras())
	}
	m.do(set("a", "1").keyed("w", 1), del("a")) // the kind of tombstones comes before that of the members
	bare := m.digest()
	m.setMembers("first", 1)
	if m.Applied() != 2 || m.Revision() != 3 || m.digest() == bare {
		t.Errorf("slot %d, revision %d", m.Applied(), m.Revision())
	}
	m.takeCheckpoint()
	m.reopen()
	if string(m.Members()) != "first" || m.Eras() != 1 {
		t.Errorf("members %q and era %d after a restart", m.Members(), m.Eras())
	}
	m.setMembers("second", 5)
	before := m.digest()
	f := m.Freeze()
	m.setMembers("third", 5) // while a checkpoint is on its way
	m.stateDB.Merge(f.Checkpoint())
	if err := m.Checkpointed(); err != nil {
		t.Fatal(err)
	}
	m.reopen()
	if string(m.Members()) != "second" || m.Eras() != 5 || m.digest() != before {
		t.Errorf("members %q and era %d in the checkpoint", m.Members(), m.Eras())
	}
}

// An era in the record of members is one that a run asks for later must not get, and an older one changes nothing.
func TestMembersRaiseTheEra(t *testing.T) {
	m := newMachine(t, small)
	m.do(newEra("run 1"))
	m.setMembers("m", 4)
	m.want(newEra("run 2"), Result{Code: CodeDone, Revision: 1, Count: 5})
	m.setMembers("n", 3)
	if m.Eras() != 5 {
		t.Errorf("era %d", m.Eras())
	}
}

func TestMembersThatNobodyProposes(t *testing.T) {
	for name, call := range map[string]func(*State){
		"a slot that is not next": func(s *State) { s.SetMembers(2, []byte("m"), 1) },
		"an empty record":         func(s *State) { s.SetMembers(1, nil, 1) },
		"an era beyond tokens":    func(s *State) { s.SetMembers(1, []byte("m"), maxEra+1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("was applied")
				}
			}()
			call(newMachine(t, small).State)
		})
	}
}

// A state database without the record that its meta record counts, or with one that is none, is damaged.
func TestMembersThatAreNotThere(t *testing.T) {
	for name, changes := range map[string][]Change{
		"missing":        nil,
		"empty":          {{KindMembers, []byte(membersKey), []byte{recordVersion}}},
		"another layout": {{KindMembers, []byte(membersKey), []byte{9, 1}}},
		"another key":    {{KindMembers, []byte("other"), []byte{recordVersion, 1}}},
		"one key too many": {{KindMembers, []byte("other"), []byte{recordVersion, 1}},
			{KindMembers, []byte(membersKey), []byte{recordVersion, 1}}},
	} {
		db := NewMemStateDB()
		meta := codec.Marshal(&meta{Format: metaFormat, Slot: 1, Revision: 1, Members: 1})
		db.Merge(&Checkpoint{Slot: 1, Meta: meta, Changes: slices.Values(changes)})
		if _, err := Open(db, small); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
