package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// input is one event of the log loop's inbox.
type input struct {
	log          *multipaxos.Message
	peer         *replica.Message
	write        *attempt
	read         *attempt
	persisted    uint64
	checkpointed bool
	up, down     ballot.NodeID
	call         func()
}

// input puts e into the inbox.
func (n *node) input(e input) {
	n.inbox = append(n.inbox, e)
	n.wake()
}

// tick is the ticker of the log loop.
func (n *node) tick() {
	n.ticked = true
	n.w.at(n, kindTick, n.clock.span(replica.TickEvery), n.tick)
	n.wake()
}

// wake lets the loop take a round if it is not in one: at once, or when the scheduler gets to it.
func (n *node) wake() {
	p := n.process
	if p.effect != replica.EffectTake || p.waking {
		return
	}
	if n.w.phase == phaseFaults && n.w.loops.chance(n.w.plan.waking) {
		p.waking = true
		n.w.at(n, kindRound, n.w.loops.skewed(10*time.Microsecond, 5*time.Millisecond), func() {
			p.waking = false
			n.rounds()
		})
		return
	}
	n.rounds()
}

// gap tells whether the processor is lost before the effect next, and for how long.
func (n *node) gap(next replica.Effect) (time.Duration, bool) {
	w := n.w
	if w.phase != phaseFaults || !w.loops.chance(w.plan.gapsBefore(next)) {
		return 0, false
	}
	if w.plan.on(Lag) && w.loops.chance(w.plan.longGaps) {
		w.effect(Lag)
		d := w.loops.skewed(time.Millisecond, 3*w.plan.lease)
		n.truth.laggard = max(n.truth.laggard, w.now+d)
		return d, true
	}
	return w.loops.skewed(5*time.Microsecond, 500*time.Microsecond), true
}

// rounds runs the loop until nothing waits, the processor is lost, or the process has died. It may be lost between any
// two effects.
func (n *node) rounds() {
	p := n.process
	for n.process == p {
		if p.effect == replica.EffectTake && len(p.inbox) == 0 && !p.ticked && !p.poked {
			return
		}
		if !n.do(p.effect) {
			return
		}
		next, err := p.round.Next()
		if !n.stepped(err) {
			return
		}
		p.effect = next
		n.noteConfirmed(p.round.Output().Log)
		p.led = p.led || p.core.Phase() != multipaxos.Following
		n.check()
		if d, lost := n.gap(next); lost && next != replica.EffectTake {
			n.w.at(n, kindStage, d, n.rounds)
			return
		}
	}
}

// do carries out an effect of the log loop. False: the node died.
func (n *node) do(e replica.Effect) bool {
	p, w := n.process, n.w
	out := p.round.Output()
	switch e {
	case replica.EffectTake:
		n.take()
	case replica.EffectClock:
		p.now, p.seen = n.reading(), p.pub
		p.round.Read(p.now, p.seen)
	case replica.EffectApply:
		if !n.stepped(p.round.Locked()) {
			return false
		}
		p.appliedAt = n.reading()
		n.applied()
	case replica.EffectCheckpointed:
		return n.stepped(p.round.Locked())
	case replica.EffectFreeze:
		if !n.stepped(p.round.Locked()) {
			return false
		}
		n.compareDigest()
	case replica.EffectStanding:
		p.standing = p.log.Standing(p.now)
		if next := p.log.Relief(); next != 0 {
			n.handOver(next, false)
		}
	case replica.EffectPersist:
		n.checkSpace(out.Persists)
		p.persists = append(p.persists, out.Persists...)
		n.flush()
	case replica.EffectReady:
		if w.trace.on() {
			w.trace.note("ready for tenure %d, epoch %d", out.Ready, out.Epoch)
		}
		n.publish(p.pub.WithReady(out.Ready, out.Epoch))
	case replica.EffectProgress:
		n.deliverProgress(out)
	case replica.EffectSend:
		n.send(out)
	case replica.EffectReply:
		n.reply(out.Replies)
	case replica.EffectCheckpoint:
		n.checkpointBegins(out.Checkpoint)
		n.diskEnds(kindCheckpoint, w.disks.skewed(w.plan.commit, 20*w.plan.commit), n.checkpointEnds)
	}
	return true
}

