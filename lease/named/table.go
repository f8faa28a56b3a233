package named

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/lease"
)

// Config is fixed for a run of a Table.
type Config struct {
	Timing      lease.Timing
	SilentUntil time.Duration // reading of the elapsed clock before which A4 keeps silent about user leases
	// Bucket is what is durable at the start of the run (N4). Without a Length every lease up to M is accepted at once,
	// and the caller sees to it that the next run is silent for D_Q(M).
	Bucket Bucket
	// BucketLinger is the least time for which a bucket longer than needed is kept, so that short-lived leases cost no
	// writes.
	BucketLinger time.Duration
	MaxRecords   int // bound on the names remembered at a time
	// Linger is how long a record is kept after its lease has ended, at least. A dropped record raises the floor for
	// all names, and a raised floor refuses attempts between promise and Accept.
	Linger time.Duration
	// Width is the grain in time of dropping records.
	Width time.Duration
	// Membership is the number of the membership that is durable at the start of the run; 0 counts as 1, which needs no
	// era. Era is the era that was allotted with it (N3).
	Membership uint64
	Era        uint32
}

const (
	// LargestTable bounds MaxRecords.
	LargestTable = 1 << 28
	// LongestLinger bounds Linger and BucketLinger.
	LongestLinger = time.Hour
)

// Validate refuses a configuration under which no Table may run.
func (c Config) Validate() error {
	switch {
	case c.MaxRecords < 1 || c.MaxRecords > LargestTable:
		return fmt.Errorf("named leases: space for %d, not 1 to %d", c.MaxRecords, LargestTable)
	case c.Bucket.Length < 0 || (c.Bucket.Length > 0 && c.Bucket.Length != BucketOf(c.Bucket.Length)) ||
		c.BucketLinger < 0 || c.BucketLinger > LongestLinger:
		return fmt.Errorf("named leases: a bucket of %v, not a power of two of milliseconds, or kept for %v, not 0 to %v",
			c.Bucket.Length, c.BucketLinger, LongestLinger)
	case c.Linger < 0 || c.Linger > LongestLinger || c.Width <= 0:
		return fmt.Errorf("named leases: records linger for %v, not 0 to %v, and are dropped every %v", c.Linger,
			LongestLinger, c.Width)
	}
	return c.Timing.Validate()
}

// Table is the acceptor of all named leases, in memory only; A4 and N3 make up for what it forgets.
type Table struct {
	cfg     Config
	floor   Token // one for everything (N2)
	open    bool  // an era was given to this very run (N3)
	slab    slab
	index   index
	wheel   wheel
	runs    runs
	owners  owners
	texts   texts
	buckets buckets // N4
	members memberships
}

// NewTable starts an acceptor that remembers nothing and answers nobody until Open. Readings of its clock never fall,
// and are never negative. The error says what is wrong with the configuration.
func NewTable(c Config, now time.Duration) (*Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if now < 0 {
		return nil, fmt.Errorf("named leases: the elapsed clock reads %v: it counts from 0", now)
	}
	return &Table{cfg: c, floor: FirstToken(c.Era), slab: slab{free: none}, index: newIndex(c.MaxRecords),
		wheel: newWheel(c.Width, now), buckets: newBuckets(c), members: memberships{number: stamp(c.Membership)}}, nil
}

// Clone is an independent copy.
func (t *Table) Clone() *Table {
	c := *t
	c.slab, c.index, c.wheel = t.slab.clone(), t.index.clone(), t.wheel.clone()
	c.runs, c.owners = t.runs.clone(), t.owners.clone()
	c.texts = t.texts.clone()
	return &c
}

// Open is N3: an entry of the replicated log that names this very run of this node has given it a new era. The floor
// rises to it, and the acceptor answers, if it is not silent for A4's sake. An era that is not above the floor's
// changes nothing but that.
func (t *Table) Open(era uint32) {
	t.raise(FirstToken(era))
	t.open = true
}

// Opened reports whether an era was given to this run.
func (t *Table) Opened() bool { return t.open }

// Floor is the token below which, itself included, nothing is accepted any more but renewals of live leases.
func (t *Table) Floor() Token { return t.floor }

func (t *Table) raise(to Token) { t.floor = max(t.floor, to) }

// silent is A4 and N3. It reports whether a lease that this node accepted before it lost its memory may still bind it,
// or its floor may still be below a forgotten token. Messages that arrive meanwhile are dropped, not kept.
func (t *Table) silent(now time.Duration) bool { return now < t.cfg.SilentUntil || !t.open }

// QuarantineLeft is how long A4 keeps this acceptor silent yet.
func (t *Table) QuarantineLeft(now time.Duration) time.Duration { return max(0, t.cfg.SilentUntil-now) }

