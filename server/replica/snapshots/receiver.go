package snapshots

import (
	"bytes"
	"time"

	"tenure/internal/ballot"
)

// The bounds of a transfer.
const (
	// PieceBytes is the largest piece, and Window how many are asked for at once: together what a
	// transfer has on the way.
	PieceBytes = 256 << 10
	Window     = 4
	// MaxPieces is how many pieces may wait for a Receiver. What does not fit is asked for again.
	MaxPieces = 2 * Window
	// TickEvery is the time between two calls of Receiver.Tick.
	TickEvery = 200 * time.Millisecond

	// behindFor is how long a node is behind, without getting on, before it asks for a snapshot.
	behindFor = time.Second
	// askAgain is how long an ask waits for a piece before it is repeated.
	askAgain = 2 * time.Second
	// firstWithin is how long the first piece may take before another node is asked: nothing is lost then, and
	// the sender's disk may hang.
	firstWithin = 2 * askAgain
	// giveUp is how long nothing may come before a transfer is given up. A connection that breaks, or a sender
	// that is started again before it has closed its snapshot, costs less.
	giveUp = 10 * time.Second
	// avoidFor is how long a node that refused or fell silent is not asked again, unless no other node can help.
	// pauseFor is how long no node is asked after the own disk refused.
	avoidFor = 10 * time.Second
	pauseFor = 30 * time.Second
)

// Receiver decides how this node gets a snapshot. It has one transfer at a time.
type Receiver struct {
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

// View is what a receiver goes by.
type View struct {
	Behind  bool // others have truncated what this node lacks
	Applied uint64
	Gone    uint64 // the highest slot that another member is known to have truncated
	Peers   []Peer // the other members, and strangers if they are believed
}

// Peer is another node as this one knows it.
type Peer struct {
	Node      ballot.NodeID
	Connected bool
	Applied   uint64
	Master    bool
	Stranger  bool // no member, as far as this node knows
}

// Step is what there is to do, in the order of its fields. After a step with a Begin, Add or Finish the result
// goes to Did before anything else.
type Step struct {
	Abort  bool      // drop what was received
	Begin  []byte    // begin to receive the snapshot of this header
	Add    []byte    // a piece
	Finish bool      // that was the last: make it durable
	Send   *Outgoing // an ask
	// Problem is for people: why a transfer was given up.
	Problem string
}

// From returns who sends, 0 if nobody is asked.
func (r *Receiver) From() ballot.NodeID { return r.from }

// Tick passes time; it comes every few hundred milliseconds.
func (r *Receiver) Tick(now time.Duration, v View) Step {
	if r.from != 0 {
		return r.watch(now, &v)
	}
	if !v.Behind || r.behindSince == 0 || v.Applied != r.applied {
		r.behindSince, r.applied = 0, v.Applied
		if v.Behind {
			r.behindSince = max(now, 1)
		}
		return Step{}
	}
	if now-r.behindSince < behindFor || now < r.pausedUntil {
		return Step{}
	}
	if r.from = r.choose(now, v); r.from == 0 {
		return Step{}
	}
	r.heard = now
	return Step{Send: r.ask(now)}
}

// watch repeats an unanswered ask, and gives up when that does not help.
func (r *Receiver) watch(now time.Duration, v *View) Step {
	switch {
	case r.id == 0 && !v.Behind:
		return r.end() // somebody had the entries after all
	case now-r.heard >= giveUp, r.id == 0 && now-r.heard >= firstWithin:
		r.avoid(now)
		s := r.end()
		s.Problem = "the sender of the snapshot has fallen silent"
		return s
	case now-max(r.asked, r.heard) < askAgain:
		return Step{}
	}
	for _, p := range v.Peers {
		if p.Node == r.from && p.Connected {
			return Step{Send: r.ask(now)}
		}
	}
	if r.id == 0 { // nothing is lost
		r.avoid(now)
		return r.end()
	}
	return Step{}
}

// choose returns a connected node that is ahead, or 0. First it prefers nodes that were not asked in vain just now.
// Next come members over strangers. Then it prefers a node from whose state the log of every other node goes on, since
// one snapshot is then enough. Then it avoids the master. Last it takes the node furthest ahead.
func (r *Receiver) choose(now time.Duration, v View) ballot.NodeID {
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

func (r *Receiver) avoids(now time.Duration, node ballot.NodeID) bool {
	for _, a := range r.avoided {
		if a.node == node && now < a.until {
			return true
		}
	}
	return false
}

// avoid has the sender not asked for a while.
func (r *Receiver) avoid(now time.Duration) {
	kept := r.avoided[:0]
	for _, a := range r.avoided {
		if a.node != r.from && now < a.until {
			kept = append(kept, a)
		}
	}
	r.avoided = append(kept, avoidedPeer{r.from, now + avoidFor})
}

func (r *Receiver) ask(now time.Duration) *Outgoing {
	r.asked, r.left = now, Window
	return &Outgoing{To: r.from, Message: &Message{ID: r.id, Above: r.applied, Pieces: Window, After: r.after}}
}

// end ends the transfer.
func (r *Receiver) end() Step {
	s := Step{Abort: r.id != 0}
	r.from, r.id, r.after, r.left, r.taken = 0, 0, nil, 0, taken{}
	r.behindSince = 0
	return s
}

// Take takes an answer of node from. One that was not asked for, or comes twice, is dropped.
func (r *Receiver) Take(now time.Duration, from ballot.NodeID, p *Message) Step {
	switch {
	case r.taken.under:
		panic("snapshots: a piece before the result of the one before")
	case from != r.from || p == nil || r.left == 0:
		return Step{}
	case p.Refused != Given:
		if p.ID != r.id {
			return Step{}
		}
		r.avoid(now)
		s := r.end()
		s.Problem = "the sender of the snapshot " + p.Refused.String()
		return s
	case !bytes.Equal(p.After, r.after), r.id != 0 && p.ID != r.id, r.id == 0 && (p.ID == 0 || len(p.Header) == 0),
		len(p.Piece) == 0:
		return Step{}
	}
	s := Step{Add: p.Piece, Finish: len(p.Next) == 0}
	if r.id == 0 {
		r.id, s.Begin = p.ID, p.Header
	}
	r.left--
	r.taken = taken{under: true, next: p.Next}
	return s
}

// Result is what became of a step.
type Result uint8

// The results.
const (
	Done    Result = iota
	Bad            // the piece was not what was sent, or not the next one
	NoSpace        // the own disk has no space for it
	Failed         // anything else: it cannot be received
)

// Did takes the result of a step that had something to write. After the last piece nothing more is asked: the node
// begins its next run.
func (r *Receiver) Did(now time.Duration, result Result) Step {
	if !r.taken.under {
		panic("snapshots: the result of no piece")
	}
	next := r.taken.next
	r.taken = taken{}
	switch result {
	case Bad: // it is asked for again
		return Step{Send: r.ask(now)}
	case NoSpace:
		r.pausedUntil = now + pauseFor
		return r.end()
	case Failed:
		r.avoid(now)
		r.pausedUntil = now + askAgain
		return r.end()
	}
	r.heard, r.after = now, next
	if len(next) > 0 && r.left == 0 {
		return Step{Send: r.ask(now)}
	}
	return Step{}
}
