package sim

import (
	"bytes"
	"crypto/sha256"
	"math/bits"

	"tenure/internal/ballot"
	"tenure/multipaxos"
)

// ledger knows everything that ever became durable or was called chosen, on any node, also what was truncated since.
type ledger struct {
	slots     []slotFacts // of slot 1, 2, …
	revisions []uint64    // of the state after slot 1, 2, …; plus one, 0: not known yet
	digests   []digestAt  // of the state after slot 1, 2, …
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
	nodes  uint8
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

// ballot is the vote under b; the value is e's if nobody voted so far. Two values under one ballot are a failure.
func (w *world) ballot(e *multipaxos.Entry) *vote {
	f := w.ledger.slot(e.Slot)
	for i := range f.votes {
		if v := &f.votes[i]; v.ballot == e.Ballot {
			if !bytes.Equal(v.value, e.Value) {
				w.fail("one value per ballot", "slot %d has two values under %v", e.Slot, e.Ballot)
			}
			return v
		}
	}
	f.votes = append(f.votes, vote{ballot: e.Ballot, value: e.Value})
	return &f.votes[len(f.votes)-1]
}

// checkProposal is Phase 1's rule, seen from above: what n proposes under a ballot must be, for some quorum of nodes
// that have promised it durably, the value of their highest vote below it; with no such vote any value will do. Those
// nodes vote below it no more, so it does not matter when this is asked.
func (n *node) checkProposal(e *multipaxos.Entry) {
	w := n.w
	f := w.ledger.slot(e.Slot)
	below := false
	for i := range f.votes {
		if f.votes[i].ballot == e.Ballot {
			return // proposed before
		}
		below = below || f.votes[i].ballot.Less(e.Ballot)
	}
	if !below {
		return
	}
	var promised uint8
	for _, o := range w.nodes {
		if !o.promised.Less(e.Ballot) {
			promised |= 1 << o.i
		}
	}
	for q := uint8(1); q < 1<<w.plan.nodes; q++ {
		if q&^promised == 0 && bits.OnesCount8(q) == w.plan.nodes/2+1 && f.safe(q, e) {
			return
		}
	}
	w.fail("highest value again", "node %d proposes a value for slot %d under %v that no quorum of those who promised it allows",
		n.id, e.Slot, e.Ballot)
}

// safe tells whether e's value is that of the highest vote below its ballot in quorum q, or q has none.
func (f *slotFacts) safe(q uint8, e *multipaxos.Entry) bool {
	var best *vote
	for i := range f.votes {
		v := &f.votes[i]
		if v.nodes&q != 0 && v.ballot.Less(e.Ballot) && (best == nil || best.ballot.Less(v.ballot)) {
			best = v
		}
	}
	return best == nil || bytes.Equal(best.value, e.Value)
}

// commit makes ps durable on n's disk.
func (n *node) commit(ps []multipaxos.Persist) {
	r := n.disk.record(ps)
	if n.apply(ps); n.disk.noticed {
		return
	}
	if err := n.disk.write(r); err != nil {
		n.w.fail("journal", "node %d: %v", n.id, err)
	}
}

// apply takes note of what a commit makes durable, and checks what storage would refuse and what no acceptor may write.
func (n *node) apply(ps []multipaxos.Persist) {
	w := n.w
	for i := range ps {
		p := &ps[i]
		for j := range p.Entries {
			if e := &p.Entries[j]; e.Slot == n.disk.rotSlot && e.Slot <= n.disk.marks.Last {
				n.disk.noticed = true // a record is checked before it is replaced
				return
			}
		}
		before := n.disk.marks.Promised
		if err := n.disk.commit(p); err != nil {
			w.fail("disk", "node %d: %v", n.id, err)
		}
		n.promised = n.promised.Max(p.Promised)
		for j := range p.Entries {
			n.vote(&p.Entries[j], before)
		}
	}
}

// vote notes a durable entry. A vote below a promise that was durable before is allowed only for what was chosen.
func (n *node) vote(e *multipaxos.Entry, promised ballot.Ballot) {
	w := n.w
	f := w.ledger.slot(e.Slot)
	if e.Ballot.Less(promised) && !(f.chosen && bytes.Equal(f.value, e.Value)) {
		w.fail("accept below the promise", "node %d accepted slot %d under %v, and had promised %v", n.id, e.Slot, e.Ballot, promised)
	}
	w.ballot(e).nodes |= 1 << n.i
}

// watch takes note of the slots that n newly calls chosen: a quorum must have had the value durable under one ballot,
// and nobody may know another value.
func (n *node) watch() {
	p, w := n.process, n.w
	for chosen := p.core.Chosen(); p.checked < chosen; {
		p.checked = max(p.checked, p.core.Truncated())
		if p.checked >= chosen {
			return
		}
		rot := n.disk.rotSlot
		n.disk.rotSlot = 0 // who reads here is not the node
		entries, err := p.core.ChosenEntries(p.checked+1, 1<<20)
		n.disk.rotSlot = rot
		if err != nil {
			w.fail("error", "node %d: %v", n.id, err)
		}
		for i := range entries {
			e := &entries[i]
			if e.Slot != p.checked+1 {
				w.fail("applied ⊆ chosen", "node %d shows slot %d where the chosen slot %d must be", n.id, e.Slot, p.checked+1)
			}
			p.checked++
			w.choose(n, e)
		}
	}
}

func (w *world) choose(n *node, e *multipaxos.Entry) {
	f := w.ledger.slot(e.Slot)
	if f.chosen {
		if !bytes.Equal(f.value, e.Value) {
			w.fail("one value per slot", "node %d calls another value chosen in slot %d, under %v", n.id, e.Slot, e.Ballot)
		}
		return
	}
	for i := range f.votes {
		v := &f.votes[i]
		if bits.OnesCount8(v.nodes) > w.plan.nodes/2 && bytes.Equal(v.value, e.Value) {
			f.chosen, f.value = true, e.Value
			w.oracle.advance()
			w.trace.mix(uint64(e.Slot), e.Ballot.Counter, uint64(len(e.Value)))
			if w.trace.on() {
				w.trace.note("slot %d is chosen under %v", e.Slot, v.ballot)
			}
			return
		}
	}
	w.fail("chosen by a quorum", "node %d calls slot %d chosen under %v, and no quorum ever had this value durable", n.id, e.Slot, e.Ballot)
}

// check is made after every step of the log part that can move its marks.
func (n *node) check() {
	p := n.process
	if p.core.Chosen() > p.checked {
		n.watch()
	}
	if s := multipaxos.Slot(p.state.Applied()); s > p.core.Chosen() {
		n.w.fail("applied ⊆ chosen", "node %d applied slot %d, and knows slots chosen up to %d", n.id, s, p.core.Chosen())
	}
}

// applied looks at the state after Apply: after equal slots all nodes are at equal revisions, and equal throughout.
func (n *node) applied() {
	p, w := n.process, n.w
	n.check()
	s := p.state.Applied()
	for uint64(len(w.ledger.revisions)) < s {
		w.ledger.revisions = append(w.ledger.revisions, 0)
	}
	if r := &w.ledger.revisions[s-1]; *r == 0 {
		*r = p.state.Revision() + 1
	} else if *r != p.state.Revision()+1 {
		w.fail("equal states", "node %d is at revision %d after slot %d, another node was at %d", n.id, p.state.Revision(), s, *r-1)
	}
	if s%digestEvery == 0 {
		n.compareDigest()
	}
}

// digestEvery is how many slots lie between two digests: a digest reads the whole state.
const digestEvery = 16

// compareDigest compares the whole state with that of other nodes, and of other runs of this one, after the same slot.
func (n *node) compareDigest() {
	p, w := n.process, n.w
	s := p.state.Applied()
	if s == 0 || n.disk.rotStateDB {
		return
	}
	sum, err := p.state.Digest()
	if err != nil {
		w.fail("error", "node %d: %v", n.id, err)
	}
	for uint64(len(w.ledger.digests)) < s {
		w.ledger.digests = append(w.ledger.digests, digestAt{})
	}
	d := &w.ledger.digests[s-1]
	switch {
	case d.node == 0:
		*d = digestAt{node: n.id, sum: sum}
	case d.sum != sum:
		w.fail("equal states", "nodes %d and %d have different states after slot %d", d.node, n.id, s)
	default:
		w.counts.Digests++
	}
}
