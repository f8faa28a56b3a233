package multipaxos

import "tenure/internal/ballot"

// peer is what a node keeps about another voter. All but chosen and folded belongs to one attempt to lead.
type peer struct {
	node           ballot.NodeID
	chosen, folded Slot // as it last said

	asked    Slot // Phase 1: first slot of the page it was asked for
	complete bool // Phase 1: it has reported everything
	held     bool // Phase 1: it is not asked on until the own disk has caught up

	next                   Slot // next slot to send
	flight                 ring[flight]
	flightSlots            int
	flightBytes            int
	acked                  Slot // highest slot it acknowledged
	probe                  bool // it went quiet: one message at a time until it acknowledges
	quiet, patience        int  // ticks without an acknowledgement, and how many of them are borne
	toldChosen, toldFolded Slot

	round uint64 // highest round of confirmation it answered
}

// flight is an Accept on its way.
type flight struct {
	through Slot
	slots   int
	bytes   int
}

func (p *peer) reset() {
	f := p.flight
	f.clear()
	*p = peer{node: p.node, chosen: p.chosen, folded: p.folded, flight: f, patience: minPatienceTicks}
}

// mayFly tells whether another Accept may be sent now.
func (p *peer) mayFly(cfg *Config) bool {
	if p.probe {
		return p.flight.len() == 0
	}
	return p.flightSlots < cfg.WindowEntries && p.flightBytes < cfg.WindowBytes
}

func (p *peer) sent(through Slot, slots, bytes int) {
	p.flight.push(flight{through, slots, bytes})
	p.flightSlots += slots
	p.flightBytes += bytes
	p.next = through + 1
}

// landed is told of an acknowledgement through a slot. Connections keep order, so what was sent before it either
// arrived or is lost; none of it is in flight any more.
func (p *peer) landed(through Slot) {
	for p.flight.len() > 0 && p.flight.at(0).through <= through {
		f := p.flight.pop()
		p.flightSlots -= f.slots
		p.flightBytes -= f.bytes
	}
	p.acked = max(p.acked, through)
	p.probe, p.quiet, p.patience = false, 0, minPatienceTicks
}

// rewind makes slot s the next to be sent.
func (p *peer) rewind(s Slot) {
	p.flight.clear()
	p.flightSlots, p.flightBytes = 0, 0
	p.next = s
}

// heard keeps what a peer says of itself, and tells whether its image has grown.
func (p *peer) heard(chosen, folded Slot) bool {
	grown := folded > p.folded
	p.chosen, p.folded = max(p.chosen, chosen), max(p.folded, folded)
	return grown
}
