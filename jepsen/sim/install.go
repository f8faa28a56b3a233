package sim

import (
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
)

// snapshot is a state of the cluster as one node sends it to another.
type snapshot struct {
	slot    multipaxos.Slot
	state   *kv.MemStateDB
	members ident.Membership // of the sender
	id      uint64
	pieces  uint64
}

// snapshot returns the state database as it is, nil if there is no whole one.
func (d *disk) snapshot() *snapshot {
	if d.parted != nil || d.checkpointed() == 0 {
		return nil
	}
	return &snapshot{slot: d.checkpointed(), state: d.stateDB.Clone(), members: d.members}
}

// installSteps are what the start of a node does with a snapshot that was received whole, in storage's order. Each is
// durable, or did not happen, when the machine stops: then the next start begins again.
var installSteps = []func(*disk){
	func(d *disk) { d.setMembers(d.received.members) },
	(*disk).truncateForReceived,
	func(d *disk) { d.stateDB, d.parted, d.received = d.received.state.Clone(), nil, nil },
}

// truncateForReceived truncates the log through the slot of the snapshot. Entries above it stay, and so does the
// promise.
func (d *disk) truncateForReceived() {
	slot := d.received.slot
	d.moveHome(d.ring.Last())
	for _, m := range []*multipaxos.Durable{&d.marks, &d.home.marks} {
		m.Truncated, m.Chosen, m.Last = max(m.Truncated, slot), max(m.Chosen, slot), max(m.Last, slot)
	}
	for s := range slot { // entries are never ranged over
		delete(d.entries, s+1)
		delete(d.home.entries, s+1)
	}
}

// install installs a snapshot that was received whole, if it is ahead of the state database. It reports false if the
// machine stops meanwhile.
func (d *drive) install(r *random) bool {
	s := d.received
	switch {
	case s == nil:
		return true
	case s.slot <= max(d.checkpointed(), d.parting()):
		d.received = nil
		return true
	}
	for i, step := range installSteps {
		if d.phase == phaseFaults && r.chance(d.plan.members.stop) {
			if d.trace.on() {
				d.trace.note("node %d stops before step %d of the installation", d.id, i)
			}
			d.counts.InstallsCut++
			return false
		}
		step(d.disk)
	}
	d.counts.Installs++
	if d.trace.on() {
		d.trace.note("node %d has installed a snapshot through slot %d", d.id, s.slot)
	}
	return true
}

// parting returns the slot of a checkpoint of which the state database has a part.
func (d *disk) parting() multipaxos.Slot {
	if d.parted == nil {
		return 0
	}
	return multipaxos.Slot(d.parted.Slot)
}

// setMembers makes a membership durable, unless it is older.
func (d *disk) setMembers(m ident.Membership) {
	if m.Newer(d.members) {
		d.members = m
	}
}
