package sim

import (
	"encoding/binary"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/replica/snapshots"
)

// transfers are a process' goroutines for snapshots: one sends them, and one receives. Both carry out the steps of
// package snapshots; reading and writing takes its time.
type transfers struct {
	*node
	own uint64 // the run that they belong to

	receiver snapshots.Receiver
	in       *snapshot // being received; nil: none
	got      uint64    // pieces of it
	writing  bool
	pieces   []*replica.Message // that wait

	sender  snapshots.Sender
	out     *snapshot // open
	sending bool      // a step is under way
	asks    []func()  // what the sender is told before its next step
	timer   timer
	pinned  uint64 // the log behind this slot is kept; 0: as otherwise
}

func newTransfers(n *node) *transfers {
	t := &transfers{node: n, own: n.run}
	t.tick()
	return t
}

// take takes a message about snapshots.
func (t *transfers) take(m *replica.Message) {
	if m.Kind == replica.KindSnapshotAsk {
		t.ask(func() { t.sender.Ask(t.reading(), m.From, m.Snapshot) })
		return
	}
	if len(t.pieces) < snapshots.MaxPieces {
		t.pieces = append(t.pieces, m)
		t.nextPiece()
	}
}

// nextPiece takes the oldest piece that waits, unless one is being written.
func (t *transfers) nextPiece() {
	for !t.writing && len(t.pieces) > 0 && t.running && t.run == t.own {
		m := t.pieces[0]
		t.pieces = t.pieces[1:]
		t.carryOut(t.receiver.Take(t.reading(), m.From, m.Snapshot))
	}
}

// lost is told that a peer is not connected any more.
func (t *transfers) lost(peer ballot.NodeID) {
	t.ask(func() { t.sender.Lost(peer) })
}

// ask tells the sender something, between two of its steps.
func (t *transfers) ask(tell func()) {
	t.asks = append(t.asks, tell)
	t.serve()
}

func (t *transfers) tick() {
	t.later(kindMembers, t.clock.span(snapshots.TickEvery), func() {
		if !t.writing {
			t.carryOut(t.receiver.Tick(t.reading(), t.view()))
		}
		t.tick()
	})
}

func (t *transfers) view() snapshots.View {
	s := t.log.log.Status(t.reading())
	return s.SnapshotView()
}

// carryOut does what there is to do as the receiver.
func (t *transfers) carryOut(s snapshots.Step) {
	if t.trace.on() && s.Problem != "" {
		t.trace.note("%s", s.Problem)
	}
	if s.Abort {
		t.in = nil
	}
	if s.Send != nil {
		t.sendMessage(replica.KindSnapshotAsk, s.Send)
	}
	if s.Add == nil {
		return
	}
	t.writing = true
	t.later(kindMembers, t.site.changes.skewed(20*time.Microsecond, 4*t.plan.commit), func() {
		t.writing = false
		result := t.add(&s)
		if result == snapshots.Done && s.Finish {
			t.whole()
			return
		}
		t.carryOut(t.receiver.Did(t.reading(), result))
		t.nextPiece()
	})
}

// add writes a piece, as storage does: a snapshot that is not ahead is refused, and so is a piece that is not the next.
func (t *transfers) add(s *snapshots.Step) snapshots.Result {
	if s.Begin != nil {
		t.in, t.got = t.site.sent[binary.BigEndian.Uint64(s.Begin)-1], 0
		if t.in.slot <= t.disk.checkpointed() {
			t.in = nil
			return snapshots.Failed
		}
	}
	if t.in == nil || binary.BigEndian.Uint64(s.Add) != t.got || s.Finish != (t.got+1 == t.in.pieces) {
		return snapshots.Bad
	}
	t.got++
	return snapshots.Done
}

// whole ends the run: the next one begins with the snapshot.
func (t *transfers) whole() {
	t.disk.received = t.in
	if t.trace.on() {
		t.trace.note("node %d has received a snapshot through slot %d", t.id, t.in.slot)
	}
	t.crash()
	t.restart(0, false)
}

// serve takes the sender's next step, unless one is under way.
func (t *transfers) serve() {
	if t.sending {
		return
	}
	for _, tell := range t.asks {
		tell()
	}
	t.asks = nil
	status := t.log.log.Status(t.reading())
	step := t.sender.Next(t.reading(), snapshots.SenderView{
		Checkpointed: uint64(t.disk.checkpointed()), Applied: status.Applied,
		Short: status.LeavesSnapshots(t.disk.space), Withheld: status.Withheld, Members: t.disk.members,
	})
	t.pin(step.Pin)
	if step.Wait > 0 {
		t.timer.set(t.machine, kindMembers, t.now+t.clock.span(step.Wait)+50*time.Microsecond, t.serve)
		return
	}
	t.sending = true
	t.later(kindMembers, t.site.changes.skewed(20*time.Microsecond, 4*t.plan.commit), func() {
		t.sending = false
		t.carryOutSend(&step)
		t.serve()
	})
}

// pin has the log part keep the log behind a slot, or ends that.
func (t *transfers) pin(slot uint64) {
	if slot == t.pinned {
		return
	}
	t.pinned = slot
	t.log.put(input{call: func() { t.log.log.Pin(replica.PinSnapshot, slot) }})
}

// carryOutSend does what there is to do as the sender.
func (t *transfers) carryOutSend(s *snapshots.SenderStep) {
	switch {
	case s.Close:
		t.out = nil
	case s.Refuse != nil:
		t.sendMessage(replica.KindSnapshotPiece, s.Refuse)
	case s.Open:
		t.open()
	case s.Read != nil:
		t.read(s.Read)
	}
}

func (t *transfers) open() {
	if t.out = t.disk.snapshot(); t.out == nil {
		t.sender.Opened(0, 0, false)
		return
	}
	t.out.id, t.out.pieces = uint64(len(t.site.sent)+1), uint64(1+t.site.changes.below(20))
	t.site.sent = append(t.site.sent, t.out)
	t.sender.Opened(t.out.id, uint64(t.out.slot), true)
}

// read reads a piece and sends it. A piece has only its number: its contents are compared when it is applied.
func (t *transfers) read(r *snapshots.Read) {
	at := uint64(0)
	if len(r.After) > 0 {
		at = binary.BigEndian.Uint64(r.After)
	}
	p := &snapshots.Message{ID: r.ID, After: r.After, Piece: number(at)}
	if at+1 < t.out.pieces {
		p.Next = number(at + 1)
	}
	if r.First {
		p.Header = number(t.out.id)
	}
	t.sendMessage(replica.KindSnapshotPiece, &snapshots.Outgoing{To: r.To, Message: p})
	t.sender.Sent(t.reading(), p.Next, 8, time.Millisecond, true)
}

func (t *transfers) sendMessage(kind replica.MessageKind, out *snapshots.Outgoing) {
	t.site.net.sendPeer(t.end, &replica.Message{Kind: kind, To: out.To, Snapshot: out.Message})
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
