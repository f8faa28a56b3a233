package snapshots

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

const (
	// sendRate bounds how many bytes a second a node sends. It spends at most one part in sendShare of its time on them,
	// since writes go on meanwhile. The fast bounds apply while hardly anything is written, and when so much is written
	// that the log behind the snapshot would become too large before the receiver has all of it.
	sendRate   = 32 << 20
	sendShare  = 4
	fastRate   = 128 << 20
	fastShare  = 2
	quietSlots = 20 // slots applied in a second: fewer are hardly anything
	// Keep is how long a snapshot stays open after the last ask: a receiver that comes back goes on with it.
	Keep = 30 * time.Second
	// PinFor is how long the log behind a snapshot is kept after the last ask, for the receiver to go on from,
	// and PinBytes how large the log may get by that. Without it the receiver may need another snapshot.
	PinFor    = 2 * time.Minute
	PinBytes  = 1 << 30
	maxAskers = 16 // members that are sent to at a time
	// fullFor is the working time counted for an attempt if the connection took nothing.
	fullFor = 20 * time.Millisecond
)

// Sender decides what this node sends to nodes that ask for a snapshot. It keeps one snapshot open, for all of
// them.
type Sender struct {
	askers []asker // in turn
	open   bool
	id     uint64
	slot   uint64 // of the newest snapshot, open or not
	pinned bool   // the log behind pin is kept
	pin    uint64 // slot of the oldest snapshot whose receivers may yet come back for the log
	newest time.Duration
	pause  time.Duration // nothing is sent before

	quiet    bool // hardly anything was written in the last second or more
	fast     bool
	measured time.Duration // when quiet was found out
	applied  uint64        // then
}

// asker is a node that was promised pieces.
type asker struct {
	node ballot.NodeID
	ask  Message
	left uint64
	at   time.Duration // when it asked
}

// SenderView is what a sender goes by.
type SenderView struct {
	Checkpointed uint64 // the slot of the state database
	Applied      uint64
	Short        bool // of space: snapshots are left to other senders
	LogBytes     int64
	// Withheld: nobody gets a snapshot, since it is not known which of the voters has the right state. A copy of a
	// wrong one would be one more vote for it.
	Withheld bool
	// Members is the membership of this node, if known. Other nodes get no snapshot: with it a removed node would learn
	// the membership that does not list it, and leave too early.
	Members ident.Membership
}

// SenderStep is what there is to do. At most one field but Pin and Wait is set.
type SenderStep struct {
	Open   bool // open a snapshot; the result goes to Opened
	Close  bool // close it
	Read   *Read
	Refuse *Outgoing
	Pin    uint64        // keep the log behind this slot; 0: as it is kept otherwise
	Wait   time.Duration // nothing is to be done before, unless somebody asks
}

// Read is a piece to be read and sent; the result goes to Sent.
type Read struct {
	To    ballot.NodeID
	ID    uint64
	After []byte
	First bool // with the header
}

// Ask takes an ask of node from. A newer one of a node replaces the one before.
func (s *Sender) Ask(now time.Duration, from ballot.NodeID, p *Message) {
	if p == nil || p.Pieces == 0 {
		return
	}
	a := asker{node: from, ask: *p, left: min(p.Pieces, Window), at: now}
	for i := range s.askers {
		if s.askers[i].node == from {
			s.askers[i] = a
			return
		}
	}
	if len(s.askers) < maxAskers {
		s.askers = append(s.askers, a)
	}
}

// Lost forgets the pieces promised to a node that is no longer connected.
func (s *Sender) Lost(node ballot.NodeID) {
	for i := range s.askers {
		if s.askers[i].node == node {
			s.drop(i)
			return
		}
	}
}

func (s *Sender) drop(i int) { s.askers = append(s.askers[:i], s.askers[i+1:]...) }

// senderIdle is how often an idle sender checks the snapshot and the log that it keeps.
const senderIdle = time.Second

