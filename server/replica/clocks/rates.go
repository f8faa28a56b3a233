package clocks

import (
	"math/bits"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// Stamp is what two nodes send each other to compare the rates of their elapsed clocks.
type Stamp struct {
	Sent time.Duration // the sender's clock when it sent this
	// Seen is the newest Sent that the sender has had from the receiver, and At the sender's clock when it came. 0: none.
	Seen, At time.Duration
	// Agrees lists the voters whose clocks are shown to run at the sender's rate, within half of the allowed drift.
	Agrees []ballot.NodeID
}

// rates compares this node's elapsed clock with those of its peers.
//
// No stamp arrives before it is sent. So a stamp from this node to a peer bounds from above how far the peer's clock is
// ahead, and a stamp from the peer bounds it from below. Two such bounds of different kinds, some time apart, bound the
// rate. Delays and pauses widen the bounds, but never make them wrong: a rate within the limit is never taken for one
// beyond it. Of the bounds in a bucket of time the tightest is kept.
type rates struct {
	limitPPM int64 // half of the drift that is allowed
	peers    []peerRate
}

// peerRate is what the stamps of a peer say of its clock.
type peerRate struct {
	node         ballot.NodeID
	seen, at     time.Duration // the peer's newest stamp, and when it came here
	low, high    ends          // the bounds on how far it is ahead, from below and above
	rate, before rateBounds    // what the window has shown until now, and what the window before it showed
	agrees       quorum.Set    // with whom the peer's clock agrees, as it last said
}

// rateBounds are the tightest bounds of a peer's rate that a window has shown, in parts per million. Each is certain of
// the average over the time for which it was measured.
type rateBounds struct {
	lowPPM, highPPM int64
	hasLow, hasHigh bool
}

func (b *rateBounds) atLeast(ppm int64) {
	if !b.hasLow || ppm > b.lowPPM {
		b.lowPPM, b.hasLow = ppm, true
	}
}

func (b *rateBounds) atMost(ppm int64) {
	if !b.hasHigh || ppm < b.highPPM {
		b.highPPM, b.hasHigh = ppm, true
	}
}

// ends are the tightest bounds of the first bucket of a window and of the newest bucket. began is when the first bucket
// began: each later bound may be tighter, and must not prolong the bucket.
type ends struct {
	first, last offset
	began       time.Duration
}

// offset bounds by how much the peer's clock is ahead at a reading of this node's.
type offset struct {
	at, ahead time.Duration
	known     bool
}

// Bounds that are close together say little of rates, and old ones little of now.
const (
	rateBucket = 2 * time.Second
	rateWindow = 60 * time.Second
)

func (c *rates) peer(id ballot.NodeID) *peerRate {
	i := slices.IndexFunc(c.peers, func(p peerRate) bool { return p.node == id })
	if i < 0 {
		return nil
	}
	return &c.peers[i]
}

// stamp returns what to send to a peer at now.
func (c *rates) stamp(now time.Duration, to ballot.NodeID) Stamp {
	s := Stamp{Sent: now}
	if p := c.peer(to); p != nil {
		s.Seen, s.At = p.seen, p.at
	}
	return s
}

// hear takes a stamp that came from a peer at now.
func (c *rates) hear(now time.Duration, from ballot.NodeID, s Stamp) {
	p := c.peer(from)
	if p == nil {
		c.peers = append(c.peers, peerRate{node: from})
		p = &c.peers[len(c.peers)-1]
	}
	p.seen, p.at = s.Sent, now
	p.agrees = quorum.Set{}
	if len(s.Agrees) <= quorum.MaxVoters {
		p.agrees = quorum.Of(s.Agrees...)
	}
	if s.Seen > 0 && s.Seen <= now && s.At <= s.Sent {
		p.high.add(offset{at: s.Seen, ahead: s.At - s.Seen, known: true}, func(a, b time.Duration) bool { return a < b })
	}
	p.low.add(offset{at: now, ahead: s.Sent - now, known: true}, func(a, b time.Duration) bool { return a > b })
	p.measure()
}

// forget drops what is known of a peer: its process, and with it perhaps its clock, is another one.
func (c *rates) forget(peer ballot.NodeID) {
	c.peers = slices.DeleteFunc(c.peers, func(p peerRate) bool { return p.node == peer })
}

// add adds a bound: the tighter one of a bucket is kept, and the newest bucket is that of the end.
func (e *ends) add(o offset, tighter func(a, b time.Duration) bool) {
	switch {
	case !e.first.known:
		e.first, e.last, e.began = o, o, o.at
	case o.at-e.began < rateBucket:
		if tighter(o.ahead, e.first.ahead) {
			e.first = o
		}
		e.last = e.first
	case o.at-e.last.at >= rateBucket || tighter(o.ahead, e.last.ahead):
		e.last = o
	}
}

// anew begins another window.
func (e *ends) anew() { e.first, e.began = e.last, e.last.at }

// measure bounds the rate: from below by an upper bound and a later lower one, from above by the other two.
func (p *peerRate) measure() {
	if span := p.low.last.at - p.high.first.at; p.high.first.known && span >= rateBucket {
		p.rate.atLeast(ppmOf(p.low.last.ahead-p.high.first.ahead, span))
	}
	if span := p.high.last.at - p.low.first.at; p.high.last.known && span >= rateBucket {
		p.rate.atMost(ppmOf(p.high.last.ahead-p.low.first.ahead, span))
	}
	if p.low.last.at-p.low.first.at >= rateWindow && p.high.last.at-p.high.first.at >= rateWindow {
		p.low.anew()
		p.high.anew()
		p.before, p.rate = p.rate, rateBounds{}
	}
}

// bounds returns the tightest bounds that this window and the one before have shown. A window that has just begun says
// little, and a clock that errs would be acquitted at the beginning of each if it counted alone.
func (p *peerRate) bounds() rateBounds {
	b := p.rate
	if p.before.hasLow {
		b.atLeast(p.before.lowPPM)
	}
	if p.before.hasHigh {
		b.atMost(p.before.highPPM)
	}
	return b
}

// ppmOf returns a difference over a span in parts per million.
func ppmOf(d, span time.Duration) int64 { return int64(float64(d) / float64(span) * 1e6) }

// RateDiffers is a peer whose clock certainly runs at another rate.
type RateDiffers struct {
	Node ballot.NodeID
	// PPM is by how much the peer's clock is faster at least; negative: slower.
	PPM int64
}

// differs returns by how much the peer's clock certainly differs, if that is more than the limit.
func (c *rates) differs(p *peerRate) (ppm int64, differs bool) {
	switch b := p.bounds(); {
	case b.hasLow && b.lowPPM > c.limitPPM:
		return b.lowPPM, true
	case b.hasHigh && b.highPPM < -c.limitPPM:
		return b.highPPM, true
	}
	return 0, false
}

// agrees reports whether the peer's clock certainly differs by no more than the limit.
func (c *rates) agrees(p *peerRate) bool {
	b := p.bounds()
	return b.hasLow && b.hasHigh && b.lowPPM >= -c.limitPPM && b.highPPM <= c.limitPPM
}

// compared reports whether the peer's clock was compared for long enough to find a difference.
func (c *rates) compared(p *peerRate) bool {
	return c.agrees(p) || p.before.hasLow && p.before.hasHigh
}

// differing returns the voters whose clocks certainly differ by more than the limit, by rising id.
func (c *rates) differing(voters quorum.Set) (out []RateDiffers) {
	for i := range c.peers {
		p := &c.peers[i]
		if ppm, differs := c.differs(p); differs && voters.Has(p.node) {
			out = append(out, RateDiffers{p.node, ppm})
		}
	}
	slices.SortFunc(out, func(a, b RateDiffers) int { return int(a.Node) - int(b.Node) })
	return out
}

// agreeing returns the voters whose clocks are shown to agree with this node's, by rising id.
func (c *rates) agreeing(voters quorum.Set) (out []ballot.NodeID) {
	for i := range c.peers {
		if p := &c.peers[i]; c.agrees(p) && voters.Has(p.node) {
			out = append(out, p.node)
		}
	}
	slices.Sort(out)
	return out
}

// comparedWith returns how many voters' clocks were compared with this node's. If agree is set, those that differ do
// not count.
func (c *rates) comparedWith(voters quorum.Set, agree bool) (n int) {
	for i := range c.peers {
		p := &c.peers[i]
		if _, differs := c.differs(p); c.compared(p) && voters.Has(p.node) && (!agree || !differs) {
			n++
		}
	}
	return n
}

// outvoted reports whether the clocks of a majority of the voters agree among themselves, each two by what both say of
// each other, and all differ from this node's. Any two majorities have a voter in common, so none of those that outvote
// others is outvoted.
func (c *rates) outvoted(voters quorum.Set) bool {
	var differ []*peerRate
	for i := range c.peers {
		if _, differs := c.differs(&c.peers[i]); differs && voters.Has(c.peers[i].node) {
			differ = append(differ, &c.peers[i])
		}
	}
	for some := range uint(1) << len(differ) { // at most 1 << quorum.MaxVoters
		if bits.OnesCount(some) >= voters.Need() && allAgree(differ, some) {
			return true
		}
	}
	return false
}

// allAgree reports whether each two of the peers whose bits are set in some agree with each other.
func allAgree(peers []*peerRate, some uint) bool {
	for i, p := range peers {
		for j, q := range peers {
			if i != j && some>>i&1 == 1 && some>>j&1 == 1 && !p.agrees.Has(q.node) {
				return false
			}
		}
	}
	return true
}

// doubt drops the results of all comparisons, until the next stamps come: they then cover what happened since.
func (c *rates) doubt() {
	for i := range c.peers {
		c.peers[i].rate, c.peers[i].before = rateBounds{}, rateBounds{}
	}
}
