package sim

import (
	"fmt"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
	"tenure/server/replica"
)

// Spares. In half of the runs whose members change, machines join as spares: each takes the place of a voter that the
// master has not heard for long, without a request. The time with faults is too short for many of them. So a phase of
// its own follows, in which machines stop for long or for good, or are cut off, and nothing else is wrong.

// sparePlan is what a seed draws of spares.
type sparePlan struct {
	adding  int           // of the operations, per mille; 0: nobody joins as a spare
	leaving int           // lost voters that the operator leaves to the spares, per mille
	longest time.Duration // after which a spare takes the place of a voter that is not heard
	rounds  int           // of misfortunes in the phase of spares
}

// drawSpares draws from a stream of its own, as drawGuardian does.
func (p *plan) drawSpares(seed uint64) {
	if r := stream(seed, 29); r.chance(500) {
		p.spares = sparePlan{adding: pick(&r, 200, 400), leaving: pick(&r, 0, 500, 1000),
			longest: r.skewed(4*p.lease, 2*time.Second), rounds: 6 + r.below(12)}
	}
}

// addsSpare reports whether the next operation adds a spare: the first one does.
func (x *operator) addsSpare() bool {
	p := &x.plan.spares
	return p.adding > 0 && x.mayAddSpare() && (x.begun == 1 || x.spares.chance(p.adding))
}

// mayAddSpare reports whether a spare may be added. It may not while so many disks are lost that the cluster could not
// do without one more voter: the master may take a node with a lost disk for alive, and let the spare replace a living
// voter.
func (x *operator) mayAddSpare() bool {
	lost, hidden := x.world.nemesis.lostDisks()
	return len(x.world.nodes) < maxMachines && x.world.nemesis.affords(lost, hidden, true, true)
}

// leaves reports whether the operator leaves lost voters to the spares that there are.
func (x *operator) leaves(lost ballot.NodeID) bool {
	r := &x.world.members.newRecord
	_, votes, _ := r.Membership.Find(lost)
	return votes && len(r.Spares) > 0 && x.spares.chance(x.plan.spares.leaving)
}

// misadventures do so many misfortunes, one after the other, and keep two spares there. Over is called after the last.
func (x *operator) misadventures(left int, over func()) {
	if left == 0 {
		over()
		return
	}
	spares := len(x.world.members.newRecord.Spares)
	for _, c := range x.asks {
		if c.op.Spare && !c.took {
			spares++
		}
	}
	if spares < 2 && x.mayAddSpare() {
		x.begun++
		c := &change{operator: x, op: members.Operation{ID: fmt.Sprintf("op-%d", x.begun)}}
		c.spareComes()
		x.asks = append(x.asks, c)
		c.ask()
	}
	x.misadventure()
	after := x.spares.skewed(x.plan.lease, 2*x.plan.spares.longest)
	if _, ok := x.world.members.bySpare(); ok {
		after = x.spares.between(0, x.plan.lease)
	}
	x.at(nil, kindHeal, after, func() { x.misadventures(left-1, over) })
}

// misadventure does one misfortune: a voter stops, or two, or is cut off, or loses its disk; or the master stops, or
// the spare that is about to take a place.
func (x *operator) misadventure() {
	r, w := &x.spares, x.world
	voters, _ := w.members.voting()
	n, away := w.nodes[r.below(len(w.nodes))], r.between(x.plan.lease, 3*x.plan.spares.longest)
	op, ok := w.members.bySpare()
	switch k := r.below(10); {
	case ok && k < 5:
		n, away = w.node(op.Member.Node), r.between(0, away)
	case k < 2:
		n = w.nemesis.victim(r)
	case !voters.has(n.i):
		return
	case k < 4: // and another one, perhaps just before a spare takes the place of the first
		x.at(nil, kindFault, r.between(0, x.plan.spares.longest), w.nodes[r.below(len(w.nodes))].stopFor(away))
	case k < 6 && w.nemesis.mayLose(n, true):
		n.crash()
		n.disk.wipe()
		return
	case k < 8:
		var cut [maxMachines][maxMachines]bool
		for i := range w.nodes {
			cut[i][n.i], cut[n.i][i] = i != n.i, i != n.i
		}
		w.nemesis.during(cut, away)
		return
	}
	n.stopFor(away)()
}

// stopFor returns what stops the node's process, and starts it again after a while.
func (n *node) stopFor(d time.Duration) func() {
	return func() {
		if n.up() {
			n.crash()
			n.restart(d, false)
		}
	}
}

