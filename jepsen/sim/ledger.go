package sim

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// ledger knows everything that ever became durable or was called chosen, on any node, also what was truncated since.
type ledger struct {
	*engine
	promised  [maxMachines]ballot.Ballot // the highest promise that was ever durable on each node, on an earlier disk too
	members   *memberHistory
	onChosen  func()          // called when one more slot is known to be chosen
	slots     []slotFacts     // of slot 1, 2, …
	revisions []uint64        // of the state after slot 1, 2, …; plus one, 0: not known yet
	applied   []time.Duration // when slot 1, 2, … was first applied
	digests   []digestAt      // of the state after slot 1, 2, …
}

// slotFacts is what is known of one slot. Values are shared with the messages that brought them.
type slotFacts struct {
	chosen bool
	value  []byte
	votes  []vote
}

// vote is an entry that was durable on some nodes at some time.
type vote struct {
	ballot ballot.Ballot
	value  []byte
	nodes  machineSet
	at     time.Duration // when it was first seen: sent, or durable
}

type digestAt struct {
	node ballot.NodeID // the first that had it; 0: none yet
	sum  [sha256.Size]byte
}

func (l *ledger) slot(s multipaxos.Slot) *slotFacts {
	for len(l.slots) < int(s) {
		l.slots = append(l.slots, slotFacts{})
	}
	return &l.slots[s-1]
}

// ballot returns the vote under e's ballot; the value is e's if nobody voted so far. Two values under one ballot are a
// failure.
func (l *ledger) ballot(e *multipaxos.Entry) *vote {
	f := l.slot(e.Slot)
	for i := range f.votes {
		if v := &f.votes[i]; v.ballot == e.Ballot {
			if !bytes.Equal(v.value, e.Value) {
				l.fail("one value per ballot", "slot %d has two values under %v", e.Slot, e.Ballot)
			}
			return v
		}
	}
	f.votes = append(f.votes, vote{ballot: e.Ballot, value: e.Value, at: l.now})
	return &f.votes[len(f.votes)-1]
}

// proposed returns who first proposed the value that is chosen in slot s, and when.
func (l *ledger) proposed(s multipaxos.Slot) (ballot.NodeID, time.Duration) {
	f := l.slot(s)
	for i := range f.votes { // in the order in which they were seen
		if v := &f.votes[i]; bytes.Equal(v.value, f.value) {
			return v.ballot.Node, v.at
		}
	}
	return 0, l.now
}

// knows reports whether the value of e was proposed for its slot before.
func (l *ledger) knows(e *multipaxos.Entry) bool {
	return slices.ContainsFunc(l.slot(e.Slot).votes, func(v vote) bool { return bytes.Equal(v.value, e.Value) })
}

// promise notes a durable promise of node i.
func (l *ledger) promise(i int, b ballot.Ballot) { l.promised[i] = l.promised[i].Max(b) }

// checkProposal checks Phase 1's rule, as seen from above. A proposed value must be that of the highest vote below the
// ballot in some quorum that has promised the ballot durably. Without such a vote any value will do. Those nodes vote
// below the ballot no more, so it does not matter when this is checked. Votes older than the membership that decides
// the slot choose nothing (multipaxos/DESIGN.md, Members that change), so they do not count.
func (l *ledger) checkProposal(m *machine, e *multipaxos.Entry) {
	f, since := l.slot(e.Slot), l.firstBallot(l.members.governing(e.Slot).slot)
	below := false
	for i := range f.votes {
		if f.votes[i].ballot == e.Ballot {
			return // proposed before
		}
		below = below || f.votes[i].isBetween(since, e.Ballot)
	}
	if !below {
		return
	}
	voters, promised := l.members.voters(e.Slot), machineSet(0)
	for i := range l.promised {
		if voters.has(i) && !l.promised[i].Less(e.Ballot) {
			promised |= 1 << i
		}
	}
	for q := promised; q != 0; q = (q - 1) & promised {
		if q.majorityOf(voters) && f.safe(q, since, e) {
			return
		}
	}
	l.fail("highest value again",
		"node %d proposes a value for slot %d under %v that no quorum of those who promised it allows",
		m.id, e.Slot, e.Ballot)
}

// firstBallot returns the first ballot under which the chosen value of slot s was proposed: no leader before could
// count votes in slots that this value governs. It is zero for the base of the first membership, which every leader
// has.
func (l *ledger) firstBallot(s multipaxos.Slot) (first ballot.Ballot) {
	if s == 0 {
		return first
	}
	f := l.slot(s)
	for i := range f.votes {
		if v := &f.votes[i]; bytes.Equal(v.value, f.value) && (first.IsZero() || v.ballot.Less(first)) {
			first = v.ballot
		}
	}
	return first
}

