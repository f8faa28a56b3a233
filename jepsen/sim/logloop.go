package sim

import (
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
)

// logLoop is the log loop of one process: it carries out the effects of the log part's driver.
type logLoop struct {
	*machine
	own     uint64 // the run that the loop belongs to
	loops   *random
	disk    *drive
	net     *network
	end     *endpoint
	board   *board
	elector *electorLoop
	check   logCheck
	answers answerCheck
	spares  spareCheck
	life    life

	core    *multipaxos.Core
	log     *replica.Log
	state   *kv.State
	round   *replica.LogRound
	effect  effect.Effect // to be carried out next
	inbox   []input
	ticked  bool
	poked   bool                  // the lease loop changed what is published
	waking  bool                  // a round is on the agenda
	hedging bool                  // a round for a late answer is
	hung    time.Duration         // true time since which it waits for a frozen disk; 0: it does not
	waiting map[uint64]*attempt   // never ranged over
	asked   map[uint64]*memberAsk // of the operator; never ranged over
}

// life is what a loop asks of the node that it runs on.
type life struct {
	damaged  func(err error)                             // the disk is damaged: the node must stop
	differs  func(*replica.Differs)                      // its state is not that of the others: the node must stop
	ioFailed func()                                      // a commit failed: the process must end
	relieve  func(next ballot.NodeID, why elector.Cause) // the master hands over to another node
	goOver   func(ident.Membership)                      // a membership is chosen and applied
	dismiss  func(number uint64)                         // who is in no membership from that number on is needed no more
}

// input is one event of the log loop's inbox.
type input struct {
	log          *multipaxos.Message
	sent         time.Duration // of log
	peer         *replica.Message
	write        *attempt
	read         *attempt
	persisted    uint64
	checkpointed bool
	digest       uint64 // of checkpointed
	up, down     ballot.NodeID
	call         func()
	ask          *memberAsk
	inForce      *replica.MembersInForce
}

// alive reports whether the loop's process still runs.
func (l *logLoop) alive() bool { return l.running && l.run == l.own }

// put puts e into the inbox.
func (l *logLoop) put(e input) {
	l.inbox = append(l.inbox, e)
	l.wake()
}

// tick is the ticker of the loop.
func (l *logLoop) tick() {
	l.ticked = true
	l.later(kindTick, l.clock.span(replica.TickEvery), l.tick)
	l.wake()
}

// poke has the loop see what the lease loop has published.
func (l *logLoop) poke() {
	l.poked = true
	l.wake()
}

// armHedge sees to a round at the time at which the log part wants one.
func (l *logLoop) armHedge() {
	at := l.log.HedgeAt()
	if at == 0 || l.hedging {
		return
	}
	l.hedging = true
	// A fast clock makes no time of a nanosecond, and the round would come before the time that it is for.
	l.later(kindRound, l.clock.span(max(time.Microsecond, at-l.reading())), func() {
		l.hedging = false
		l.poke()
	})
}

// wake lets the loop take a round if it is not in one: at once, or when the scheduler gets to it.
func (l *logLoop) wake() {
	if l.effect != effect.Take || l.waking {
		return
	}
	if l.phase == phaseFaults && l.loops.chance(l.plan.waking) {
		l.waking = true
		l.later(kindRound, l.loops.skewed(10*time.Microsecond, 5*time.Millisecond), func() {
			l.waking = false
			l.rounds()
		})
		return
	}
	l.rounds()
}

// rounds runs the loop until nothing waits, the processor is lost, or the process has ended. The processor may be lost
// between any two effects.
func (l *logLoop) rounds() {
	for l.alive() {
		if l.effect == effect.Take && len(l.inbox) == 0 && !l.ticked && !l.poked {
			return
		}
		if l.hangs() {
			return
		}
		if !l.do(l.effect) {
			return
		}
		next, err := l.round.Next()
		if !l.sound(err) {
			return
		}
		l.effect = next
		l.check.noteConfirmed(l.round.Output().Log)
		l.check.led = l.check.led || l.core.Phase() != multipaxos.Following
		l.check.check()
		d, long := l.gap(l.loops, next)
		if long {
			l.lags(d)
		}
		if d > 0 && next != effect.Take {
			l.later(kindStage, d, l.rounds)
			return
		}
	}
}