// spareComes makes an operation the addition of a spare.
func (c *change) spareComes() {
	x := c.operator
	c.op.Kind, c.op.Spare = members.Add, true
	c.op.ReplaceAfter = x.spares.skewed(2*x.plan.lease, x.plan.spares.longest)
	c.comes()
}

// takeBack takes a replacement by a spare back whose spare is gone for good, which waits for ever. It reports whether
// no replacement by a spare is under way.
func (x *operator) takeBack() bool {
	op, ok := x.world.members.bySpare()
	if !ok {
		return true
	}
	if x.lost(op.Member.Node) {
		x.recall(op)
	}
	return false
}

// recall takes a replacement by a spare back.
func (x *operator) recall(op members.Operation) {
	if slices.ContainsFunc(x.asks, func(c *change) bool { return c.op.ID == op.ID }) {
		return
	}
	c := &change{operator: x, op: op, took: true, seat: op.Member.Store, cancel: true}
	x.asks = append(x.asks, c)
	c.ask()
}

// vacant reports whether a spare is available for a voter that is gone for good.
func (x *operator) vacant() bool {
	r := &x.world.members.newRecord
	there := slices.ContainsFunc(r.Spares, func(s members.Spare) bool { return !x.lost(s.Node) })
	return there && slices.ContainsFunc(r.Membership.Members, func(m ident.Member) bool {
		return x.lost(m.Node) && !x.world.node(m.Node).up()
	})
}

// bySpare returns the replacement by a spare that is under way.
func (h *memberHistory) bySpare() (op members.Operation, ok bool) {
	op, ok = h.newRecord.Running()
	return op, ok && op.BySpare
}

// spares returns the machines of the spares that have no vote yet.
func (h *memberHistory) spares() (s machineSet) {
	for _, x := range h.newRecord.Spares {
		if m := h.machine(x.Node); m != nil {
			s |= 1 << m.i
		}
	}
	return s
}

// mayShrink reports whether a spare may soon take a voter out, so that one more lost disk would be one too many: it is
// about to, or the master may take a lost voter for alive and have another one replaced. Neither can be if n's process
// ends with its disk, no other lost disk is hidden, and all other voters have been heard for a while: then n is the one
// who is replaced.
func (x *nemesis) mayShrink(n *node, ends bool, hidden machineSet) bool {
	h := x.members
	if _, ok := h.bySpare(); ok {
		return true
	}
	adds := slices.ContainsFunc(x.operator.asks, func(c *change) bool { return c.op.Spare })
	if len(h.newRecord.Spares) == 0 && !adds {
		return false
	}
	voters, _ := h.voting()
	for i, a := range x.nodes {
		for j, b := range x.nodes {
			if i == j || a == n || b == n || a.lost() || b.lost() || !voters.has(i) || !voters.has(j) {
				continue
			}
			if since := x.progress.pairs[i][j]; since == 0 || x.now-since < replica.AliveFor || !x.net.connected(a.end, b.end) {
				return true
			}
		}
	}
	return !ends || hidden != 0
}

// checkSeats checks the number of voters: a spare takes the place of one voter, and meanwhile at most one voter is
// missing. Only people change the number.
func (h *memberHistory) checkSeats(s multipaxos.Slot, r *members.Record) {
	ran, was := h.newRecord.Running()
	op, runs := r.Running()
	n := len(r.Membership.Members)
	for _, o := range r.Operations[:max(0, len(r.Operations)-1)] {
		if o.State == members.Running {
			h.fail("one at a time", "slot %d lists %v as running, and %v", s, o, r.Operations)
		}
	}
	ended := was && ran.BySpare && !(runs && op.ID == ran.ID)
	switch {
	case runs && op.BySpare && (n > h.seats || n < h.seats-1), ended && h.ended(r, &ran) == members.Done && n != h.seats:
		h.fail("a spare takes one place", "slot %d: %d voters %v of %d, operations %v", s, n, r.Membership, h.seats,
			r.Operations)
	case runs && op.BySpare:
		return
	case ended && h.ended(r, &ran) == members.Done:
		h.counts.Spares++
	}
	h.seats = n
}

// ended returns how an operation has ended.
func (h *memberHistory) ended(r *members.Record, o *members.Operation) members.State {
	now, _ := r.Operation(o.ID)
	return now.State
}

