package multipaxos

import (
	"fmt"

	"tenure/internal/ballot"
)

// Phase tells what a node does as leader of the log.
type Phase uint8

// The phases. Leading begins when Phase 1 is complete and everything it found has been proposed again.
const (
	Following Phase = iota
	Preparing
	Leading
)

// String names the phase.
func (p Phase) String() string { return [...]string{"following", "preparing", "leading"}[p] }

// Core is one node's part in the log. It is plain data behind its methods and belongs to one goroutine. Messages and
// entries that are handed to it, or come out of it, are shared and never changed by anybody afterwards.
type Core struct {
	cfg Config

	// Acceptor. Invariant: no entry in the log has a ballot above promised.
	promised    ballot.Ballot
	promisedSeq uint64 // the Persist that carries promised
	log         entryLog

	// Disk.
	seq          uint64 // last Persist begun
	open         Persist
	hasOpen      bool // open is seq's, and not yet taken
	box          outbox
	owes         backlog
	chosenIssued Slot // the highest chosen mark in any Persist
	markTicks    int  // since the chosen mark found nothing to ride on
	synced       Slot // every slot up to this one has its entry durable

	// Space.
	full    Need // see SetFull
	starved bool // the next chosen entry was refused for want of space: asking for it again is of no use
	short   bool // see SetShort
	jam     jam

	// Learner. Invariant: the log holds the chosen value of every slot in (truncated, chosen].
	chosen    Slot
	applied   Slot
	folded    Slot
	foldedAll Slot // by all members, as far as known
	mark      mark
	known     Slot // highest slot that anybody said is chosen
	hint      ballot.NodeID
	fetchWait int // ticks until an unanswered Fetch is repeated; 0: none is out

	// Leader.
	phase     Phase
	preempted bool
	ballot    ballot.Ballot
	seen      ballot.Ballot // highest of any message; own ones start above it
	peers     []peer        // the other voters by rising id
	phase1    phase1
	phase2    phase2
	confirm   confirm

	ignored uint64
	// What M6 counts and listens to (progress.go). Nothing here depends on them.
	pieces uint64
	gone   Slot
}

// New is a core over what a node found on its disk. It reads the entries above d.Chosen through r. The caller tells
// it next, with Folded and Applied, how far the state image is.
func New(cfg Config, d Durable, r Reader) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	chosen := max(d.Chosen, d.Truncated)
	c := &Core{
		cfg: cfg, promised: d.Promised, seen: d.Promised,
		log:          entryLog{reader: r, base: chosen + 1, truncated: d.Truncated},
		chosen:       chosen,
		chosenIssued: d.Chosen,
		known:        chosen,
		synced:       chosen,
	}
	for _, id := range cfg.Voters.IDs() {
		if id != cfg.Self.Node {
			c.peers = append(c.peers, peer{node: id})
		}
	}
	if d.Last < chosen {
		return nil, fmt.Errorf("%w: the last entry is in slot %d but slots up to %d are marked chosen", ErrDamaged, d.Last, chosen)
	}
	if err := c.log.load(chosen+1, d.Last, cfg.PageBytes); err != nil {
		return nil, err
	}
	for s := chosen + 1; s <= c.log.last(); s++ {
		if rec := c.log.at(s); rec != nil && c.promised.Less(rec.Ballot) {
			return nil, fmt.Errorf("%w: slot %d was accepted under %v, above the promise %v", ErrDamaged, s, rec.Ballot, c.promised)
		}
	}
	c.walkSynced()
	return c, nil
}

// persist is the Persist being gathered; it is closed by the next Take.
func (c *Core) persist() *Persist {
	if !c.hasOpen {
		c.seq++
		c.open = Persist{Seq: c.seq}
		c.hasOpen = true
	}
	return &c.open
}

// store puts e into the log and its Persist. A ballot above the promise raises it, which keeps the invariant that an
// Accept that passes the promise never lowers the ballot of a slot.
func (c *Core) store(e Entry) {
	if c.promised.Less(e.Ballot) {
		c.raise(e.Ballot)
	}
	old := c.log.at(e.Slot)
	p := c.persist()
	again := old != nil && old.seq == p.Seq
	c.log.put(e, p.Seq)
	c.owes.add(len(e.Value))
	c.synced = min(c.synced, e.Slot-1)
	if again {
		for i := range p.Entries {
			if p.Entries[i].Slot == e.Slot {
				p.Entries[i] = e
				return
			}
		}
	}
	p.Entries = append(p.Entries, e)
}

// Persisted is told that every Persist with Seq ≤ seq is durable. It lets go the messages that waited for them and
// counts the own promise and votes, which count like anybody's: after the disk.
func (c *Core) Persisted(seq uint64) error {
	if seq > c.seq || (c.hasOpen && seq == c.seq) {
		panic(fmt.Sprintf("multipaxos: Persist %d reported durable before it was taken", seq))
	}
	if seq <= c.box.durable {
		return nil
	}
	c.box.release(seq)
	c.owes.done(seq)
	c.walkSynced()
	c.ownPromise()
	c.ownVotes()
	c.evict()
	c.resume()
	return nil
}

func (c *Core) walkSynced() {
	for {
		r := c.log.at(c.synced + 1)
		if r == nil || r.seq > c.box.durable {
			return
		}
		c.synced++
	}
}

func (c *Core) evict() { c.log.evict(c.cfg.CacheBytes, c.chosen, c.box.durable) }

// Take drains what there is to do. The chosen mark rides on a Persist that has another reason: all entries up to it
// are in this Persist or an earlier one, so it never becomes durable early.
func (c *Core) Take() Output {
	c.flush()
	out := Output{Messages: c.box.ready, Chosen: c.chosen}
	c.box.ready = nil
	if c.hasOpen {
		if c.chosen > c.chosenIssued {
			c.open.Chosen = c.chosen
			c.chosenIssued = c.chosen
			c.markTicks = 0
		}
		out.Persists = []Persist{c.open}
		c.owes.take(c.seq)
		c.open, c.hasOpen = Persist{}, false
	}
	return out
}

// see takes note of a ballot met anywhere. One above the own attempt ends that (M5).
func (c *Core) see(b ballot.Ballot) {
	c.seen = c.seen.Max(b)
	if c.phase != Following && c.ballot.Less(b) {
		c.preempt()
	}
}

// preempt ends leading for good under this ballot. From here on nothing is sent or counted under it: a leader that
// went on could learn from its successor and then vouch, under its own ballot, for values that were not its own.
func (c *Core) preempt() {
	c.phase = Following
	c.preempted = true
	c.clearLeader()
}

func (c *Core) clearLeader() {
	c.phase1 = phase1{}
	c.phase2 = phase2{}
	c.confirm.done = 0
	for i := range c.peers {
		c.peers[i].reset()
	}
	c.box.cancel(KindPrepare, func(Message) bool { return true })
}

// peer is the other voter with this id; nil for anybody else.
func (c *Core) peer(id ballot.NodeID) *peer {
	for i := range c.peers {
		if c.peers[i].node == id {
			return &c.peers[i]
		}
	}
	return nil
}

// message is an empty message of kind k to a peer.
func (c *Core) message(k Kind, to ballot.NodeID) Message {
	return Message{Kind: k, From: c.cfg.Self.Node, To: to}
}
