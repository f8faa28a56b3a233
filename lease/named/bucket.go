package named

import (
	"fmt"
	"math/bits"
	"time"

	"tenure/lease"
)

// levels is how many buckets there are: 1 ms, 2 ms, 4 ms and so on up to 139 years, more than any Timing allows.
const levels = 43

// BucketOf is the smallest power of two of milliseconds that is not shorter than d, which must be positive.
func BucketOf(d time.Duration) time.Duration { return time.Millisecond << levelOf(d) }

func levelOf(d time.Duration) int {
	ms := (d + time.Millisecond - 1) / time.Millisecond
	return bits.Len64(uint64(ms - 1))
}

// LeastBucket is the bucket of an acceptor that has accepted nothing: that of the longest lease of `master`. Named
// leases need a master, which allots eras (N3), and after a restart of all nodes a master takes D_Q of its own lease.
// So a shorter bucket would save no time and cost writes.
func LeastBucket(t lease.Timing) time.Duration { return BucketOf(min(t.MaxMaster, t.MaxUser)) }

// Bucket is what an acceptor keeps durably about the lengths of leases (N4).
type Bucket struct {
	// Length is a power of two of milliseconds, not shorter than any lease that the acceptor has accepted and that may
	// live. Zero in a data directory says that no run has written one.
	Length time.Duration
	// Quarantine is how long the acceptor of the next run must be silent for its sake: D_Q under the timing of the run
	// that wrote it.
	Quarantine time.Duration
}

// quarantined is b's length with its D_Q (T3). No lease is longer than M, whatever the bucket.
func quarantined(length time.Duration, t lease.Timing) (Bucket, error) {
	q, err := t.Exclusion(min(length, t.MaxUser))
	return Bucket{length, q}, err
}

// BucketPlan is N4 at the start of a run.
type BucketPlan struct {
	// Silence is how long this run's acceptor stays silent about named leases.
	Silence time.Duration
	// AtStart must be durable before the run sends or answers anything.
	AtStart Bucket
}

// PlanBucket is N4's part of A4's arithmetic. Stored is the durable bucket, zero if there is none. Without a Length, as
// older versions leave it, the bucket is that of M. Bootstrap is true in the run in which the node takes part in its
// cluster's bootstrap: the node cannot have accepted anything before. The error is lease.ErrTiming.
func PlanBucket(stored Bucket, t lease.Timing, bootstrap bool) (BucketPlan, error) {
	if err := t.Validate(); err != nil {
		return BucketPlan{}, err
	}
	if stored.Length < 0 || stored.Quarantine < 0 {
		return BucketPlan{}, fmt.Errorf("%w: the start record holds a bucket of %v and a quarantine of %v", lease.ErrTiming,
			stored.Length, stored.Quarantine)
	}
	length := BucketOf(t.MaxUser)
	switch {
	case bootstrap:
		length = LeastBucket(t)
	case stored.Length > 0:
		length = min(length, BucketOf(stored.Length))
	}
	own, err := quarantined(length, t)
	if err != nil {
		return BucketPlan{}, err
	}
	own.Quarantine = max(own.Quarantine, stored.Quarantine)
	p := BucketPlan{AtStart: own}
	if !bootstrap {
		p.Silence = own.Quarantine
	}
	return p, nil
}

// buckets is an acceptor's part of N4. Its zero value, which a Config without a Bucket gives, allows M and asks for
// nothing.
type buckets struct {
	limit   time.Duration // no longer lease is accepted: it is durable, and nothing shorter is being written
	owed    time.Duration // the quarantine that is durable with it
	writing Bucket        // asked for by NextBucket and not reported as durable yet
	// until is by level the reading before which a lease so long may live, or is about to come.
	until [levels]time.Duration
}

func newBuckets(c Config) buckets {
	b := buckets{limit: c.Bucket.Length, owed: c.Bucket.Quarantine}
	if b.limit > 0 {
		b.until[levelOf(b.limit)] = c.SilentUntil // the runs before may have granted such ones
	}
	return b
}

// covers is N4: it reports whether the durable bucket is long enough for a lease of d, which the acceptor excludes
// others for until now+span. If it is not, the Accept must be dropped; Table.NextBucket then asks for a longer one,
// which is kept for as long as if the lease had been accepted.
func (b *buckets) covers(now, d, span time.Duration) bool {
	if b.limit == 0 {
		return true
	}
	u := &b.until[levelOf(d)]
	*u = max(*u, now+span)
	return d <= b.limit
}

// NextBucket is what the acceptor wants to be made durable now. It asks for one at a time: the next comes after
// BucketDurable. A longer bucket is asked for at once. A shorter one comes by A4's rule: the silence has passed, and
// nothing that needs more may have been live for Config.BucketLinger. While it is being written, no longer lease is
// accepted any more.
func (t *Table) NextBucket(now time.Duration) (next Bucket, ok bool) {
	b := &t.buckets
	if b.limit == 0 || b.writing.Length != 0 || now < t.cfg.SilentUntil {
		return Bucket{}, false
	}
	need := b.needed(now, &t.cfg)
	next, err := quarantined(need, t.cfg.Timing)
	if err != nil {
		panic(fmt.Sprintf("named: a bucket of %v has no D_Q: %v", need, err))
	}
	if need == b.limit && next.Quarantine >= b.owed {
		return Bucket{}, false
	}
	b.limit = min(b.limit, need)
	b.writing = next
	return next, true
}

// needed is the bucket of the longest lease that may live, or may have lived within the last BucketLinger, or was asked
// for.
func (b *buckets) needed(now time.Duration, c *Config) time.Duration {
	least := LeastBucket(c.Timing)
	for i := levels - 1; time.Millisecond<<i > least; i-- {
		if u := b.until[i]; u > 0 && now < u+c.BucketLinger {
			return time.Millisecond << i
		}
	}
	return least
}

// BucketDurable tells that what NextBucket asked for is durable.
func (t *Table) BucketDurable(written Bucket) {
	b := &t.buckets
	if written != b.writing || written.Length == 0 {
		panic(fmt.Sprintf("named: a bucket of %v was written, %v was asked for", written, b.writing))
	}
	b.limit, b.owed, b.writing = written.Length, written.Quarantine, Bucket{}
}

// Bucket is the length up to which leases are accepted without a write; 0: any.
func (t *Table) Bucket() time.Duration { return t.buckets.limit }
