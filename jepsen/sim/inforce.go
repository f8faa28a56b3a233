package sim

import (
	"time"

	"tenure/internal/ident"
	"tenure/server/members"
)

// goingOver is how a process goes over to memberships that are chosen and applied: each is made durable, then handed to
// the lease parts, and when these go by it the log part is told. They come one after the other.
type goingOver struct {
	waiting []ident.Membership // the first is being made durable
	parts   [2]partInForce     // of the master lease, and of named leases
	told    uint64             // to the log part: the number that is in force in both
}

// partInForce is what a lease part has told.
type partInForce struct {
	number uint64
	until  time.Duration // reading of the clock until which it excludes leases of older numbers
}

// goOver begins to go over to m.
func (n *node) goOver(m ident.Membership) {
	p := n.process
	p.over.waiting = append(p.over.waiting, m)
	if len(p.over.waiting) == 1 {
		n.writeMembers()
	}
}

// writeMembers makes the next membership durable.
func (n *node) writeMembers() {
	n.disk.ends(kindMembers, n.site.changes.skewed(50*time.Microsecond, 4*n.plan.commit), n.wroteMembers)
}

// wroteMembers hands the membership that is durable now to the lease parts.
func (n *node) wroteMembers() {
	p := n.process
	m := p.over.waiting[0]
	p.over.waiting = p.over.waiting[1:]
	n.disk.setMembers(m)
	if n.trace.on() {
		n.trace.note("membership %v is durable", m)
	}
	n.site.net.part(n.end)
	n.later(kindMembers, n.site.changes.skewed(time.Microsecond, time.Millisecond), func() { n.handOutMembers(m) })
	if len(p.over.waiting) > 0 {
		n.writeMembers()
	}
}

// handOutMembers gives a durable membership to the lease parts.
func (n *node) handOutMembers(m ident.Membership) {
	in := &members.InForce{Number: m.Number, Voters: m.Voters(), Era: m.Era}
	n.elector.put(leaseEvent{members: in})
	if n.leases != nil {
		n.leases.put(namedEvent{members: in})
	}
	if !m.Lists(n.id, n.disk.store) {
		n.isRemoved()
	}
}

// part is told by the log part that nodes that are in no membership from that number on are needed no more.
func (n *node) part(number uint64) {
	n.end.parted = number
	n.site.net.part(n.end)
}

// loseMembers is a crash: a membership that was being made durable is there or it is not.
func (n *node) loseMembers() {
	if w := n.process.over.waiting; len(w) > 0 && n.site.changes.chance(500) {
		n.disk.setMembers(w[0])
	}
}

// inForce takes what a lease part tells: part 0 is that of the master lease. When both go by a membership the log part
// is told.
func (n *node) inForce(part int, number uint64, excluding time.Duration) {
	o := &n.process.over
	o.parts[part] = partInForce{number, n.reading() + excluding}
	if n.leases == nil {
		o.parts[1] = o.parts[0]
	}
	least, until := min(o.parts[0].number, o.parts[1].number), max(o.parts[0].until, o.parts[1].until)
	if n.disk.members.Number < least {
		n.fail("in force is durable", "node %d goes by membership %d, and %d is durable", n.id, least,
			n.disk.members.Number)
	}
	if least > o.told {
		o.told = least
		n.tellInForce(least, max(0, until-n.reading()), max(0, o.parts[0].until-n.reading()))
	}
}

// inForceAtStart tells the log part of a new run what its lease parts go by.
func (n *node) inForceAtStart() {
	number, excluding := n.elector.elector.InForce(n.reading())
	n.inForce(0, number, excluding)
	if n.leases != nil {
		number, excluding = n.leases.part.InForce(n.reading())
		n.inForce(1, number, excluding)
	}
}

// isRemoved ends the process of a node that is no member any more: it has learned it from the log, or a peer says so.
func (n *node) isRemoved() {
	run := n.run
	n.later(kindMembers, n.site.changes.skewed(10*time.Microsecond, 5*time.Millisecond), func() {
		if n.run != run {
			return
		}
		if n.trace.on() {
			n.trace.note("node %d is no member any more, and ends", n.id)
		}
		n.left = true
		n.crash()
	})
}
