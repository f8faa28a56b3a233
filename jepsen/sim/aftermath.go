package sim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/replica"
	"tenure/server/replica/leases"
)

// phase is how far a run is.
type phase uint8

const (
	phaseFaults     phase = iota
	phaseStuck            // no faults any more but that a minority is stuck, and masters die (stuck.go)
	phaseSpares           // no faults any more but that machines stop for long, and spares take their places (spares.go)
	phaseClocks           // no faults any more but that a clock errs (clocks.go)
	phaseSettling         // no faults any more, the clients go on
	phaseProbing          // a write through each node must succeed
	phaseConverging       // all nodes must come to hold the same
	phaseReading          // every key is read once more
	phaseOver
)

// settleFor is how long the clients go on after the faults.
const settleFor = 100 * time.Millisecond

// aftermath is how a run goes on after the faults: the cluster must serve through every node, come to hold the same on
// all, and show every key.
type aftermath struct {
	*engine
	nodes      []*node
	net        *network
	clients    *clients
	pipeliners *pipeliners
	leasers    *leasers
	nemesis    *nemesis
	operator   *operator
	clockFacts *clockFacts
	healed     time.Duration
}

// within returns how long the cluster may take to serve through every node, and to be equal, after the faults. A node
// whose sender of a snapshot is gone waits for it for a while before it asks another.
func (x *aftermath) within() time.Duration { return 20*x.plan.lease + 25*time.Second }

// begin begins the phase of stuck nodes, or what follows it.
func (x *aftermath) begin() {
	if x.plan.stuck.rounds == 0 || !x.plan.on(StuckDisk|LargeLost) {
		x.spares()
		return
	}
	x.phase = phaseStuck
	x.at(nil, kindHeal, 0, x.calm)
	x.at(nil, kindHeal, settleFor, func() { x.nemesis.misfortune(x.plan.stuck.rounds, x.spares) })
}

// spares begins the phase of spares, or what follows it.
func (x *aftermath) spares() {
	if x.plan.spares.adding == 0 {
		x.clocks()
		return
	}
	x.phase = phaseSpares
	x.at(nil, kindHeal, 0, x.calm)
	x.at(nil, kindHeal, settleFor, func() { x.operator.misadventures(x.plan.spares.rounds, x.clocks) })
}

// clocks begins the phase in which a clock errs, or heals everything.
func (x *aftermath) clocks() {
	if !x.plan.clocks.on {
		x.heal()
		return
	}
	x.phase = phaseClocks
	x.at(nil, kindHeal, 0, x.calm)
	r := x.stream(67)
	x.at(nil, kindHeal, settleFor, func() { x.clockFacts.misclock(x.nodes, &r, x.plan.clocks.times, x.heal) })
}

// heal ends the faults and brings back every node whose disk is good.
func (x *aftermath) heal() {
	x.phase, x.healed = phaseSettling, x.now
	x.at(nil, kindHeal, 0, func() {
		x.calm()
		x.stayFull()
	})
	x.at(nil, kindHeal, settleFor, x.awaitChanges)
}

// awaitChanges waits for the operator, and for those who are no members any more to have ended, before it probes.
func (x *aftermath) awaitChanges() {
	if !x.operator.settle() || x.strangers() {
		if x.undecided() && x.pipeliners.idle() { // a master that is to be removed hands over to nobody who is behind
			x.phase = phaseOver
			return
		}
		if x.now > x.healed+2*x.within() {
			x.fail("progress", "%v after the faults ended, %s: %s", x.now-x.healed, x.operator.missing(), missing(x.nodes))
		}
		x.at(nil, kindHeal, 20*time.Millisecond, x.awaitChanges)
		return
	}
	x.phase, x.healed = phaseProbing, x.now
	x.probe()
}

// strangers reports whether a process runs whose node is no member any more.
func (x *aftermath) strangers() bool {
	return slices.ContainsFunc(x.nodes, func(n *node) bool { return n.up() && !n.takesPart() })
}

// calm ends all faults.
func (x *aftermath) calm() {
	x.net.setCut([maxMachines][maxMachines]bool{})
	for _, n := range x.nodes {
		if n.up() && n.end.isCopy() {
			n.crash()
		}
		n.disk.heal()
		n.thaw(&x.nemesis.stucks)
		n.clock.run(x.now, n.rate)
		n.drift()
		n.resume()
		if !n.up() {
			n.restart(0, false)
		}
	}
}

// stayFull leaves one member full when the other faults end, so that a quorum with space has to go on without it. The
// writes that probe each node must still succeed. Only nodes whose disks are good count for that quorum.
func (x *aftermath) stayFull() {
	r := x.stream(11)
	if !x.plan.on(Low) || !r.chance(500) || x.nemesis.differs { // who differs ends, and who has taken its state
		return
	}
	var good []*node
	for _, n := range x.nodes {
		if n.takesPart() && !n.lost() {
			good = append(good, n)
		}
	}
	if x.plan.members.on || len(good)-1 <= len(x.nodes)/2 {
		return
	}
	n := good[r.below(len(good))]
	n.disk.space = pick(&r, replica.SpaceLow, replica.SpaceTight, replica.SpaceNone)
	if x.trace.on() {
		x.trace.note("node %d stays full: %v", n.id, n.disk.space)
	}
}

