package script

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/effect"
	"tenure/server/replica/elector"
	"tenure/server/wire"
)

// read is nd's clock now.
func (w *cluster) read(nd *replicaNode) time.Duration { return w.now + nd.offset }

// oneStep takes every node through one step, and the clock to the next.
func (w *cluster) oneStep() error {
	for m, ok := w.network.take(w.now); ok; m, ok = w.network.take(w.now) {
		nd := w.nodes[m.to-1]
		if nd.paused {
			nd.held = append(nd.held, m)
		} else if err := w.receive(nd, m); err != nil {
			return err
		}
	}
	for _, nd := range w.nodes {
		if nd.paused {
			continue
		}
		if err := w.round(nd); err != nil {
			return err
		}
	}
	w.now += step
	w.notice()
	return w.broken
}

// receive gives what has arrived to the loop that it is for.
func (w *cluster) receive(nd *replicaNode, e envelope) error {
	if e.lease {
		said, err := wire.DecodeLease(e.body)
		if err == nil {
			w.stepLease(nd, elector.Event{Message: said.Message})
		}
		return err
	}
	said, err := wire.DecodeLog(e.body, e.from, e.to)
	if err == nil {
		nd.input(&replica.Event{Log: said.Log, Peer: said.Replica})
	}
	return err
}

// input keeps an event for the next round of the log loop.
func (nd *replicaNode) input(e *replica.Event) { nd.events = append(nd.events, e) }

// round is a turn of the handlers of reads, the lease loop, the disk and the log loop. The handlers come first: after a
// pause nothing says that the lease loop runs before them.
func (w *cluster) round(nd *replicaNode) error {
	w.endReads(nd)
	w.begin(nd)
	return w.goOn(nd, betweenRounds)
}

// begin is all of a round but the log loop's part.
func (w *cluster) begin(nd *replicaNode) {
	w.stepLease(nd, elector.Event{})
	nd.commit()
	if now := w.read(nd); now >= nd.nextTick {
		nd.nextTick = now + replica.TickEvery
		nd.input(&replica.Event{Tick: true})
	}
}

// stepLease is a round of the lease loop.
func (w *cluster) stepLease(nd *replicaNode, e elector.Event) {
	for {
		switch nd.lease.Next() {
		case effect.Take:
			nd.lease.Add(e)
		case effect.Clock:
			nd.lease.Read(w.read(nd), elector.View{})
		case effect.Lease:
			s := nd.lease.State()
			nd.pub = nd.pub.WithLease(s)
		case effect.Send:
			for _, m := range nd.lease.Messages() {
				w.network.post(w.now+step, envelope{from: nd.id, to: m.To, lease: true, body: wire.EncodeLease(&m)})
			}
		case effect.Done:
			return
		}
	}
}

// goOn runs the log loop from where it is to the end of the round, or to a point in it at which the process is stopped.
// A pause there is seen by the readings of the clock that come after it, and by nothing else.
func (w *cluster) goOn(nd *replicaNode, stop pausePoint) (err error) {
	for clocks := 0; ; {
		e := nd.due
		if e == 0 {
			if e, err = nd.round.Next(); err != nil {
				return err
			}
		}
		nd.due, nd.within = 0, e != effect.Done
		if e == effect.Clock {
			clocks++
		}
		if stop == beforeAnswer && clocks == 2 {
			nd.due = e
			return nil
		}
		if err := w.do(nd, e); err != nil || !nd.within {
			return err
		}
		if stop == beforePropose && clocks == 1 {
			return nil
		}
	}
}

// do carries out an effect of the log loop.
func (w *cluster) do(nd *replicaNode, e effect.Effect) error {
	out := nd.round.Output()
	switch e {
	case effect.Take:
		for _, e := range nd.events {
			nd.round.Add(e)
		}
		nd.events = nil
	case effect.Clock:
		nd.round.Read(w.read(nd), nd.pub)
	case effect.Apply, effect.Freeze, effect.Checkpointed:
		return nd.round.Locked()
	case effect.Persist:
		nd.persists = append(nd.persists, out.Persists...)
	case effect.Ready:
		nd.pub = nd.pub.WithReady(out.Ready, out.Epoch)
	case effect.Send:
		w.send(nd, out)
	case effect.Reply:
		for _, r := range out.Replies {
			w.reply(nd, r)
		}
	case effect.Checkpoint:
		nd.checkpointing = out.Checkpoint
	}
	return nil
}

