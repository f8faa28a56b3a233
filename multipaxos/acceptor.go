package multipaxos

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
)

// acceptor is what this node has promised and accepted, and what of that is durable. It knows the chosen mark, because
// a chosen slot is never written again and what is not chosen stays in memory; the learner and the leader move the
// mark.
type acceptor struct {
	cfg         *Config
	promised    ballot.Ballot // Invariant: no entry in the log has a ballot above it.
	promisedSeq uint64        // the Persist that carries promised
	log         entryLog
	memberships memberships
	chosen      Slot // Invariant: the log holds the chosen value of every slot in (truncated, chosen].
	synced      Slot // every slot up to this one has its entry durable
	stateDB     Slot // this node's state database holds everything through it
	writes      writes
	space       space
	pin         Slot // see Core.Pin
	allHave     Slot // see Core.SetAllHave
}

// newAcceptor returns the acceptor that a node's disk holds. It reads the entries above d.Chosen through r, and for
// memberships those above base.Slot.
func newAcceptor(cfg *Config, base Membership, d Durable, r Reader) (acceptor, error) {
	chosen := max(d.Chosen, d.Truncated)
	a := acceptor{
		cfg: cfg, promised: d.Promised, chosen: chosen, synced: chosen,
		log:         entryLog{reader: r, base: chosen + 1, truncated: d.Truncated},
		memberships: newMemberships(cfg.MembershipOf, base),
		writes:      writes{chosen: d.Chosen, marks: marks{durable: chosen}},
		pin:         NoPin,
	}
	if cfg.KeepBytes > 0 {
		a.log.tail.left = chosen
	}
	if d.Last < chosen {
		return a, fmt.Errorf("%w: the last entry is in slot %d but slots up to %d are marked chosen", ErrDamaged, d.Last,
			chosen)
	}
	if err := a.scan(max(base.Slot, d.Truncated)+1, chosen); err != nil {
		return a, err
	}
	if err := a.log.load(chosen+1, d.Last, cfg.PageBytes); err != nil {
		return a, err
	}
	for s := chosen + 1; s <= a.log.last(); s++ {
		rec := a.log.at(s)
		if rec == nil {
			continue
		}
		if a.promised.Less(rec.Ballot) {
			return a, fmt.Errorf("%w: slot %d was accepted under %v, above the promise %v", ErrDamaged, s, rec.Ballot,
				a.promised)
		}
		a.memberships.put(s, rec.Value)
	}
	a.walkSynced()
	return a, nil
}

// scan finds the memberships among the chosen slots in [from, through] at start.
func (a *acceptor) scan(from, through Slot) error {
	if a.cfg.MembershipOf == nil {
		return nil
	}
	for from <= through {
		page, _, err := a.log.readDisk(from, through, a.cfg.PageBytes)
		if err != nil {
			return err
		}
		for _, e := range page {
			a.memberships.put(e.Slot, e.Value)
		}
		from += Slot(len(page))
	}
	return nil
}

// raise makes b the promise. Answers under it wait for promisedSeq.
func (a *acceptor) raise(b ballot.Ballot) {
	a.promised = b
	p := a.writes.persist()
	p.Promised = b
	a.promisedSeq = p.Seq
}

// store puts e into the log and its Persist. A ballot above the promise raises it, which keeps the invariant that an
// Accept that passes the promise never lowers the ballot of a slot.
func (a *acceptor) store(e Entry) {
	if a.promised.Less(e.Ballot) {
		a.raise(e.Ballot)
	}
	a.log.put(e, a.writes.put(e, a.log.at(e.Slot)))
	a.memberships.put(e.Slot, e.Value)
	a.synced = min(a.synced, e.Slot-1)
}

// persisted is told that every Persist up to seq is durable.
func (a *acceptor) persisted(seq uint64) {
	a.writes.done(seq)
	a.walkSynced()
}

func (a *acceptor) walkSynced() {
	for {
		r := a.log.at(a.synced + 1)
		if r == nil || r.seq > a.writes.durable {
			return
		}
		a.synced++
	}
}

// evict drops from memory what is chosen and durable, beyond CacheBytes.
func (a *acceptor) evict() { a.log.evict(a.cfg.CacheBytes, a.chosen, a.writes.durable) }

// flooded reports whether the disk must catch up before more is proposed or fetched.
func (a *acceptor) flooded() bool { return a.writes.owes.flooded(a.cfg) }

// hears reports whether the promise allows m's leader to be heard, and else rejects m: it tells the sender what is
// promised instead. A rejection need not wait for the disk, because nobody counts a promise that never became durable.
func (a *acceptor) hears(m *Message, out *outbox) bool {
	if m.Ballot.Less(a.promised) {
		a.reject(m, out)
		return false
	}
	return true
}

