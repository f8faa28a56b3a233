package kv

import "fmt"

// members is the record of the cluster's members. This package keeps its bytes and knows nothing of what they say.
type members struct{ record []byte }

// membersKey is the only key of KindMembers.
const membersKey = "record"

// SetMembers applies slot, which must be the next one. It replaces the record of the cluster's members by the one
// chosen in slot, and raises the counter of eras to era if it is below. It takes no revision: users see nothing of it.
// The record is copied. It panics on an empty record, and on an era that no token can have: no node proposes these.
func (s *State) SetMembers(slot uint64, record []byte, era uint64) error {
	switch {
	case slot != s.applied+1:
		panic(fmt.Sprintf("kv: members of slot %d applied after slot %d", slot, s.applied))
	case len(record) == 0 || era > maxEra:
		panic(fmt.Sprintf("kv: slot %d: a record of members of %d bytes with era %d", slot, len(record), era))
	}
	r := &s.exec.reg
	r.members.record = bytesOf(string(record))
	r.changes.set(KindMembers, membersKey, appendMembers(nil, record))
	r.fences.eras = max(r.fences.eras, era)
	s.applied = slot
	return nil
}

// Members returns the record that SetMembers was given last, nil if there was none. The bytes are shared and never
// change.
func (s *State) Members() []byte { return s.exec.reg.members.record }

// Eras returns the newest era of named leases that was allotted, 0 if none was (N3).
func (s *State) Eras() uint64 { return s.exec.reg.fences.eras }

func appendMembers(buf, record []byte) []byte { return append(append(buf, recordVersion), record...) }

// load reads the record of KindMembers.
func (m *members) load(key string, b []byte) error {
	r := reader{b: b}
	r.version()
	if r.bad || len(r.b) == 0 || key != membersKey {
		return damaged("record %q of the members: %w", key, errRecord)
	}
	m.record = bytesOf(string(r.b))
	return nil
}

// count returns the number of records in KindMembers.
func (m *members) count() uint64 {
	if m.record == nil {
		return 0
	}
	return 1
}
