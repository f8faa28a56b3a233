package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/replica/leases"
)

// leaseOwners sees all named leases in true time. Of every name it checks that there is one owner at a time, by each
// client's own clock. Of two grants, the later has the larger token if the first was told before the other was asked
// for. The tokens may be equal if both are of one acquisition.
type leaseOwners struct {
	*engine
	names []leaseFacts                  // in the order in which they were first granted
	eras  map[string]uint32             // by key of the log's entry; never ranged over
	runs  map[uint32]ballot.Incarnation // that opened an era; never ranged over
	since []uint32                      // eras in the order of the log
}

// leaseFacts are of one name.
type leaseFacts struct {
	name   named.Name
	grants []grantFacts   // in the order in which they were told
	owners []*acquisition // that may own yet
	last   *leaser
}

// grantFacts is a grant and, of all told up to then, the largest token with whose it was.
type grantFacts struct {
	told   time.Duration
	most   named.Token
	holder named.Acquisition
}

func (o *leaseOwners) of(n named.Name) *leaseFacts {
	for i := range o.names {
		if o.names[i].name == n {
			return &o.names[i]
		}
	}
	o.names = append(o.names, leaseFacts{name: n})
	return &o.names[len(o.names)-1]
}

// granted checks the token of a grant that a client is told of, whether or not it still counts.
func (o *leaseOwners) granted(c *leaseCall, ans *leases.Answer) {
	f := o.of(c.request.Name)
	for i := len(f.grants) - 1; i >= 0; i-- {
		g := &f.grants[i]
		if g.told >= c.began {
			continue
		}
		if ans.Token < g.most || ans.Token == g.most && g.holder != c.request.Acquisition {
			o.fail("tokens grow", "%q is granted to %v with token %v, and token %v was %v's before that was asked for",
				leaseText(f.name),
				c.request.Acquisition, ans.Token, g.most, g.holder)
		}
		break
	}
	g := grantFacts{told: o.now, most: ans.Token, holder: c.request.Acquisition}
	if last := len(f.grants) - 1; last >= 0 && f.grants[last].most > g.most {
		g.most, g.holder = f.grants[last].most, f.grants[last].holder
	}
	f.grants = append(f.grants, g)
}

// counted checks that nobody else owns when a client comes to own, or owns for longer.
func (o *leaseOwners) counted(a *acquisition, c *leaseCall) {
	f := o.of(a.name)
	left := f.owners[:0]
	for _, other := range f.owners {
		if !other.hold.Held(other.owner.reading()) {
			continue
		}
		if other != a {
			left = append(left, other)
			if o.plan.clocked() {
				o.fail("one owner of a name",
					"%q is owned by leaser %d by %v until %v on its clock, now %v, "+
						"and by leaser %d by %v until %v, now %v", leaseText(f.name),
					a.owner.id, a.id, a.hold.Deadline(), a.owner.reading(), other.owner.id, other.id,
					other.hold.Deadline(), other.owner.reading())
			}
		}
	}
	f.owners = append(left, a)
	o.counts.Leases++
	if c.request.Op == leases.Renew {
		o.counts.Renewals++
	}
	if f.last != nil && f.last != a.owner {
		o.counts.Successions++
	}
	f.last = a.owner
}

// gone checks a renewal's answer that its lease has ended, if the answer counts: the client must not own the lease.
func (o *leaseOwners) gone(a *acquisition, c *leaseCall) {
	if o.plan.clocked() && a.hold.Lost(c.asked) && a.hold.Held(a.owner.reading()) {
		o.fail("no lease is lost while it is held",
			"%q: a renewal of leaser %d by %v is told that it is gone, until %v on its clock, now %v",
			leaseText(a.name),
			a.owner.id, a.id, a.hold.Deadline(), a.owner.reading())
	}
}

// allotted is an entry of the log that gave an era.
func (o *leaseOwners) allotted(key string, era uint32) {
	if last := len(o.since) - 1; last >= 0 && o.since[last] >= era && o.eras[key] != era {
		o.fail("eras grow", "the log allots era %d after era %d", era, o.since[last])
	}
	if o.eras[key] == 0 {
		o.eras[key], o.since = era, append(o.since, era)
	}
}

// opens checks an era under which a run has its acceptor answer: it must be of one of the entries that the run has
// asked for.
func (o *leaseOwners) opens(run ballot.Incarnation, asked int, era uint32) {
	if other, ok := o.runs[era]; ok && other != run {
		o.fail("an era is of one run", "%v opens era %d, which was %v's", run, era, other)
	}
	o.runs[era] = run
	for i := 1; i <= asked; i++ {
		if o.eras[replica.EraKey(run, i)] == era {
			return
		}
	}
	o.fail("an era is of the own entry", "%v opens era %d, which no chosen entry with a key of its own has allotted",
		run, era)
}
