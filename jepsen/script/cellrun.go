package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
	"tenure/server/wire"
)

// Do implements Stage.
//
//	start N [for=D]    proposer N begins an attempt, or a renewal if it owns (P1)
//	resend N           and sends again what was not answered (P5)
//	abandon N          and gives the attempt up (P5)
//	release N          and gives the lease up (P6)
//	stop N…            the processes die: ownership and all memory are gone
//	restart N          the process dies and a new one starts (A4)
//	cut N A…           nothing passes between proposer N and these acceptors, from now on
//	heal               all links carry again
//	link N A D         a message between proposer N and acceptor A takes D
//	run to=T           time passes, up to T and what happens at T
//	state              who owns what, and what the acceptors hold
//	want owner=N|none  fails if it is not so; with tenure=H, also if N owns by another of its tenures
func (w *cell) Do(c *Command) ([]string, error) {
	do, ok := cellCommands[c.Name]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrUsage, c.Name)
	}
	err := do(w, c)
	w.owner()
	for _, nd := range w.nodes {
		w.look(nd)
	}
	err = errors.Join(err, c.End(), w.broken)
	w.broken = nil
	return w.tell.take(), err
}

var cellCommands = map[string]func(*cell, *Command) error{
	"start": (*cell).start, "release": (*cell).release, "resend": (*cell).resend, "abandon": (*cell).abandon,
	"stop": (*cell).stop, "restart": (*cell).restart,
	"cut": (*cell).cutLinks, "heal": (*cell).heal, "link": (*cell).link,
	"run": (*cell).run, "state": (*cell).state, "want": (*cell).want,
}

// running takes the next word as a node whose process is there.
func (w *cell) running(c *Command) (*cellNode, error) {
	nd := w.node(c.Node(len(w.nodes)))
	if !nd.up {
		return nil, fmt.Errorf("%w: node %d is down", ErrUsage, nd.id)
	}
	return nd, nil
}

func (w *cell) start(c *Command) error {
	nd, err := w.running(c)
	if err != nil {
		return err
	}
	d := c.Time("for", w.duration)
	if !w.timing.Allows(d) {
		return fmt.Errorf("%w: nobody may try for %v", ErrUsage, d)
	}
	out := nd.proposer.StartFor(w.read(nd), d)
	a := nd.proposer.Attempt()
	verb := "starts"
	if !a.Base.IsZero() {
		verb = "renews " + showBallot(a.Base) + " by"
	}
	w.tell.say(w.now, "%d %s %s, deadline %s", nd.id, verb, showBallot(a.Ballot), stamp(a.Deadline-nd.offset))
	w.send(out)
	return nil
}

func (w *cell) release(c *Command) error {
	nd, err := w.running(c)
	if err != nil {
		return err
	}
	out := nd.proposer.Release(w.read(nd))
	var names []string
	for i, m := range out {
		if i == 0 || m.Ballot != out[i-1].Ballot {
			names = append(names, showBallot(m.Ballot))
		}
	}
	what := "has nothing to release"
	if len(names) > 0 {
		what = "owns nothing from now on and releases " + strings.Join(names, ", ")
	}
	w.tell.say(w.now, "%d %s", nd.id, what)
	w.send(out)
	return nil
}

func (w *cell) resend(c *Command) error {
	nd, err := w.running(c)
	if err != nil {
		return err
	}
	before := w.before(nd)
	out := nd.proposer.Resend(w.read(nd))
	w.tell.say(w.now, "%d sends %d messages again%s", nd.id, len(out), w.became(nd, before))
	w.send(out)
	return nil
}

func (w *cell) abandon(c *Command) error {
	nd, err := w.running(c)
	if err != nil {
		return err
	}
	before := w.before(nd)
	nd.proposer.Abandon()
	w.tell.say(w.now, "%d gives up%s", nd.id, w.became(nd, before))
	return nil
}

func (w *cell) stop(c *Command) error {
	for more := true; more; more = c.More() {
		nd := w.node(c.Node(len(w.nodes)))
		nd.up = false
		w.tell.say(w.now, "node %d dies", nd.id)
	}
	return nil
}

func (w *cell) restart(c *Command) error {
	nd := w.node(c.Node(len(w.nodes)))
	err := w.boot(nd, nd.plan.Record(w.read(nd)-nd.started), false)
	left := nd.acceptor.QuarantineLeft(w.read(nd))
	w.tell.say(w.now, "node %d starts again as %d.%d: %s is empty and silent until %s", nd.id, nd.id, nd.restart,
		letter(nd.id), stamp(w.now+left))
	return err
}