// Handle takes one request that the incarnation from has sent, and no other run of that node. It returns the reply, if
// there is one: none to a Withdraw, to what is malformed, and to anything in the silence after a restart.
func (t *Table) Handle(now time.Duration, from ballot.Incarnation, r Request) (reply Reply, ok bool) {
	if t.silent(now) || r.Check() != nil {
		return Reply{}, false
	}
	switch r.Kind {
	case Prepare:
		return t.prepare(now, from, &r), true
	case Accept:
		return t.accept(now, from, &r)
	case Release:
		t.release(now, &r)
		return Reply{Kind: Released, Name: r.Name, Counter: r.Counter}, true
	case Withdraw:
		t.withdraw(now, from, &r)
	}
	return Reply{}, false
}

// prepare is A1. A promise reports the live lease, whoever owns it, and the name's last token (N2).
func (t *Table) prepare(now time.Duration, from ballot.Incarnation, q *Request) Reply {
	if t.foreign(q) {
		return t.refuse(now, PrepareRejected, q)
	}
	r := t.record(now, q.Name)
	b := ballot.New(q.Counter, from)
	if r == nil || b.Less(t.runs.promise(r)) || !t.runs.promised(r, b) {
		return t.reply(now, PrepareRejected, q, r)
	}
	return t.reply(now, Promise, q, r)
}

// accept is A2 with N1's owner and N2's check. It never replaces a live lease of another acquisition, under whatever
// ballot, and never shortens an exclusion. A request that only N4 forbids is dropped: it is sent again.
func (t *Table) accept(now time.Duration, from ballot.Incarnation, q *Request) (reply Reply, ok bool) {
	if t.foreign(q) {
		return t.refuse(now, AcceptRejected, q), true
	}
	r := t.record(now, q.Name)
	b := ballot.New(q.Counter, from)
	if r == nil || b.Less(t.runs.promise(r)) || r.blocks(now, q.Acquisition) || !t.takes(now, r, q) ||
		q.Duration <= 0 || q.Duration > t.cfg.Timing.MaxUser {
		return t.reply(now, AcceptRejected, q, r), true
	}
	span, err := t.cfg.Timing.Exclusion(q.Duration)
	if err != nil {
		panic(fmt.Sprintf("named: an allowed D_P of %v has no D_A: %v", q.Duration, err))
	}
	if !t.buckets.covers(now, q.Duration, span) {
		return Reply{}, false
	}
	if !t.runs.promised(r, b) {
		return t.reply(now, AcceptRejected, q, r), true
	}
	t.note(r, now, b, q)
	t.runs.swap(&r.run, r.promisedRun)
	r.acquisition, r.counter, r.token = q.Acquisition, q.Counter, q.Token
	r.until = max(r.until, now+span)
	return t.reply(now, Accepted, q, r), true
}

// note keeps the texts, and whether the lease that is being accepted replaces a live one. The same Accept once more
// replaces nothing but itself.
func (t *Table) note(r *record, now time.Duration, b ballot.Ballot, q *Request) {
	fresh := !r.live(now) || (r.fresh() && t.runs.accepted(r) == b)
	if t.owners.text(r.owner) != q.Owner {
		t.owners.release(r.owner)
		r.owner = t.owners.keep(q.Owner)
	}
	if r.text == 0 {
		r.text = t.texts.keep(q.Text)
	}
	r.owner &^= freshBit
	if fresh {
		r.owner |= freshBit
	}
}

// takes is N2: a token is above all that this acceptor knows of the name, or is the live lease's own.
func (t *Table) takes(now time.Duration, r *record, q *Request) bool {
	return q.Token > t.report(r) || (q.Token == r.token && r.live(now) && r.acquisition == q.Acquisition)
}

// report is N2: the larger of the name's last token and the floor.
func (t *Table) report(r *record) Token {
	if r == nil {
		return t.floor
	}
	return max(r.token, t.floor)
}

// release is A3 with N1's owner: the acquisition's lease is over, under whatever ballot.
func (t *Table) release(now time.Duration, q *Request) {
	if i := t.index.find(&t.slab, q.Name); i != none && t.slab.at(i).acquisition == q.Acquisition {
		t.end(now, i)
	}
}

// withdraw is A3 for an attempt that is over and has won nothing: exactly its ballot's record goes, and only if it
// replaced no live lease. Else the record also carries the exclusion of the lease before, which its owner may hold
// still.
func (t *Table) withdraw(now time.Duration, from ballot.Incarnation, q *Request) {
	i := t.index.find(&t.slab, q.Name)
	if i == none {
		return
	}
	r := t.slab.at(i)
	if r.acquisition == q.Acquisition && r.fresh() && t.runs.accepted(r) == ballot.New(q.Counter, from) {
		t.end(now, i)
	}
}

