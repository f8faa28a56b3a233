package sim

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"tenure/internal/leasehold"
	"tenure/lease/named"
	"tenure/server/replica/leases"
)

// leasePlan is what those who own named leases do.
type leasePlan struct {
	count        int // 0: there are no named leases in the run
	names        int
	think        time.Duration
	longest      time.Duration // M of user leases
	timeout      time.Duration // of a node with an attempt
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
	p.leasers = leasePlan{ // drawn in this order
		count:        pick(&r, 0, 0, 0, 2, 3, 5),
		names:        pick(&r, 1, 1, 3),
		think:        r.skewed(4*time.Millisecond, longest),
		longest:      longest,
		timeout:      r.skewed(20*time.Millisecond, 4*longest),
		waits:        pick(&r, 0, 300, 800),
		releases:     pick(&r, 200, 800),
		linger:       pick(&r, 0, 10*time.Millisecond, longest),
		width:        pick(&r, 30*time.Millisecond, 100*time.Millisecond),
		records:      pick(&r, 8, 64),
		tasks:        pick(&r, 3, 64),
		long:         pick(&r, 100, 400, 900),
		bucketLinger: pick(&r, 0, longest),
	}
	if c.Clients > 0 {
		p.leasers.count = min(p.leasers.count, c.Clients)
	}
	p.timing.MaxUser = longest
}

// leaser is a client of named leases, on a machine with a clock of its own. It owns by one acquisition after the other,
// and asks for several things at a time if answers take long. What it may believe is leasehold's word; the oracle
// checks it.
type leaser struct {
	*leasers
	id     int
	random random
	clock  clock
	serial int
	owns   *acquisition // what it owns, or tries to; nil: nothing
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
	request  leases.Request
	wait     time.Duration
	asked    time.Duration // on the leaser's clock, before it was sent
	began    time.Duration // the same in true time
	answered bool
	probe    func(*leases.Answer) // takes the answer instead
}

// leasers are what the clients of named leases share.
type leasers struct {
	*engine
	leasing *random
	nodes   []*node
	owners  *leaseOwners
}

// start makes the leasers of the plan.
func (x *leasers) start() {
	for i := range x.plan.leasers.count {
		l := &leaser{leasers: x, id: 500 + i, random: x.stream(7000 + uint64(i))}
		l.clock = clock{since: x.engine.now, reading: l.random.between(time.Second, time.Hour)}
		l.rest()
	}
}

func (l *leaser) reading() time.Duration { return l.clock.at(l.engine.now) }

func (l *leaser) rest() {
	d := l.random.skewed(100*time.Microsecond, l.plan.leasers.think)
	if l.phase == phaseClocks {
		d += clocksRest
	}
	l.at(nil, kindLeaser, d, func() {
		if l.phase <= phaseSettling && l.aside < maxAside {
			l.next()
			l.rest()
		}
	})
}

// next does one thing: it does not wait for the answer to the one before.
func (l *leaser) next() {
	r, p := &l.random, &l.plan.leasers
	if most := l.plan.timing.DriftPPM; most > 0 && l.plan.on(Drift) && r.chance(50) {
		l.clock.run(l.now, pick(r, -most, most, int64(r.below(int(2*most)))-most))
	}
	a := l.owns
	switch {
	case a == nil:
		l.serial++
		l.owns = &acquisition{owner: l, name: leaseName(byte('a' + r.below(p.names)))}
		binary.BigEndian.PutUint64(l.owns.id[:], uint64(l.id)<<32|uint64(l.serial))
		wait := time.Duration(0)
		if r.chance(p.waits) {
			wait = r.skewed(time.Millisecond, 3*p.longest)
		}
		l.owns.ask(leases.Acquire, wait)
	case a.counted && !a.hold.Held(l.reading()):
		l.owns = nil // it is over; whatever is still to come is void
	case !a.counted:
		if a.tries++; a.tries > 6 {
			l.leave()
			return
		}
		if r.chance(300) {
			a.ask(leases.Acquire, 0) // the same acquisition, through any node
		}
	case r.chance(200):
		l.leave()
	default:
		a.ask(leases.Renew, 0)
	}
}

// leave releases what is owned or being asked for, or gives up without.
func (l *leaser) leave() {
	a := l.owns
	l.owns = nil
	if l.random.chance(l.plan.leasers.releases) || !a.counted {
		a.release()
	}
}

func (a *acquisition) release() {
	a.hold.Release()
	a.ask(leases.Release, 0)
}

// ask sends a request to some node.
func (a *acquisition) ask(op leases.Op, wait time.Duration) {
	l := a.owner
	r := &l.random
	ttl := l.plan.leasers.longest
	if !r.chance(l.plan.leasers.long) {
		ttl = max(time.Millisecond, ttl/pick[time.Duration](r, 2, 4, 8))
	}
	c := &leaseCall{
		a: a, wait: wait, asked: l.reading(), began: l.now,
		request: leases.Request{
			Op: op, Name: a.name, Acquisition: a.id, Owner: fmt.Sprintf("leaser %d", l.id), Duration: ttl,
		},
	}
	l.call(l.nodes[r.below(len(l.nodes))], c)
}

// call brings a request to a node.
func (x *leasers) call(n *node, c *leaseCall) {
	c.request.ID = x.nextRequest()
	n.reach(kindLeaser, x.leasing.skewed(x.plan.hop, x.plan.clientHop), func() {
		if !n.up() {
			c.tell(&leases.Answer{Outcome: leases.NotApplied})
			return
		}
		if x.trace.on() {
			x.trace.note("leaser %d asks for op %d of %q by %v", c.who(), c.request.Op, leaseText(c.request.Name),
				c.request.Acquisition)
		}
		n.leases.put(namedEvent{call: c})
	})
}

func (c *leaseCall) who() int {
	if c.a == nil {
		return 0
	}
	return c.a.owner.id
}

// tell brings the answer to the client, or loses it.
func (c *leaseCall) tell(ans *leases.Answer) {
	if c.answered {
		panic(&Failure{Check: "one answer", Detail: fmt.Sprintf("lease request %d is answered twice", c.request.ID)})
	}
	c.answered = true
	if c.probe != nil {
		c.probe(ans)
		return
	}
	x, told := c.a.owner.leasers, *ans
	if x.phase == phaseFaults && x.leasing.chance(30) {
		return
	}
	x.at(nil, kindLeaser, x.leasing.skewed(x.plan.hop, x.plan.clientHop), func() { c.a.answered(c, &told) })
}

// answered takes an answer, however late it is.
func (a *acquisition) answered(c *leaseCall, ans *leases.Answer) {
	l := a.owner
	now := l.reading()
	l.trace.mix(uint64(l.id), uint64(ans.Outcome), uint64(ans.Token))
	if l.trace.on() {
		l.trace.note("leaser %d: outcome %d, token %v", l.id, ans.Outcome, ans.Token)
	}
	switch {
	case ans.Outcome == leases.Done && c.request.Op != leases.Release:
		l.owners.granted(c, ans)
		reply := leasehold.Reply{
			Asked: c.asked + l.plan.timing.AtLeast(ans.Waited), TTL: c.request.Duration, Token: uint64(ans.Token),
			Renewal: c.request.Op == leases.Renew,
		}
		if a.hold.Take(now, reply) {
			l.owners.counted(a, c)
			a.counted = true
		}
	case ans.Outcome == leases.Gone:
		l.owners.gone(a, c)
	case ans.Outcome == leases.Busy && l.owns == a && !a.counted:
		if l.owns = nil; l.random.chance(200) { // what a request before it may have left behind
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