// Next returns what to do now.
func (s *Sender) Next(now time.Duration, v SenderView) SenderStep {
	if s.pinned && (v.LogBytes > PinBytes || v.Short || len(s.askers) == 0 && now-s.newest > PinFor) {
		s.pinned = false
	}
	s.measure(now, v)
	step := s.next(now, v)
	if s.pinned {
		step.Pin = s.pin
	}
	return step
}

// measure finds out how fast to send.
func (s *Sender) measure(now time.Duration, v SenderView) {
	if passed := now - s.measured; passed >= time.Second {
		slots := v.Applied - min(v.Applied, s.applied)
		s.quiet = s.measured > 0 && time.Duration(slots)*time.Second < quietSlots*passed
		s.measured, s.applied = now, v.Applied
	}
	s.fast = s.quiet || s.pinned && v.LogBytes > PinBytes/4
}

func (s *Sender) next(now time.Duration, v SenderView) SenderStep {
	if s.open && (v.Short || len(s.askers) == 0 && now-s.newest > Keep) {
		s.open = false
		return SenderStep{Close: true}
	}
	if len(s.askers) == 0 {
		return SenderStep{Wait: senderIdle}
	}
	a := &s.askers[0]
	s.newest = now
	switch why := s.refusal(a.node, &a.ask, v); {
	case why != Given:
		out := &Outgoing{To: a.node, Message: &Message{ID: a.ask.ID, Refused: why}}
		s.drop(0)
		return SenderStep{Refuse: out}
	case s.open && s.slot <= a.ask.Above: // nobody else is being sent to
		s.open = false
		return SenderStep{Close: true}
	case !s.open:
		return SenderStep{Open: true}
	case now < s.pause:
		return SenderStep{Wait: s.pause - now}
	}
	return SenderStep{Read: &Read{To: a.node, ID: s.id, After: a.ask.After, First: len(a.ask.After) == 0}}
}

// refusal returns why an ask is not answered with a piece.
func (s *Sender) refusal(node ballot.NodeID, a *Message, v SenderView) Refusal {
	_, _, listed := v.Members.Find(node)
	listed = listed || v.Members.Number == 0
	switch {
	case v.Withheld:
		return Disputed
	case !listed:
		return Stranger
	case a.ID != 0 && (!s.open || a.ID != s.id):
		return Gone
	case a.ID != 0:
		return Given
	case v.Short:
		return Short
	case s.open && s.slot > a.Above:
		return Given
	case s.open && len(s.askers) > 1:
		return Busy
	case v.Checkpointed <= a.Above:
		return None
	}
	return Given
}

// Opened takes the result of Open: the snapshot's id and slot, or ok false if there is none to be had now.
func (s *Sender) Opened(id, slot uint64, ok bool) {
	if !ok {
		s.askers[0].left = 0
		s.turn()
		return
	}
	if !s.pinned {
		s.pin = slot
	}
	s.open, s.id, s.slot, s.pinned = true, id, slot, true
}

// Sent takes the result of a Read. next is the position behind the piece, empty behind the last piece. bytes is 0 if
// the connection took none. took is how long the node worked on the piece. ok is false if the position was invalid.
func (s *Sender) Sent(now time.Duration, next []byte, bytes int, took time.Duration, ok bool) {
	a := &s.askers[0]
	switch {
	case !ok:
		a.left = 0
	case bytes == 0 && now-a.at >= giveUp: // it asks again if it is there yet
		a.left = 0
	case bytes == 0:
		took = fullFor
	default:
		a.ask.ID, a.ask.After = s.id, next
		a.left--
		if len(next) == 0 {
			a.left = 0
		}
	}
	rate, share := time.Duration(sendRate), time.Duration(sendShare)
	if s.fast {
		rate, share = fastRate, fastShare
	}
	s.pause = now + max((share-1)*took, time.Duration(max(bytes, 4<<10))*time.Second/rate)
	s.turn()
}

// turn gives the next asker its turn. It forgets the previous one if that has all its pieces.
func (s *Sender) turn() {
	a := s.askers[0]
	s.drop(0)
	if a.left > 0 {
		s.askers = append(s.askers, a)
	}
}
