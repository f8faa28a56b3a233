package multipaxos

import "tenure/internal/ballot"

// peers are the other members by rising id, as a leader sees them: the voters and non-voters of every membership that
// governs an open slot. Non-voters are sent what voters are sent.
type peers []peer

// get returns the other member with this id; nil for anybody else.
func (ps peers) get(id ballot.NodeID) *peer {
	for i := range ps {
		if ps[i].node == id {
			return &ps[i]
		}
	}
	return nil
}

// reset forgets everything that belonged to an attempt to lead.
func (ps peers) reset() {
	for i := range ps {
		f := ps[i].inFlight
		f.clear()
		ps[i] = peer{node: ps[i].node, voter: ps[i].voter, inFlight: f, resend: minResendTicks}
	}
}

func (ps peers) clone() peers {
	ps = append(peers(nil), ps...)
	for i := range ps {
		ps[i].inFlight = ps[i].inFlight.clone()
	}
	return ps
}

// peer is what a leader keeps about another member.
type peer struct {
	node  ballot.NodeID
	voter bool // in any of the memberships

	asked    Slot   // Phase 1: first slot of the page it was asked for; 0: it was not asked
	complete bool   // Phase 1: it has reported everything
	newest   uint64 // Phase 1: the number of the newest membership that it stores
	held     bool   // Phase 1: it is not asked on until the own disk has caught up

	next          Slot // next slot to send
	inFlight      ring[sentAccept]
	inFlightSlots int
	inFlightBytes int
	acked         Slot // highest slot it acknowledged
	probe         bool // it went quiet: one message at a time until it acknowledges
	quiet, resend int  // ticks without an acknowledgement, and after how many of them all is sent again
	told          Slot // chosen, as last told

	round uint64 // highest round of confirmation it answered
}

// sentAccept is an Accept in flight.
type sentAccept struct {
	through Slot
	slots   int
	bytes   int
}

// owesPromise reports whether a page of its promise is to come.
func (p *peer) owesPromise() bool { return p.asked > 0 && !p.complete && !p.held }

// mayFly reports whether another Accept may be sent now.
func (p *peer) mayFly(cfg *Config) bool {
	if p.probe {
		return p.inFlight.len() == 0
	}
	return p.inFlightSlots < cfg.WindowEntries && p.inFlightBytes < cfg.WindowBytes
}

func (p *peer) sent(through Slot, slots, bytes int) {
	p.inFlight.push(sentAccept{through, slots, bytes})
	p.inFlightSlots += slots
	p.inFlightBytes += bytes
	p.next = through + 1
}

// acknowledged is told of an acknowledgement through a slot. Connections keep order, so what was sent before it either
// arrived or is lost; none of it is in flight any more.
func (p *peer) acknowledged(through Slot) {
	for p.inFlight.len() > 0 && p.inFlight.at(0).through <= through {
		f := p.inFlight.pop()
		p.inFlightSlots -= f.slots
		p.inFlightBytes -= f.bytes
	}
	p.acked = max(p.acked, through)
	p.probe, p.quiet, p.resend = false, 0, minResendTicks
}

// rewind makes slot s the next to be sent.
func (p *peer) rewind(s Slot) {
	p.inFlight.clear()
	p.inFlightSlots, p.inFlightBytes = 0, 0
	p.next = s
}

// tick starts over with a peer that has acknowledged nothing for too long: from owed, the first slot it owes an answer
// for, one message at a time, more and more rarely.
func (p *peer) tick(owed Slot) {
	if p.inFlight.len() == 0 && owed >= p.next {
		p.quiet = 0
		return
	}
	if p.quiet++; p.quiet < p.resend {
		return
	}
	p.quiet, p.resend, p.probe = 0, min(2*p.resend, maxResendTicks), true
	p.rewind(owed)
}
