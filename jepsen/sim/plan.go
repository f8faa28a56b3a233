package sim

import (
	"fmt"
	"io"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/kv"
	"tenure/lease"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/effect"
)

// Config says which run. Seed alone decides everything; the other fields take something away from it, to shrink a
// failing run or to see it.
type Config struct {
	Seed    uint64
	Without Fault     // classes that are switched off
	Clients int       // at most so many; 0: as drawn
	Steps   int       // of the phase with faults; 0: DefaultSteps
	Trace   io.Writer // a line a step; nil: none

	Members bool // the members of the cluster change

	trusting bool // checks what clocks promise although some break it: the checks must then fail
}

// DefaultSteps is how many steps a run takes with faults; what it takes to heal and converge comes on top.
const DefaultSteps = 10_000

// Validate refuses numbers that make no sense.
func (c Config) Validate() error {
	if c.Clients < 0 || c.Steps < 0 || c.Steps > 10_000_000 || c.Without > allFaults {
		return fmt.Errorf("sim: %d clients, %d steps, without %d: out of range", c.Clients, c.Steps, c.Without)
	}
	return nil
}

// plan is what a seed draws before it begins: the cluster, its sizes, and its faults with their rates.
type plan struct {
	nodes  int
	faults Fault
	timing lease.Timing
	lease  time.Duration          // D_P
	bounds replica.ProgressConfig // of M6
	limits kv.Limits
	part   replica.Config // without Self
	voters quorum.Set

	steps    int
	trusting bool

	// Network.
	hop       time.Duration // shortest delay
	jitter    time.Duration // on top, of lease messages only with Reorder
	dropping  int           // per mille, as all rates
	doubling  int
	refusing  int // log messages
	delaying  int
	cutting   int // frames
	garbling  int
	delay     time.Duration // longest
	idle      time.Duration // a silent connection is broken after so long
	redial    time.Duration
	clientHop time.Duration

	// Node.
	commit   time.Duration // longest commit of a healthy disk
	waking   int           // a loop wakes late
	gaps     int           // the processor is lost between two effects
	longGaps int           // of those, for long: only with Lag
	// weak is the effect before which the processor is lost most often, if any: a long gap at one place of a round is
	// too rare otherwise to meet the end of a lease there.
	weak   effect.Effect
	splits int // a read is split in its halves

	clients    clientPlan
	lockers    lockPlan
	pipeliners pipelinePlan
	uploads    uploadPlan
	clocks     clockPlan
	leasers    leasePlan
	stuck      stuckPlan
	members    memberPlan
	spares     sparePlan
	every      [len(faultNames)]time.Duration // mean time between two faults of a class
}

// clientPlan is how the clients behave.
type clientPlan struct {
	count   int
	think   time.Duration // longest pause between two operations
	keys    int           // in use at a time
	keyed   int           // of the writes
	timeout time.Duration // of one attempt
	tries   int           // through other nodes, at most
	linger  time.Duration // a node may hold a request so much longer than its client
	sticky  int           // stays with its node for the next operation
	reads   int           // of the operations
	stale   int           // of the reads
	steady  int           // consistent, of the other reads
}

// gapsBefore returns how often the processor is lost before an effect.
func (p *plan) gapsBefore(e effect.Effect) int {
	if e != 0 && e == p.weak {
		return weakGaps
	}
	return p.gaps
}

const weakGaps = 150

// drawWeak draws from a stream of its own, as drawGuardian does.
func (p *plan) drawWeak(seed uint64) {
	r := stream(seed, 14)
	if r.chance(700) {
		p.weak = pick(&r, effect.Apply, effect.Apply, effect.Clock, effect.Persist,
			effect.Ready, effect.Send, effect.Reply, effect.Lease, effect.Note,
			effect.Timer)
	}
}

// draw draws the plan of a run.
func draw(c Config) plan {
	r := stream(c.Seed, 0)
	p := plan{nodes: pick(&r, 3, 3, 3, 3, 5, 5, 5, 1), steps: c.Steps, trusting: c.trusting}
	if p.steps == 0 {
		p.steps = DefaultSteps
	}
	p.lease = time.Duration(pick(&r, 30, 60, 100, 200, 400)) * time.Millisecond
	p.bounds = replica.ProgressFor(p.lease)
	p.timing = lease.Timing{MaxMaster: p.lease, MaxUser: p.lease, DriftPPM: pick(&r, int64(0), 10_000, 50_000),
		Margin: pick(&r, 0, time.Millisecond, 5*time.Millisecond)}
	p.drawFaults(&r)
	p.drawNetwork(&r)
	p.drawNode(&r)
	p.drawClients(&r)
	p.drawGuardian(c.Seed)
	p.drawStuck(c.Seed)
	p.drawWeak(c.Seed)
	p.drawDamage(c.Seed)
	p.drawLockers(c)
	p.drawLeasers(c)
	p.drawMembers(c)
	p.drawCopies(c.Seed)
	p.drawDiffer(c.Seed)
	p.drawUploads(c.Seed)
	p.drawPipeliners(c)
	p.drawClocks(c.Seed)
	p.faults &^= c.Without
	if c.Clients > 0 {
		p.clients.count = min(p.clients.count, c.Clients)
	}
	return p
}