// commit ends what the disk has been given.
func (nd *replicaNode) commit() {
	for _, p := range nd.persists {
		nd.disk.commit(p)
		nd.input(&replica.Event{Persisted: p.Seq})
	}
	nd.persists = nil
	if nd.checkpointing != nil {
		nd.disk.stateDB.Merge(nd.checkpointing.Checkpoint())
		nd.checkpointing = nil
		nd.input(&replica.Event{Checkpointed: true})
	}
}

// send sends the messages of an output.
func (w *cluster) send(nd *replicaNode, out *replica.Output) {
	post := func(to ballot.NodeID, body []byte) {
		w.network.post(w.now+step, envelope{from: nd.id, to: to, body: body})
	}
	wire.EncodeLogs(out.Log, func(m *multipaxos.Message, body []byte) {
		w.tellLog(m)
		post(m.To, body)
	})
	for i := range out.Messages {
		post(out.Messages[i].To, wire.EncodeReplica(&out.Messages[i]))
	}
}

// tellLog tells of an Accept, if that is wished, and of every refusal.
func (w *cluster) tellLog(m *multipaxos.Message) {
	switch {
	case m.Kind == multipaxos.KindReject:
		w.tell.say(w.now, "%d refuses what %d sent under %s: promised %s", m.From, m.To, showBallot(m.Ballot),
			showBallot(m.Promised))
	case m.Kind == multipaxos.KindAccept && w.watch:
		first, last := m.Entries[0].Slot, m.Entries[len(m.Entries)-1].Slot
		slots := fmt.Sprint(first)
		if first != last {
			slots = fmt.Sprintf("%d to %d", first, last)
		}
		w.tell.message(w.now, fmt.Sprint(m.From), fmt.Sprint(m.To),
			fmt.Sprintf("Accept %s, slot %s", showBallot(m.Ballot), slots))
	}
}

// reply takes the answer to a client's request. That of a read under the lease is given in two halves: the data is
// taken now, the lease checked again in the next round.
func (w *cluster) reply(nd *replicaNode, r replica.Reply) {
	label := nd.labels[r.ID]
	key, isRead := nd.reads[r.ID]
	delete(nd.labels, r.ID)
	delete(nd.reads, r.ID)
	switch {
	case label == "":
		w.fail("node %d answered a request twice", nd.id)
	case r.Outcome == replica.Refused:
		w.answered(nd, label, "refused", ", "+r.Reason.String())
	case r.Outcome == replica.Unknown:
		w.answered(nd, label, "unknown", ", "+r.Reason.String())
	case isRead && r.Ticketed:
		t := takenRead{label: label, round: replica.NewReadRound(r.Ticket)}
		if t.round.Next() == effect.Data {
			t.value = w.get(nd, key)
		}
		nd.taken = append(nd.taken, t)
	case isRead:
		w.answered(nd, label, w.get(nd, key), "")
	default:
		w.answered(nd, label, "done", fmt.Sprintf(", revision %d", r.Result.Revision))
		w.acknowledged(nd, label)
	}
}

// endReads is the second half of reads under the lease.
func (w *cluster) endReads(nd *replicaNode) {
	for _, r := range nd.taken {
		if r.round.Next() == effect.Clock {
			r.round.Read(w.read(nd), nd.pub)
		}
		if r.round.Granted() {
			w.answered(nd, r.label, r.value, "")
			w.acknowledged(nd, r.label)
		} else {
			w.answered(nd, r.label, "refused", ", the lease ended while it was read")
		}
	}
	nd.taken = nil
}

// acknowledged watches that a node which answers as the master still holds the lease.
func (w *cluster) acknowledged(nd *replicaNode, label string) {
	if nd.log.Position().Master == nd.id && !nd.pub.Held(w.read(nd)) {
		w.fail("node %d answered %s after the end of its lease", nd.id, label)
	}
}

func (w *cluster) get(nd *replicaNode, key string) string {
	e, ok, err := nd.state.Get(key)
	switch {
	case err != nil:
		w.fail("node %d: %v", nd.id, err)
	case !ok:
		return "nothing"
	}
	return string(e.Value)
}

func (w *cluster) fail(format string, args ...any) {
	if w.broken == nil {
		w.broken = fmt.Errorf("at %s "+format, append([]any{stamp(w.now)}, args...)...)
	}
}
