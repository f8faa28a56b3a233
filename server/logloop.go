package server

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/wire"
)

// event is one input of the log part on its way to a round.
type event struct {
	replica.Event
	reply chan replica.Reply // of a Write or a Read; has space for one
}

// logLoop steps the log part, on whichever goroutine the inbox has chosen, one at a time; and has what only rounds
// touch. Its own goroutine ticks, and goes on for those that have done enough.
type logLoop struct {
	n       *Node
	part    *replica.Log
	driver  *replica.LogRound
	events  []event         // of this round
	noted   int             // of events, so many have been noted
	words   []replica.Event // of events, those about the health of peers
	tick    bool            // there is a tick among events
	waiting map[uint64]waiter
	stages  stages
	ticking atomic.Bool   // a tick is in the inbox
	onward  chan struct{} // the turn to step, handed on; space for one

	complainAt time.Duration // how long the disk may be silent until the next line in the log
}

func newLogLoop(n *Node, part *replica.Log) *logLoop {
	l := &logLoop{n: n, part: part, driver: replica.NewLogRound(part), waiting: map[uint64]waiter{}, onward: make(chan struct{}, 1),
		complainAt: diskComplaint}
	n.inbox.drain = l.drain
	return l
}

// waiter is where the reply to a request goes.
type waiter struct {
	reply chan replica.Reply
	at    time.Duration
	write bool
}

// run ticks until stop is closed.
func (l *logLoop) run(stop <-chan struct{}) error {
	ticker := time.NewTicker(replica.TickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			select {
			case <-l.onward:
				l.n.inbox.release() // it is closed
			default:
			}
			return nil
		case <-ticker.C:
			if !l.ticking.Swap(true) {
				l.n.inbox.put(event{Event: replica.Event{Tick: true}})
			}
		case <-l.n.nudged:
			l.n.inbox.put(event{})
		case <-l.onward:
			for l.turn() {
			}
		}
	}
}

// guestRounds is how many rounds a goroutine steps that has something else to do: the first for its own event, the
// second for what came meanwhile.
const guestRounds = 2

// drain is a turn of whoever put an event. It does a few rounds and leaves the rest to the loop's own goroutine.
func (l *logLoop) drain() {
	defer endOnPanic()
	for range guestRounds {
		if !l.turn() {
			return
		}
	}
	l.n.inbox.handOn(l.onward)
}

// turn is one round, and tells whether the turn goes on. A failure ends the node, and nobody steps any more.
func (l *logLoop) turn() bool {
	if err := l.round(); err != nil {
		l.n.fail(err)
		l.n.inbox.close()
	}
	return !l.n.inbox.release()
}

// endOnPanic ends the process with a panic of the log part. The goroutine may be one of net/http's, whose requests are
// rescued from panics: the node would go on as a master that nobody steps.
func endOnPanic() {
	p := recover()
	if p == nil {
		return
	}
	stack := debug.Stack()
	go panic(fmt.Sprintf("%v\n\n%s", p, stack))
	select {}
}

// round takes all inputs that are there through the log part once, in the order that the driver says.
func (l *logLoop) round() error {
	for {
		e, err := l.driver.Next()
		if err != nil {
			return err
		}
		if e == replica.EffectDone {
			l.done()
			return nil
		}
		if err := l.do(e); err != nil {
			return err
		}
	}
}

// do carries out an effect. An error is damage.
func (l *logLoop) do(e replica.Effect) error {
	out := l.driver.Output()
	switch e {
	case replica.EffectTake:
		l.take()
	case replica.EffectClock:
		l.driver.Read(l.n.clock.Now(), l.n.gate.load())
		l.note()
	case replica.EffectApply, replica.EffectFreeze, replica.EffectCheckpointed:
		l.n.stateMu.Lock()
		defer l.n.stateMu.Unlock()
		return l.driver.Locked()
	case replica.EffectStanding:
		l.publishStanding(l.driver.Now())
		if next := l.part.Relief(); next != 0 {
			l.n.relieve(next)
		}
	case replica.EffectPersist:
		l.stages.proposed(l.driver.Now(), out)
		l.n.persister.add(out.Persists)
	case replica.EffectReady:
		l.n.gate.setReady(out.Ready, out.Epoch)
		l.n.readyChanged(out.Ready, out.Epoch)
	case replica.EffectProgress:
		l.deliverProgress(out)
	case replica.EffectSend:
		l.n.sendLog(out.Log)
		l.n.sendReplica(out.Messages)
	case replica.EffectReply:
		l.reply(out.Replies)
	case replica.EffectCheckpoint:
		l.n.checkpointIn <- out.Checkpoint
	}
	return nil
}