// spareCheck checks what a process proposes for spares as the master. It notes, beside the log part, whom that hears:
// all times are readings of the node's clock, as the log part takes them.
type spareCheck struct {
	*machine
	members  *memberHistory
	progress *progress
	state    *kv.State
	now      time.Duration
	heard    [maxMachines]struct {
		connected, fresh bool
		at               time.Duration // 0: never
	}
	through multipaxos.Slot // proposals through this slot are checked
}

// took takes an event that the log part is given.
func (c *spareCheck) took(e *input) {
	switch {
	case e.peer != nil && e.peer.Kind == replica.KindHeartbeat:
		c.heard[c.members.machine(e.peer.From).i].fresh = true
	case e.up != 0:
		c.heard[c.members.machine(e.up).i].connected = true
	case e.down != 0:
		c.heard[c.members.machine(e.down).i].connected = false
	}
}

// read takes the time of the round: what was heard since the one before counts as heard now.
func (c *spareCheck) read(now time.Duration) {
	c.now = now
	for i := range c.heard {
		if p := &c.heard[i]; p.fresh {
			p.fresh, p.at = false, now
		}
	}
}

// silent returns for how long the master has not heard a node: from when it won the lease at most.
func (c *spareCheck) silent(i int) time.Duration {
	return c.now - max(c.heard[i].at, c.progress.truths[c.i].won)
}

// alive reports whether the master may count a node as alive.
func (c *spareCheck) alive(i int) bool {
	return i == c.i || c.heard[i].connected && c.now-c.heard[i].at < replica.AliveFor
}

// writes checks what a round writes: each record that the node proposes, when it does so first.
func (c *spareCheck) writes(ps []multipaxos.Persist, l *ledger) {
	for i := range ps {
		for j := range ps[i].Entries {
			e := &ps[i].Entries[j]
			if e.Ballot.Node != c.id || e.Slot <= c.through || len(e.Value) == 0 || e.Value[0] != tagMembers ||
				l.knows(e) {
				continue
			}
			c.through = e.Slot
			next, err := members.Decode(e.Value[1:])
			if err != nil {
				c.fail("error", "node %d, slot %d: %v", c.id, e.Slot, err)
			}
			c.check(e.Slot, &next)
		}
	}
}

// check checks a record that the node proposes.
func (c *spareCheck) check(s multipaxos.Slot, next *members.Record) {
	was := members.First(c.members.list[0].Membership)
	if b := c.state.Members(); b != nil {
		was, _ = members.Decode(b)
	}
	ran, ok := was.Running()
	if op, runs := next.Running(); runs && op.BySpare && !(ok && op.ID == ran.ID) {
		c.members.proposed[op.ID] = true
		c.checkBegin(s, &was, &op, ok)
	}
	for _, x := range was.Membership.Members {
		if _, votes, _ := next.Membership.Find(x.Node); ok && ran.BySpare && !votes {
			c.checkRemoves(s, &was, &ran, x.Node)
		}
	}
}

// checkBegin checks the beginning of a replacement by a spare.
func (c *spareCheck) checkBegin(s multipaxos.Slot, was *members.Record, op *members.Operation, busy bool) {
	i := slices.IndexFunc(was.Spares, func(x members.Spare) bool { return x.Node == op.Member.Node })
	if busy || i < 0 || was.Spares[i].ReplaceAfter == 0 {
		c.fail("spares", "node %d proposes %v in slot %d, spares %v, another operation runs: %v", c.id, *op, s, was.Spares,
			busy)
	}
	if silent, least := c.silent(c.members.machine(op.Node).i), was.Spares[i].ReplaceAfter; silent < least {
		c.fail("spares", "node %d proposes %v in slot %d, and has not heard that voter for %v, less than %v", c.id, *op, s,
			silent, least)
	}
	c.checkRemoves(s, was, op, op.Node)
}

// checkRemoves checks that a spare's operation removes the voter it replaces, which is not heard, and that a majority
// of the remaining voters is heard.
func (c *spareCheck) checkRemoves(s multipaxos.Slot, was *members.Record, op *members.Operation, gone ballot.NodeID) {
	left := slices.DeleteFunc(slices.Clone(was.Membership.Members), func(x ident.Member) bool { return x.Node == gone })
	var alive machineSet
	for i := range c.members.machines {
		if c.alive(i) {
			alive |= 1 << i
		}
	}
	if gone != op.Node || alive.has(c.members.machine(gone).i) || !alive.majorityOf(c.members.set(left)) {
		c.fail("spares", "node %d proposes in slot %d for %v that node %d is removed: of machines %b it hears %b", c.id, s,
			*op, gone, c.members.set(left), alive)
	}
}
