package replica

import (
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/multipaxos"
)

// prompt decides to whom the leader of the log sends entries at once (multipaxos/DESIGN.md): to the voters that have
// acknowledged soonest lately, just enough for a quorum with this node. It is policy, and no safety rests on it.
type prompt struct {
	peers []answerer // the other voters
	named quorum.Set // as the log was told; none: everybody
	// hurried is how often an answer of a voter that was named was late. For metrics only.
	hurried uint64
}

const (
	// hedgeAfter is how many times the 99th percentile of a voter's answers the leader waits for one of them, before it
	// sends what it holds back to everybody.
	hedgeAfter = 2
	// hedgeLeast and hedgeMost bound that wait. At the most, a tick sends everything anyway.
	hedgeLeast, hedgeMost = 2 * time.Millisecond, TickEvery
	// quickFor is for how long a voter must not have been late before it is named again.
	quickFor = time.Second
	// A voter keeps its place unless another answers in a third of its time: answers take longer where more is asked.
	// It gives way sooner to one through which clients have asked something within askedTicks: these read there what
	// was written.
	namedWeight, askedWeight, askedTicks = 3, 4, 50
)

// follow goes over to other voters, and keeps what is known of those that stay.
func (x *prompt) follow(self ballot.NodeID, voters quorum.Set) {
	var peers []answerer
	for _, id := range voters.IDs() {
		i := slices.IndexFunc(x.peers, func(a answerer) bool { return a.node == id })
		switch {
		case id == self:
		case i >= 0:
			peers = append(peers, x.peers[i])
		default:
			peers = append(peers, answerer{node: id})
		}
	}
	x.peers = peers
}

func (x *prompt) peer(id ballot.NodeID) *answerer {
	for i := range x.peers {
		if x.peers[i].node == id {
			return &x.peers[i]
		}
	}
	return nil
}

// asked is told that a node has passed a request of one of its clients on.
func (x *prompt) asked(from ballot.NodeID, tick uint64) {
	if a := x.peer(from); a != nil {
		a.asked = tick + askedTicks
	}
}

// sends is told of the messages that leave at now.
func (x *prompt) sends(now time.Duration, ms []multipaxos.Message) {
	for i := range ms {
		if m := &ms[i]; m.Kind == multipaxos.KindAccept {
			if a := x.peer(m.To); a != nil {
				a.sends(now, m.Entries[len(m.Entries)-1].Slot)
			}
		}
	}
}

// acknowledged is told of an answer.
func (x *prompt) acknowledged(now time.Duration, m *multipaxos.Message) {
	if a := x.peer(m.From); a != nil {
		a.answers(now, m.Through)
	}
}

// forget forgets what is on its way to a node, whose connection is new or broken.
func (x *prompt) forget(id ballot.NodeID) {
	if a := x.peer(id); a != nil {
		a.clear()
	}
}

// forgetAll forgets what is on its way to all nodes: this node does not lead any more.
func (x *prompt) forgetAll() {
	for i := range x.peers {
		x.peers[i].clear()
	}
}

// due is when the first answer that is awaited from a named voter is late; 0: none is awaited.
func (x *prompt) due() (at time.Duration) {
	for i := range x.peers {
		a := &x.peers[i]
		if d := a.due(); d > 0 && x.named.Has(a.node) && (at == 0 || d < at) {
			at = d
		}
	}
	return at
}

// late reports whether an answer of a voter that is named is late, and notes which ones are.
func (x *prompt) late(now time.Duration) (late bool) {
	for i := range x.peers {
		a := &x.peers[i]
		if d := a.due(); d > 0 && now >= d {
			a.lateAt = now
			late = late || x.named.Has(a.node)
		}
	}
	if late {
		x.hurried++
	}
	return late
}

