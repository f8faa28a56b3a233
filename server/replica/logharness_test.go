package replica

import (
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// bench is one log part that rounds of its driver step. The lease is what the test says, and so are the other nodes.
type bench struct {
	t         *testing.T
	log       *Log
	round     *LogRound
	state     *kv.State
	disk      *disk
	now       time.Duration // of the newest round
	pub       Published
	events    []Event              // for the next round
	persists  []multipaxos.Persist // that sync makes durable
	frozen    *kv.Frozen           // to be checkpointed
	given     *ident.Membership    // to be put in force
	dismissed uint64               // the newest effect.Dismiss
	order     []effect.Effect      // of the last round
	out       Output               // the last one; Proposed: all of the last round
	sent      []multipaxos.Message
	messages  []Message
	replies   map[uint64]Reply
}

const sec = time.Second

func tenure(n uint64, deadline time.Duration) Published {
	return Published{}.WithLease(elector.State{Tenure: n, Deadline: deadline})
}

func newBench(t *testing.T, voters ...ballot.NodeID) *bench {
	t.Helper()
	return newBenchOf(t, ballot.Incarnation{Node: 1, Restart: 1, Nonce: 9}, voters...)
}

// newBenchOf is the bench of one run of a node.
func newBenchOf(t *testing.T, self ballot.Incarnation, voters ...ballot.NodeID) *bench {
	t.Helper()
	return newBenchWith(t, testConfig(self, quorum.Of(voters...)))
}

func newBenchWith(t *testing.T, cfg Config) *bench {
	t.Helper()
	b := &bench{t: t, disk: newDisk(), replies: map[uint64]Reply{}}
	var err error
	if b.state, err = kv.Open(b.disk.stateDB, kv.DefaultLimits); err != nil {
		t.Fatal(err)
	}
	core, err := multipaxos.New(cfg.Core, testBase(cfg.Membership.Voters()), multipaxos.Durable{}, b.disk)
	if err != nil {
		t.Fatal(err)
	}
	if b.log, err = NewLog(cfg, core, b.state); err != nil {
		t.Fatal(err)
	}
	b.round = NewLogRound(b.log)
	return b
}

// give keeps an event for the next round.
func (b *bench) give(e Event) { b.events = append(b.events, e) }

// request gives a write of a client that waits until then.
func (b *bench) request(id uint64, until time.Duration) {
	cmd := set("k", "v")
	b.give(Event{Write: &Write{ID: id, Command: kv.EncodeCommand(&cmd), Until: until}})
}

// run makes a round at now.
func (b *bench) run(now time.Duration, p Published) {
	b.t.Helper()
	b.runInto(now, p, now, p)
}

// again makes another round at the same time.
func (b *bench) again() {
	b.t.Helper()
	b.run(b.now, b.pub)
}

// tick makes a round with a tick.
func (b *bench) tick(now time.Duration, p Published) {
	b.t.Helper()
	b.give(Event{Tick: true})
	b.run(now, p)
}

// runInto makes a round that begins at now and reads the clock later once entries were applied.
func (b *bench) runInto(now time.Duration, p Published, later time.Duration, q Published) {
	b.t.Helper()
	var proposed []Proposal
	b.order = nil
	for e := effect.Effect(0); e != effect.Done; {
		var err error
		if e, err = b.round.Next(); err != nil {
			b.t.Fatal(err)
		}
		b.order, b.out = append(b.order, e), *b.round.Output()
		switch e {
		case effect.Take:
			for i := range b.events {
				b.round.Add(&b.events[i])
			}
			b.events = nil
		case effect.Clock:
			b.round.Read(now, p)
			b.now, b.pub = now, p
			now, p = later, q
		case effect.Persist:
			proposed = append(proposed, b.out.Proposed...)
			b.persists = append(b.persists, b.out.Persists...)
		default:
			b.carryOut(e)
		}
	}
	b.out.Proposed = proposed
}

// carryOut does what every round does alike.
func (b *bench) carryOut(e effect.Effect) {
	b.t.Helper()
	switch e {
	case effect.Apply, effect.Freeze, effect.Checkpointed:
		if err := b.round.Locked(); err != nil {
			b.t.Fatal(err)
		}
	case effect.Send:
		b.sent = append(b.sent, b.out.Log...)
		b.messages = append(b.messages, b.out.Messages...)
	case effect.Reply:
		for _, r := range b.out.Replies {
			b.replies[r.ID] = r
		}
	case effect.Checkpoint:
		b.frozen = b.out.Checkpoint
	case effect.Members:
		b.given = b.out.Members
	case effect.Dismiss:
		b.dismissed = b.out.Dismiss
	}
}

// sync makes everything handed to the disk durable; the next round hears of it.
func (b *bench) sync() {
	for _, p := range b.persists {
		b.disk.commit(p)
		b.give(Event{Persisted: p.Seq})
	}
	b.persists = nil
}

// freeze makes a round that starts a checkpoint.
func (b *bench) freeze(now time.Duration, p Published) {
	b.t.Helper()
	b.log.checkpoints.logged = b.log.cfg.CheckpointLogBytes
	b.tick(now, p)
}

// save makes the checkpoint durable that was handed out; the next round hears of it.
func (b *bench) save() {
	b.t.Helper()
	if b.frozen == nil {
		b.t.Fatal("no checkpoint was handed out")
	}
	b.disk.stateDB.Merge(b.frozen.Checkpoint())
	b.frozen = nil
	b.give(Event{Checkpointed: true})
}

// settle runs rounds until nothing moves any more.
func (b *bench) settle(now time.Duration, p Published) Published {
	b.t.Helper()
	for range 10 {
		b.run(now, p)
		b.sync()
		p = p.WithReady(b.out.Ready, b.out.Epoch)
	}
	return p
}

// lead makes node 1 of {1, 2} ready, with node 2 answering as it should.
func (b *bench) lead(p Published) Published {
	b.t.Helper()
	for range 10 {
		b.run(0, p)
		b.sync()
		b.answerAsPeer()
		p = p.WithReady(b.out.Ready, b.out.Epoch)
	}
	if p.Ready == 0 {
		b.t.Fatal("node 1 did not become ready")
	}
	return p
}

// answerAsPeer answers what was sent to node 2 as an acceptor with an empty log would; the next round hears of it.
func (b *bench) answerAsPeer() {
	sent := b.sent
	b.sent = nil
	for _, m := range sent {
		r := multipaxos.Message{From: 2, To: 1, Ballot: m.Ballot}
		switch m.Kind {
		case multipaxos.KindPrepare:
			r.Kind, r.Slot, r.Last, r.Membership = multipaxos.KindPromise, m.Slot, true, 1
		case multipaxos.KindAccept:
			r.Kind, r.Slot, r.Through = multipaxos.KindAccepted, m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot
		default:
			continue
		}
		b.give(Event{Log: &r})
	}
}

func (b *bench) confirmSent() (round uint64) {
	for _, m := range b.sent {
		if m.Kind == multipaxos.KindConfirm {
			round = max(round, m.Round)
		}
	}
	return round
}

// confirmed has node 2 confirm a round of reads.
func (b *bench) confirmed(round uint64) {
	b.give(Event{Log: &multipaxos.Message{Kind: multipaxos.KindConfirmed, From: 2, To: 1, Ballot: b.log.core.Ballot(),
		Round: round}})
}
