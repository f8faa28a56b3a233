package lease

import (
	"time"

	"tenure/internal/ballot"
)

// maxUnreleased bounds the ballots that one Release names. More failed renewals than that in one lease time leave
// records that run out by themselves.
const maxUnreleased = 8

// ballots is a short list in rising order. Its zero value is empty.
type ballots struct {
	n    int
	list [maxUnreleased]ballot.Ballot
}

// restart makes b the only one.
func (l *ballots) restart(b ballot.Ballot) {
	*l = ballots{n: 1}
	l.list[0] = b
}

// add appends b. To make space the second goes: the first is that of the lease held, if one is.
func (l *ballots) add(b ballot.Ballot) {
	if l.n == maxUnreleased {
		copy(l.list[1:], l.list[2:])
		l.n--
	}
	l.list[l.n] = b
	l.n++
}

// Release is P6. The caller has stopped acting as owner before it calls; here the ownership ends and the attempt in
// progress is abandoned for good before any Release exists, so that no late reply can bring either back. The messages
// name the ballot last held and every later one that had an Accept out; sending them, or sending them again, is a
// courtesy and never needed for safety. After an attempt that failed with Accept out, a caller that owns nothing may
// release the records left behind: they would block its own retry too.
func (p *Proposer) Release(time.Duration) []Message {
	if p.attempt.busy() {
		p.last = End{Reason: EndReleased}
	}
	p.held.Deadline = 0
	p.attempt = attempt{}
	var out []Message
	for _, b := range p.unreleased.list[:p.unreleased.n] {
		for i := range p.current.voters.Len() {
			out = append(out, Message{
				Kind: KindRelease, From: p.cfg.Self.Node, To: p.current.voters.At(i), Resource: MasterResource,
				Class: ClassMaster, Ballot: b, Owner: p.cfg.Self,
			})
		}
	}
	p.unreleased = ballots{}
	return out
}