func (a *acceptor) reject(m *Message, out *outbox) {
	out.now(Message{Kind: KindReject, To: m.From, Ballot: m.Ballot, Promised: a.promised})
}

// handlePrepare promises not to take part below m.Ballot, and reports a page of what was accepted. The report waits
// for everything begun so far, so all that it says is durable when it leaves.
func (a *acceptor) handlePrepare(m *Message, out *outbox) error {
	if !a.hears(m, out) {
		return nil
	}
	if a.promised.Less(m.Ballot) {
		a.raise(m.Ballot)
	}
	page, err := a.log.read(m.Slot, a.log.last(), a.cfg.PageBytes)
	if err != nil {
		return err
	}
	r := Message{Kind: KindPromise, To: m.From, Ballot: m.Ballot, Slot: m.Slot, Entries: page}
	r.Last = len(page) == 0 || page[len(page)-1].Slot >= a.log.last()
	r.Truncated, r.Chosen, r.Membership = a.log.truncated, a.chosen, a.memberships.told(a.chosen, m.Slot)
	out.after(max(a.writes.seq, a.promisedSeq), r)
	return nil
}

// handleAccept votes for a row of slots, if the promise allows it and none of them is truncated; on a full disk for
// those before the first that needs space. For the others there is no answer: the leader asks again until they are
// chosen. It reports whether the leader was heard.
func (a *acceptor) handleAccept(m *Message, out *outbox) bool {
	first, last := m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot
	if m.Ballot.Less(a.promised) || first <= a.log.truncated {
		a.reject(m, out)
		return false
	}
	if last > a.chosen+maxAhead {
		return true // of no use
	}
	a.space.jam.loosen(m.Chosen)
	entries := m.Entries[:a.storable(m.Entries)]
	if n := len(entries); n < len(m.Entries) {
		a.space.jam.refuse(m.Entries[n].Slot, m.Chosen)
	}
	if len(entries) == 0 {
		return true
	}
	last = entries[len(entries)-1].Slot
	if a.promised.Less(m.Ballot) {
		a.raise(m.Ballot)
	}
	seq := a.promisedSeq
	for i := range entries {
		seq = max(seq, a.accept(entries[i]))
	}
	out.after(seq, Message{Kind: KindAccepted, To: m.From, Ballot: m.Ballot, Slot: first, Through: last})
	return true
}

// accept votes for e and returns the number of the Persist that makes the vote durable. A vote already given is not
// written again, and neither is a chosen slot: its value cannot change, and the quorum that chose it stands.
//
// Two values for one ballot and slot, or another value under an equal or higher ballot in a chosen slot, cannot come
// of the protocol: rather stop than answer.
func (a *acceptor) accept(e Entry) uint64 {
	r := a.log.at(e.Slot)
	known := e.Slot <= a.chosen
	switch {
	case r == nil && known: // chosen, durable, and no longer in memory
		return 0
	case r != nil && (known || r.Ballot == e.Ballot):
		if !bytes.Equal(r.Value, e.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d holds a value of %v (chosen: %v), and %v proposes another", e.Slot,
				r.Ballot, known, e.Ballot))
		}
		return r.seq
	}
	a.store(e)
	return a.writes.seq
}

// handleConfirm tells a leader that nothing above its ballot was promised here, promises not yet durable included.
func (a *acceptor) handleConfirm(m *Message, out *outbox) {
	if !a.hears(m, out) {
		return
	}
	out.now(Message{Kind: KindConfirmed, To: m.From, Ballot: m.Ballot, Round: m.Round})
}

// answerMark answers with the first slot that was sent to this node and never came. It is no vote: what it says
// may not be durable.
func (a *acceptor) answerMark(m *Message, out *outbox) {
	r := Message{Kind: KindMarkReply, To: m.From, Ballot: m.Ballot}
	r.Slot = a.log.firstLacking(m.Ballot, a.chosen+1, min(m.Through, a.chosen+maxAhead))
	out.now(r)
}

// learn takes the chosen value of slot chosen+1 from another's log. It is stored as if accepted under the ballot of the
// other's record. That ballot is at least the first under which a quorum chose. So every vote at or above it is for the
// same value, and no later leader is misled. A higher own ballot is kept.
func (a *acceptor) learn(e Entry) {
	if r := a.log.at(e.Slot); r != nil && !r.Ballot.Less(e.Ballot) {
		if !bytes.Equal(r.Value, e.Value) {
			panic(fmt.Sprintf("multipaxos: slot %d was chosen under %v with another value than %v holds", e.Slot, e.Ballot,
				r.Ballot))
		}
	} else {
		a.store(e)
	}
	a.chosen = e.Slot
}
