package replica

import (
	"bytes"
	"time"

	"tenure/internal/ballot"
)

// A node that lacks entries truncated by the others gets the state instead, as a snapshot. It asks one node for a few
// pieces at a time, builds a state database from them, and begins its next run with it. SnapshotReceiver decides which
// node to ask and when to give a transfer up. SnapshotSender decides how fast pieces go and how long a snapshot is
// kept. They are not components of the log part: reading and writing pieces must not hold up a round. The caller
// carries their steps out, one at a time.

// SnapshotPart is what a message about a snapshot says: KindSnapshotAsk asks for pieces, KindSnapshotPiece is one of
// them, or says why there is none. Positions, headers and pieces are storage's, and opaque here.
type SnapshotPart struct {
	ID      uint64 // of the snapshot; 0 in an ask: any one of the state behind slot Above
	Above   uint64 // in an ask
	Pieces  uint64 // in an ask: how many, from After on
	Refused SnapshotRefusal
	After   []byte // position where the piece begins; empty for the first one
	Next    []byte // that behind it; empty behind the last one
	Header  []byte // with the first piece
	Piece   []byte
}

// SnapshotRefusal is why a node sends no piece.
type SnapshotRefusal uint8

// The refusals. The numbers travel.
const (
	SnapshotGiven SnapshotRefusal = 0 // it does
	SnapshotGone  SnapshotRefusal = 1 // it does not have that snapshot any more
	SnapshotNone  SnapshotRefusal = 2 // it has no state that is ahead of the asking node's
	SnapshotBusy  SnapshotRefusal = 3 // it sends another one
	SnapshotShort SnapshotRefusal = 4 // its disk is short of space, and would fill while it keeps a snapshot

	SnapshotDisputed SnapshotRefusal = 5 // voters differ, and a snapshot to another voter would decide who is right
	SnapshotStranger SnapshotRefusal = 6 // the asking node is no member, as far as this one knows
)

// String returns the refusal for people.
func (r SnapshotRefusal) String() string {
	switch r {
	case SnapshotGone:
		return "does not have this snapshot any more"
	case SnapshotNone:
		return "has no state that is ahead"
	case SnapshotBusy:
		return "sends another snapshot"
	case SnapshotShort:
		return "is short of space"
	case SnapshotDisputed:
		return "is not sure of its state: replicas differ"
	case SnapshotStranger:
		return "does not know this node as a member"
	}
	return "refused"
}

// The bounds of a transfer.
const (
	// SnapshotPieceBytes is the largest piece, and SnapshotWindow how many are asked for at once: together what a
	// transfer has on the way.
	SnapshotPieceBytes = 256 << 10
	SnapshotWindow     = 4

	// snapshotBehindFor is how long a node is behind, without getting on, before it asks for a snapshot.
	snapshotBehindFor = time.Second
	// snapshotAskAgain is how long an ask waits for a piece before it is repeated.
	snapshotAskAgain = 2 * time.Second
	// snapshotFirstWithin is how long the first piece may take before another node is asked: nothing is lost then, and
	// the sender's disk may hang.
	snapshotFirstWithin = 2 * snapshotAskAgain
	// snapshotGiveUp is how long nothing may come before a transfer is given up. A connection that breaks, or a sender
	// that is started again before it has closed its snapshot, costs less.
	snapshotGiveUp = 10 * time.Second
	// snapshotAvoid is how long a node that refused or fell silent is not asked again, unless no other node can help.
	// snapshotPause is how long no node is asked after the own disk refused.
	snapshotAvoid = 10 * time.Second
	snapshotPause = 30 * time.Second
)

// SnapshotReceiver decides how this node gets a snapshot. It has one transfer at a time.
type SnapshotReceiver struct {
	behindSince time.Duration // 0: it is not behind
	applied     uint64        // at that time
	pausedUntil time.Duration
	avoided     []avoidedPeer

	from  ballot.NodeID // who is asked; 0: nobody
	id    uint64        // of the snapshot, once its first piece has come
	after []byte        // where the next piece begins
	left  uint64        // pieces that were asked for and have not come
	asked time.Duration // the newest ask
	heard time.Duration // the newest piece that was taken; or when the transfer began
	taken taken         // what was handed out and is not done yet
}

