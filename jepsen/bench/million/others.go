package million

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/workload"
)

// others are clients that acquire, renew and release leases of their own, one operation after the other.
type others struct {
	cancel func()
	wg     sync.WaitGroup
	mu     sync.Mutex
	took   []time.Duration
	failed int
}

const (
	otherClients = 6
	otherPause   = 2 * time.Millisecond
	otherTimeout = 5 * time.Second
	// othersRecords is the most that nodes remember of them: each takes three pauses at least, and a record is kept for
	// two seconds.
	othersRecords = 2500
)

func startOthers(ctx context.Context, endpoints []string) *others {
	ctx, cancel := context.WithCancel(ctx)
	o := &others{cancel: cancel}
	for i := range otherClients {
		o.wg.Go(func() {
			conn := workload.NewLeaseConn([]string{endpoints[i%len(endpoints)]})
			defer conn.Close()
			for n := 0; ctx.Err() == nil; n++ {
				o.once(conn, fmt.Sprintf("other/%d/%d", i, n))
			}
		})
	}
	return o
}

func (o *others) stop() {
	o.cancel()
	o.wg.Wait()
}

// once is the life of one lease.
func (o *others) once(conn *workload.LeaseConn, name string) {
	ask := workload.LeaseAsk{Owner: name, TTL: "10s", Acquisition: name}
	var g workload.LeaseGrant
	acquired := o.timed(func(ctx context.Context) (err error) { g, err = conn.Acquire(ctx, name, ask); return err })
	if !acquired {
		return
	}
	ask = workload.LeaseAsk{Owner: name, Grant: g.Grant}
	o.timed(func(ctx context.Context) error { _, err := conn.Renew(ctx, name, ask); return err })
	o.timed(func(ctx context.Context) error { return conn.Release(ctx, name, ask) })
}

func (o *others) timed(call func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), otherTimeout)
	defer cancel()
	began := time.Now()
	err := call(ctx)
	took := time.Since(began)
	o.mu.Lock()
	if err != nil {
		o.failed++
	} else {
		o.took = append(o.took, took)
	}
	o.mu.Unlock()
	time.Sleep(otherPause)
	return err == nil
}

// cut returns what was measured since the last cut.
func (o *others) cut() Latency {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := Latency{Operations: len(o.took), Failed: o.failed}
	slices.Sort(o.took)
	l.P50, l.P99, l.Max = bench.Percentile(o.took, 50), bench.Percentile(o.took, 99), bench.Percentile(o.took, 100)
	o.took, o.failed = nil, 0
	return l
}
