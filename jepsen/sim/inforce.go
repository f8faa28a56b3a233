package sim

import (
	"time"

	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/replica"
)

// goingOver is how a process goes over to memberships that are chosen and applied: each is made durable, then handed to
// the lease parts, and when both go by it the log part is told. They come one after the other; one that waits is
// replaced by a newer one.
type goingOver struct {
	*node
	now, next ident.Membership // on its way, and waiting; Number 0: none is
	parts     [2]partInForce   // of the master lease, and of named leases
	left      int              // of the parts, that have not told yet
}

// partInForce is what a lease part has told.
type partInForce struct {
	number uint64
	until  time.Duration // reading of the clock until which it excludes leases of older numbers
}

// at returns what the part tells at a reading of the clock.
func (p partInForce) at(now time.Duration) replica.PartInForce {
	return replica.PartInForce{Number: p.number, Excluding: max(0, p.until-now)}
}

// begin begins to go over to m.
func (o *goingOver) begin(m ident.Membership) {
	if o.next = m; o.now.Number == 0 {
		o.write()
	}
}

// write makes the membership that waits durable.
func (o *goingOver) write() {
	o.now, o.next = o.next, ident.Membership{}
	o.disk.ends(kindMembers, o.site.changes.skewed(50*time.Microsecond, 4*o.plan.commit), o.wrote)
}

// wrote goes on with the membership that is durable now. A node that it does not list ends.
func (o *goingOver) wrote() {
	o.disk.setMembers(o.now)
	if o.trace.on() {
		o.trace.note("membership %v is durable", o.now)
	}
	o.site.net.dismiss(o.end)
	if !o.now.Lists(o.id, o.disk.store) {
		o.isRemoved()
		return
	}
	o.later(kindMembers, o.site.changes.skewed(time.Microsecond, time.Millisecond), o.handOut)
}

// handOut gives the durable membership to the lease parts.
func (o *goingOver) handOut() {
	in := &members.InForce{Number: o.now.Number, Voters: o.now.Voters(), Era: o.now.Era}
	o.await()
	o.elector.put(leaseEvent{members: in})
	if o.leases != nil {
		o.leases.put(namedEvent{members: in})
	}
}

// await has the log part told when each lease part has.
func (o *goingOver) await() {
	if o.left = 1; o.leases != nil {
		o.left = 2
	}
}

// dismiss is told by the log part that nodes that are in no membership from that number on are needed no more.
func (n *node) dismiss(number uint64) {
	n.end.dismissed = number
	n.site.net.dismiss(n.end)
}

// crash leaves a membership that was being made durable there or not. One that is durable stays.
func (o *goingOver) crash() {
	if o.now.Number > 0 && o.site.changes.chance(500) {
		o.disk.setMembers(o.now)
	}
}

// inForce takes what a lease part tells: part 0 is that of the master lease. When both have, the log part is told, and
// the membership that waits comes next.
func (o *goingOver) inForce(part int, number uint64, excluding time.Duration) {
	now := o.reading()
	o.parts[part] = partInForce{number, now + excluding}
	if o.leases == nil {
		o.parts[1] = o.parts[0]
	}
	if o.left--; o.left > 0 {
		return
	}
	both := replica.InForceIn(o.parts[0].at(now), o.parts[1].at(now))
	if o.disk.members.Number < both.Number {
		o.fail("in force is durable", "node %d goes by membership %d, and %d is durable", o.id, both.Number,
			o.disk.members.Number)
	}
	if o.now = (ident.Membership{}); o.next.Number > 0 {
		o.write()
	}
	o.log.put(input{inForce: both}) // may bring another one
}

// start tells the log part of a new run what its lease parts go by.
func (o *goingOver) start() {
	o.await()
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
