package lease

import (
	"encoding/binary"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// AppendState appends an encoding of everything that p's future depends on: two proposers with equal bytes answer
// equal inputs equally from now on. Times are relative to now, and what has run out looks like what never was. What
// only tells history is left out: Tenure.Number and Since, how the last attempt ended, and the configuration.
func (p *Proposer) AppendState(buf []byte, now time.Duration) []byte {
	buf = binary.AppendUvarint(buf, p.counter)
	buf = binary.AppendUvarint(buf, p.current.number) // which decides the voters
	a := &p.attempt
	if a.phase == phaseWon && !a.inTime(now) {
		a = &attempt{}
	}
	buf = append(buf, byte(a.phase))
	if a.phase != PhaseNone {
		buf = binary.AppendUvarint(buf, a.under.number)
		buf = appendBallot(buf, a.ballot)
		base := a.base
		if _, held := p.Held(now); !held || a.phase != PhasePreparing {
			base = ballot.Ballot{} // open does not look at it any more
		}
		buf = appendBallot(buf, base)
		buf = appendLeft(buf, a.duration)
		buf = appendLeft(buf, a.deadline-now)
		buf = appendSet(buf, a.votes)
		buf = appendSet(buf, a.refused)
	}
	buf = appendLeft(buf, p.held.Deadline-now)
	if now < p.held.Deadline {
		buf = appendBallot(buf, p.held.Ballot)
	}
	buf = append(buf, byte(p.unreleased.n))
	for _, b := range p.unreleased.list[:p.unreleased.n] {
		buf = appendBallot(buf, b)
	}
	return buf
}

// AppendState appends an encoding of everything that a's future depends on but its configuration, as
// Proposer.AppendState does.
func (a *Acceptor) AppendState(buf []byte, now time.Duration) []byte {
	buf = appendLeft(buf, a.QuarantineLeft(now))
	buf = binary.AppendUvarint(buf, a.membership)
	buf = appendLeft(buf, a.older-now)
	return a.master.appendState(buf, now)
}

func (r *record) appendState(buf []byte, now time.Duration) []byte {
	buf = appendBallot(buf, r.promised)
	buf = appendLeft(buf, r.until-now)
	if r.live(now) {
		buf = appendIncarnation(buf, r.owner)
		buf = appendBallot(buf, r.ballot)
	}
	return buf
}

func appendLeft(buf []byte, d time.Duration) []byte {
	return binary.AppendUvarint(buf, uint64(max(0, d)))
}

func appendBallot(buf []byte, b ballot.Ballot) []byte {
	buf = binary.AppendUvarint(buf, b.Counter)
	return appendIncarnation(buf, b.Incarnation())
}

func appendIncarnation(buf []byte, i ballot.Incarnation) []byte {
	buf = binary.AppendUvarint(buf, i.Restart)
	buf = binary.AppendUvarint(buf, uint64(i.Node))
	return binary.AppendUvarint(buf, i.Nonce)
}

func appendSet(buf []byte, s quorum.Set) []byte {
	buf = append(buf, byte(s.Len()))
	for i := range s.Len() {
		buf = binary.AppendUvarint(buf, uint64(s.At(i)))
	}
	return buf
}
