package sim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"tenure/internal/leasehold"
	"tenure/lease/named"
	"tenure/server/replica"
)

// leasePlan is what those who own named leases do.
type leasePlan struct {
	count        int // 0: there are no named leases in the run
	names        int
	think        time.Duration
	longest      time.Duration // M of user leases
	patience     time.Duration // of a node with an attempt
	waits        int           // of the acquisitions
	releases     int           // of the ends
	linger       time.Duration
	width        time.Duration
	records      int
	long         int // of what is asked for, as long as may be
	bucketLinger time.Duration
	tasks        int
}

// maxAside is how many steps of a run named leases take; then their owners fall silent.
const maxAside = 5000

// drawLeasers draws from a stream of its own, as drawGuardian does.
func (p *plan) drawLeasers(c Config) {
	r := stream(c.Seed, 9)
	longest := pick(&r, p.lease/2, p.lease, 2*p.lease, 4*p.lease)
	p.leasers = leasePlan{count: pick(&r, 0, 0, 0, 2, 3, 5), names: pick(&r, 1, 1, 3), think: r.skewed(4*time.Millisecond, longest), longest: longest,
		patience: r.skewed(20*time.Millisecond, 4*longest), waits: pick(&r, 0, 300, 800), releases: pick(&r, 200, 800),
		linger: pick(&r, 0, 10*time.Millisecond, longest), width: pick(&r, 30*time.Millisecond, 100*time.Millisecond),
		records: pick(&r, 8, 64), tasks: pick(&r, 3, 64), long: pick(&r, 100, 400, 900), bucketLinger: pick(&r, 0, longest)}
	if c.Clients > 0 {
		p.leasers.count = min(p.leasers.count, c.Clients)
	}
	p.timing.MaxUser = longest
}

// leaser is a client of named leases, on a machine with a clock of its own. It owns by one acquisition after the other,
// and asks for several things at a time if answers take long. What it may believe is leasehold's word; the oracle
// checks it.
type leaser struct {
	w      *world
	id     int
	random random
	clock  clock
	serial int
	now    *acquisition // nil: none
}

// acquisition is one attempt to own a name, and what comes of it.
type acquisition struct {
	owner   *leaser
	name    named.Name
	id      named.Acquisition
	hold    leasehold.Hold
	counted bool // some grant has counted
	tries   int  // requests of which nothing was heard
}

// leaseCall is one request of a leaser at one node.
type leaseCall struct {
	a        *acquisition
	request  replica.LeaseRequest
	wait     time.Duration
	asked    time.Duration // on the leaser's clock, before it was sent
	began    time.Duration // the same in true time
	answered bool
	probe    func(*replica.LeaseAnswer) // takes the answer instead
}

func (w *world) startLeasers() {
	for i := range w.plan.leasers.count {
		l := &leaser{w: w, id: 500 + i, random: stream(w.cfg.Seed, 7000+uint64(i))}
		l.clock = clock{since: w.now, reading: l.random.between(time.Second, time.Hour)}
		w.leasers = append(w.leasers, l)
		l.rest()
	}
}

func (l *leaser) reading() time.Duration { return l.clock.at(l.w.now) }

func (l *leaser) rest() {
	w := l.w
	w.at(nil, kindLeaser, l.random.skewed(100*time.Microsecond, w.plan.leasers.think), func() {
		if w.phase <= phaseSettling && w.aside < maxAside {
			l.next()
			l.rest()
		}
	})
}

// next does one thing: it does not wait for the answer to the one before.
func (l *leaser) next() {
	w, r, p := l.w, &l.random, &l.w.plan.leasers
	if most := w.plan.timing.DriftPPM; most > 0 && w.plan.on(Drift) && r.chance(50) {
		l.clock.run(w.now, pick(r, -most, most, int64(r.below(int(2*most)))-most))
	}
	a := l.now
	switch {
	case a == nil:
		l.serial++
		l.now = &acquisition{owner: l, name: leaseName(byte('a' + r.below(p.names)))}
		binary.BigEndian.PutUint64(l.now.id[:], uint64(l.id)<<32|uint64(l.serial))
		wait := time.Duration(0)
		if r.chance(p.waits) {
			wait = r.skewed(time.Millisecond, 3*p.longest)
		}
		l.now.ask(replica.LeaseAcquire, wait)
	case a.counted && !a.hold.Held(l.reading()):
		l.now = nil // it is over; whatever is still to come is void
	case !a.counted:
		if a.tries++; a.tries > 6 {
			l.leave()
			return
		}
		if r.chance(300) {
			a.ask(replica.LeaseAcquire, 0) // the same acquisition, through any node
		}
	case r.chance(200):
		l.leave()
	default:
		a.ask(replica.LeaseRenew, 0)
	}
}