// choose returns whom to name, of the voters that may be named; none if they are too few.
func (x *prompt) choose(now time.Duration, tick uint64, voters quorum.Set, may func(ballot.NodeID) bool) quorum.Set {
	var named quorum.Set
	for range voters.Need() - 1 {
		var best *answerer
		for i := range x.peers {
			a := &x.peers[i]
			if named.Has(a.node) || !a.quick(now) || !may(a.node) {
				continue
			}
			if best == nil || x.weighed(a, tick) < x.weighed(best, tick) {
				best = a
			}
		}
		if best == nil {
			return quorum.Set{}
		}
		named.Add(best.node)
	}
	return named
}

// weighed returns how soon a voter answers, less if it is named already or clients ask it.
func (x *prompt) weighed(a *answerer, tick uint64) time.Duration {
	d := a.usual
	if x.named.Has(a.node) {
		d /= namedWeight
	}
	if tick < a.asked {
		d /= askedWeight
	}
	return d
}

// answerer is how soon another voter acknowledges entries.
type answerer struct {
	node   ballot.NodeID
	asked  uint64        // its clients have asked something until shortly before this tick
	usual  time.Duration // a moving mean of its answers
	late   time.Duration // when an answer is late; 0: not known yet
	lateAt time.Duration // when one was late last; 0: never
	// sent are the entries that it has not acknowledged, as far as they have a place here: its first and its number.
	sent  [32]sentAt
	begin int
	count int
	times [128]time.Duration // its newest answers
	taken int                // of times, since the start
}

// sentAt says when entries through a slot were sent.
type sentAt struct {
	through multipaxos.Slot
	at      time.Duration
}

func (a *answerer) sends(now time.Duration, through multipaxos.Slot) {
	if a.count < len(a.sent) {
		a.sent[(a.begin+a.count)%len(a.sent)] = sentAt{through, now}
		a.count++
	}
}

func (a *answerer) clear() { a.count = 0 }

func (a *answerer) answers(now time.Duration, through multipaxos.Slot) {
	for a.count > 0 && a.sent[a.begin].through <= through {
		a.took(now - a.sent[a.begin].at)
		a.begin = (a.begin + 1) % len(a.sent)
		a.count--
	}
}

// took takes how long an answer has taken.
func (a *answerer) took(d time.Duration) {
	if a.taken == 0 {
		a.usual = d
	}
	a.usual += (d - a.usual) / 8
	a.times[a.taken%len(a.times)] = d
	if a.taken++; a.taken%(len(a.times)/4) == 0 {
		known := slices.Clone(a.times[:min(a.taken, len(a.times))])
		slices.Sort(known)
		a.late = min(max(hedgeAfter*known[len(known)*99/100], hedgeLeast), hedgeMost)
	}
}

// due is when the answer that is awaited longest is late; 0: none is awaited.
func (a *answerer) due() time.Duration {
	if a.count == 0 {
		return 0
	}
	if a.late == 0 {
		return a.sent[a.begin].at + hedgeMost
	}
	return a.sent[a.begin].at + a.late
}

// quick reports whether no answer was late lately.
func (a *answerer) quick(now time.Duration) bool { return a.lateAt == 0 || now-a.lateAt >= quickFor }

// namePrompt names voters while this node serves and stays. They are connected and have space.
func (l *Log) namePrompt(now time.Duration) {
	var named quorum.Set
	if l.epoch.ready && !l.stopping {
		named = l.prompt.choose(now, l.ticks, l.members.voters, func(id ballot.NodeID) bool {
			p := l.members.peer(id)
			return p != nil && p.connected && p.space.takes(false)
		})
	}
	l.prompt.named = named
	l.core.SetPrompt(named)
}

// hurry sends what is held back to everybody, and names voters anew.
func (l *Log) hurry(now time.Duration) {
	l.core.Hurry()
	l.namePrompt(now)
}

// HedgeAt is when the log part wants a round although nothing has happened: a voter's answer is late then. 0: it wants
// none.
func (l *Log) HedgeAt() time.Duration {
	if !l.epoch.ready {
		return 0
	}
	return l.prompt.due()
}
