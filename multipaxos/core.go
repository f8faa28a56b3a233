package multipaxos

import (
	"fmt"

	"tenure/internal/ballot"
)

// Core is one node's part in the log. It is plain data behind its methods and belongs to one goroutine. Messages and
// entries that are handed to it, or come out of it, are shared and never changed by anybody afterwards.
//
// It joins the roles: the acceptor, with the log and the writes on their way to the disk; the learner; and the leader.
// No role knows Core. Their messages go into the outbox.
type Core struct {
	cfg      *Config // shared with clones: it never changes
	acceptor acceptor
	learner  learner
	leader   leader
	others   []ballot.NodeID // the other members, by rising id
	out      outbox
}

// New returns a core over what a node found on its disk. It reads the entries above d.Chosen through r, and those
// above base.Slot for newer memberships. The caller tells it next, with Checkpointed and Applied, how far the state
// database is.
//
// base is the membership of the state database, or without one that of the bootstrap. A node that knows neither gives a
// base without voters, with the nodes that it can ask as NonVoters. It then follows the log, and completes no attempt
// to lead before it has met a membership entry.
func New(cfg Config, base Membership, d Durable, r Reader) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a, err := newAcceptor(&cfg, base, d, r)
	if err != nil {
		return nil, err
	}
	c := &Core{cfg: &cfg, acceptor: a, leader: leader{cfg: &cfg, seen: d.Promised}, out: outbox{self: cfg.Self.Node}}
	c.follow()
	return c, nil
}

// follow makes the peers and members those of the memberships, when these have changed.
func (c *Core) follow() {
	ms := &c.acceptor.memberships
	if !ms.changed && !c.leader.stalePeers {
		return
	}
	r := ms.roster()
	c.others = make([]ballot.NodeID, 0, len(r)) // clones share the old ones
	for _, s := range r {
		if s.node != c.cfg.Self.Node {
			c.others = append(c.others, s.node)
		}
	}
	c.leader.follow(r, c.learner.advertised(c.acceptor.chosen), &c.acceptor, &c.out)
	ms.changed = false
}

// Take drains what there is to do.
func (c *Core) Take() Output {
	c.follow()
	c.leader.flush(c.learner.advertised(c.acceptor.chosen), &c.acceptor, &c.out)
	a := &c.acceptor
	return Output{Messages: c.out.drain(), Persists: a.writes.flush(a.chosen), Chosen: a.chosen}
}

// Persisted is told that every Persist with Seq ≤ seq is durable. It lets go the messages that waited for them and
// counts the own promise and votes, which count like anybody's: after the disk.
func (c *Core) Persisted(seq uint64) {
	if !c.acceptor.writes.taken(seq) {
		panic(fmt.Sprintf("multipaxos: Persist %d reported durable before it was taken", seq))
	}
	if seq <= c.acceptor.writes.durable {
		return
	}
	c.out.release(seq)
	c.acceptor.persisted(seq)
	c.leader.ownPromise(&c.acceptor)
	c.leader.ownVotes(&c.acceptor)
	c.acceptor.evict()
	if c.acceptor.flooded() {
		return
	}
	c.leader.resume(&c.out)
	if c.leader.phase == Following {
		c.learner.refetch(&c.acceptor, &c.out)
	}
}

// Tick is called about every 20 ms: times here are counted in ticks. It repeats what may have been lost, in bounded
// bursts: at most one message of a kind per peer.
func (c *Core) Tick() error {
	if err := c.acceptor.log.measure(c.cfg.PageBytes); err != nil {
		return err
	}
	c.acceptor.truncate()
	c.acceptor.writes.tick(c.acceptor.chosen)
	c.acceptor.space.jam.tick()
	if c.leader.phase == Following {
		c.learner.tick(c.others, &c.acceptor, &c.out)
		return nil
	}
	c.leader.tick(c.learner.advertised(c.acceptor.chosen), &c.acceptor, &c.out)
	return nil
}

// Lead begins to lead under a fresh ballot (M2), whatever is in flight.
func (c *Core) Lead() { c.leader.lead(&c.acceptor, &c.out) }

// Retire stops leading. Nothing more is sent or counted under the ballot.
func (c *Core) Retire() { c.leader.retire(&c.out) }

// MayPropose reports whether Propose would succeed: this node leads, the window is not full, the own disk is not far
// behind a quorum of others, and every membership entry in the log is applied here. A value may overshoot WindowBytes.
func (c *Core) MayPropose() bool { return c.leader.mayPlace(&c.acceptor) }