type avoidedPeer struct {
	node  ballot.NodeID
	until time.Duration
}

// taken is the piece that is being written.
type taken struct {
	under bool
	next  []byte
}

// SnapshotView is what a receiver goes by.
type SnapshotView struct {
	Behind  bool // others have truncated what this node lacks
	Applied uint64
	Gone    uint64         // the highest slot that another member is known to have truncated
	Peers   []SnapshotPeer // the other members, and strangers if they are believed
}

// SnapshotView returns the input of a SnapshotReceiver. All members that a node far behind knows may be gone: then
// strangers help it (outsiders.go).
func (s *Status) SnapshotView() SnapshotView {
	v := SnapshotView{Behind: s.Behind, Applied: s.Applied, Gone: s.Gone}
	add := func(peers []PeerStatus, stranger bool) {
		for _, p := range peers {
			v.Peers = append(v.Peers, SnapshotPeer{Node: p.Node, Connected: p.Connected, Applied: p.Applied,
				Master: p.Node == s.Master, Stranger: stranger})
		}
	}
	add(s.Peers, false)
	if s.Believes {
		add(s.Strangers, true)
	}
	return v
}

// SnapshotPeer is another node as this one knows it.
type SnapshotPeer struct {
	Node      ballot.NodeID
	Connected bool
	Applied   uint64
	Master    bool
	Stranger  bool // no member, as far as this node knows
}

// SnapshotStep is what there is to do, in the order of its fields. After a step with a Begin, Add or Finish the result
// goes to Did before anything else.
type SnapshotStep struct {
	Abort  bool   // drop what was received
	Begin  []byte // begin to receive the snapshot of this header
	Add    []byte // a piece
	Finish bool   // that was the last: make it durable
	Send   *Message
	// Problem is for people: why a transfer was given up.
	Problem string
}

// From returns who sends, 0 if nobody is asked.
func (r *SnapshotReceiver) From() ballot.NodeID { return r.from }

// Tick passes time; it comes every few hundred milliseconds.
func (r *SnapshotReceiver) Tick(now time.Duration, v SnapshotView) SnapshotStep {
	if r.from != 0 {
		return r.watch(now, &v)
	}
	if !v.Behind || r.behindSince == 0 || v.Applied != r.applied {
		r.behindSince, r.applied = 0, v.Applied
		if v.Behind {
			r.behindSince = max(now, 1)
		}
		return SnapshotStep{}
	}
	if now-r.behindSince < snapshotBehindFor || now < r.pausedUntil {
		return SnapshotStep{}
	}
	if r.from = r.choose(now, v); r.from == 0 {
		return SnapshotStep{}
	}
	r.heard = now
	return SnapshotStep{Send: r.ask(now)}
}

// watch repeats an unanswered ask, and gives up when that does not help.
func (r *SnapshotReceiver) watch(now time.Duration, v *SnapshotView) SnapshotStep {
	switch {
	case r.id == 0 && !v.Behind:
		return r.end() // somebody had the entries after all
	case now-r.heard >= snapshotGiveUp, r.id == 0 && now-r.heard >= snapshotFirstWithin:
		r.avoid(now)
		s := r.end()
		s.Problem = "the sender of the snapshot has fallen silent"
		return s
	case now-max(r.asked, r.heard) < snapshotAskAgain:
		return SnapshotStep{}
	}
	for _, p := range v.Peers {
		if p.Node == r.from && p.Connected {
			return SnapshotStep{Send: r.ask(now)}
		}
	}
	if r.id == 0 { // nothing is lost
		r.avoid(now)
		return r.end()
	}
	return SnapshotStep{}
}

