package server

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/replica"
)

// event is one input of the log part; exactly one field group is set, or none: then it only makes a round happen.
type event struct {
	log       *multipaxos.Message
	peer      *replica.Message
	write     *pendingWrite
	read      *pendingRead
	persisted uint64
	folded    bool
	tick      bool
	up, down  ballot.NodeID
	call      func() // runs in a round
}

// pendingWrite is a client's write between its handler and the log loop; reply has room for one. Its time runs from
// the round in which the loop takes it.
type pendingWrite struct {
	request  replica.Request
	patience time.Duration
	reply    chan replica.Reply
}

// pendingRead is a client's read that waits for a read point.
type pendingRead struct {
	request  replica.ReadRequest
	patience time.Duration
	reply    chan replica.Reply
}

// logLoop steps the log part, on whichever goroutine the inbox has chosen, one at a time; and has what only rounds
// touch. Its own goroutine ticks, and goes on for those that have done enough.
type logLoop struct {
	n       *Node
	part    *replica.Log
	waiting map[uint64]waiter
	stages  stages
	ticking atomic.Bool   // a tick is in the inbox
	onward  chan struct{} // the turn to step, handed on; room for one

	complainAt time.Duration // how long the disk may be silent until the next line in the log
}

func newLogLoop(n *Node, part *replica.Log) *logLoop {
	l := &logLoop{n: n, part: part, waiting: map[uint64]waiter{}, onward: make(chan struct{}, 1), complainAt: diskComplaint}
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
				l.n.inbox.put(event{tick: true})
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

// round takes all inputs that are there through the log part once.
func (l *logLoop) round() error {
	now, p := l.n.clock.Now(), l.n.gate.load()
	events := l.n.inbox.take()
	l.part.SetRoom(replica.Room(l.n.room.Load()))
	tick := false
	for i := range events {
		tick = tick || events[i].tick
		if err := l.input(now, &events[i]); err != nil {
			return err
		}
		events[i] = event{}
	}
	if tick {
		l.ticking.Store(false)
		l.hearHealth(now)
		l.part.SetImageBytes(l.n.imageBytes.Load())
		l.part.SetFoldBytes(l.n.foldBytes.Load())
		if err := l.part.Tick(now, p); err != nil {
			return err
		}
		l.publishStanding(now)
		l.freeze()
		if next := l.part.Relief(); next != 0 {
			l.n.relieve(next)
		}
	}
	if err := l.settle(now); err != nil {
		return err
	}
	if tick || l.part.MasterNode() != l.n.logView.Load().master {
		l.n.publishLog(l.part, l.n.clock.Now())
	}
	return nil
}

// settle moves everything on as far as it goes: propose and send, apply, acknowledge; and again while entries were
// applied, because that may have opened the epoch or made room.
func (l *logLoop) settle(now time.Duration) error {
	for {
		if err := l.part.Advance(now, l.n.gate.load()); err != nil {
			return err
		}
		out := l.part.Take()
		l.stages.proposed(now, &out)
		l.deliver(out)
		if out.Apply {
			if err := l.apply(); err != nil {
				return err
			}
		}
		if l.part.NeedsTime() {
			now = l.n.clock.Now()
		}
		l.part.Finish(now, l.n.gate.load())
		l.deliver(l.part.Take())
		l.stages.moved(now, l.part.Chosen(), l.part.Applied())
		if out.Ready == 0 {
			l.stages.forget()
		}
		if !out.Apply {
			return nil
		}
	}
}

func (l *logLoop) apply() error {
	l.n.stateMu.Lock()
	defer l.n.stateMu.Unlock()
	return l.part.Apply()
}

// freeze starts a fold when it is time.
func (l *logLoop) freeze() {
	if !l.part.WantFreeze() {
		return
	}
	l.n.stateMu.Lock()
	l.part.Freeze()
	l.n.stateMu.Unlock()
}

// deliver carries out an output. Persists go first: the disk works while the messages are encoded. Readiness is
// published before replies leave, so that a granted read finds its epoch.
func (l *logLoop) deliver(out replica.Output) {
	if len(out.Persists) > 0 {
		l.n.persister.add(out.Persists)
	}
	if l.n.gate.setReady(out.Ready, out.Epoch) {
		l.n.readyChanged(out.Ready, out.Epoch)
	}
	l.deliverProgress(&out)
	l.n.sendLog(out.Log)
	for i := range out.Messages {
		m := &out.Messages[i]
		l.n.transport.SendLog(m.To, encodeReplica(m))
	}
	if len(out.Replies) > 0 {
		l.reply(out.Replies)
	}
	if out.Fold != nil {
		l.n.foldIn <- out.Fold
	}
}

func (l *logLoop) reply(replies []replica.Reply) {
	now := l.n.clock.Now()
	for _, r := range replies {
		w, ok := l.waiting[r.ID]
		if !ok {
			panic(fmt.Sprintf("server: reply to request %d, which does not wait", r.ID))
		}
		delete(l.waiting, r.ID)
		if r.Reason == replica.NoRoom {
			l.n.publishLog(l.part, now) // the handler names the nodes that are full
		}
		if w.write {
			l.n.metrics.observeWrite(r, now-w.at)
		}
		w.reply <- r
	}
}

// input hands one event to the log part.
func (l *logLoop) input(now time.Duration, e *event) error {
	switch {
	case e.log != nil:
		l.stages.acked(now, e.log)
		return l.part.Step(*e.log)
	case e.peer != nil:
		l.part.Receive(now, *e.peer)
	case e.write != nil:
		e.write.request.Until = now + e.write.patience
		l.waiting[e.write.request.ID] = waiter{reply: e.write.reply, at: now, write: true}
		l.part.Request(now, e.write.request)
	case e.read != nil:
		e.read.request.Until = now + e.read.patience
		l.waiting[e.read.request.ID] = waiter{reply: e.read.reply}
		l.part.ReadRequest(e.read.request)
	case e.persisted != 0:
		l.stages.persisted(now, e.persisted)
		return l.part.Persisted(e.persisted)
	case e.folded:
		l.n.stateMu.Lock()
		defer l.n.stateMu.Unlock()
		return l.part.FoldDone()
	case e.up != 0:
		l.part.Connected(e.up)
	case e.down != 0:
		l.part.Disconnected(e.down)
	case e.call != nil:
		e.call()
	}
	return nil
}

// sendLog encodes and sends messages of the log.
func (n *Node) sendLog(ms []multipaxos.Message) {
	var body []byte
	for i := range ms {
		if i == 0 || !sharesBody(&ms[i-1], &ms[i]) {
			body = encodeLog(&ms[i])
		}
		n.transport.SendLog(ms[i].To, body)
	}
}

// LogFrame takes a frame from the log connection of a peer.
func (n *Node) LogFrame(from ballot.NodeID, _ ballot.Incarnation, body []byte, more bool) {
	if len(body) == 0 {
		return
	}
	switch body[0] {
	case frameLog:
		m, err := decodeLog(body)
		if n.decoded(from, err) {
			m.From, m.To = from, n.self.Node
			n.inbox.putPeer(event{log: m}, more)
		}
	case frameReplica:
		m, err := decodeReplica(body)
		if n.decoded(from, err) {
			m.From, m.To = from, n.self.Node
			n.inbox.putPeer(event{peer: m}, more)
		}
	case frameTransfer:
		var a transferAsk
		if n.decode(from, body, &a) {
			n.takeTransfer(from, a)
		}
	case frameTransferred:
		var a transferAnswer
		if n.decode(from, body, &a) {
			n.transfers.answered(a)
		}
	default:
		n.metrics.ignoredFrames.Inc()
	}
}

// decode reports a frame that cannot be decoded once per frame at debug level; the peer's handshake was right, so
// this is a fault of one of the two programs, never of a user.
func (n *Node) decode(from ballot.NodeID, body []byte, v any) bool {
	return n.decoded(from, decodeInto(body, v))
}

func (n *Node) decoded(from ballot.NodeID, err error) bool {
	if err != nil {
		n.metrics.badFrames.Inc()
		n.log.Debug().Err(err).Uint64("from", uint64(from)).Msg("dropped a frame that cannot be decoded")
		return false
	}
	return true
}