// Propose puts value into the next slot: one round, with other slots still in flight (M5). The Accepts leave with the
// next Take, in parallel with the own disk write. Unless MayPropose it reports false and proposes nothing.
func (c *Core) Propose(value []byte) (Slot, bool) {
	a := &c.acceptor
	if !c.leader.mayPlace(a) {
		return 0, false
	}
	if _, ok := a.memberships.in(c.leader.phase2.next, value); ok {
		panic("multipaxos: a membership entry is proposed with ProposeMembership")
	}
	return c.leader.place(value, a), true
}

// ProposeMembership puts a membership entry into the next slot. It needs MayPropose, no slot in flight, and everything
// chosen applied here; otherwise it reports false and proposes nothing. The entry is computed from exactly the state
// below it. Nothing is proposed above it until it is applied here. It panics if value brings no membership that may
// come after the newest.
func (c *Core) ProposeMembership(value []byte) (Slot, bool) {
	a, l := &c.acceptor, &c.leader
	if !l.mayPlace(a) || l.phase2.first() != l.phase2.next || a.memberships.applied != a.chosen {
		return 0, false
	}
	m, ok := a.memberships.in(l.phase2.next, value)
	if !ok {
		panic("multipaxos: what is proposed as a membership entry is none")
	}
	a.memberships.mustFollow(m)
	l.prompt.hurry = true
	return l.place(value, a), true
}

// Confirm starts a new round, and returns its number. A read uses only a round started after it arrived, and so never
// joins one that was already sent.
func (c *Core) Confirm() uint64 { return c.leader.startRound(&c.acceptor, &c.out) }

// Advertise sends one peer at once the entries that it has not been sent, and tells it how far the log is, if it has
// not been told: reads wait there for it.
func (c *Core) Advertise(id ballot.NodeID) {
	c.leader.advertise(id, c.learner.advertised(c.acceptor.chosen), &c.acceptor, &c.out)
}

// Connected is told that a new connection to a peer stands. Messages in flight on the old one are lost, and are sent
// again at once: one message until the peer answers.
func (c *Core) Connected(id ballot.NodeID) {
	p := c.leader.peers.get(id)
	if p == nil {
		return
	}
	if c.leader.phase == Following {
		c.learner.waits = 0
		c.learner.fetch(id, &c.acceptor, &c.out)
		return
	}
	c.leader.connected(p, c.learner.advertised(c.acceptor.chosen), &c.acceptor, &c.out)
}

// Ask asks a node for chosen entries that may be missing here, unless such a question is out already. The node need not
// be a member.
func (c *Core) Ask(id ballot.NodeID) {
	if c.leader.phase == Following {
		c.learner.request(id, &c.acceptor, &c.out)
	}
}

// Applied is told that the state machine here holds everything through slot s.
func (c *Core) Applied(s Slot) {
	if s > c.acceptor.chosen {
		panic("multipaxos: a slot was applied that is not chosen")
	}
	c.learner.applied = max(c.learner.applied, s)
	c.acceptor.memberships.apply(s)
}

// Checkpointed is told that this node's state database holds everything through slot s. At start a state database can
// be ahead of the chosen mark on disk, which is written late.
func (c *Core) Checkpointed(s Slot) {
	if s > c.acceptor.chosen && (c.leader.phase != Following || c.acceptor.writes.seq > 0) {
		panic(fmt.Sprintf("multipaxos: slot %d was checkpointed, and slots are chosen only up to %d", s, c.acceptor.chosen))
	}
	c.acceptor.checkpointed(s)
}

// SetSpace tells how much space the own disk has.
//
// It has none for entries that need as much as full, or more (Config.NeedOf); NeedNothing: it has space for all. A full
// acceptor neither votes for such entries nor learns them, because it must not keep in memory only an entry that it
// cannot write. Promises and entries that need less are stored all the same, from the reserve. Once there is space
// again, refused entries are learned from the others. A leader stores what it recovers and proposes: its owner must not
// propose.
//
// If short is set, the tail of the log that is kept for members that lag is short too.
func (c *Core) SetSpace(full Need, short bool) {
	if full != c.acceptor.space.full {
		c.learner.starved = 0
		c.acceptor.space.jam = jam{}
	}
	c.acceptor.space.full, c.acceptor.space.short = full, short
}

// SetAllHave tells that all members have applied the log through slot s, as far as is known here; 0: not even that. A
// longer tail of the log is kept above it, for the member that lags. Nothing depends on it but who needs a snapshot.
func (c *Core) SetAllHave(s Slot) { c.acceptor.allHave = s }

// Pin keeps the log above slot s from being truncated, whatever its size, until it is called with another slot; NoPin
// ends that. A snapshot of s may be on its way to a member that will go on from there. Entries missing below the state
// database at a start are another matter (Checkpointed).
func (c *Core) Pin(s Slot) { c.acceptor.pin = s }

// Probe begins a Persist that changes nothing. That it is reported durable tells that the disk answers.
func (c *Core) Probe() { c.acceptor.writes.persist() }
