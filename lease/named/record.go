package named

import (
	"time"

	"tenure/internal/ballot"
)

// record is what an acceptor remembers of one name: 80 bytes without pointers, so that a million cost the garbage
// collector nothing.
type record struct {
	name        Name
	acquisition Acquisition   // of the last lease accepted; it may be over
	until       time.Duration // end of its exclusion; 0 after a release, and if there was none
	token       Token         // T of N2, with its holder: the acquisition
	counter     uint64        // of the ballot last accepted
	promised    uint64        // counter of the highest ballot promised
	run         runID         // incarnation of the ballot last accepted
	promisedRun runID         // incarnation of the highest ballot promised
	owner       uint32        // its text; the top bit tells whether the lease replaced no live one
	prev, next  uint32        // in its place of the wheel, or in the list of free records
}

const freshBit = 1 << 31

func (r *record) live(now time.Duration) bool { return now < r.until }

// blocks is A2's refusal with N1's owner: r is a live lease of another acquisition.
func (r *record) blocks(now time.Duration, a Acquisition) bool {
	return r.live(now) && r.acquisition != a
}

// fresh tells whether the lease was accepted while no live one was there.
func (r *record) fresh() bool { return r.owner&freshBit != 0 }

// Records lie in chunks that never move: growing copies nothing.
const chunkRecords = 64

type chunk [chunkRecords]record

// none is the number of no record.
const none = ^uint32(0)

// slab holds the records by number.
type slab struct {
	chunks []*chunk
	used   uint32 // numbers given out so far, free ones included
	free   uint32 // first free record, or none
	live   int    // records in use
}

func (s *slab) at(i uint32) *record { return &s.chunks[i/chunkRecords][i%chunkRecords] }

// take is the number of a zeroed record.
func (s *slab) take() uint32 {
	s.live++
	if i := s.free; i != none {
		s.free = s.at(i).next
		*s.at(i) = record{}
		return i
	}
	if s.used%chunkRecords == 0 && int(s.used/chunkRecords) == len(s.chunks) {
		s.chunks = append(s.chunks, new(chunk))
	}
	s.used++
	return s.used - 1
}

func (s *slab) give(i uint32) {
	s.live--
	s.at(i).next = s.free
	s.free = i
}

func (s *slab) clone() slab {
	c := *s
	c.chunks = make([]*chunk, len(s.chunks))
	for i, k := range s.chunks {
		copied := *k
		c.chunks[i] = &copied
	}
	return c
}

// promise is the highest ballot promised for the name.
func (t *Table) promise(r *record) ballot.Ballot {
	return ballot.New(r.promised, t.runs.at(r.promisedRun))
}

// accepted is the ballot of the last lease accepted.
func (t *Table) accepted(r *record) ballot.Ballot { return ballot.New(r.counter, t.runs.at(r.run)) }