// hangs reports whether the loop waits for a frozen disk. Then it goes on when that thaws. It may wait where it uses
// the state database; all else that it asks of the disk is done beside it.
func (l *logLoop) hangs() bool {
	uses := l.effect == effect.Apply || l.effect == effect.Freeze || l.effect == effect.Checkpointed
	if l.hung = 0; uses && l.disk.hangs && l.disk.owes(kindStage, l.rounds) {
		l.hung = l.now
	}
	return l.hung > 0
}

// settled reports whether the loop has nothing to do, and all chosen entries are applied. For a leader all its proposals
// must be chosen too. A follower may have voted in a slot beyond, for a leader whose successor did not need its promise:
// that entry stays until the slot is used.
func (l *logLoop) settled() bool {
	chosen := l.core.Chosen()
	return multipaxos.Slot(l.state.Applied()) == chosen && (chosen == l.core.Last() || !l.leads()) &&
		l.effect == effect.Take
}

// leads reports whether this node leads the log.
func (l *logLoop) leads() bool { return l.core.Phase() == multipaxos.Leading }

// sound takes the error of a step of the log part. It reports false if the node had to stop: an error is damage, and
// damage must be an error.
func (l *logLoop) sound(err error) bool {
	var differs *replica.Differs
	switch {
	case errors.As(err, &differs):
		l.life.differs(differs)
		return false
	case err != nil:
		l.life.damaged(err)
		return false
	}
	l.disk.mustBeSound()
	return true
}

// do carries out an effect. It reports false if the process has ended.
func (l *logLoop) do(e effect.Effect) bool {
	out := l.round.Output()
	switch e {
	case effect.Take:
		l.take()
	case effect.Clock:
		l.answers.now, l.answers.published = l.reading(), l.board.pub
		l.spares.read(l.answers.now)
		l.round.Read(l.answers.now, l.answers.published)
	case effect.Apply:
		if !l.sound(l.round.Locked()) {
			return false
		}
		l.answers.appliedAt = l.reading()
		l.check.applied()
	case effect.Checkpointed:
		return l.sound(l.round.Locked())
	case effect.Freeze:
		if !l.sound(l.round.Locked()) {
			return false
		}
		l.check.compareDigest()
	case effect.Standing:
		l.stand()
		if next, why := l.log.Relief(); next != 0 {
			l.life.relieve(next, why)
		}
	case effect.Persist:
		l.check.writes(out.Persists)
		l.spares.writes(out.Persists, l.disk.ledger)
		l.disk.waiting = append(l.disk.waiting, out.Persists...)
		l.flush()
	case effect.Ready:
		if l.trace.on() {
			l.trace.note("ready for tenure %d, epoch %d", out.Ready, out.Epoch)
		}
		l.board.publish(l.board.pub.WithReady(out.Ready, out.Epoch))
	case effect.Progress:
		l.progress(out)
	case effect.Send:
		l.send(out)
	case effect.Reply:
		l.reply(out.Replies)
	case effect.Members:
		l.life.goOver(*out.Members)
	case effect.Dismiss:
		l.life.dismiss(out.Dismiss)
	case effect.Done:
		l.armHedge()
	case effect.Checkpoint:
		l.disk.ends(kindCheckpoint, l.disk.beginCheckpoint(out.Checkpoint), func() {
			l.disk.endCheckpoint()
			l.put(input{checkpointed: true, digest: l.disk.stateDB.Digest()})
		})
	}
	return true
}