// choose returns a connected node that is ahead, or 0. First it prefers nodes that were not asked in vain just now.
// Next come members over strangers. Then it prefers a node from whose state the log of every other node goes on, since
// one snapshot is then enough. Then it avoids the master. Last it takes the node furthest ahead.
func (r *SnapshotReceiver) choose(now time.Duration, v SnapshotView) ballot.NodeID {
	best, rank := ballot.NodeID(0), uint64(0)
	for _, p := range v.Peers {
		if !p.Connected || p.Applied <= r.applied {
			continue
		}
		x := min(p.Applied, 1<<58)<<1 | 1
		if !p.Master {
			x |= 1 << 60
		}
		if p.Applied >= v.Gone {
			x |= 1 << 61
		}
		if !p.Stranger {
			x |= 1 << 62
		}
		if !r.avoids(now, p.Node) {
			x |= 1 << 63
		}
		if x > rank {
			best, rank = p.Node, x
		}
	}
	return best
}

func (r *SnapshotReceiver) avoids(now time.Duration, node ballot.NodeID) bool {
	for _, a := range r.avoided {
		if a.node == node && now < a.until {
			return true
		}
	}
	return false
}

// avoid has the sender not asked for a while.
func (r *SnapshotReceiver) avoid(now time.Duration) {
	kept := r.avoided[:0]
	for _, a := range r.avoided {
		if a.node != r.from && now < a.until {
			kept = append(kept, a)
		}
	}
	r.avoided = append(kept, avoidedPeer{r.from, now + snapshotAvoid})
}

func (r *SnapshotReceiver) ask(now time.Duration) *Message {
	r.asked, r.left = now, SnapshotWindow
	return &Message{Kind: KindSnapshotAsk, To: r.from,
		Snapshot: &SnapshotPart{ID: r.id, Above: r.applied, Pieces: SnapshotWindow, After: r.after}}
}

// end ends the transfer.
func (r *SnapshotReceiver) end() SnapshotStep {
	s := SnapshotStep{Abort: r.id != 0}
	r.from, r.id, r.after, r.left, r.taken = 0, 0, nil, 0, taken{}
	r.behindSince = 0
	return s
}

// Take takes a KindSnapshotPiece. One that was not asked for, or comes twice, is dropped.
func (r *SnapshotReceiver) Take(now time.Duration, m *Message) SnapshotStep {
	p := m.Snapshot
	switch {
	case r.taken.under:
		panic("replica: a piece before the result of the one before")
	case m.From != r.from || p == nil || r.left == 0:
		return SnapshotStep{}
	case p.Refused != SnapshotGiven:
		if p.ID != r.id {
			return SnapshotStep{}
		}
		r.avoid(now)
		s := r.end()
		s.Problem = "the sender of the snapshot " + p.Refused.String()
		return s
	case !bytes.Equal(p.After, r.after), r.id != 0 && p.ID != r.id, r.id == 0 && (p.ID == 0 || len(p.Header) == 0),
		len(p.Piece) == 0:
		return SnapshotStep{}
	}
	s := SnapshotStep{Add: p.Piece, Finish: len(p.Next) == 0}
	if r.id == 0 {
		r.id, s.Begin = p.ID, p.Header
	}
	r.left--
	r.taken = taken{under: true, next: p.Next}
	return s
}

// SnapshotResult is what became of a step.
type SnapshotResult uint8

// The results.
const (
	SnapshotDone    SnapshotResult = iota
	SnapshotBad                    // the piece was not what was sent, or not the next one
	SnapshotNoSpace                // the own disk has no space for it
	SnapshotFailed                 // anything else: it cannot be received
)

// Did takes the result of a step that had something to write. After the last piece nothing more is asked: the node
// begins its next run.
func (r *SnapshotReceiver) Did(now time.Duration, result SnapshotResult) SnapshotStep {
	if !r.taken.under {
		panic("replica: the result of no piece")
	}
	next := r.taken.next
	r.taken = taken{}
	switch result {
	case SnapshotBad: // it is asked for again
		return SnapshotStep{Send: r.ask(now)}
	case SnapshotNoSpace:
		r.pausedUntil = now + snapshotPause
		return r.end()
	case SnapshotFailed:
		r.avoid(now)
		r.pausedUntil = now + snapshotAskAgain
		return r.end()
	}
	r.heard, r.after = now, next
	if len(next) > 0 && r.left == 0 {
		return SnapshotStep{Send: r.ask(now)}
	}
	return SnapshotStep{}
}
