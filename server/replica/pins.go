package replica

import (
	"slices"

	"tenure/multipaxos"
)

// Pinner is who needs the log from a slot on.
type Pinner int

// The pinners.
const (
	PinSnapshot Pinner = iota // a member that was sent the state of that slot, and goes on from there
	PinArchive                // the archive, which has the slots up to that one
	pinDispute                // nobody knows which replica is right
	pinners
)

// Pin keeps the log above slot from being truncated, for one of the pinners; 0 ends that. It is for the pinner to see
// to it that the log does not grow for ever.
func (l *Log) Pin(by Pinner, slot uint64) {
	s := multipaxos.Slot(slot)
	if slot == 0 {
		s = multipaxos.NoPin
	}
	l.core.Pin(l.pins.set(by, s))
}

// pins has the slot of each pinner.
type pins [pinners]multipaxos.Slot

// noPins returns pins that bind nothing.
func noPins() (p pins) {
	for by := range p {
		p[by] = multipaxos.NoPin
	}
	return p
}

// set notes the slot of one pinner, and returns the lowest slot of all.
func (p *pins) set(by Pinner, s multipaxos.Slot) multipaxos.Slot {
	p[by] = s
	return slices.Min(p[:])
}