// take hands the driver everything that is in the inbox, and with a tick the reports of health.
func (l *logLoop) take() {
	l.poked = false
	l.log.SetDisk(replica.Disk{Space: l.disk.space})
	l.check.told, l.check.led, l.check.accepts = l.disk.space, l.core.Phase() != multipaxos.Following, l.check.accepts[:0]
	for i := range l.inbox {
		l.spares.took(&l.inbox[i])
		l.check.took(&l.inbox[i])
		l.round.Add(l.event(&l.inbox[i]))
	}
	clear(l.inbox)
	l.inbox = l.inbox[:0]
	if !l.ticked {
		return
	}
	l.ticked = false
	l.round.Add(&replica.Event{Tick: true})
	healths := l.elector.reports.Take(nil)
	for i := range healths {
		l.round.Add(&healths[i])
	}
}

// event returns e as the driver takes it.
func (l *logLoop) event(e *input) *replica.Event {
	out := &replica.Event{
		Log: e.log, Peer: e.peer, Persisted: e.persisted, Checkpointed: e.checkpointed, Digest: e.digest,
		Up: e.up, Down: e.down,
	}
	switch {
	case e.peer != nil:
		l.answers.taken(e.peer)
	case e.write != nil:
		l.waiting[e.write.request] = e.write
		out.Write = e.write.asWrite()
	case e.read != nil:
		l.waiting[e.read.request] = e.read
		out.Read = e.read.asRead()
	case e.ask != nil:
		l.asked[e.ask.request.ID] = e.ask
		out.Members = &e.ask.request
	case e.inForce != nil:
		out.InForce = e.inForce
	case e.call != nil:
		call := e.call // e is used again
		out.Call = func(time.Duration) { call() }
	}
	return out
}

// stand shows the lease loop how the log part stands.
func (l *logLoop) stand() { l.elector.standing = l.log.Standing(l.answers.now) }

// progress sends this node's health, and asks the lease loop for the release that the log part wants (M6).
func (l *logLoop) progress(out *replica.Output) {
	if out.Health != nil {
		l.net.sendHealth(l.end, *out.Health)
	}
	if out.LetGo.Tenure != 0 {
		l.stand()
		l.elector.put(leaseEvent{letGo: out.LetGo})
	}
}

// send sends the messages of an output.
func (l *logLoop) send(out *replica.Output) {
	l.net.sendLogs(l.end, out.Log, l.check.sent)
	for i := range out.Messages {
		l.answers.tells(&out.Messages[i])
		l.net.sendPeer(l.end, &out.Messages[i])
	}
}

// reply hands answers to the handlers that wait for them.
func (l *logLoop) reply(replies []replica.Reply) {
	for i := range replies {
		r := &replies[i]
		if q := l.asked[r.ID]; q != nil {
			delete(l.asked, r.ID)
			q.replied(r)
			continue
		}
		a := l.waiting[r.ID]
		if a == nil {
			l.fail("one answer", "node %d answers request %d, which does not wait", l.id, r.ID)
		}
		delete(l.waiting, r.ID)
		l.answers.answers(a, r, l.round.Acknowledges())
		a.replied(r)
	}
}

// behind reports whether the node needs a snapshot.
func (l *logLoop) behind() bool {
	behind, _ := l.core.Behind()
	return behind
}

// flush starts a commit of everything that waits, unless one is going on.
func (l *logLoop) flush() {
	if d := l.disk.beginCommit(); d > 0 {
		l.disk.ends(kindDisk, d, l.committed)
	}
}

// committed takes the end of a commit.
func (l *logLoop) committed() {
	seq, err := l.disk.endCommit()
	switch {
	case errors.Is(err, errIO):
		l.life.ioFailed()
		return
	case err != nil:
		l.life.damaged(err)
		return
	}
	l.flush()
	if l.trace.on() {
		l.trace.note("durable through persist %d", seq)
	}
	l.put(input{persisted: seq})
}
