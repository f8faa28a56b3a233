package sim

import (
	"fmt"
	"maps"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// Copied disks. A node's disk is copied while its process is down, the node goes on with the original, and later a
// process starts with the copy under the same id. Peers that have seen the original since must refuse it. Nobody else
// can, so a copy runs only while every process that runs has, and no other one starts meanwhile.

// diskCopy is a copy of a node's disk.
type diskCopy struct {
	node     *node
	disk     *disk
	original *disk // while a process runs with the copy; else nil
}

// drawCopies draws from a stream of its own, as drawGuardian does.
func (p *plan) drawCopies(seed uint64) {
	r := stream(seed, 61)
	if r.chance(120) && p.nodes >= 3 && !p.members.on {
		p.faults |= Copied
	}
	p.every[Copied.index()] = r.skewed(2*p.lease, 10*p.lease)
}

// clone returns a copy of the disk of a node whose process is down.
func (d *disk) clone() *disk {
	c := *d
	file := *d.file
	file.dirty = slices.Clone(file.dirty)
	c.file, c.stateDB = &file, d.stateDB.Clone()
	c.entries, c.home.entries = maps.Clone(d.entries), maps.Clone(d.home.entries)
	if err := c.openRing(); err != nil {
		panic(fmt.Sprintf("sim: the journal of a copied disk: %v", err))
	}
	return &c
}

// copyOne copies a disk, or starts a process with the copy.
func copyOne(x *nemesis, r *random) {
	c := x.net.copied
	if c == nil {
		if n := x.victim(r); n.up() && !n.isStuck() && !n.lost() {
			n.crash()
			if !n.lost() {
				x.net.copied = &diskCopy{node: n, disk: n.disk.disk.clone()}
			}
			n.restart(r.skewed(x.plan.lease/10, x.plan.lease), false)
		}
		return
	}
	n := c.node
	if c.original != nil || !n.up() || n.isStuck() || n.lost() || !x.net.allHaveSeen(n.end) {
		return
	}
	x.effect(Copied)
	n.crash()
	if n.lost() {
		return
	}
	c.original, n.disk.disk = n.disk.disk, c.disk
	if x.trace.on() {
		x.trace.note("node %d starts with a copy of its disk", n.id)
	}
	n.start(false)
	if !n.up() {
		x.net.endCopy(n)
		n.restart(0, false)
		return
	}
	n.end.copied = n.self
	run := n.run
	x.at(nil, kindFault, r.skewed(x.plan.lease, 6*x.plan.lease), func() {
		if n.run == run {
			n.crash()
			n.restart(0, false)
		}
	})
}

// endCopy has the node go on with the original disk. A copy is used once.
func (x *network) endCopy(n *node) {
	if c := x.copied; c != nil && c.node == n && c.original != nil {
		n.disk.disk, x.copied = c.original, nil
	}
}

// isCopy reports whether the newest process of n ran with a copy: what it sent may arrive when it has ended.
func (n *endpoint) isCopy() bool { return n.self == n.copied }

// stopCopy ends the process that runs with a copy before another node starts, which could not know.
func (x *network) stopCopy(starts *node) {
	if c := x.copied; c != nil && c.original != nil && c.node != starts && c.node.up() {
		n := c.node
		n.crash()
		n.restart(x.plan.lease, false)
	}
}

// allHaveSeen reports whether all other processes have seen the present one of n.
func (x *network) allHaveSeen(n *endpoint) bool {
	others := 0
	for _, o := range x.nodes {
		if o == n || !o.up() {
			continue
		}
		others++
		if o.saw[n.i] != n.self {
			return false
		}
	}
	return others > 0
}

// mark adds to a hello what a store has promised and accepted, where disks are copied.
func (x *network) mark(h *wire.Hello, from *endpoint) {
	if x.plan.on(Copied) {
		m := &from.drive.marks
		h.Marks = wire.Marks{Promised: m.Promised, Accepted: uint64(m.Last)}
	}
}

// remembers reports whether a node takes a member for one that has forgotten nothing, by the transport's rule, and
// keeps what the member says. A copy must be refused.
func (x *network) remembers(to, from *endpoint, h *wire.Hello) bool {
	if !x.plan.on(Copied) || !to.up() { // the guardian of a process that has died remembers nothing
		return true
	}
	if r := to.past.Admit(h); r != nil {
		if !from.isCopy() {
			x.fail("members are not refused", "node %d refuses node %d: %v", to.id, from.id, r)
		}
		return false
	}
	if from.isCopy() && to.saw[from.i].Restart > 0 { // else what it has sent arrives late, at a process that cannot know
		x.fail("copies are refused", "node %d takes node %d, which runs as %v with a copy, and was seen as %v", to.id,
			from.id, from.self, to.saw[from.i])
	}
	to.saw[from.i] = h.Incarnation
	return true
}

// sides is what two nodes bring to a handshake for frames that travel alone. Where disks are copied that is their
// processes too.
func (x *network) sides(a, b *endpoint) [2]side {
	s := [2]side{a.side(), b.side()}
	if x.plan.on(Copied) {
		s[0].self, s[1].self = a.self, b.self
	}
	return s
}

// side is what a node brings to a handshake.
type side struct {
	store          ident.StoreID
	number, change uint64 // of its membership
	self           ballot.Incarnation
}
