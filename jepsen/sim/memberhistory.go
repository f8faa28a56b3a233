package sim

import (
	"math/bits"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/multipaxos"
	"tenure/server/members"
)

// memberHistory is the truth about the members of a run: the memberships that were chosen, in the order of the log.
//
// It checks each chosen membership. The voters change one at a time, and only once no lease of the membership before
// the present one can be won any more. An id never belongs to another store, and an ended operation stays as it ended.
type memberHistory struct {
	*engine
	machines   []*machine
	drives     []*drive
	list       []chosenMembers                 // the first is the one of bootstrap
	newRecord  members.Record                  // the newest
	stores     map[ballot.NodeID]ident.StoreID // of all members there ever were; never ranged over
	operations map[string]members.State        // how they ended; never ranged over
	proposed   map[string]bool                 // replacements by spares that were checked as they were proposed
	seats      int                             // voters, as people want them
}

// chosenMembers is a membership and the slot above which it decides.
type chosenMembers struct {
	slot multipaxos.Slot
	at   time.Duration // when it was chosen
	ident.Membership
}

func newMemberHistory(g *engine) *memberHistory {
	return &memberHistory{engine: g, stores: map[ballot.NodeID]ident.StoreID{},
		operations: map[string]members.State{}, proposed: map[string]bool{}}
}

// bootstrap takes the members with which a run begins.
func (h *memberHistory) bootstrap(m ident.Membership) {
	h.list = []chosenMembers{{Membership: m}}
	h.newRecord, h.seats = members.First(m), len(m.Members)
	for _, x := range m.All() {
		h.stores[x.Node] = x.Store
	}
}

// chosen takes the record that is chosen in a slot.
func (h *memberHistory) chosen(s multipaxos.Slot, record []byte) members.Record {
	r, err := members.Decode(record)
	if err != nil {
		h.fail("error", "slot %d: %v", s, err)
	}
	if h.trace.on() {
		h.trace.note("members of slot %d: %v, settled %d, operations %v", s, r.Membership, r.Settled, r.Operations)
	}
	h.checkVoters(s, &r)
	h.checkIDs(s, &r)
	h.checkOperations(s, &r)
	h.checkSeats(s, &r)
	h.newRecord = r
	if r.Membership.Newer(h.newest().Membership) {
		h.list = append(h.list, chosenMembers{s, h.now, r.Membership})
		h.counts.Memberships++
	}
	return r
}

// checkVoters checks a change of the voters.
func (h *memberHistory) checkVoters(s multipaxos.Slot, r *members.Record) {
	old, now := &h.newRecord, &r.Membership
	before, after := h.set(old.Membership.Members), h.set(now.Members)
	switch {
	case now.Number == old.Membership.Number && before == after:
		return
	case now.Number != old.Membership.Number+1 || bits.OnesCount16(uint16(before^after)) != 1:
		h.fail("one voter at a time", "slot %d makes %v of %v", s, *now, old.Membership)
	case now.Era <= old.Membership.Era:
		h.fail("an era per membership", "slot %d makes %v of era %d, after era %d", s, *now, now.Era, old.Membership.Era)
	}
	h.mustBeOver(s, old.Membership.Number)
	h.checkCopies(s, before, after)
}

// mustBeOver checks that no majority of the voters of a membership older than number would take its stamp: lost disks
// take none.
func (h *memberHistory) mustBeOver(s multipaxos.Slot, number uint64) {
	for i := range h.list {
		m := &h.list[i].Membership
		var would machineSet
		for _, d := range h.drives {
			if !d.wiped && !d.out && d.members.Number <= m.Number {
				would |= 1 << d.i
			}
		}
		if m.Number < number && would.majorityOf(h.set(m.Members)) {
			h.fail("settled", "slot %d changes the voters of membership %d, and machines %b would take the stamp of %v",
				s, number, would, *m)
		}
	}
}

func (h *memberHistory) checkIDs(s multipaxos.Slot, r *members.Record) {
	for _, x := range r.Membership.All() {
		if store, ok := h.stores[x.Node]; ok && store != x.Store {
			h.fail("ids are never used again", "slot %d lists node %d with store %v, which was that of %v", s, x.Node,
				x.Store, store)
		}
		h.stores[x.Node] = x.Store
	}
}

func (h *memberHistory) checkOperations(s multipaxos.Slot, r *members.Record) {
	for i := range r.Operations {
		o := &r.Operations[i]
		if was, ok := h.operations[o.ID]; ok && was != o.State {
			h.fail("one outcome", "operation %v was %v, and slot %d makes it %v", *o, was, s, o.State)
		}
		if o.State != members.Running {
			h.operations[o.ID] = o.State
		}
	}
}

// machineSet is a set of machines, by index.
type machineSet uint16

func (s machineSet) has(i int) bool { return s>>i&1 != 0 }

func (s machineSet) count() int { return bits.OnesCount16(uint16(s)) }

// minorityOf reports whether s holds less than half of all, or none, when so many of the others are gone.
func (s machineSet) minorityOf(all machineSet, gone int) bool {
	n := (s & all).count()
	return n == 0 || 2*n < all.count()-gone
}

// majorityOf reports whether s holds more than half of all. It is counted here: package quorum is under test too.
func (s machineSet) majorityOf(all machineSet) bool {
	return bits.OnesCount16(uint16(s&all)) > bits.OnesCount16(uint16(all))/2
}

// governing returns the membership that decides slot s, as far as lower slots are chosen.
func (h *memberHistory) governing(s multipaxos.Slot) *chosenMembers {
	i := len(h.list) - 1
	for h.list[i].slot >= s && i > 0 {
		i--
	}
	return &h.list[i]
}

// newest returns the newest membership.
func (h *memberHistory) newest() *chosenMembers { return &h.list[len(h.list)-1] }

// machine returns the machine of a node, nil if there is none of that id.
func (h *memberHistory) machine(id ballot.NodeID) *machine {
	for _, m := range h.machines {
		if m.id == id {
			return m
		}
	}
	return nil
}

// machineSet returns the machines of members.
func (h *memberHistory) set(list []ident.Member) (s machineSet) {
	for _, x := range list {
		if m := h.machine(x.Node); m != nil {
			s |= 1 << m.i
		}
	}
	return s
}

// voters returns the machines whose votes decide slot s.
func (h *memberHistory) voters(s multipaxos.Slot) machineSet { return h.set(h.governing(s).Members) }

// voting returns the voters of now, and those before while these have a say.
func (h *memberHistory) voting() (voters, before machineSet) {
	return h.set(h.newRecord.Membership.Members), h.set(h.newRecord.Before)
}