// probe writes through each node that takes part, and acquires a lease, until both succeed.
func (x *aftermath) probe() {
	for _, n := range x.nodes {
		if !n.takesPart() {
			continue
		}
		c := &caller{access: x.clients.access, id: 100 + n.i, random: x.stream(128 + uint64(n.i)), via: n}
		c.command = kv.Command{Op: kv.OpSet, Key: fmt.Sprintf("probe/%d", n.id), Value: []byte("p")}
		c.took = func(ans *answer) {
			if n.probed = ans.outcome == replica.Done; !n.probed {
				x.at(nil, kindClient, 5*time.Millisecond, func() { x.probeOnce(c) })
			}
		}
		x.at(nil, kindClient, 0, func() { x.probeOnce(c) })
		x.at(nil, kindLeaser, 0, func() { x.probeLease(n, 1) })
	}
	x.await()
}

// probeOnce makes one attempt to write through a node.
func (x *aftermath) probeOnce(c *caller) {
	if c.via.takesPart() {
		c.send(c.begin(write, c.command.Key), x.plan.hop, time.Second)
	}
}

// probeLease acquires a name of its own through n, until it succeeds.
func (x *aftermath) probeLease(n *node, try uint64) {
	if !n.takesPart() || x.plan.leasers.count == 0 {
		n.leased = true
		return
	}
	c := &leaseCall{request: leases.Request{
		Op: leases.Acquire, Name: leaseName(byte('0' + n.i)), Owner: "probe", Duration: x.plan.leasers.longest,
	}}
	binary.BigEndian.PutUint64(c.request.Acquisition[:], uint64(n.id)<<48|try)
	c.probe = func(a *leases.Answer) {
		if n.leased = a.Outcome == leases.Done; !n.leased {
			x.at(nil, kindLeaser, 5*time.Millisecond, func() { x.probeLease(n, try+1) })
		}
	}
	x.leasers.call(n, c)
}

// await waits for every node to be probed, then for equal states, then for the last reads.
func (x *aftermath) await() {
	if x.now > x.healed+x.within() {
		x.fail("progress", "%v after the faults ended, %s", x.now-x.healed, missing(x.nodes))
	}
	switch {
	case x.phase == phaseProbing && x.idle():
		x.phase = phaseConverging
		for _, n := range x.nodes {
			n.disk.space = replica.SpaceEnough
		}
	case x.phase == phaseConverging && x.equal() && x.found():
		x.phase = phaseReading
		x.clients.readAll()
	case x.phase != phaseReading && x.undecided() && x.pipeliners.idle(), x.phase == phaseReading && x.idle():
		x.phase = phaseOver
		return
	}
	x.at(nil, kindHeal, 20*time.Millisecond, x.await)
}

// idle reports whether every client has its answer and every probe succeeded.
func (x *aftermath) idle() bool {
	for _, n := range x.nodes {
		if n.takesPart() && !(n.probed && n.leased) {
			return false
		}
	}
	return x.clients.idle() && x.pipeliners.idle()
}

// equal reports whether one of the nodes that take part leads, and all have applied the same slots; then their states must
// be the same.
func (x *aftermath) equal() bool {
	var first *node
	leads := false
	for _, n := range x.nodes {
		if !n.takesPart() {
			continue
		}
		if !n.up() || !n.log.settled() {
			return false
		}
		leads = leads || n.log.leads()
		if first == nil {
			first = n
		} else if n.log.state.Applied() != first.log.state.Applied() {
			return false
		}
	}
	if !leads {
		return false
	}
	for _, n := range x.nodes {
		if n.takesPart() {
			n.log.check.compareDigest()
		}
	}
	return true
}

// missing returns a text that says what progress has not come.
func missing(nodes []*node) string {
	var out []string
	for _, n := range nodes {
		switch {
		case !n.takesPart() && n.up():
			out = append(out, fmt.Sprintf("node %d runs, and is not to: it goes by membership %v", n.id, n.disk.members))
		case !n.takesPart():
		case !n.up():
			out = append(out, fmt.Sprintf("node %d is down", n.id))
		default:
			s := n.log.log.Status(n.reading())
			out = append(out,
				fmt.Sprintf("node %d: probed %v, leased %v, applied %d, chosen %d, last %d, master %d, %v, phase %v, %s",
					n.id, n.probed, n.leased, s.Applied, s.Chosen, n.log.core.Last(), s.Master, n.board.pub,
					n.log.core.Phase(), s.Waits))
		}
	}
	return strings.Join(out, "; ")
}