// end makes record i, if its lease lives, one without. Its token stays (N2), for as long as the record does.
func (t *Table) end(now time.Duration, i uint32) {
	r := t.slab.at(i)
	if !r.live(now) {
		return
	}
	r.until = 0
	t.wheel.unlink(&t.slab, i)
	t.wheel.link(&t.slab, i, now+t.cfg.Linger)
}

// record is the record of a name, made if need be; nil if there is no space. It is valid until the next call.
func (t *Table) record(now time.Duration, n Name) *record {
	i := t.index.find(&t.slab, n)
	if i == none {
		if t.slab.live >= t.cfg.MaxRecords {
			return nil
		}
		i = t.slab.alloc()
		t.slab.at(i).name = n
		t.index.add(&t.slab, i)
		t.wheel.link(&t.slab, i, now+t.cfg.Linger)
	}
	return t.slab.at(i)
}

// Sweep drops records whose lease ended a Linger ago, and tells whether more wait. It looks at most most records. If it
// is called every Width, a record is dropped within two Widths of its time, never before.
func (t *Table) Sweep(now time.Duration, most int) (more bool) {
	for range most {
		i := t.wheel.due(now)
		if i == none {
			return false
		}
		t.wheel.unlink(&t.slab, i)
		if r := t.slab.at(i); r.until > 0 && now < r.until+t.cfg.Linger {
			t.wheel.link(&t.slab, i, r.until+t.cfg.Linger)
			continue
		}
		t.drop(i)
	}
	return t.wheel.due(now) != none
}

// drop forgets a name without a live lease. The floor rises to its token, so that the next owner of the name gets a
// larger one (N2). No other state of the name need be remembered.
func (t *Table) drop(i uint32) {
	r := t.slab.at(i)
	t.raise(r.token)
	t.owners.release(r.owner)
	t.texts.release(r.text)
	t.runs.swap(&r.run, 0)
	t.runs.swap(&r.promisedRun, 0)
	t.index.remove(&t.slab, i)
	t.slab.give(i)
}

// Records is the number of names remembered, live or not.
func (t *Table) Records() int { return t.slab.live }

// Lease is a live lease as an acceptor knows it.
type Lease struct {
	Acquisition Acquisition
	Owner       string
	Token       Token
	Left        time.Duration // of the exclusion, on this node's clock; the ownership itself is over earlier
}

// Live is L1: what this acceptor knows of a name's owner: a hint.
func (t *Table) Live(now time.Duration, n Name) (Lease, bool) {
	i := t.index.find(&t.slab, n)
	if i == none || !t.slab.at(i).live(now) {
		return Lease{}, false
	}
	r := t.slab.at(i)
	return Lease{Acquisition: r.acquisition, Owner: t.owners.text(r.owner), Token: r.token, Left: r.until - now}, true
}

// Walk is L1 for many names: it calls fn for the live leases whose names this acceptor can spell, in no particular
// order. It looks at up to most records, beginning at place from, and returns the place to go on from, 0 at the end.
func (t *Table) Walk(now time.Duration, from uint32, most int, fn func(name string, l Lease)) (next uint32) {
	end := min(t.slab.n, from+uint32(most))
	for i := from; i < end; i++ {
		if r := t.slab.at(i); r.live(now) && r.text != 0 {
			fn(t.texts.text(r.text), Lease{Acquisition: r.acquisition, Owner: t.owners.text(r.owner), Token: r.token,
				Left: r.until - now})
		}
	}
	if end == t.slab.n {
		return 0
	}
	return end
}

// Promised is the counter of the highest ballot promised for a name; 0 if none is remembered.
func (t *Table) Promised(n Name) uint64 {
	if i := t.index.find(&t.slab, n); i != none {
		return t.slab.at(i).promised
	}
	return 0
}

// reply answers q. A nil record stands for a name that there is no space for.
func (t *Table) reply(now time.Duration, k Kind, q *Request, r *record) Reply {
	out := Reply{Kind: k, Name: q.Name, Counter: q.Counter}
	if k == Accepted {
		return out
	}
	out.Report = t.report(r)
	if r == nil {
		out.Full, out.Membership = true, t.members.number
		return out
	}
	if k != Promise {
		out.Promised, out.Membership = r.promised, t.members.number
	}
	if r.live(now) {
		out.Live, out.LiveAcquisition, out.LiveToken, out.LiveLeft = true, r.acquisition, r.token, r.until-now
		out.LiveOwner = t.owners.text(r.owner)
	}
	return out
}
