package multipaxos

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Slot numbers the entries of the log from 1. Zero is before the first.
type Slot uint64

// Entry is what an acceptor holds in a slot: the value last accepted there, and the ballot of that vote. An empty
// Value is a no-op. Values are never changed once they are in an Entry: everybody may share the bytes.
type Entry struct {
	Slot   Slot
	Ballot ballot.Ballot
	Value  []byte
}

// Kind tells what a Message says.
type Kind uint8

// The messages of the log. See Message for which fields each uses.
const (
	KindPrepare Kind = iota + 1
	KindPromise
	KindAccept
	KindAccepted
	KindReject
	KindHeartbeat
	KindHeartbeatReply
	KindFetch
	KindLearn
	KindConfirm
	KindConfirmed
)

// Message is one message of the log between two nodes. It is what travels in the frames of the log connection.
//
//	kind            from      uses
//	Prepare         leader    Ballot, Slot (first slot asked for; also the next page)
//	Promise         acceptor  Ballot, Slot (first slot of this page), Entries, Last (no page follows), Truncated, Chosen, Membership
//	Accept          leader    Ballot, Entries (slots in a row, all of this ballot), Chosen (as applied by the leader), Folded (by all members)
//	Accepted        acceptor  Ballot, Slot and Through (the slots accepted, in a row), Chosen, Folded (by the sender)
//	Reject          acceptor  Ballot (the one refused), Promised
//	Heartbeat       leader    Ballot, Chosen (as applied by the leader), Through (last slot sent to this peer), Folded (by all members)
//	HeartbeatReply  acceptor  Ballot, Chosen, Folded (by the sender), Slot (first slot of this ballot it lacks, 0 if none)
//	Fetch           learner   Slot (first chosen slot wanted)
//	Learn           any       Entries (chosen, slots in a row), Chosen (as applied by the sender)
//	Confirm         leader    Ballot, Round
//	Confirmed       acceptor  Ballot, Round
type Message struct {
	Kind       Kind
	From, To   ballot.NodeID
	Ballot     ballot.Ballot
	Promised   ballot.Ballot
	Slot       Slot
	Through    Slot
	Chosen     Slot
	Truncated  Slot
	Folded     Slot
	Round      uint64
	Membership uint64
	Last       bool
	Entries    []Entry
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

// Config is fixed for a run.
type Config struct {
	Self   ballot.Incarnation
	Voters quorum.Set // of membership 1; includes Self.Node for a node that takes part
	// PageBytes bounds the values in one page of Promise, Learn or retransmission.
	PageBytes int
	// WindowEntries and WindowBytes bound what the leader has proposed and not yet seen chosen.
	WindowEntries int
	WindowBytes   int
	// CacheBytes bounds the durable entries kept in memory besides those in flight.
	CacheBytes int
	// KeepEntries is the tail kept below what all members have folded, for slow followers.
	KeepEntries uint64
	// NeedOf is what an entry with this value needs of a disk that is full; see Core.SetFull. It depends on nothing but the
	// value. Nil: nothing.
	NeedOf func(value []byte) Need
}

// Need is what an entry needs of a disk.
type Need uint8

// The needs, in rising order.
const (
	NeedNothing Need = iota // so little that it is always stored: a no-op, a barrier entry
	NeedReserve             // stored from the reserve, while there is some: it gives space back
	NeedSpace               // more data
)

// Output is what the shell has to do after a step, in any order: the order between disk and network is already
// kept, because messages that wait for the disk come out only of a later Persisted.
type Output struct {
	Persists []Persist // hand to storage in this order
	Messages []Message // send now; a lost one is made up for by Tick
	Chosen   Slot      // every slot up to this one is chosen and readable with Core.ChosenEntries
}
