package runner

import (
	"fmt"
	"time"

	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/wire"
)

// round takes all waiting inputs through the log part once, in the driver's order. An error is damage.
func (l *Log) round() error {
	for {
		e, err := l.driver.Next()
		if err != nil {
			return err
		}
		if e == effect.Done {
			l.done()
			return nil
		}
		if err := l.do(e); err != nil {
			return err
		}
	}
}

// do carries out an effect. An error is damage.
func (l *Log) do(e effect.Effect) error {
	out := l.driver.Output()
	switch e {
	case effect.Take:
		l.gather()
	case effect.Clock:
		l.driver.Read(l.cfg.Clock.Now(), l.cfg.Mastership.Load())
		l.note()
	case effect.Apply, effect.Freeze, effect.Checkpointed:
		return l.cfg.State.locked(l.driver.Locked)
	case effect.Standing:
		l.publishStanding(l.driver.Now())
		l.askRelief()
	case effect.Persist:
		l.stages.proposed(l.driver.Now(), out)
		l.persister.add(out.Persists)
	case effect.Ready:
		l.cfg.Mastership.SetReady(out.Ready, out.Epoch)
		l.readyChanged(out.Ready, out.Epoch)
	case effect.Level:
		l.cfg.RequireLevel(out.Level)
	case effect.Progress:
		l.deliverProgress(out)
	case effect.Members:
		l.members(*out.Members)
	case effect.Dismiss:
		l.cfg.Dismiss(out.Dismiss)
	case effect.Send:
		l.sendLog(out.Log)
		l.sendReplica(out.Messages)
	case effect.Reply:
		l.reply(out.Replies)
	case effect.Checkpoint:
		l.checkpointer.frozen <- out.Checkpoint
	}
	return nil
}

// gather hands the driver everything that waits, and with a tick what others have measured and heard.
func (l *Log) gather() {
	l.events, l.noted, l.tick = l.inbox.popAll(), 0, false
	l.cfg.Part.SetDisk(l.cfg.Disk.view())
	for i := range l.events {
		e := &l.events[i]
		l.tick = l.tick || e.Tick
		l.driver.Add(&e.Event)
	}
	if !l.tick {
		return
	}
	l.ticking.Store(false)
	l.healths = l.cfg.Health.takeReports(l.healths[:0])
	for i := range l.healths {
		l.driver.Add(&l.healths[i])
	}
}

// note keeps where the answers to the round's requests go, and follows the batches that its events speak of.
func (l *Log) note() {
	now := l.driver.Now()
	for ; l.noted < len(l.events); l.noted++ {
		switch e := &l.events[l.noted]; {
		case e.Log != nil:
			l.stages.acked(now, e.Log)
		case e.Write != nil:
			l.waiting[e.Write.ID] = waiter{reply: e.reply, at: now, write: true}
		case e.Read != nil:
			l.waiting[e.Read.ID] = waiter{reply: e.reply}
		case e.Members != nil:
			l.waiting[e.Members.ID] = waiter{reply: e.reply}
		case e.Level != nil:
			l.waiting[e.Level.ID] = waiter{reply: e.reply}
		case e.Persisted != 0:
			l.stages.persisted(now, e.Persisted)
		}
	}
}

// done ends a round.
func (l *Log) done() {
	at := l.cfg.Part.Position()
	l.stages.moved(l.driver.Now(), at.Chosen, at.Applied)
	if l.driver.Output().Ready == 0 {
		l.stages.forget()
	}
	l.armHedge()
	if l.tick || at.Master != l.view.Load().Master {
		l.publishView(l.cfg.Clock.Now())
	}
	clear(l.events) // the inbox uses the array again
	l.events = nil
}

func (l *Log) reply(replies []replica.Reply) {
	now := l.cfg.Clock.Now()
	for _, r := range replies {
		w, ok := l.waiting[r.ID]
		if !ok {
			panic(fmt.Sprintf("runner: reply to request %d, which does not wait", r.ID))
		}
		delete(l.waiting, r.ID)
		if r.Reason == replica.NoSpace {
			l.publishView(now) // the handler names the nodes that are full
		}
		a := answer{Reply: r}
		if w.write {
			l.metrics.writes[r.Outcome].Observe((now - w.at).Seconds())
			a.took = l.stages.write(l.driver.Now(), now, w.at, &r)
		}
		w.reply <- a
	}
}

// sendLog encodes and sends messages of the log.
func (l *Log) sendLog(ms []multipaxos.Message) {
	wire.EncodeLogs(ms, func(m *multipaxos.Message, body []byte) { l.cfg.Send.SendLog(m.To, body) })
}

// sendReplica encodes and sends messages between log parts.
func (l *Log) sendReplica(ms []replica.Message) {
	for i := range ms {
		l.cfg.Send.SendLog(ms[i].To, wire.EncodeReplica(&ms[i]))
	}
}

// deliverProgress sends this node's health, and has the lease released if the log part wants that. What bars
// further attempts is published first. The wish comes again with each tick until it is fulfilled.
func (l *Log) deliverProgress(out *replica.Output) {
	if out.Health != nil {
		body := wire.EncodeHealth(out.Health)
		for _, p := range l.cfg.Members.Others() {
			l.cfg.Send.SendLease(p, body)
		}
	}
	if out.LetGo.Tenure == 0 {
		return
	}
	l.publishStanding(l.cfg.Clock.Now())
	l.cfg.LetGo(out.LetGo)
}

// askRelief says who should take over, if somebody should and somebody listens.
func (l *Log) askRelief() {
	next, why := l.cfg.Part.Relief()
	if next == 0 {
		return
	}
	select {
	case l.relief <- Relief{Next: next, Why: why}:
	default:
	}
}

// publishStanding shows the elector and status how able this node is, and logs when its disk stops answering.
func (l *Log) publishStanding(now time.Duration) {
	s := l.cfg.Part.Standing(now)
	l.cfg.Health.standing.Store(&s)
	switch unanswered := s.DiskUnanswered; {
	case unanswered >= l.complainAt:
		l.cfg.Logger.Error().Int64("seconds", int64(unanswered/time.Second)).Str("data", l.cfg.Data).
			Msgf("the disk has not answered for %d s", unanswered/time.Second)
		l.complainAt = 2 * unanswered
	case l.complainAt > DiskComplaint && unanswered < DiskComplaint:
		l.cfg.Logger.Info().Str("data", l.cfg.Data).Msg("the disk answers again")
		l.complainAt = DiskComplaint
	}
}

// DiskComplaint is how long a sync may take before the log and status say so. The log says so again each time that has
// doubled.
const DiskComplaint = 2 * time.Second
