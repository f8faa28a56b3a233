package named

import "time"

// memberships is what an acceptor remembers of changes of the members.
type memberships struct {
	number uint64 // the one in force; never 0
	// older is the end of the exclusions that were accepted before that, or a later reading.
	older time.Duration
	// While CountOlder looks at the records, next is the first one left, and found the latest end among those seen.
	counting bool
	next     uint32
	found    time.Duration
}

// stamp returns the number of a membership, as messages and configurations give it; 0 counts as 1.
func stamp(number uint64) uint64 { return max(number, 1) }

// SetMembership is N3 for a change of the members. The acceptor raises its floor to the era that the same entry of the
// log has allotted; from now on it answers under that number and no other. The number must be durable, so that later
// runs refuse older stamps too. An older number changes nothing.
func (t *Table) SetMembership(now time.Duration, number uint64, era uint32) {
	m := &t.members
	if number <= m.number {
		return
	}
	longest, err := t.cfg.Timing.Exclusion(t.cfg.Timing.MaxUser)
	if err != nil {
		panic("named: the longest lease has no D_A: " + err.Error())
	}
	t.raise(FirstToken(era))
	*m = memberships{number: number, older: now + longest, counting: true}
}

// Membership returns the number in force.
func (t *Table) Membership() uint64 { return t.members.number }

// foreign reports whether q, a Prepare or an Accept, is of another membership than the one in force here. Older ones
// are refused for good. Newer ones are too, until this node has that membership in force: its floor is not that of
// their era yet.
func (t *Table) foreign(q *Request) bool { return stamp(q.Membership) != t.members.number }

// refuse answers q, which is of another membership. A name that is not known stays so.
func (t *Table) refuse(now time.Duration, k Kind, q *Request) Reply {
	if i := t.index.find(&t.slab, q.Name); i != none {
		return t.reply(now, k, q, t.slab.at(i))
	}
	return Reply{Kind: k, Name: q.Name, Counter: q.Counter, Report: t.floor, Membership: t.members.number}
}

// CountOlder looks at most records for OlderExclusion and reports whether more wait. Until none does, that is the
// longest possible.
func (t *Table) CountOlder(most int) (more bool) {
	m := &t.members
	if !m.counting {
		return false
	}
	for end := min(t.slab.n, m.next+uint32(most)); m.next < end; m.next++ {
		m.found = max(m.found, t.slab.at(m.next).until)
	}
	if m.next == t.slab.n {
		m.counting, m.older = false, m.found
	}
	return m.counting
}

// OlderExclusion returns how long a lease may yet be held whose records are of an older membership than the one in
// force here, as lease.Acceptor.OlderExclusion does.
func (t *Table) OlderExclusion(now time.Duration) time.Duration {
	return max(t.QuarantineLeft(now), t.members.older-now, 0)
}
