package named

import (
	"errors"
	"testing"
	"time"

	"tenure/lease"
)

// bucketTiming has D_Q(d) = d + 10 ms, and 64 ms as the longest lease of master.
var bucketTiming = lease.Timing{MaxMaster: 50 * ms, MaxUser: 30 * time.Second, Margin: 10 * ms}

func bucketConfig(length time.Duration) Config {
	c := testConfig()
	c.Timing, c.Bucket = bucketTiming, Bucket{length, length + 10*ms}
	return c
}

func acceptFor(counter uint64, acquisition string, token Token, d time.Duration) Request {
	q := acceptOf(counter, acquisition, token)
	q.Duration = d
	return q
}

// drops fails unless the table leaves q unanswered and unrecorded; only the bucket that the table asks for may change.
func drops(t *testing.T, table *Table, now time.Duration, q Request) {
	t.Helper()
	promised := table.Promised(q.Name)
	before, _ := table.Live(now, q.Name)
	if r, ok := table.Handle(now, other, q); ok {
		t.Fatalf("answers %v to a lease of %v with a bucket of %v", r.Kind, q.Duration, table.Bucket())
	}
	if l, _ := table.Live(now, q.Name); l != before {
		t.Errorf("a dropped Accept is recorded: %+v", l)
	}
	if table.Promised(q.Name) != promised {
		t.Error("a dropped Accept promises")
	}
}

func wants(t *testing.T, table *Table, now, length time.Duration) Bucket {
	t.Helper()
	b, ok := table.NextBucket(now)
	if !ok || b != (Bucket{length, min(length, bucketTiming.MaxUser) + 10*ms}) {
		t.Fatalf("asks for %+v (%v), want a bucket of %v with its D_Q", b, ok, length)
	}
	if again, ok := table.NextBucket(now); ok {
		t.Fatalf("asks for %v while %v is being written", again, b)
	}
	return b
}

func content(t *testing.T, table *Table, now time.Duration) {
	t.Helper()
	if b, ok := table.NextBucket(now); ok {
		t.Errorf("asks for %+v", b)
	}
}

func TestN4BucketOf(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		1: ms, ms: ms, ms + 1: 2 * ms, 2 * ms: 2 * ms, 3 * ms: 4 * ms, 2 * time.Second: 2048 * ms, 2048*ms + 1: 4096 * ms, 30 * time.Second: 32768 * ms,
		1 << 61: ms << 42,
	} {
		if got := BucketOf(d); got != want || BucketOf(got) != got {
			t.Errorf("the bucket of %v is %v, want %v", d, got, want)
		}
	}
}

// N4: until a bucket that is long enough is durable the acceptor drops the Accept; leases within the bucket never wait.
func TestN4Raise(t *testing.T) {
	table := opened(t, bucketConfig(64*ms), at)
	doesFrom(t, table, at, other, acceptFor(1, "a", first(1), 64*ms), Accepted)
	content(t, table, at)
	long := acceptFor(2, "a", first(1), 65*ms)
	drops(t, table, at, long)
	b := wants(t, table, at, 128*ms)
	drops(t, table, at+ms, long)
	doesFrom(t, table, at+ms, other, acceptFor(2, "a", first(1), 64*ms), Accepted) // within the bucket
	drops(t, table, at+2*ms, acceptFor(3, "a", first(1), 5*time.Second))           // a longer one meanwhile
	table.BucketDurable(b)
	doesFrom(t, table, at+3*ms, other, acceptFor(4, "a", first(1), 128*ms), Accepted)
	drops(t, table, at+3*ms, acceptFor(5, "a", first(1), 129*ms))
	table.BucketDurable(wants(t, table, at+3*ms, 8192*ms))
	doesFrom(t, table, at+4*ms, other, acceptFor(6, "a", first(1), 5*time.Second), Accepted)
	drops(t, table, at+5*ms, acceptFor(7, "a", first(1), 30*time.Second))
	table.BucketDurable(wants(t, table, at+5*ms, 32768*ms)) // its D_Q is that of M
	doesFrom(t, table, at+6*ms, other, acceptFor(7, "a", first(1), 30*time.Second), Accepted)
	content(t, table, at+6*ms)
}

// N4: what another rule refuses is refused, and asks for no bucket.
func TestN4RefusedAsksForNothing(t *testing.T) {
	table := opened(t, bucketConfig(64*ms), at)
	doesFrom(t, table, at, other, acceptFor(1, "a", first(1), 60*ms), Accepted)
	for _, q := range []Request{acceptFor(2, "b", first(2), time.Second), acceptFor(2, "a", FirstToken(1), time.Second),
		acceptFor(2, "a", first(1), time.Minute)} {
		doesFrom(t, table, at, other, q, AcceptRejected)
	}
	content(t, table, at)
}

