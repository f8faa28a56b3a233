package script

import (
	"bytes"
	"fmt"

	"tenure/internal/ballot"
	"tenure/lease"
)

// letter names the acceptor of a node.
func letter(id ballot.NodeID) string { return string(rune('A' + id - 1)) }

// names are those of a message's sender and receiver.
func names(m lease.Message) (from, to string) {
	if isRequest(m.Kind) {
		return fmt.Sprint(m.From), letter(m.To)
	}
	return letter(m.From), fmt.Sprint(m.To)
}

// showBallot is counter@node.restart.
func showBallot(b ballot.Ballot) string {
	if b.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%d@%d.%d", b.Counter, b.Node, b.Restart)
}

// atAcceptor takes a request to its acceptor and tells what that made of it.
func (w *cell) atAcceptor(m lease.Message) {
	nd := w.node(m.To)
	what := fmt.Sprintf("%v %s: ", m.Kind, showBallot(m.Ballot))
	from, to := names(m)
	if !nd.up {
		w.tell.message(w.now, from, to, what+"nobody there")
		return
	}
	now := w.read(nd)
	_, before := nd.acceptor.Live(now)
	reply, ok := nd.acceptor.Handle(now, m)
	record, live := nd.acceptor.Live(now)
	switch {
	case ok:
		what += w.answer(reply, record)
	case nd.acceptor.QuarantineLeft(now) > 0:
		what += "dropped, silent"
	case before && !live:
		what += "record cleared"
	default:
		what += "no such record"
	}
	w.tell.message(w.now, from, to, what)
	if ok {
		w.send([]lease.Message{reply})
	}
}

func (w *cell) answer(r lease.Message, record lease.Record) string {
	s := r.Kind.String()
	if r.Kind == lease.KindAccepted {
		s += ", excludes others until " + stamp(w.now+record.Left)
	}
	if !r.Promised.IsZero() {
		s += ", promised " + showBallot(r.Promised)
	}
	if r.Live {
		s += fmt.Sprintf(", live %s until %s", showBallot(r.LiveBallot), stamp(w.now+r.LiveLeft))
	}
	return s
}

// atProposer takes a reply to its proposer and tells what that made of it.
func (w *cell) atProposer(m lease.Message) {
	nd := w.node(m.To)
	from, to := names(m)
	what := fmt.Sprintf("%v %s", m.Kind, showBallot(m.Ballot))
	if !nd.up {
		w.tell.message(w.now, from, to, what+": nobody there")
		return
	}
	now := w.read(nd)
	before := w.before(nd)
	state := nd.proposer.AppendState(nil, now)
	out := nd.proposer.Handle(now, m)
	if bytes.Equal(state, nd.proposer.AppendState(nil, now)) {
		what += ": ignored"
	}
	w.tell.message(w.now, from, to, what+w.became(nd, before))
	w.send(out)
}

// standing is what a proposer was before it took a message.
type standing struct {
	phase lease.Phase
	held  lease.Tenure // zero: none
}

func (w *cell) before(nd *cellNode) standing {
	held, _ := nd.proposer.Held(w.read(nd))
	return standing{nd.proposer.Attempt().Phase, held}
}

// became tells what has changed for a proposer.
func (w *cell) became(nd *cellNode, was standing) string {
	after := nd.proposer.Attempt()
	h, owns := nd.proposer.Held(w.read(nd))
	switch {
	case owns && h.Ballot != was.held.Ballot:
		verb := "owns"
		if h.Number == was.held.Number {
			verb = "still owns"
		}
		return fmt.Sprintf(": a quorum; %d %s until %s, tenure %d", nd.id, verb, stamp(h.Deadline-nd.offset), h.Number)
	case was.phase == lease.PhasePreparing && after.Phase == lease.PhaseAccepting:
		return ": a quorum is open"
	case was.phase != lease.PhaseNone && after.Phase == lease.PhaseNone:
		return ": attempt over, " + showEnd(after.Last)
	}
	return ""
}

func showEnd(e lease.End) string {
	switch {
	case e.Reason == lease.EndRejected:
		return "rejected, " + showBallot(e.Promised) + " is promised"
	case e.Reason == lease.EndBlocked && !e.Blocker.Ballot.IsZero():
		return "blocked by " + showBallot(e.Blocker.Ballot)
	}
	return e.Reason.String()
}

// notice tells what time alone has ended.
func (w *cell) notice() {
	for _, nd := range w.nodes {
		owned, live, silent := nd.owned, nd.live, nd.silent
		w.look(nd)
		if owned && !nd.owned {
			w.tell.say(w.now, "%d owns no more", nd.id)
		}
		if live && !nd.live {
			w.tell.say(w.now, "%s is empty again", letter(nd.id))
		}
		if silent && !nd.silent {
			w.tell.say(w.now, "%s answers again", letter(nd.id))
		}
	}
}

func (w *cell) state(*Command) error {
	for _, nd := range w.nodes {
		if !nd.up {
			w.tell.say(w.now, "node %d is down", nd.id)
			continue
		}
		now, what := w.read(nd), "owns nothing"
		if h, held := nd.proposer.Held(now); held {
			what = fmt.Sprintf("owns under %s until %s, tenure %d", showBallot(h.Ballot), stamp(h.Deadline-nd.offset), h.Number)
		}
		record := "is empty"
		if r, live := nd.acceptor.Live(now); live {
			record = fmt.Sprintf("holds %s until %s", showBallot(r.Ballot), stamp(w.now+r.Left))
		}
		w.tell.say(w.now, "%d %s, %s %s", nd.id, what, letter(nd.id), record)
	}
	return nil
}
