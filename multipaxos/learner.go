package multipaxos

import (
	"slices"

	"tenure/internal/ballot"
)

// learner finds out how far the log is chosen, from leaders' marks and from others' logs, and asks for what is missing.
type learner struct {
	applied Slot
	mark    mark
	known   Slot          // highest slot that anybody said is chosen; what the acceptor's mark covers need not be in it
	hint    ballot.NodeID // whom to ask next
	waits   int           // ticks until an unanswered Fetch is repeated; 0: none is out
	gone    Slot          // highest slot that a node has answered to have truncated
	missed  int           // questions since the newest entry was learned that brought none: it is gone, or nobody answered
	starved Slot          // refused for want of space: while it is the next one, asking for it again is of no use
}

// mark is the newest that a leader has told: whatever was proposed under its ballot in slots up to through is chosen.
// Being about one ballot only, it stays true for ever, whoever leads later.
type mark struct {
	ballot  ballot.Ballot
	through Slot
}

// advertised returns the chosen mark as others may know it. It is at most l.applied: followers show each entry that
// they apply, and none may show an entry before the master itself would.
func (l *learner) advertised(chosen Slot) Slot { return min(chosen, l.applied) }

// heed takes the chosen mark of a leader that the acceptor has heard, and fetches the entries that the mark covers and
// this node cannot call chosen. While this node leads (phase), its promise lets it hear no other leader, and it follows
// only its own mark.
func (l *learner) heed(m *Message, phase Phase, a *acceptor, out *outbox) {
	if phase == Leading {
		return
	}
	switch l.mark.ballot.Compare(m.Ballot) {
	case -1:
		l.mark = mark{m.Ballot, m.Chosen}
	case 0:
		l.mark.through = max(l.mark.through, m.Chosen)
	}
	l.known = max(l.known, m.Chosen)
	if l.gone <= a.chosen { // else all are asked in turn
		l.hint = m.From
	}
	l.advanceByMark(a)
	if phase == Following {
		l.fetch(m.From, a, out)
	}
}

// advanceByMark calls slots chosen from a leader's mark, but only slots whose vote here has that leader's ballot: a
// value accepted under another ballot need not be the chosen one.
func (l *learner) advanceByMark(a *acceptor) {
	for a.chosen < l.mark.through {
		r := a.log.at(a.chosen + 1)
		if r == nil || r.Ballot != l.mark.ballot {
			break
		}
		a.chosen++
	}
	a.evict()
}

// handleLearn takes chosen entries from slot chosen+1 on. A leader learns only by counting votes: if it took values
// from others its mark would no longer speak of its own proposals alone. A higher ballot among them ends that: see
// shows the ballot to the leader, and returns the leader's phase then.
func (l *learner) handleLearn(m *Message, see func(ballot.Ballot) Phase, a *acceptor, out *outbox) {
	l.known = max(l.known, m.Chosen)
	a.space.jam.loosen(m.Chosen) // others have it: it needs no place in the reserve
	before, phase := a.chosen, Following
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Slot <= before {
			continue
		}
		if phase = see(e.Ballot); phase == Leading {
			return
		}
		if !l.next(e, a) {
			break
		}
		a.learn(*e)
	}
	if a.chosen == before {
		return
	}
	l.waits, l.missed, l.hint = 0, 0, m.From // the others may have truncated it
	l.advanceByMark(a)
	if phase == Following {
		l.fetch(m.From, a, out)
	}
}

// next reports whether e is the next entry to be learned, and whether there is space for it.
func (l *learner) next(e *Entry, a *acceptor) bool {
	if e.Slot != a.chosen+1 {
		return false
	}
	if a.refuses(e) {
		if l.starved = 0; a.cfg.NeedOf(e.Value) >= a.space.full {
			l.starved = e.Slot
		}
		return false
	}
	return true
}

// fetch asks a node for the chosen entries that are missing here. One question is out at a time; tick repeats it.
// While the own disk is behind there is none: what is learned stays in memory until it is durable.
func (l *learner) fetch(from ballot.NodeID, a *acceptor, out *outbox) {
	if l.lacks(a) {
		l.request(from, a, out)
	}
}

// request is fetch of a node that may have more than anybody has said so far.
func (l *learner) request(from ballot.NodeID, a *acceptor, out *outbox) {
	if l.waits > 0 || !l.stores(a) {
		return
	}
	l.waits = fetchTicks
	out.now(Message{Kind: KindFetch, To: from, Slot: a.chosen + 1})
}

// lacks reports whether chosen entries are missing here that could be stored now.
func (l *learner) lacks(a *acceptor) bool { return l.known > a.chosen && l.stores(a) }

// stores reports whether an entry that is learned could be stored now.
func (l *learner) stores(a *acceptor) bool { return l.starved != a.chosen+1 && !a.flooded() }

// refetch goes on with what a flooded disk held up.
func (l *learner) refetch(a *acceptor, out *outbox) {
	if l.hint != 0 {
		l.fetch(l.hint, a, out)
	}
}

// tick repeats an unanswered question, of the next member by id: the one asked may lack the answer too.
func (l *learner) tick(others []ballot.NodeID, a *acceptor, out *outbox) {
	if l.waits > 0 {
		l.waits--
	}
	if l.waits > 0 || !l.lacks(a) {
		return
	}
	if l.gone > a.chosen {
		l.missed = min(l.missed+1, len(others))
	}
	l.ask(others, a, out)
}

// ask asks the next node, l.hint, which may be missing from others, the members that this node knows. While it lags,
// all of them may have been replaced, and only a leader that it has heard answers.
func (l *learner) ask(others []ballot.NodeID, a *acceptor, out *outbox) {
	at := slices.Index(others, l.hint)
	switch {
	case l.hint != 0:
		l.fetch(l.hint, a, out)
	case len(others) > 0:
		at = 0
		l.fetch(others[at], a, out)
	}
	if len(others) > 0 {
		l.hint = others[(at+1)%len(others)]
	}
}

// handleGone takes the answer of a node that has truncated what this one lacks. Another may have it yet: each is asked
// once at once, and then again by and by.
func (l *learner) handleGone(m *Message, others []ballot.NodeID, a *acceptor, out *outbox) {
	if m.Slot != a.chosen+1 {
		return
	}
	l.gone = max(l.gone, m.Truncated)
	if l.missed = min(l.missed+1, len(others)); l.missed >= len(others) {
		return
	}
	if i := slices.Index(others, m.From); i >= 0 {
		l.hint = others[(i+1)%len(others)]
	}
	l.waits = 0
	l.ask(others, a, out)
}

// behind reports whether the entries missing here seem to be gone everywhere. One node has said that it truncated them,
// and as many questions as there are other members have not helped.
func (l *learner) behind(others []ballot.NodeID, chosen Slot) bool {
	return l.gone > chosen && l.missed >= len(others)
}

// handleFetch answers with a page of chosen entries, as far as this node would show them itself.
func (l *learner) handleFetch(m *Message, a *acceptor, out *outbox) error {
	if m.Slot <= a.log.truncated {
		out.now(Message{Kind: KindGone, To: m.From, Slot: m.Slot, Truncated: a.log.truncated})
		return nil
	}
	through := l.advertised(a.chosen)
	if m.Slot > through {
		return nil
	}
	page, err := a.log.read(m.Slot, through, a.cfg.PageBytes)
	if err != nil {
		return err
	}
	out.now(Message{Kind: KindLearn, To: m.From, Entries: page, Chosen: through})
	return nil
}