func (w *cell) cutLinks(c *Command) error {
	from := c.Node(len(w.nodes))
	for more := true; more; more = c.More() {
		to := c.acceptor(len(w.nodes))
		w.cut[from-1][to-1] = true
	}
	return nil
}

func (w *cell) heal(*Command) error {
	for i := range w.cut {
		clear(w.cut[i])
	}
	return nil
}

func (w *cell) link(c *Command) error {
	from, to := c.Node(len(w.nodes)), c.acceptor(len(w.nodes))
	d, err := time.ParseDuration(c.Word("a time"))
	w.delay[from-1][to-1] = d
	return err
}

// acceptor takes the next word as the letter of an acceptor, of n.
func (c *Command) acceptor(n int) ballot.NodeID {
	word := c.Word("an acceptor")
	for i := range n {
		if id := ballot.NodeID(i + 1); word == letter(id) {
			return id
		}
	}
	c.bad("%q is not an acceptor", word)
	return 1
}

// run lets time pass. What time alone ends comes before the messages of the same moment: a lease is held, and a record
// lives, until its end and not at it.
func (w *cell) run(c *Command) error {
	to := c.Time("to", w.now)
	if to < w.now {
		return fmt.Errorf("%w: it is %s already", ErrUsage, stamp(w.now))
	}
	for w.broken == nil {
		w.deliver()
		next := w.nextEvent()
		if next > to || w.broken != nil {
			break
		}
		if next <= w.now {
			w.broken = fmt.Errorf("at %s something is held that ended at %s", stamp(w.now), stamp(next))
			break
		}
		w.now = next
		w.notice()
	}
	w.now = to
	w.notice()
	return nil
}

func (w *cell) deliver() {
	for w.broken == nil {
		body, ok := w.network.take(w.now)
		if !ok {
			return
		}
		said, err := wire.DecodeLease(body)
		if err != nil {
			w.broken = err
			return
		}
		m := *said.Message
		if isRequest(m.Kind) {
			w.atAcceptor(m)
		} else {
			w.atProposer(m)
		}
		w.owner()
		w.look(w.node(m.To))
	}
}

// nextEvent is when something arrives or ends next.
func (w *cell) nextEvent() time.Duration {
	const never = time.Duration(1<<63 - 1)
	next := never
	if at, ok := w.network.next(); ok {
		next = at
	}
	for _, nd := range w.nodes {
		if !nd.up {
			continue
		}
		if h, held := nd.proposer.Held(w.read(nd)); held {
			next = min(next, h.Deadline-nd.offset)
		}
		if r, live := nd.acceptor.Live(w.read(nd)); live {
			next = min(next, w.now+r.Left)
		}
		if left := nd.acceptor.QuarantineLeft(w.read(nd)); left > 0 {
			next = min(next, w.now+left)
		}
	}
	return next
}

// send puts messages on their way, unless the link is cut.
func (w *cell) send(ms []lease.Message) {
	for _, m := range ms {
		from, to := m.From, m.To
		if !isRequest(m.Kind) {
			from, to = to, from
		}
		if w.cut[from-1][to-1] {
			a, b := names(m)
			w.tell.message(w.now, a, b, fmt.Sprintf("%v %s: lost", m.Kind, showBallot(m.Ballot)))
			continue
		}
		w.network.post(w.now+w.delay[from-1][to-1], wire.EncodeLease(&m))
	}
}

func isRequest(k lease.Kind) bool {
	return k == lease.KindPrepare || k == lease.KindAccept || k == lease.KindRelease
}

func (w *cell) want(c *Command) error {
	want, got := c.Text("owner", ""), none
	if o := w.owner(); o != nil {
		got = fmt.Sprint(o.id)
	}
	if want != got {
		return fmt.Errorf("at %s the owner is %s, not %s", stamp(w.now), got, want)
	}
	if number := uint64(c.Number("tenure", 0)); number != 0 {
		o := w.owner()
		if o == nil {
			return fmt.Errorf("%w: nobody has tenure %d", ErrUsage, number)
		}
		if h, _ := o.proposer.Held(w.read(o)); h.Number != number {
			return fmt.Errorf("at %s %d owns by tenure %d, not %d", stamp(w.now), o.id, h.Number, number)
		}
	}
	return nil
}
