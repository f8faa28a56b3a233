package named

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"tenure/internal/quorum"
)

// million is the number of live leases that the figures are for.
const million = 1_000_000

func bigConfig() Config {
	c := testConfig()
	c.MaxRecords = 2 * million
	c.Width, c.Linger = 100*ms, time.Second
	c.Timing.MaxUser = time.Minute
	return c
}

// spread is name i as a keyed hash would have it.
func spread(i int) (n Name) {
	x := uint64(i)*0x9e3779b97f4a7c15 + 1
	x = (x ^ x>>31) * 0xbf58476d1ce4e5b9
	binary.BigEndian.PutUint64(n[:], x)
	binary.BigEndian.PutUint64(n[8:], (x^x>>29)*0x94d049bb133111eb)
	return n
}

// grant makes table accept lease i.
func grant(table *Table, now time.Duration, i int, owner string) bool {
	n := spread(i)
	p, _ := table.Handle(now, other, Request{Kind: Prepare, Name: n, Counter: 1})
	r, _ := table.Handle(now, other, Request{Kind: Accept, Name: n, Counter: 1, Acquisition: Acquisition(n),
		Token: p.Report + 1, Duration: time.Minute, Owner: owner,
		Text: "jobs/tenant-" + strconv.Itoa(i)})
	return r.Kind == Accepted
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A live lease costs an acceptor at most 140 bytes, if owners are few and names are short.
func TestBytesPerLease(t *testing.T) {
	n := million
	if testing.Short() {
		n /= 10
	}
	for _, distinct := range []int{10, n / 4} {
		if distinct > 10 {
			n = distinct
		}
		before := heap()
		table := opened(t, bigConfig(), at)
		for i := range n {
			if !grant(table, at, i, "host-0001.example:"+strconv.Itoa(i%distinct)) {
				t.Fatalf("lease %d is refused", i)
			}
		}
		each := float64(heap()-before) / float64(n)
		t.Logf("%d live leases of %d owners: %.1f bytes each", n, distinct, each)
		if distinct == 10 && each > 140 {
			t.Errorf("%.1f bytes for a lease", each)
		}
		runtime.KeepAlive(table)
	}
}

func BenchmarkNewName(b *testing.B) {
	table := opened(b, bigConfig(), at)
	b.ReportAllocs()
	now := at
	for i := 0; b.Loop(); i++ {
		if i%million == 0 {
			b.StopTimer()
			now += 2 * time.Minute
			for table.Sweep(now, 4096) {
			}
			b.StartTimer()
		}
		if !grant(table, now, i, "owner") {
			b.Fatal(i)
		}
	}
}

func BenchmarkRenewal(b *testing.B) {
	for _, n := range []int{1000, million} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := opened(b, bigConfig(), at)
			for i := range n {
				grant(table, at, i, "owner")
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				name := spread(i % n)
				p, _ := table.Handle(at, other, Request{Kind: Prepare, Name: name, Counter: 2})
				q := Request{Kind: Accept, Name: name, Counter: 2, Acquisition: Acquisition(name), Token: p.LiveToken,
					Duration: time.Minute, Owner: "owner"}
				if r, _ := table.Handle(at, other, q); r.Kind != Accepted {
					b.Fatal(r)
				}
			}
		})
	}
}

func BenchmarkAttempt(b *testing.B) {
	table := opened(b, bigConfig(), at)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		a := Begin(at, Ask{Name: spread(i % 1000), Acquisition: Acquisition{byte(i % 1000), 1}, Duration: time.Minute},
			quorum.Of(1, 2, 3), uint64(i+1))
		for a.Phase() != Over {
			q, to := a.Requests(at)
			for n := range to.Len() {
				r, _ := table.Handle(at, other, q)
				if a.Handle(at, to.At(n), r) {
					break
				}
			}
		}
	}
}

// BenchmarkSweep drops a million leases that are over, 4096 at a time, and tells the longest pause too.
func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		table := opened(b, bigConfig(), at)
		for i := range million {
			grant(table, at, i, "owner")
		}
		now, worst := at+10*time.Minute, time.Duration(0)
		runtime.GC()
		b.StartTimer()
		for more := true; more; {
			begin := time.Now()
			more = table.Sweep(now, 4096)
			worst = max(worst, time.Since(begin))
		}
		b.ReportMetric(float64(worst.Microseconds()), "µs-longest")
		if table.Records() != 0 {
			b.Fatal(table.Records())
		}
	}
}

// BenchmarkGrow tells the longest that one new name takes on the way to a million: some part of the index grows then.
func BenchmarkGrow(b *testing.B) {
	for b.Loop() {
		table := opened(b, bigConfig(), at)
		worst := time.Duration(0)
		for i := range million {
			begin := time.Now()
			grant(table, at, i, strconv.Itoa(i))
			worst = max(worst, time.Since(begin))
		}
		b.ReportMetric(float64(worst.Microseconds()), "µs-longest")
	}
}
