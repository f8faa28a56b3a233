package flease

import (
	"encoding/binary"
	"time"

	"tenure/internal/quorum"
)

// AppendState appends an encoding of everything that p's future depends on but its configuration: two proposers with
// equal bytes answer equal inputs equally from now on. Times are relative to now, and what has run out looks like what
// never was. What only tells history (Known, how the last attempt ended) is left out.
func (p *Proposer) AppendState(buf []byte, now time.Duration) []byte {
	buf = appendLeft(buf, p.cfg.Silent-now)
	buf = appendLeft(buf, p.drawn+1-now)
	buf = appendLeft(buf, p.seen+1-now)
	a := &p.attempt
	buf = append(buf, byte(a.phase))
	if a.phase != PhaseNone {
		buf = appendBallot(buf, now, a.ballot)
		buf = binary.AppendVarint(buf, int64(a.until-now))
		buf = appendSet(buf, a.votes)
		buf = appendSet(buf, a.refused)
		buf = appendBallot(buf, now, a.written)
		buf = appendLease(buf, now, a.lease)
	}
	return appendLeft(buf, p.held.Until-now)
}

// AppendState appends an encoding of everything that a's future depends on but its configuration, as
// Proposer.AppendState does. A lease that has run out stays in it: others compare it with their own clocks.
func (a *Acceptor) AppendState(buf []byte, now time.Duration) []byte {
	buf = appendLeft(buf, a.cfg.Silent-now)
	buf = appendBallot(buf, now, a.reading)
	buf = appendBallot(buf, now, a.written)
	return appendLease(buf, now, a.lease)
}

func appendLeft(buf []byte, d time.Duration) []byte {
	return binary.AppendUvarint(buf, uint64(max(0, d)))
}

func appendBallot(buf []byte, now time.Duration, b Ballot) []byte {
	buf = binary.AppendUvarint(buf, uint64(b.Node))
	if b.IsZero() {
		return buf
	}
	return binary.AppendVarint(buf, int64(b.Time-now))
}

func appendLease(buf []byte, now time.Duration, l Lease) []byte {
	buf = binary.AppendUvarint(buf, uint64(l.Owner))
	if l.IsZero() {
		return buf
	}
	return binary.AppendVarint(buf, int64(l.Until-now))
}

func appendSet(buf []byte, s quorum.Set) []byte {
	buf = append(buf, byte(s.Len()))
	for i := range s.Len() {
		buf = binary.AppendUvarint(buf, uint64(s.At(i)))
	}
	return buf
}
