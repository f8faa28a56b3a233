package majority

import (
	"encoding/binary"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// AppendState appends an encoding of everything that p's future depends on but its configuration: two proposers with
// equal bytes answer equal inputs equally from now on. Times are relative to now, and what has run out looks like what
// never was.
func (p *Proposer) AppendState(buf []byte, now time.Duration) []byte {
	buf = binary.AppendUvarint(buf, p.counter)
	if p.busy {
		buf = append(buf, 1)
		buf = appendBallot(buf, p.request)
		buf = appendLeft(buf, p.deadline-now)
		buf = appendSet(buf, p.votes)
		buf = appendSet(buf, p.refused)
	} else {
		buf = append(buf, 0)
	}
	return appendLeft(buf, p.held-now)
}

// AppendState appends an encoding of everything that a's future depends on but its configuration, as
// Proposer.AppendState does.
func (a *Acceptor) AppendState(buf []byte, now time.Duration) []byte {
	buf = appendLeft(buf, a.cfg.Silent-now)
	buf = appendLeft(buf, a.until-now)
	if now < a.until {
		buf = appendBallot(buf, a.vote)
	}
	return buf
}

func appendLeft(buf []byte, d time.Duration) []byte {
	return binary.AppendUvarint(buf, uint64(max(0, d)))
}

func appendBallot(buf []byte, b ballot.Ballot) []byte {
	buf = binary.AppendUvarint(buf, b.Counter)
	buf = binary.AppendUvarint(buf, b.Restart)
	buf = binary.AppendUvarint(buf, uint64(b.Node))
	return binary.AppendUvarint(buf, b.Nonce)
}

func appendSet(buf []byte, s quorum.Set) []byte {
	buf = append(buf, byte(s.Len()))
	for i := range s.Len() {
		buf = binary.AppendUvarint(buf, uint64(s.At(i)))
	}
	return buf
}
