package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
)

// memberPlan is what a seed draws of a run whose members change.
type memberPlan struct {
	on     bool
	every  time.Duration // mean time between two operations
	most   int           // operations
	losing int           // answers to the operator, per mille
	cancel int           // of the operations, per mille
	stop   int           // the machine stops between two steps of an installation, per mille
	drift  int           // above 0: the cluster mostly grows; below: it mostly shrinks
}

// drawMembers draws from a stream of its own, as drawGuardian does.
func (p *plan) drawMembers(c Config) {
	keep := stream(c.Seed, 28)
	p.part.Core.KeepBytes = pick(&keep, 0, 2000, 1<<16)
	if !c.Members {
		return
	}
	r := stream(c.Seed, 26)
	p.members = memberPlan{on: true, every: r.skewed(2*p.lease, 10*p.lease), most: 3 + r.below(8),
		losing: pick(&r, 0, 200, 500), cancel: pick(&r, 0, 100, 300), stop: pick(&r, 0, 100, 300)}
	p.drawSpares(c.Seed)
	switch p.members.drift = pick(&r, 0, 0, 1, -1); {
	case p.members.drift > 0:
		p.nodes = min(p.nodes, 3)
	case p.members.drift < 0:
		p.nodes = 5
	case p.nodes == 5 && r.chance(300):
		p.nodes = 4
	}
}

// operator is whoever changes the members: one operation after the other, or two at a time, over and over until each has
// its outcome. It asks any node, loses answers, takes operations back, and throws no disk away.
type operator struct {
	*engine
	random random
	spares random
	world  *world
	begun  int
	asks   []*change // without an outcome yet
	ended  []*change
}

// change is an operation as the operator knows it.
type change struct {
	operator *operator
	op       members.Operation
	comer    *node         // the machine that comes with it; nil: none
	took     bool          // some node has taken it
	seat     ident.StoreID // who comes, as it was recorded last: the machine of another operation may have taken the place
	cancel   bool          // it is to be taken back
	serial   int           // of the newest attempt
	outcome  members.State
	refused  members.Reason
}

// start schedules the first operation.
func (x *operator) start() {
	if x.plan.members.on {
		x.rest()
	}
}

// rest begins an operation after a while.
func (x *operator) rest() {
	after := x.random.between(x.plan.members.every/4, 2*x.plan.members.every)
	if x.begun == 0 && x.plan.spares.adding > 0 {
		after = min(after, 2*x.plan.lease) // a spare must be there before it is needed
	}
	x.at(nil, kindMembers, after, func() {
		if x.phase != phaseFaults || x.begun >= x.plan.members.most {
			return
		}
		if (!x.plan.on(Differ) || x.decide()) && (len(x.asks) == 0 || len(x.asks) == 1 && x.random.chance(200)) {
			x.begin()
		}
		x.rest()
	})
}

// begin draws an operation and asks for it.
func (x *operator) begin() {
	r := &x.random
	x.begun++
	c := &change{operator: x, op: members.Operation{ID: fmt.Sprintf("op-%d", x.begun)}}
	m := &x.world.members.newest().Membership
	all := m.All()
	one := all[r.below(len(all))]
	lost := slices.IndexFunc(all, func(m ident.Member) bool { return x.lost(m.Node) })
	k := r.below(10)
	if drift := x.plan.members.drift; drift != 0 && r.chance(700) {
		k = 4 - 4*max(drift, 0) // an addition, or a removal
	}
	switch {
	case lost >= 0 && x.leaves(all[lost].Node):
		return
	case lost >= 0: // first of all, and nobody is removed meanwhile who lives
		c.op.Kind, c.op.Node = members.Replace, all[lost].Node
		c.comes()
	case x.addsSpare():
		c.spareComes()
	case k < 3:
		c.op.Kind, c.op.NonVoter = members.Add, r.chance(250)
		c.comes()
	case k < 6 && len(m.Members) > 1 && !x.keeps(one.Node):
		c.op.Kind, c.op.Node = members.Remove, one.Node
	case k < 8 && !x.keeps(one.Node):
		c.op.Kind, c.op.Node = members.Replace, one.Node
		c.comes()
	case k == 8 && len(m.NonVoters) > 0:
		c.op.Kind, c.op.Node = members.Promote, m.NonVoters[r.below(len(m.NonVoters))].Node
	case k < 9 && x.keeps(one.Node):
		return
	case k == 9:
		c.op.Kind, c.op.Node = members.Update, one.Node
		c.op.Member.PeerAddr = fmt.Sprintf("host-%d:1", x.begun)
	default:
		c.op.Kind, c.op.Node = members.Remove, one.Node
	}
	x.asks = append(x.asks, c)
	if r.chance(x.plan.members.cancel) {
		x.at(nil, kindMembers, r.skewed(time.Millisecond, 10*x.plan.lease), func() { c.cancel = true })
	}
	c.ask()
}

// lost reports whether a node's disk is gone for good.
func (x *operator) lost(id ballot.NodeID) bool {
	i := slices.IndexFunc(x.world.nodes, func(n *node) bool { return n.id == id })
	return i >= 0 && x.world.nodes[i].lost()
}

// settle takes back what cannot end by itself any more, and reports whether nothing is left.
func (x *operator) settle() bool {
	for _, c := range x.asks {
		n := c.comer
		c.cancel = c.cancel || c.op.Kind == members.Replace && n == nil || c.op.Kind == members.Promote && x.lost(c.op.Node) ||
			c.op.Kind == members.Remove && x.leavesTooFew(c.op.Node) ||
			n != nil && (n.lost() || n.id != 0 && !n.takesPart() || c.took && c.seat != n.disk.store)
	}
	return (!x.plan.members.on || !x.plan.on(Differ) || x.decide()) && x.takeBack() && len(x.asks) == 0 && !x.vacant()
}