// drawFaults is the swarm: about half of the classes, and rates of their own; in a storm no master stays for long.
// Freeze is rare: it leaves least to check.
func (p *plan) drawFaults(r *random) {
	most := pick(r, 150, 300, 500, 700)
	stormy := r.chance(400)
	for i := range faultNames {
		if Fault(1)<<i&latecomers != 0 {
			continue
		}
		f, on := Fault(1)<<i, r.chance(most)
		if f == Freeze {
			on = r.chance(120)
		}
		if on {
			p.faults |= f
		}
		p.every[i] = r.skewed(30*time.Millisecond, 2*time.Second)
		switch {
		case f&(Crash|CrashAll|EIO) != 0: // each costs a quarantine: more of them, and nobody is ever elected
			p.every[i] = r.skewed(5*p.lease, 40*p.lease)
		case stormy:
			p.every[i] = r.skewed(p.lease, 5*p.lease)
		}
	}
}

// drawGuardian draws from a stream of its own: what else a seed draws does not depend on it.
func (p *plan) drawGuardian(seed uint64) {
	r := stream(seed, 6)
	if r.chance(500) {
		p.faults |= Guardian
	}
	p.every[Guardian.index()] = r.skewed(p.lease/2, 10*p.lease)
}

func (p *plan) drawNetwork(r *random) {
	p.hop = r.skewed(20*time.Microsecond, 2*time.Millisecond)
	p.jitter = r.skewed(100*time.Microsecond, p.lease/4)
	p.dropping, p.doubling, p.refusing = pick(r, 5, 30, 100, 300), pick(r, 10, 50, 200), pick(r, 2, 10, 50)
	p.delaying, p.delay = pick(r, 2, 10, 50), r.skewed(5*time.Millisecond, 2*p.lease)
	p.idle, p.redial = r.skewed(20*time.Millisecond, time.Second), r.skewed(5*time.Millisecond, 200*time.Millisecond)
	p.clientHop = r.skewed(10*time.Microsecond, 5*time.Millisecond)
}

func (p *plan) drawNode(r *random) {
	p.commit = r.skewed(200*time.Microsecond, 10*time.Millisecond)
	p.waking, p.gaps, p.longGaps = pick(r, 0, 20, 200), pick(r, 2, 10, 50), pick(r, 10, 50, 200)
	p.splits = pick(r, 50, 200, 800)
	p.limits = kv.DefaultLimits
	p.limits.DedupEntries, p.limits.DedupRevisions = pick(r, 6, 40, 1<<17), pick(r, uint64(30), 200, 1<<20)
	for i := range p.nodes {
		p.voters.Add(ballot.NodeID(i + 1))
	}
	members := ident.Membership{Number: 1}
	for _, id := range p.voters.IDs() {
		members.Members = append(members.Members, ident.Member{Node: id, Store: ident.StoreID{byte(id)}})
	}
	p.part = replica.Config{ // drawn in this order
		Membership: members,
		Core: multipaxos.Config{
			PageBytes:     pick(r, 100, 1000, 10_000),
			WindowEntries: pick(r, 2, 8, 64),
			WindowBytes:   pick(r, 500, 1<<20),
			CacheBytes:    pick(r, 0, 2000, 1<<16),
			KeepEntries:   pick(r, uint64(0), 5, 50),
			NeedOf:        replica.NeedOf,
			MembershipOf:  replica.MembershipOf,
		},
		MaxBatchBytes:      pick(r, 100, 1000, 10_000),
		MaxInFlight:        pick(r, 1, 2, 4),
		GatherFor:          pick(r, 0, time.Millisecond, 20*time.Millisecond),
		MaxQueued:          pick(r, 3, 64),
		MaxQueuedBytes:     1 << 20,
		MaxForwarded:       pick(r, 3, 64),
		MaxReads:           pick(r, 3, 64),
		ApplyBytes:         pick(r, 100, 1<<16),
		CheckpointBytes:    pick(r, int64(2000), 1<<20),
		CheckpointLogBytes: 100 * pick(r, int64(5), 30, 200),
		CompareEvery:       time.Second,
	}
}

func (p *plan) drawClients(r *random) {
	p.clients = clientPlan{
		count: 1 + r.below(8), think: r.skewed(time.Millisecond, 60*time.Millisecond), keys: 1 + r.below(3),
		keyed: pick(r, 0, 500, 900), timeout: r.skewed(20*time.Millisecond, 2*time.Second), tries: 1 + r.below(6),
		linger: pick(r, 50*time.Millisecond, 200*time.Millisecond, 2*time.Second), sticky: pick(r, 200, 800, 1000),
		reads: pick(r, 200, 500, 700), stale: pick(r, 50, 200), steady: pick(r, 100, 500),
	}
}

// drawDamage draws from a stream of its own, as drawGuardian does.
func (p *plan) drawDamage(seed uint64) {
	r := stream(seed, 24)
	for _, f := range []Fault{Cut, Garble} {
		if r.chance(300) {
			p.faults |= f
		}
	}
	p.cutting, p.garbling = pick(&r, 1, 3, 10), pick(&r, 1, 3, 10)
}

// on reports whether a class is part of the run.
func (p *plan) on(f Fault) bool { return p.faults&f != 0 }

// clocked reports whether the clocks keep what the lease relies on.
func (p *plan) clocked() bool { return p.trusting || !p.on(Freeze) }