// leave releases what is owned, or is being asked for, or walks away.
func (l *leaser) leave() {
	a := l.now
	l.now = nil
	if l.random.chance(l.w.plan.leasers.releases) || !a.counted {
		a.release()
	}
}

func (a *acquisition) release() {
	a.hold.Release()
	a.ask(replica.LeaseRelease, 0)
}

// ask sends a request to some node.
func (a *acquisition) ask(op replica.LeaseOp, wait time.Duration) {
	l := a.owner
	w, r := l.w, &l.random
	ttl := w.plan.leasers.longest
	if !r.chance(w.plan.leasers.long) {
		ttl = max(time.Millisecond, ttl/pick[time.Duration](r, 2, 4, 8))
	}
	c := &leaseCall{a: a, wait: wait, asked: l.reading(), began: w.now, request: replica.LeaseRequest{Op: op, Name: a.name, Acquisition: a.id,
		Owner: fmt.Sprintf("leaser %d", l.id), Duration: ttl}}
	w.call(w.nodes[r.below(len(w.nodes))], c)
}

// call brings a request to a node.
func (w *world) call(n *node, c *leaseCall) {
	w.nextID++
	c.request.ID = w.nextID
	w.reachAs(kindLeaser, n, w.leasing.skewed(w.plan.hop, w.plan.clientHop), func() {
		if !n.up() {
			c.tell(&replica.LeaseAnswer{Outcome: replica.LeaseNotApplied})
			return
		}
		if w.trace.on() {
			w.trace.note("leaser %d asks for op %d of %q by %v", c.who(), c.request.Op, leaseText(c.request.Name), c.request.Acquisition)
		}
		n.namedInput(namedEvent{call: c})
	})
}

func (c *leaseCall) who() int {
	if c.a == nil {
		return 0
	}
	return c.a.owner.id
}

// tell brings the answer to the client, or loses it.
func (c *leaseCall) tell(ans *replica.LeaseAnswer) {
	if c.answered {
		panic(&Failure{Check: "one answer", Detail: fmt.Sprintf("lease request %d is answered twice", c.request.ID)})
	}
	c.answered = true
	if c.probe != nil {
		c.probe(ans)
		return
	}
	w, told := c.a.owner.w, *ans
	if w.phase == phaseFaults && w.leasing.chance(30) {
		return
	}
	w.at(nil, kindLeaser, w.leasing.skewed(w.plan.hop, w.plan.clientHop), func() { c.a.answered(c, &told) })
}

// answered takes an answer, however late it is.
func (a *acquisition) answered(c *leaseCall, ans *replica.LeaseAnswer) {
	l := a.owner
	w, now := l.w, l.reading()
	w.trace.mix(uint64(l.id), uint64(ans.Outcome), uint64(ans.Token))
	if w.trace.on() {
		w.trace.note("leaser %d: outcome %d, token %v", l.id, ans.Outcome, ans.Token)
	}
	switch {
	case ans.Outcome == replica.LeaseDone && c.request.Op != replica.LeaseRelease:
		w.owners.granted(c, ans)
		reply := leasehold.Reply{Asked: c.asked + w.plan.timing.AtLeast(ans.Waited), TTL: c.request.Duration, Token: uint64(ans.Token),
			Renewal: c.request.Op == replica.LeaseRenew}
		if a.hold.Take(now, reply) {
			w.owners.counted(a, c)
			a.counted = true
		}
	case ans.Outcome == replica.LeaseGone:
		w.owners.gone(a, c)
	case ans.Outcome == replica.LeaseBusy && l.now == a && !a.counted:
		if l.now = nil; l.random.chance(200) { // what a request before it may have left behind
			a.release()
		}
	}
}

// Names are short texts, so that traces can be read.
func leaseName(c byte) (n named.Name) {
	n[0], n[8] = c, c // both halves of what is taken for a hash
	return n
}

func leaseText(n named.Name) string { return strings.TrimRight(string(n[:8]), "\x00") }