// leavesTooFew reports whether without a node so many voters would be gone for good that the others are no majority: its
// removal waits for one.
func (x *operator) leavesTooFew(id ballot.NodeID) bool {
	alive, all := 0, 0
	for _, m := range x.world.members.newest().Membership.Members {
		if m.Node == id {
			continue
		}
		all++
		if !x.lost(m.Node) {
			alive++
		}
	}
	return all > 0 && 2*alive <= all
}

// comes gives the operation a machine with an empty disk.
func (c *change) comes() {
	w := c.operator.world
	if len(w.nodes) == maxMachines {
		return
	}
	c.comer = w.grow()
	c.op.Member = ident.Member{Store: c.comer.disk.store, Name: fmt.Sprintf("machine-%d", c.comer.i)}
}

// ask asks some node for the operation, again if it was asked for before.
func (c *change) ask() {
	x := c.operator
	c.serial++
	serial, r := c.serial, &x.random
	n := x.world.nodes[r.below(len(x.world.nodes))]
	n.reach(kindMembers, x.hop(), func() {
		n.askMembers(c.op, c.cancel && c.took, func(a memberAnswer) {
			if x.phase == phaseFaults && r.chance(x.plan.members.losing) {
				return
			}
			x.at(nil, kindMembers, x.hop(), func() {
				if c.serial == serial {
					c.answered(&a)
				}
			})
		})
	})
	x.at(nil, kindMembers, r.between(x.plan.lease, 4*x.plan.lease), func() {
		if c.serial == serial && c.outcome == 0 {
			c.ask()
		}
	})
}

func (x *operator) hop() time.Duration { return x.random.skewed(x.plan.hop, x.plan.clientHop) }

// memberAnswer is what a node answers to the operator.
type memberAnswer struct {
	known   bool // what follows says something: else the node knows no master, or the request was lost
	refusal *members.Refusal
	op      members.Operation // as it is recorded
	members ident.Membership
}

// answered takes an answer.
func (c *change) answered(a *memberAnswer) {
	x := c.operator
	if x.trace.on() {
		x.trace.note("operator: %v: known %v, %v, refused %v", c.op, a.known, a.op.State, a.refusal)
	}
	switch {
	case !a.known:
	case a.refusal != nil && !c.took && a.refusal.Reason != members.Busy:
		c.refused = a.refusal.Reason
		c.end(members.Failed)
		return
	case a.refusal != nil && c.took && a.op.State == members.Done && c.awaited(a):
		c.cancel = false // too late: the machine is a member, and must hear it
		c.joined(a)
	case a.refusal != nil && c.took && (a.op.State > members.Running || a.refusal.Reason == members.Unknown):
		c.end(a.op.State) // another machine has taken the place, or this one that of another operation
		return
	case a.refusal != nil:
		c.seat = a.op.Member.Store
	default:
		c.took, c.seat = true, a.op.Member.Store
		c.joined(a)
		if a.op.State != members.Running && !c.awaited(a) {
			c.end(a.op.State)
			return
		}
	}
	serial := c.serial
	x.at(nil, kindMembers, x.random.between(x.plan.lease/4, 2*x.plan.lease), func() {
		if c.serial == serial {
			c.ask()
		}
	})
}

// joined has the machine that comes take up its place, once it has one.
func (c *change) joined(a *memberAnswer) {
	n := c.comer
	if n == nil {
		return
	}
	for _, m := range a.members.All() {
		if m.Store == n.disk.store && n.id == 0 {
			n.join(m.Node, a.members)
		}
		if m.Store == n.disk.store && n.id != 0 && n.id != m.Node {
			c.cancel = true // it was removed before: its disk joins no other time
		}
	}
}

// awaited reports whether the machine that comes is a member and does not know.
func (c *change) awaited(a *memberAnswer) bool {
	n := c.comer
	return n != nil && n.id == 0 && slices.ContainsFunc(a.members.All(), func(m ident.Member) bool {
		return m.Store == n.disk.store
	})
}

// end notes the outcome.
func (c *change) end(s members.State) {
	x := c.operator
	c.outcome = s
	c.serial++
	x.asks = slices.DeleteFunc(x.asks, func(o *change) bool { return o == c })
	if was, ok := x.world.members.operations[c.op.ID]; ok && was != s {
		x.fail("one outcome", "operation %v has ended as %v, and the operator is told %v", c.op, was, s)
	}
	x.ended = append(x.ended, c)
	x.counts.Changes++
}

// join makes a machine with an empty disk a node of the cluster.
func (n *node) join(id ballot.NodeID, m ident.Membership) {
	n.at(nil, kindMembers, n.site.changes.skewed(50*time.Microsecond, 4*n.plan.commit), func() {
		if n.id != 0 || n.phase == phaseFaults && n.site.changes.chance(100) {
			return // it stopped before its identity was durable, and asks again
		}
		n.id = id
		n.disk.setMembers(m)
		n.restart(0, false)
	})
}

// missing returns a text that says what has not ended.
func (x *operator) missing() string {
	var out []string
	for _, c := range x.asks {
		s := fmt.Sprintf("%v asked for, taken: %v, to be taken back: %v", c.op, c.took, c.cancel)
		if c.comer != nil {
			s += fmt.Sprintf(", machine %d as node %d, up: %v, lost: %v", c.comer.i, c.comer.id, c.comer.up(), c.comer.lost())
		}
		out = append(out, s)
	}
	return fmt.Sprintf("%s; members %v, operations %v", strings.Join(out, ", "), x.world.members.newRecord.Membership,
		x.world.members.newRecord.Operations)
}
