package runner

import (
	"errors"
	"sync"
	"time"

	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/slow"
)

// Why a runner has no answer to a request.
var (
	// ErrOverloaded: too many requests wait, and this one was not taken.
	ErrOverloaded = errors.New("too many requests are waiting on this node")
	// ErrClosed: the node ends, and this request was not taken.
	ErrClosed = errors.New("this node is stopping")
	// ErrNoAnswer: none came in time. The request may still have an effect.
	ErrNoAnswer = errors.New("no answer in time")
	// ErrEnded: the node has ended. The request may still have an effect.
	ErrEnded = errors.New("this node has stopped")
)

// Write has the command applied through the master, wherever it is, and waits for about so long. It adds to took where
// the time went, unless took is nil. The error is one of the four above.
func (l *Log) Write(wait time.Duration, c kv.Command, took *slow.Write) (replica.Reply, error) {
	r, w := newReplyWait(), replica.WriteOf(&c)
	w.ID, w.Wait = l.nextID.Add(1), max(wait, 1)
	if err := l.inbox.putClient(logEvent{reply: r.reply, Event: replica.Event{Write: &w}}); err != nil {
		return replica.Reply{}, err
	}
	a, err := r.answer(wait, l.cfg.Lifecycle.Ended())
	if took != nil {
		took.Add(a.took)
	}
	return a.Reply, err
}

// ReadPoint waits for a point from which this node's state may be read. Its errors are those of Write.
func (l *Log) ReadPoint(wait time.Duration, consistent bool) (replica.Reply, error) {
	r := newReplyWait()
	if err := l.inbox.putClient(logEvent{reply: r.reply, Event: replica.Event{
		Read: &replica.ReadRequest{ID: l.nextID.Add(1), Consistent: consistent, Wait: max(wait, 1)}}}); err != nil {
		return replica.Reply{}, err
	}
	return r.wait(wait, l.cfg.Lifecycle.Ended())
}

// Members has the log part change the members, if this node is the master, or say who is. Its errors are those
// of Write.
func (l *Log) Members(wait time.Duration, q replica.MembersRequest) (replica.Reply, error) {
	r := newReplyWait()
	q.ID, q.Wait = l.nextID.Add(1), max(wait, 1)
	if err := l.inbox.putClient(logEvent{reply: r.reply, Event: replica.Event{Members: &q}}); err != nil {
		return replica.Reply{}, err
	}
	return r.wait(wait, l.cfg.Lifecycle.Ended())
}

// Raise has the log part raise the feature level, if this node is the master, or say who is. Its errors are
// those of Write.
func (l *Log) Raise(wait time.Duration) (replica.Reply, error) {
	r := newReplyWait()
	if err := l.inbox.putClient(logEvent{reply: r.reply, Event: replica.Event{
		Level: &replica.LevelRequest{ID: l.nextID.Add(1)}}}); err != nil {
		return replica.Reply{}, err
	}
	return r.wait(wait, l.cfg.Lifecycle.Ended())
}

// Remaining returns about how long the time that runs on name has left, if one is known to run. The log part's timers
// belong to whoever steps it, so this is a round.
func (l *Log) Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool) {
	type remaining struct {
		left time.Duration
		runs bool
	}
	told := make(chan remaining, 1) // has space: a round that comes when the node has ended waits for nobody
	l.Do(func(part *replica.Log) {
		left, runs := part.Remaining(kind, name, l.cfg.Clock.Now())
		told <- remaining{left, runs}
	})
	select {
	case r := <-told:
		return r.left, r.runs
	default:
		return 0, false // the node has ended
	}
}

// Checkpoint has everything that is applied now checkpointed, and waits until it is, for about so long. The error is
// ErrNoAnswer.
func (l *Log) Checkpoint(wait time.Duration) error {
	asked := make(chan multipaxos.Slot, 1)
	if !l.Do(func(part *replica.Log) { asked <- part.WantCheckpoint() }) {
		return ErrNoAnswer
	}
	slot := <-asked
	end := time.NewTimer(wait)
	defer end.Stop()
	look := time.NewTicker(replica.TickEvery)
	defer look.Stop()
	for l.cfg.Store.Checkpointed() < slot {
		select {
		case <-look.C:
		case <-end.C:
			return ErrNoAnswer
		case <-l.cfg.Lifecycle.Ended():
			return ErrNoAnswer
		case <-l.cfg.Lifecycle.Failed():
			return ErrNoAnswer
		}
	}
	return nil
}

// Do runs f in a round, waits for it, and reports whether it has run. If the run ends or fails first, f may run later
// or never.
func (l *Log) Do(f func(part *replica.Log)) bool {
	done := make(chan struct{})
	l.inbox.put(logEvent{Event: replica.Event{Call: func(time.Duration) { f(l.cfg.Part); close(done) }}})
	select {
	case <-done:
		return true
	case <-l.cfg.Lifecycle.Ended():
	case <-l.cfg.Lifecycle.Failed(): // nobody may step any more
	}
	return false
}

// replyWait is where a handler waits for a reply. It is reused after a reply, so that requests allocate neither a
// channel nor a timer.
type replyWait struct {
	reply chan answer // space for the one reply
	timer *time.Timer // stopped while nobody waits
}

var replyWaits = sync.Pool{New: func() any {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return &replyWait{reply: make(chan answer, 1), timer: t}
}}

func newReplyWait() *replyWait { return replyWaits.Get().(*replyWait) }

// wait returns the reply, ErrEnded if the node ends, or ErrNoAnswer if no reply comes in time. It waits two ticks longer
// than limit: the log knows the outcome best, and notices the end of limit within these ticks.
func (w *replyWait) wait(limit time.Duration, ended <-chan struct{}) (replica.Reply, error) {
	a, err := w.answer(limit, ended)
	return a.Reply, err
}

// answer is wait, with where the time went.
func (w *replyWait) answer(limit time.Duration, ended <-chan struct{}) (r answer, err error) {
	w.timer.Reset(limit + 2*replica.TickEvery)
	select {
	case r = <-w.reply:
	case <-w.timer.C:
		return r, ErrNoAnswer // the reply may come yet: w is not used again
	case <-ended:
		select {
		case r = <-w.reply:
		case <-time.After(2 * replica.TickEvery):
			return r, ErrEnded
		}
	}
	w.timer.Stop()
	replyWaits.Put(w)
	return r, nil
}
