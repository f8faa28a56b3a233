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
	log       *multipaxos.Message
	peer      *replica.Message
	write     *attempt
	read      *attempt
	persisted uint64
	folded    bool
	up, down  ballot.NodeID
	call      func()
}

// stage is where in its round a log loop is. Between any two the processor may be lost.
type stage uint8

const (
	idle       stage = iota
	taking           // the clock is read; take what is in the inbox
	advancing        // Advance, Take, deliver
	applying         // Apply, under the state's lock
	finishing        // read the clock, Finish
	delivering       // deliver what Finish gave
)

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
	if p.stage != idle || p.waking {
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

// gap tells whether the processor is lost here, and for how long.
func (n *node) gap() (time.Duration, bool) {
	w := n.w
	if w.phase != phaseFaults || !w.loops.chance(w.plan.gaps) {
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

// rounds runs the loop until nothing waits, the processor is lost, or the process has died.
func (n *node) rounds() {
	p := n.process
	for n.process == p {
		if p.stage == idle {
			if len(p.inbox) == 0 && !p.ticked && !p.poked {
				return
			}
			p.poked = false
			p.now, p.seen, p.stage = n.reading(), p.pub, taking
		} else if !n.roundStage() {
			return
		}
		if d, lost := n.gap(); lost && p.stage != idle {
			n.w.at(n, kindStage, d, n.rounds)
			return
		}
	}
}

// roundStage does one stage. False: the node died.
func (n *node) roundStage() bool {
	p := n.process
	switch p.stage {
	case taking:
		p.stage = advancing
		return n.take()
	case advancing:
		if !n.stepped(p.log.Advance(p.now, p.pub)) {
			return false
		}
		out := p.log.Take()
		n.check()
		n.deliver(&out)
		if p.more = out.Apply; p.more {
			p.stage = applying
		} else {
			p.stage = finishing
		}
	case applying:
		p.stage = finishing
		if !n.stepped(p.log.Apply()) {
			return false
		}
		n.applied()
	case finishing:
		p.stage = delivering
		p.now, p.seen = n.reading(), p.pub
		p.log.Finish(p.now, p.seen)
		p.output = p.log.Take()
		n.checkGate(&p.output)
	case delivering:
		n.deliver(&p.output)
		p.output = replica.Output{}
		p.stage = idle
		if p.more {
			p.stage = advancing
		}
	}
	return true
}

// take hands everything in the inbox to the log part, and a tick.
func (n *node) take() bool {
	p := n.process
	events := p.inbox
	p.inbox = nil
	p.log.SetRoom(n.room)
	p.room, p.led = n.room, p.core.Phase() != multipaxos.Following
	for i := range events {
		if !n.takeOne(&events[i]) {
			return false
		}
		p.led = p.led || p.core.Phase() != multipaxos.Following
	}
	if !p.ticked {
		return true
	}
	p.ticked = false
	n.hearHealth()
	if !n.stepped(p.log.Tick(p.now, p.seen)) {
		return false
	}
	p.standing = p.log.Standing(p.now)
	if p.log.WantFreeze() {
		p.log.Freeze()
		n.compareDigest()
	}
	if next := p.log.Relief(); next != 0 {
		n.handOver(next, false)
	}
	return true
}

func (n *node) takeOne(e *input) bool {
	p := n.process
	switch {
	case e.log != nil:
		return n.stepped(p.log.Step(*e.log))
	case e.peer != nil:
		if e.peer.Kind == replica.KindReadPoint {
			p.asked[askKey{e.peer.From, e.peer.Read.ID}] = n.w.now
		}
		p.log.Receive(p.now, *e.peer)
	case e.write != nil:
		p.waiting[e.write.request] = e.write
		p.log.Request(p.now, e.write.asWrite())
	case e.read != nil:
		p.waiting[e.read.request] = e.read
		p.log.ReadRequest(e.read.asRead())
	case e.persisted != 0:
		return n.stepped(p.log.Persisted(e.persisted))
	case e.folded:
		return n.stepped(p.log.FoldDone())
	case e.up != 0:
		p.log.Connected(e.up)
	case e.down != 0:
		p.log.Disconnected(e.down)
	case e.call != nil:
		e.call()
	}
	return true
}

// deliver carries out an output: persists first, readiness before replies.
func (n *node) deliver(out *replica.Output) {
	p, w := n.process, n.w
	if len(out.Persists) > 0 {
		n.checkSpace(out.Persists)
		p.persists = append(p.persists, out.Persists...)
		n.flush()
	}
	if out.Ready != p.pub.Ready || out.Ready != 0 && out.Epoch != p.pub.Epoch {
		if w.trace.on() {
			w.trace.note("ready for holding %d, epoch %d", out.Ready, out.Epoch)
		}
		n.publish(p.pub.WithReady(out.Ready, out.Epoch))
	}
	n.deliverProgress(out)
	for i := range out.Log {
		n.checkSent(&out.Log[i])
		w.sendLog(n, out.Log[i].To, input{log: &out.Log[i]})
	}
	for i := range out.Messages {
		w.sendLog(n, out.Messages[i].To, input{peer: &out.Messages[i]})
	}
	for i := range out.Replies {
		r := &out.Replies[i]
		a := p.waiting[r.ID]
		if a == nil {
			w.fail("one answer", "node %d answers request %d, which does not wait", n.id, r.ID)
		}
		delete(p.waiting, r.ID)
		a.replied(n, r)
	}
	if out.Fold != nil {
		n.foldBegins(out.Fold)
		n.diskEnds(kindFold, w.disks.skewed(w.plan.commit, 20*w.plan.commit), n.foldEnds)
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

// foldBegins may merge a part of a fold at once: every view until its end shows it, and a crash leaves the rest to the next
// start.
func (n *node) foldBegins(f *kv.Frozen) {
	n.process.folding = f
	fold := f.Fold()
	if some := n.w.disks.below(len(fold.Changes)); some > 0 && n.w.disks.chance(500) && !n.frozen {
		n.disk.mergePart(fold, some)
	}
}

// foldEnds merges a fold into the durable image, and reports it.
func (n *node) foldEnds() {
	p := n.process
	f := p.folding.Fold()
	n.disk.merge(f)
	p.folding = nil
	n.w.counts.Folds++
	if n.w.trace.on() {
		n.w.trace.note("folded through slot %d", f.Slot)
	}
	n.input(input{folded: true})
}
