package multipaxos

import (
	"math"

	"tenure/internal/ballot"
)

// Slot numbers the entries of the log from 1. Zero is before the first.
type Slot uint64

// NoPin is for Core.Pin: the log is truncated as its size demands.
const NoPin = Slot(math.MaxUint64)

// Entry is what an acceptor holds in a slot: the value last accepted there, and the ballot of that vote. An empty
// Value is a no-op. Values are never changed once they are in an Entry: everybody may share the bytes.
type Entry struct {
	Slot   Slot
	Ballot ballot.Ballot
	Value  []byte
}

// Persist is what must be made durable, whole and in the order of Seq, before any message that waits for it leaves.
// Several may be made durable by one commit. A field at its zero value changes nothing.
type Persist struct {
	Seq      uint64        // rises by one from 1 in each run
	Promised ballot.Ballot // raises the promised ballot
	Entries  []Entry       // replace what is in their slots; each slot comes once, in no particular order
	Chosen   Slot          // raises the chosen mark; may become durable late, never early
	Truncate Slot          // delete the entries up to and including this slot
}

// Durable is what a node finds on its disk when it starts.
type Durable struct {
	Promised  ballot.Ballot
	Truncated Slot // slots up to this one are gone from the log
	Chosen    Slot // slots up to this one are known to be chosen
	Last      Slot // highest slot with an entry, or Truncated
}

// Reader reads entries that are durable, for a peer that lags or for the state machine after a restart.
//
// Entries returns the entries with slots in [from, through] that exist, in slot order, and stops early once their
// values hold at least maxBytes together (so a page is never empty while entries remain). The core calls it only
// for slots whose Persist has been reported durable. An error is damage: the node must stop.
type Reader interface {
	Entries(from, through Slot, maxBytes int) ([]Entry, error)
}

// Output is what the runner has to do after a step, in any order. The order between disk and network is already kept:
// messages that wait for the disk come out only of a later Persisted.
type Output struct {
	Persists []Persist // hand to storage in this order
	Messages []Message // send now; a lost one is made up for by Tick
	Chosen   Slot      // every slot up to this one is chosen and readable with Core.ChosenEntries
}
