package named

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// AppendState appends an encoding of everything that t's future depends on but its configuration: two tables with equal
// bytes answer equal requests equally from now on. Times are relative to now. When a record without a live lease is
// dropped, and owners' texts, are left out: a caller that needs the former sweeps at every reading of the clock, with a
// Linger of 0.
func (t *Table) AppendState(buf []byte, now time.Duration) []byte {
	buf = appendLeft(buf, t.QuarantineLeft(now))
	buf = binary.AppendUvarint(buf, uint64(t.floor))
	buf = appendBool(buf, t.open)
	buf = t.members.appendState(buf, now)
	buf = t.buckets.appendState(buf, now, t.cfg.BucketLinger)
	var in []uint32
	for p := range t.index.parts {
		for _, i := range t.index.parts[p].slots {
			if i != none {
				in = append(in, i)
			}
		}
	}
	slices.SortFunc(in, func(a, b uint32) int { return bytes.Compare(t.slab.at(a).name[:], t.slab.at(b).name[:]) })
	for _, i := range in {
		buf = t.appendRecord(buf, now, t.slab.at(i))
	}
	return buf
}

func (m *memberships) appendState(buf []byte, now time.Duration) []byte {
	buf = binary.AppendUvarint(buf, m.number)
	buf = appendLeft(buf, m.older-now)
	buf = appendBool(buf, m.counting)
	if m.counting {
		buf = binary.AppendUvarint(buf, uint64(m.next))
		buf = appendLeft(buf, m.found-now)
	}
	return buf
}

// appendState appends the state of N4. A level whose time and linger are over decides nothing any more.
func (b *buckets) appendState(buf []byte, now, linger time.Duration) []byte {
	if b.limit == 0 {
		return buf
	}
	for _, d := range [...]time.Duration{b.limit, b.owed, b.writing.Length, b.writing.Quarantine} {
		buf = appendLeft(buf, d)
	}
	for i, u := range b.until {
		if left := u + linger - now; u > 0 && left > 0 {
			buf = appendLeft(append(buf, byte(i+1)), left)
		}
	}
	return append(buf, 0)
}

func (t *Table) appendRecord(buf []byte, now time.Duration, r *record) []byte {
	buf = append(buf, r.name[:]...)
	buf = appendBallot(buf, t.runs.promise(r))
	buf = binary.AppendUvarint(buf, uint64(r.token))
	buf = appendLeft(buf, r.until-now)
	if r.live(now) {
		buf = append(buf, r.acquisition[:]...)
		buf = appendBallot(buf, t.runs.accepted(r))
		buf = appendBool(buf, r.fresh())
	}
	return buf
}

// AppendState appends an encoding of everything that a's future depends on, as Table.AppendState does.
func (a *Attempt) AppendState(buf []byte, now time.Duration) []byte {
	buf = append(buf, byte(a.phase), byte(a.end))
	buf = append(buf, a.ask.Name[:]...)
	buf = append(buf, a.ask.Acquisition[:]...)
	buf = appendLeft(buf, a.ask.Duration)
	buf = appendBool(buf, a.ask.Renewal)
	buf = binary.AppendUvarint(buf, a.counter)
	buf = binary.AppendUvarint(buf, a.ask.Membership)
	buf = appendLeft(buf, a.deadline-now)
	buf = appendSet(buf, a.votes)
	buf = appendSet(buf, a.refused)
	for _, t := range [...]Token{a.reported, a.spent, a.ownToken, a.proposed} {
		buf = binary.AppendUvarint(buf, uint64(t))
	}
	buf = appendBool(buf, a.asked)
	buf = appendBool(buf, a.full)
	buf = binary.AppendUvarint(buf, uint64(a.blocks))
	return binary.AppendUvarint(buf, a.promised)
}

func appendLeft(buf []byte, d time.Duration) []byte {
	return binary.AppendUvarint(buf, uint64(max(0, d)))
}

func appendBool(buf []byte, b bool) []byte {
	if b {
		return append(buf, 1)
	}
	return append(buf, 0)
}

func appendBallot(buf []byte, b ballot.Ballot) []byte {
	for _, n := range [...]uint64{b.Counter, b.Restart, uint64(b.Node), b.Nonce} {
		buf = binary.AppendUvarint(buf, n)
	}
	return buf
}

func appendSet(buf []byte, s quorum.Set) []byte {
	buf = append(buf, byte(s.Len()))
	for i := range s.Len() {
		buf = binary.AppendUvarint(buf, uint64(s.At(i)))
	}
	return buf
}
