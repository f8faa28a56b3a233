package multipaxos

import (
	"cmp"
	"fmt"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Membership says who decides slots: those above Slot, up to and including the slot of the next membership entry. So
// a membership entry is itself decided by the membership before it.
type Membership struct {
	Number uint64 // rises by one with each change of the voters, and with no other
	// Slot is that of the entry that brought it. The base of New may have a higher slot, if no newer membership entry
	// is at or below it: for example the applied slot of the state database.
	Slot   Slot
	Voters quorum.Set
	// NonVoters follow the log and do not vote; by rising id, and never changed once they are in a Membership.
	NonVoters []ballot.NodeID
}

// memberships are the newest membership applied here and those whose entries are in the log above it, chosen or not. An
// entry that is replaced in its slot takes its membership with it. The slots below a slot alone decide its membership,
// and a leader counts votes in slot order. So a slot that it calls chosen was chosen by the membership of the chosen
// slots below.
type memberships struct {
	of      func(value []byte) (Membership, bool) // Config.MembershipOf
	list    []Membership                          // by rising Slot, never empty; all but the first are above applied
	applied Slot
	changed bool // since follow was last called
}

func newMemberships(of func([]byte) (Membership, bool), base Membership) memberships {
	return memberships{of: of, list: []Membership{base}, applied: base.Slot, changed: true}
}

// in returns the membership that value brings if it is decided in slot s.
func (ms *memberships) in(s Slot, value []byte) (Membership, bool) {
	if ms.of == nil || len(value) == 0 {
		return Membership{}, false
	}
	m, ok := ms.of(value)
	m.Slot = s
	return m, ok
}

// put takes note of the value that the log holds in slot s from now on.
func (ms *memberships) put(s Slot, value []byte) {
	if s <= ms.list[0].Slot {
		return // it is chosen, and the first membership came of it or of a later one
	}
	m, ok := ms.in(s, value)
	at := len(ms.list)
	for at > 1 && ms.list[at-1].Slot >= s {
		at--
	}
	if at < len(ms.list) && ms.list[at].Slot == s {
		ms.list = slices.Delete(ms.list, at, at+1)
		ms.changed = true
	}
	if ok {
		ms.list = slices.Insert(ms.list, at, m)
		ms.changed = true
	}
}

// apply is told that everything through slot s is applied. The memberships before the newest of those slots govern
// nothing that is still open.
func (ms *memberships) apply(s Slot) {
	ms.applied = max(ms.applied, s)
	n := 0
	for n+1 < len(ms.list) && ms.list[n+1].Slot <= ms.applied {
		n++
	}
	if n > 0 {
		ms.list = slices.Delete(ms.list, 0, n)
		ms.changed = true
	}
}

// governing returns the membership that decides slot s: the newest of the slots below. s is not applied.
func (ms *memberships) governing(s Slot) *Membership {
	i := len(ms.list) - 1
	for i > 0 && ms.list[i].Slot >= s {
		i--
	}
	return &ms.list[i]
}

// newest returns the membership that governs the next slot.
func (ms *memberships) newest() *Membership { return &ms.list[len(ms.list)-1] }

// told returns the number of the newest membership stored here that can be news to a leader which asks from slot from
// on. An entry stored below from and not known here to be chosen is no news: the leader knows the chosen value of that
// slot, and would look in vain for an entry that will be replaced.
func (ms *memberships) told(chosen, from Slot) uint64 {
	i := len(ms.list) - 1
	for i > 0 && ms.list[i].Slot > chosen && ms.list[i].Slot < from {
		i--
	}
	return ms.list[i].Number
}

// open reports whether the log holds a membership entry that is not applied.
func (ms *memberships) open() bool { return ms.newest().Slot > ms.applied }

// mustFollow panics unless m may come after the newest membership: one voter comes or goes, or none. Any other m was
// computed from a state that is not this log's.
func (ms *memberships) mustFollow(m Membership) {
	last := ms.newest()
	moved := uint64(0)
	for _, id := range m.Voters.IDs() {
		if !last.Voters.Has(id) {
			moved++
		}
	}
	for _, id := range last.Voters.IDs() {
		if !m.Voters.Has(id) {
			moved++
		}
	}
	if moved > 1 || m.Number != last.Number+moved || m.Voters.Len() == 0 {
		panic(fmt.Sprintf("multipaxos: membership %d of %v cannot follow %d of %v", m.Number, m.Voters, last.Number,
			last.Voters))
	}
}

// clone copies what changes.
func (ms *memberships) clone() memberships {
	n := *ms
	n.list = slices.Clone(ms.list)
	return n
}

// seat is a node and whether it votes in any of some memberships.
type seat struct {
	node  ballot.NodeID
	voter bool
}

// roster is some nodes by rising id.
type roster []seat

// with returns r with a node in it.
func (r roster) with(id ballot.NodeID, voter bool) roster {
	i, found := slices.BinarySearchFunc(r, id, func(s seat, id ballot.NodeID) int {
		return cmp.Compare(s.node, id)
	})
	if !found {
		return slices.Insert(r, i, seat{id, voter})
	}
	r[i].voter = r[i].voter || voter
	return r
}

func (r roster) withVoters(s quorum.Set) roster {
	for i := range s.Len() {
		r = r.with(s.At(i), true)
	}
	return r
}

// roster returns the voters and non-voters of all these memberships.
func (ms *memberships) roster() roster {
	var r roster
	for i := range ms.list {
		r = r.withVoters(ms.list[i].Voters)
		for _, id := range ms.list[i].NonVoters {
			r = r.with(id, false)
		}
	}
	return r
}
