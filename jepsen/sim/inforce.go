package sim

import (
	"time"

	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica"
)

// goingOver is how a process goes over to memberships that are chosen and applied: each is made durable, then handed to
// the lease parts, and when these go by it the log part is told. They come one after the other.
type goingOver struct {
	*node
	waiting []ident.Membership // the first is being made durable
	parts   [2]partInForce     // of the master lease, and of named leases
	told    uint64             // to the log part: the number that is in force in both
}

// partInForce is what a lease part has told.
type partInForce struct {
	number uint64
	until  time.Duration // reading of the clock until which it excludes leases of older numbers
}

// begin begins to go over to m.
func (o *goingOver) begin(m ident.Membership) {
	if o.waiting = append(o.waiting, m); len(o.waiting) == 1 {
		o.write()
	}
}

// write makes the next membership durable.
func (o *goingOver) write() {
	o.disk.ends(kindMembers, o.site.changes.skewed(50*time.Microsecond, 4*o.plan.commit), o.wrote)
}

// wrote hands the membership that is durable now to the lease parts.
func (o *goingOver) wrote() {
	m := o.waiting[0]
	o.waiting = o.waiting[1:]
	o.disk.setMembers(m)
	if o.trace.on() {
		o.trace.note("membership %v is durable", m)
	}
	o.site.net.dismiss(o.end)
	o.later(kindMembers, o.site.changes.skewed(time.Microsecond, time.Millisecond), func() { o.handOut(m) })
	if len(o.waiting) > 0 {
		o.write()
	}
}

// handOut gives a durable membership to the lease parts.
func (o *goingOver) handOut(m ident.Membership) {
	in := &members.InForce{Number: m.Number, Voters: m.Voters(), Era: m.Era}
	o.elector.put(leaseEvent{members: in})
	if o.leases != nil {
		o.leases.put(namedEvent{members: in})
	}
	if !m.Lists(o.id, o.disk.store) {
		o.isRemoved()
	}
}

// dismiss is told by the log part that nodes that are in no membership from that number on are needed no more.
func (n *node) dismiss(number uint64) {
	n.end.dismissed = number
	n.site.net.dismiss(n.end)
}

// crash leaves a membership that was being made durable there or not.
func (o *goingOver) crash() {
	if len(o.waiting) > 0 && o.site.changes.chance(500) {
		o.disk.setMembers(o.waiting[0])
	}
}

// inForce takes what a lease part tells: part 0 is that of the master lease. When both go by a membership the log part
// is told.
func (o *goingOver) inForce(part int, number uint64, excluding time.Duration) {
	o.parts[part] = partInForce{number, o.reading() + excluding}
	if o.leases == nil {
		o.parts[1] = o.parts[0]
	}
	least, until := min(o.parts[0].number, o.parts[1].number), max(o.parts[0].until, o.parts[1].until)
	if o.disk.members.Number < least {
		o.fail("in force is durable", "node %d goes by membership %d, and %d is durable", o.id, least,
			o.disk.members.Number)
	}
	if least > o.told {
		o.told = least
		now := o.reading()
		o.log.put(input{inForce: &replica.MembersInForce{Number: least, Excluding: max(0, until-now),
			Silent: max(0, o.parts[0].until-now)}})
	}
}

// start tells the log part of a new run what its lease parts go by.
func (o *goingOver) start() {
	number, excluding := o.elector.elector.InForce(o.reading())
	o.inForce(0, number, excluding)
	if o.leases != nil {
		number, excluding = o.leases.part.InForce(o.reading())
		o.inForce(1, number, excluding)
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