// isBetween reports whether the vote is under a ballot from since on and below b.
func (v *vote) isBetween(since, b ballot.Ballot) bool {
	return !v.ballot.Less(since) && v.ballot.Less(b)
}

// safe reports whether e's value is that of the highest vote from since on and below its ballot in quorum q, or q has
// none.
func (f *slotFacts) safe(q machineSet, since ballot.Ballot, e *multipaxos.Entry) bool {
	var best *vote
	for i := range f.votes {
		v := &f.votes[i]
		if v.nodes&q != 0 && v.isBetween(since, e.Ballot) && (best == nil || best.ballot.Less(v.ballot)) {
			best = v
		}
	}
	return best == nil || bytes.Equal(best.value, e.Value)
}

// vote notes a durable entry of a node. A vote below a promise that was durable before is allowed only for what was
// chosen.
func (l *ledger) vote(m *machine, e *multipaxos.Entry, promised ballot.Ballot) {
	f := l.slot(e.Slot)
	if e.Ballot.Less(promised) && !(f.chosen && bytes.Equal(f.value, e.Value)) {
		l.fail("accept below the promise", "node %d accepted slot %d under %v, and had promised %v", m.id, e.Slot,
			e.Ballot, promised)
	}
	l.ballot(e).nodes |= 1 << m.i
}

// hasVoted reports whether a node's vote for slot s under b was durable at some time. A vote under a higher ballot will
// do: it may have replaced this one in the same commit, and any value chosen under b is then its value too. So will the
// value that was chosen.
func (l *ledger) hasVoted(m *machine, s multipaxos.Slot, b ballot.Ballot) bool {
	f := l.slot(s)
	voted := false
	var under *vote
	for i := range f.votes {
		v := &f.votes[i]
		if v.ballot == b {
			under = v
		}
		if v.nodes&(1<<m.i) != 0 && (!v.ballot.Less(b) || f.chosen && bytes.Equal(v.value, f.value)) {
			voted = true
		}
	}
	if voted && under != nil {
		under.nodes |= 1 << m.i
	}
	return voted
}

// choose notes that a node calls e chosen: a quorum must have had the value durable under one ballot, and nobody may
// know another value.
func (l *ledger) choose(n *machine, e *multipaxos.Entry) {
	f := l.slot(e.Slot)
	if f.chosen {
		if !bytes.Equal(f.value, e.Value) {
			l.fail("one value per slot", "node %d calls another value chosen in slot %d, under %v", n.id, e.Slot,
				e.Ballot)
		}
		return
	}
	voters := l.members.voters(e.Slot)
	for i := range f.votes {
		v := &f.votes[i]
		if v.nodes.majorityOf(voters) && bytes.Equal(v.value, e.Value) {
			f.chosen, f.value = true, e.Value
			l.onChosen()
			l.trace.mix(uint64(e.Slot), e.Ballot.Counter, uint64(len(e.Value)))
			if l.trace.on() {
				l.trace.note("slot %d is chosen under %v", e.Slot, v.ballot)
			}
			return
		}
	}
	l.fail("chosen by a quorum", "node %d calls slot %d chosen under %v, and no quorum ever had this value durable",
		n.id, e.Slot, e.Ballot)
}

// compareRevision compares the revision of a node's state after slot s with that of other nodes.
func (l *ledger) compareRevision(m *machine, s, revision uint64) {
	for uint64(len(l.revisions)) < s {
		l.revisions, l.applied = append(l.revisions, 0), append(l.applied, l.now)
	}
	if r := &l.revisions[s-1]; *r == 0 {
		*r = revision + 1
	} else if *r != revision+1 {
		l.fail("equal states", "node %d is at revision %d after slot %d, another node was at %d", m.id, revision, s,
			*r-1)
	}
}

// compareDigest compares the digest of a node's state after slot s with that of other nodes, and of other runs of this
// one.
func (l *ledger) compareDigest(m *machine, s uint64, sum [sha256.Size]byte) {
	for uint64(len(l.digests)) < s {
		l.digests = append(l.digests, digestAt{})
	}
	d := &l.digests[s-1]
	switch {
	case d.node == 0:
		*d = digestAt{node: m.id, sum: sum}
	case d.sum != sum:
		l.fail("equal states", "nodes %d and %d have different states after slot %d", d.node, m.id, s)
	default:
		l.counts.Digests++
	}
}