// take hands the driver everything that waits, and with a tick what the other loops have measured.
func (l *logLoop) take() {
	l.events, l.noted, l.tick = l.n.inbox.take(), 0, false
	l.part.SetSpace(replica.Space(l.n.space.Load()))
	for i := range l.events {
		e := &l.events[i]
		l.tick = l.tick || e.Tick
		l.driver.Add(&e.Event)
	}
	if !l.tick {
		return
	}
	l.ticking.Store(false)
	l.part.SetStateDBBytes(l.n.stateDBBytes.Load())
	l.part.SetCheckpointBytes(l.n.checkpointBytes.Load())
	l.hearHealth()
}

// note keeps where the answers to the round's requests go, and follows the batches that its events speak of.
func (l *logLoop) note() {
	now := l.driver.Now()
	for ; l.noted < len(l.events); l.noted++ {
		switch e := &l.events[l.noted]; {
		case e.Log != nil:
			l.stages.acked(now, e.Log)
		case e.Write != nil:
			l.waiting[e.Write.ID] = waiter{reply: e.reply, at: now, write: true}
		case e.Read != nil:
			l.waiting[e.Read.ID] = waiter{reply: e.reply}
		case e.Persisted != 0:
			l.stages.persisted(now, e.Persisted)
		}
	}
}

// done ends a round.
func (l *logLoop) done() {
	l.stages.moved(l.driver.Now(), l.part.Chosen(), l.part.Applied())
	if l.driver.Output().Ready == 0 {
		l.stages.forget()
	}
	if l.tick || l.part.MasterNode() != l.n.logView.Load().master {
		l.n.publishLog(l.part, l.n.clock.Now())
	}
	clear(l.events) // the inbox uses the array again
	l.events = nil
}

func (l *logLoop) reply(replies []replica.Reply) {
	now := l.n.clock.Now()
	for _, r := range replies {
		w, ok := l.waiting[r.ID]
		if !ok {
			panic(fmt.Sprintf("server: reply to request %d, which does not wait", r.ID))
		}
		delete(l.waiting, r.ID)
		if r.Reason == replica.NoSpace {
			l.n.publishLog(l.part, now) // the handler names the nodes that are full
		}
		if w.write {
			l.n.metrics.observeWrite(r, now-w.at)
		}
		w.reply <- r
	}
}

// sendLog encodes and sends messages of the log.
func (n *Node) sendLog(ms []multipaxos.Message) {
	wire.EncodeLogs(ms, func(m *multipaxos.Message, body []byte) { n.transport.SendLog(m.To, body) })
}

// sendReplica encodes and sends messages between log parts.
func (n *Node) sendReplica(ms []replica.Message) {
	for i := range ms {
		n.transport.SendLog(ms[i].To, wire.EncodeReplica(&ms[i]))
	}
}

// LogFrame takes a frame from the log connection of a peer.
func (n *Node) LogFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte, more bool) {
	b, err := wire.DecodeLog(body, from, n.self.Node)
	if !n.decoded(from, err) {
		return
	}
	switch {
	case b.Log != nil:
		n.inbox.putPeer(event{Event: replica.Event{Log: b.Log}}, more)
	case b.Replica != nil:
		n.inbox.putPeer(event{Event: replica.Event{Peer: b.Replica}}, more)
	case b.Transfer != nil:
		n.takeTransfer(from, *b.Transfer)
	default:
		n.transfers.answered(*b.Transferred)
	}
}

// decoded reports whether a frame could be decoded, and counts it if not. The peer's handshake was right and its type is
// known (transport ignores others): a malformed frame is a fault of one of the two programs, never of a user.
func (n *Node) decoded(from ballot.NodeID, err error) bool {
	if err == nil {
		return true
	}
	n.metrics.badFrames.Inc()
	n.log.Debug().Err(err).Uint64("from", uint64(from)).Msg("dropped a frame that cannot be decoded")
	return false
}