// take hands the driver everything that is in the inbox, and with a tick the words of health.
func (n *node) take() {
	p := n.process
	p.poked = false
	p.log.SetSpace(n.space)
	p.space, p.led = n.space, p.core.Phase() != multipaxos.Following
	for i := range p.inbox {
		p.round.Add(n.event(&p.inbox[i]))
	}
	p.inbox = nil
	if p.ticked {
		p.ticked = false
		p.round.Add(&replica.Event{Tick: true})
		n.hearHealth()
	}
}

// event is e as the driver takes it.
func (n *node) event(e *input) *replica.Event {
	p := n.process
	out := &replica.Event{Log: e.log, Peer: e.peer, Persisted: e.persisted, Checkpointed: e.checkpointed, Up: e.up, Down: e.down}
	switch {
	case e.peer != nil && e.peer.Kind == replica.KindReadPoint:
		p.asked[askKey{e.peer.From, e.peer.Read.ID}] = question{at: n.w.now, reading: n.reading()}
	case e.write != nil:
		p.waiting[e.write.request] = e.write
		out.Write = e.write.asWrite()
	case e.read != nil:
		p.waiting[e.read.request] = e.read
		out.Read = e.read.asRead()
	case e.call != nil:
		out.Call = func(time.Duration) { e.call() }
	}
	return out
}

// send sends the messages of an output.
func (n *node) send(out *replica.Output) {
	n.w.sendLogs(n, out.Log)
	for i := range out.Messages {
		n.checkTold(&out.Messages[i])
		n.w.sendPeer(n, &out.Messages[i])
	}
}

// reply hands answers to the handlers that wait for them.
func (n *node) reply(replies []replica.Reply) {
	p := n.process
	for i := range replies {
		r := &replies[i]
		a := p.waiting[r.ID]
		if a == nil {
			n.w.fail("one answer", "node %d answers request %d, which does not wait", n.id, r.ID)
		}
		delete(p.waiting, r.ID)
		n.checkAnswer(a, r)
		a.replied(n, r)
	}
}

// flush starts a commit of everything that waits, unless one is under way.
func (n *node) flush() {
	p, w := n.process, n.w
	if len(p.committing) > 0 || len(p.persists) == 0 {
		return
	}
	p.committing, p.persists = p.persists, nil
	d := w.disks.skewed(50*time.Microsecond, w.plan.commit) + n.slow
	if n.stall > 0 {
		w.effect(StallDisk)
		d, n.stall = d+n.stall, 0
	}
	n.diskEnds(kindDisk, d, n.commitEnds)
}

// commitEnds makes a commit durable, and reports it.
func (n *node) commitEnds() {
	p, w := n.process, n.w
	if n.eio {
		n.eio = false
		w.effect(EIO)
		n.crash() // whether the disk has it all or nothing, nobody knows
		n.restart(n.random.skewed(time.Millisecond, time.Second), true)
		return
	}
	n.commit(p.committing)
	n.truth.synced = w.now
	if n.disk.noticed {
		n.damage(errRot)
		return
	}
	n.startMove()
	seq := p.committing[len(p.committing)-1].Seq
	p.committing = nil
	n.flush()
	if w.trace.on() {
		w.trace.note("durable through persist %d", seq)
	}
	n.input(input{persisted: seq})
}

// checkpointBegins may merge a part of a checkpoint at once: every view until its end shows it, and a crash leaves the
// rest to the next start.
func (n *node) checkpointBegins(f *kv.Frozen) {
	n.process.checkpointing = f
	checkpoint := f.Checkpoint()
	if some := n.w.disks.below(len(checkpoint.Changes)); some > 0 && n.w.disks.chance(500) && !n.frozen {
		n.disk.mergePart(checkpoint, some)
	}
}

// checkpointEnds merges a checkpoint into the durable state database, and reports it.
func (n *node) checkpointEnds() {
	p := n.process
	f := p.checkpointing.Checkpoint()
	n.disk.merge(f)
	p.checkpointing = nil
	n.w.counts.Checkpoints++
	if n.w.trace.on() {
		n.w.trace.note("checkpointed through slot %d", f.Slot)
	}
	n.input(input{checkpointed: true})
}