// N4: a bucket is lowered only while no longer lease may live and has lived for a while, also not if it was released:
// its Accept may be on its way to others. While the shorter one is being written, it counts already.
func TestN4Lower(t *testing.T) {
	c := bucketConfig(64 * ms)
	c.BucketLinger = 100 * ms
	table := opened(t, c, at)
	drops(t, table, at, acceptFor(1, "a", first(1), 900*ms))
	table.BucketDurable(wants(t, table, at, 1024*ms))
	doesFrom(t, table, at, other, acceptFor(1, "a", first(1), 900*ms), Accepted)
	doesFrom(t, table, at+ms, other, acceptFor(2, "a", first(1), 60*ms), Accepted) // a shorter renewal shortens nothing
	table.Handle(at+2*ms, other, releaseOf("a"))
	content(t, table, at+910*ms+100*ms-1)
	b := wants(t, table, at+1010*ms, 64*ms)
	drops(t, table, at+1010*ms, acceptFor(3, "b", first(2), 900*ms)) // the write may be there any moment
	table.BucketDurable(b)
	drops(t, table, at+1011*ms, acceptFor(3, "b", first(2), 900*ms))
	wants(t, table, at+1011*ms, 1024*ms)
}

// N4 with A4: what the run before may have granted keeps the bucket until the silence is over. Then it falls, and with
// it the quarantine.
func TestN4LowerAfterARestart(t *testing.T) {
	plan, err := PlanBucket(Bucket{1024 * ms, 5 * time.Second}, bucketTiming, false)
	if err != nil || plan != (BucketPlan{5 * time.Second, Bucket{1024 * ms, 5 * time.Second}}) {
		t.Fatalf("plan %+v, %v", plan, err)
	}
	c := bucketConfig(0)
	c.Bucket, c.SilentUntil = plan.AtStart, at+plan.Silence
	table := opened(t, c, at)
	content(t, table, at)
	drops(t, table, at, acceptFor(1, "a", first(1), 20*time.Second))
	content(t, table, c.SilentUntil-1)
	wants(t, table, c.SilentUntil, 64*ms)

	// A quarantine that is longer than the bucket's own, of another timing, is shortened even if the bucket stays.
	table = opened(t, c, at)
	doesFrom(t, table, c.SilentUntil, other, acceptFor(1, "a", first(1), 1000*ms), Accepted)
	table.BucketDurable(wants(t, table, c.SilentUntil, 1024*ms))
	content(t, table, c.SilentUntil+ms)
}

func TestN4Plan(t *testing.T) {
	m := Bucket{32768 * ms, 30*time.Second + 10*ms}
	for _, c := range []struct {
		what      string
		stored    Bucket
		bootstrap bool
		want      BucketPlan
	}{
		{"the cluster's bootstrap", Bucket{}, true, BucketPlan{0, Bucket{64 * ms, 74 * ms}}},
		{"no record, and no bootstrap", Bucket{}, false, BucketPlan{m.Quarantine, m}},
		{"an older version's record", Bucket{0, 20 * time.Second}, false, BucketPlan{m.Quarantine, m}},
		{"an older version's of a larger M", Bucket{0, time.Minute}, false,
			BucketPlan{time.Minute, Bucket{m.Length, time.Minute}}},
		{"a bucket", Bucket{2048 * ms, 2058 * ms}, false, BucketPlan{2058 * ms, Bucket{2048 * ms, 2058 * ms}}},
		{"a bucket of a timing with a smaller margin", Bucket{2048 * ms, 2049 * ms}, false,
			BucketPlan{2058 * ms, Bucket{2048 * ms, 2058 * ms}}},
		{"a bucket of a larger M", Bucket{65536 * ms, time.Minute}, false,
			BucketPlan{time.Minute, Bucket{m.Length, time.Minute}}},
	} {
		if got, err := PlanBucket(c.stored, bucketTiming, c.bootstrap); err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", c.what, got, err, c.want)
		}
	}
	for _, stored := range []Bucket{{-1, 1}, {1, -1}} {
		if _, err := PlanBucket(stored, bucketTiming, false); !errors.Is(err, lease.ErrTiming) {
			t.Errorf("%+v: %v", stored, err)
		}
	}
}
