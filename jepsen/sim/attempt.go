package sim

import (
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/effect"
)

// mode is how an attempt wants to be served.
type mode uint8

const (
	write mode = iota
	linear
	consistent
	stale
)

var modeNames = [...]string{"write", "default", "consistent", "stale"}

// attempt is one request of a caller to one node: the handler that the runner runs for it. It may outlive the time that
// the caller waits for it.
type attempt struct {
	*access
	caller *caller
	serial uint64 // the caller's: it ignores answers to older ones
	mode   mode
	key    string
	write  replica.Write // of a write, without what the attempt decides

	node     *node
	process  *process
	request  uint64        // to the log part, drawn anew for each
	deadline time.Duration // on the node's clock
	parked   time.Duration // true time at which the log part was asked for a read point
	answered bool
	acked    uint64 // highest revision that anybody had been told when the client asked
}

func (a *attempt) isWrite() bool { return a.mode == write }

// arrive brings the request to its node.
func (a *attempt) arrive(n *node, wait time.Duration) {
	if a.trace.on() {
		a.trace.note("client %d asks for %s of %q", a.caller.id, modeNames[a.mode], a.key)
	}
	if !n.up() {
		a.tell(answer{outcome: replica.Refused})
		return
	}
	a.node, a.process = n, n.process
	a.deadline = n.reading() + wait
	n.handlers = append(n.handlers, a)
	switch {
	case a.isWrite():
		a.ask()
		n.log.put(input{write: a})
	case a.mode == stale:
		a.get(false)
	default:
		if a.mode == linear {
			if t, ok := n.board.pub.Begin(); ok {
				a.underLease(t)
				return
			}
		}
		a.askPoint()
	}
}

// ask draws the number under which the log part knows this attempt.
func (a *attempt) ask() {
	a.request = a.nextRequest()
}

// askPoint has the log part find out from where this node may be read.
func (a *attempt) askPoint() {
	a.ask()
	a.parked = a.now
	a.node.log.put(input{read: a})
}

func (a *attempt) asWrite() *replica.Write {
	a.write.ID, a.write.Until = a.request, a.deadline
	return &a.write
}

func (a *attempt) asRead() *replica.ReadRequest {
	return &replica.ReadRequest{ID: a.request, Consistent: a.mode == consistent, Until: a.deadline}
}

// replied takes the log part's answer.
func (a *attempt) replied(r *replica.Reply) {
	if a.trace.on() {
		a.trace.note("answers client %d %s (%v)", a.caller.id, outcomeNames[r.Outcome], r.Reason)
	}
	switch {
	case a.isWrite():
		if r.Outcome == replica.Done {
			a.masters.acknowledge(r.Result.Revision)
		}
		a.tell(answer{outcome: r.Outcome, result: r.Result})
	case r.Outcome != replica.Done:
		a.tell(answer{outcome: r.Outcome})
	case r.Ticketed:
		a.underLease(r.Ticket)
	default:
		a.later(kindTake, func() { a.get(false) })
	}
}

// underLease is a read at the master, in the order of its driver. The processor may be lost before each effect.
func (a *attempt) underLease(t replica.Ticket) {
	r := replica.NewReadRound(t)
	a.goOn(&r, nil)
}

// goOn carries out the effects of a read under the lease. Got is what it shows, if that was taken.
func (a *attempt) goOn(r *replica.ReadRound, got *answer) {
	switch r.Next() {
	case effect.Data:
		a.later(kindTake, func() {
			if got := a.get(true); got != nil {
				a.goOn(r, got)
			}
		})
	case effect.Clock:
		a.later(kindEnd, func() {
			r.Read(a.node.reading(), a.node.board.pub)
			a.goOn(r, got)
		})
	case effect.Done:
		if r.Granted() {
			a.show(got)
			return
		}
		if a.trace.on() {
			a.trace.note("client %d: the lease is lost", a.caller.id)
		}
		a.askPoint()
	}
}

// later does the next thing at once, or after the processor was lost for a while.
func (a *attempt) later(k kind, do func()) {
	loops := &a.node.site.loops
	if a.phase != phaseFaults || !loops.chance(a.plan.splits) {
		do()
		return
	}
	d := loops.skewed(5*time.Microsecond, 2*time.Millisecond)
	if a.plan.on(Lag) && loops.chance(a.plan.longGaps) {
		d = loops.skewed(time.Millisecond, 2*a.plan.lease)
	}
	a.node.later(k, d, do)
}

// get takes the data, and answers with it unless hold says that the lease has to be checked first. Nil: it is damaged,
// and the process is about to end.
func (a *attempt) get(hold bool) *answer {
	n := a.node
	e, found, err := n.log.state.Get(a.key)
	if err != nil {
		n.disk.mustBeRot(err)
		n.disk.noticed = false // it is told
		n.later(kindFault, 0, func() { n.stop(err) })
		return nil
	}
	n.disk.mustBeSound()
	got := &answer{outcome: replica.Done, entry: e, found: found, result: kv.Result{Code: kv.CodeDone,
		Revision: n.log.state.Revision()}}
	if !hold {
		a.show(got)
	}
	return got
}

// show answers a read. One that is linearizable shows everything that was acknowledged before its client asked: the
// revision of the state tells, whatever the key.
func (a *attempt) show(got *answer) {
	if a.mode == consistent || a.mode == linear && a.plan.clocked() {
		if got.result.Revision < a.acked {
			a.fail("reads show what was acknowledged",
				"node %d shows client %d revision %d by a %s read, and revision %d was acknowledged before",
				a.node.id, a.caller.id, got.result.Revision, modeNames[a.mode], a.acked)
		}
	}
	a.tell(*got)
}

// cutOff is the end of the node's process: the connection to the client breaks.
func (a *attempt) cutOff() {
	if !a.answered {
		a.tell(answer{outcome: replica.Unknown})
	}
}

// answer is what a client is told.
type answer struct {
	outcome replica.Outcome
	result  kv.Result
	entry   kv.Entry
	found   bool
}

// tell brings the answer to the client.
func (a *attempt) tell(ans answer) {
	if a.answered {
		a.fail("one answer", "client %d is answered twice", a.caller.id)
	}
	a.answered = true
	if p := a.process; p != nil {
		p.drop(a)
	}
	c, serial := a.caller, a.serial
	a.at(nil, kindTell, a.hop(), func() {
		if c.attempt == serial {
			c.answered(ans)
		}
	})
}

// drop takes a off the handlers that are told when the process ends.
func (p *process) drop(a *attempt) {
	for i := range p.handlers {
		if p.handlers[i] == a {
			last := len(p.handlers) - 1
			p.handlers[i], p.handlers[last] = p.handlers[last], nil
			p.handlers = p.handlers[:last]
			return
		}
	}
}
