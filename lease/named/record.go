package named

import (
	"time"

	"tenure/internal/ballot"
)

// record is what an acceptor remembers of one name: 88 bytes without pointers, so that a million cost the garbage
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
	text        uint32        // the name as people write it, in texts; 0: not known
	prev, next  uint32        // in its place of the wheel, or in the list of free records
}

const freshBit = 1 << 31

func (r *record) live(now time.Duration) bool { return now < r.until }

// blocks is A2's refusal with N1's owner: r is a live lease of another acquisition.
func (r *record) blocks(now time.Duration, a Acquisition) bool {
	return r.live(now) && r.acquisition != a
}

// fresh reports whether the lease was accepted while no live one was there.
func (r *record) fresh() bool { return r.owner&freshBit != 0 }

// none is the number of no record.
const none = ^uint32(0)

// slab holds the records by number.
type slab struct {
	pages[record]
	free uint32 // first free record, or none
	live int    // records in use
}

// alloc returns the number of a zeroed record.
func (s *slab) alloc() uint32 {
	s.live++
	i := s.free
	if i == none {
		return s.add()
	}
	r := s.at(i)
	s.free = r.next
	*r = record{}
	return i
}

func (s *slab) give(i uint32) {
	s.live--
	s.at(i).next = s.free
	s.free = i
}

func (s *slab) clone() slab { return slab{pages: s.pages.clone(), free: s.free, live: s.live} }

// promise is the highest ballot promised for the name.
func (s *runs) promise(r *record) ballot.Ballot {
	return ballot.New(r.promised, s.at(r.promisedRun))
}

// accepted is the ballot of the last lease accepted.
func (s *runs) accepted(r *record) ballot.Ballot { return ballot.New(r.counter, s.at(r.run)) }

// promised notes the promise of b. False: there is no space for another incarnation.
func (s *runs) promised(r *record, b ballot.Ballot) bool {
	run := s.id(b.Incarnation())
	if run == 0 {
		return false
	}
	s.swap(&r.promisedRun, run)
	r.promised = b.Counter
	return true
}
