// Package million holds a million live named leases on a cluster of real processes, and measures their costs: memory,
// writes to disk, and the effect on others when all of them end at one time.
//
//	million.go  the configuration, and the whole measurement
//	hold.go     acquiring and renewing the leases
//	others.go   clients who want leases of their own meanwhile
//	node.go     readings of the processes
//	report.go   the figures
package million

import (
	"context"
	"fmt"
	"time"

	"tenure/internal/freeport"
	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

// Config says what to measure.
type Config struct {
	bench.Setup
	Leases  int
	Clients int // each with one connection
}

const (
	warmUp      = 20_000 // leases that tell how fast they can be had
	idleTime    = 10 * time.Second
	quietTime   = 10 * time.Second // in which all are held and others are at work
	settleTime  = 2 * time.Second  // before memory is read, after a collection
	goneTimeout = 2 * time.Minute
	stopGrace   = 5 * time.Second

	longest = time.Hour // a lease may be
	// mastership is the master's lease time. It is long, so that a busy machine keeps its master: elections write to
	// disk, and those writes are not measured here.
	mastership = "5s"
)

// Validate returns an error that tells what is out of range.
func (c Config) Validate() error {
	if c.Leases < 1000 || c.Leases > 10_000_000 || c.Nodes < 1 || c.Nodes > bench.MaxNodes || c.Clients < 1 ||
		c.Clients > 1000 {
		return fmt.Errorf("%d leases by %d clients on %d nodes: 1000 to 10000000 by 1 to 1000 on 1 to 7", c.Leases,
			c.Clients, c.Nodes)
	}
	return nil
}

// Run measures. Its error is also for leases that were not all granted or do not all end, and for writes to disk.
func Run(ctx context.Context, c Config) (r Report, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	m := &measurement{cfg: c}
	if err := m.start(ctx); err != nil {
		return r, err
	}
	defer m.nodes.Stop(stopGrace)
	r = newReport(c)
	for _, step := range []func(context.Context, *Report) error{m.idle, m.acquire, m.renew, m.memory, m.expire} {
		if err := step(ctx, &r); err != nil {
			return r, err
		}
	}
	return r, r.Check()
}

// measurement is the state of one measurement.
type measurement struct {
	cfg    Config
	nodes  *cluster.Cluster
	admin  []string // where each node shows its memory
	before []usage
	crowd  *crowd
	end    time.Time // when no acceptor excludes anybody any more
}

func (m *measurement) start(ctx context.Context) (err error) {
	c := m.cfg
	if err := c.Build(ctx); err != nil {
		return err
	}
	flags := append(bench.TimingFlags(longest), "--lease-time="+mastership,
		fmt.Sprintf("--max-leases=%d", 2*c.Leases+warmUp))
	if m.nodes, err = c.Cluster(flags); err != nil {
		return err
	}
	port, err := freeport.Run(c.Nodes)
	if err != nil {
		return err
	}
	for i, n := range m.nodes.Nodes() {
		m.admin = append(m.admin, freeport.Address(port+i))
		n.Args = append(n.Args, "--admin", m.admin[i])
	}
	if err := bench.Start(ctx, m.nodes); err != nil {
		return err
	}
	m.crowd = newCrowd(c, m.nodes.Endpoints())
	return nil
}

func (m *measurement) say(format string, args ...any) { fmt.Fprintf(m.cfg.Out, format+"\n", args...) }

// idle lets the nodes show what they do without leases. First come some that end at once, so that connections, pools
// and heaps have their size.
func (m *measurement) idle(ctx context.Context, r *Report) error {
	began := time.Now()
	if err := m.crowd.acquire(ctx, "warm/", warmUp, func() time.Duration { return time.Second }); err != nil {
		return err
	}
	r.rate = warmUp / time.Since(began).Seconds()
	m.say("%d leases to warm up: %.0f a second", warmUp, r.rate)
	if err := m.gone(ctx, 0); err != nil {
		return err
	}
	var err error
	if m.before, err = m.usages(ctx, true); err != nil {
		return err
	}
	time.Sleep(idleTime)
	after, err := m.usages(ctx, false)
	if err != nil {
		return err
	}
	r.IdleWrites = written(m.before, after)
	r.IdleTime = idleTime
	m.say("idle for %v: %d bytes written to disk on all nodes", idleTime, r.IdleWrites)
	return nil
}

// acquire has all of them granted, each for as long as until one common end.
func (m *measurement) acquire(ctx context.Context, r *Report) error {
	before, err := m.usages(ctx, false)
	if err != nil {
		return err
	}
	began := time.Now()
	m.end = began.Add(time.Duration(float64(m.cfg.Leases)/r.rate*1.5*float64(time.Second)) + 2*time.Minute)
	if err := m.crowd.acquire(ctx, "million/", m.cfg.Leases, m.left); err != nil {
		return err
	}
	r.Acquire = phase(m.cfg.Leases, time.Since(began))
	after, err := m.usages(ctx, false)
	if err != nil {
		return err
	}
	r.AcquireWrites = written(before, after)
	m.say("%d leases acquired in %v: %.0f a second; %d bytes written to disk on all nodes", m.cfg.Leases,
		r.Acquire.Took.Round(time.Second),
		r.Acquire.Rate, r.AcquireWrites)
	return nil
}

// left returns the TTL with which the exclusion ends at the common end.
func (m *measurement) left() time.Duration {
	d := time.Until(m.end) - bench.Margin
	return (d * (million - bench.DriftPPM) / (million + bench.DriftPPM)).Truncate(time.Millisecond)
}

const million = 1_000_000

// renew renews all of them once, many in a call and few calls at a time. It does not extend the leases beyond their
// present end, so that the time of the calls does not put the end off.
func (m *measurement) renew(ctx context.Context, r *Report) error {
	before, err := m.usages(ctx, false)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := m.crowd.renew(ctx); err != nil {
		return err
	}
	r.Renew = phase(m.cfg.Leases, time.Since(began))
	after, err := m.usages(ctx, false)
	if err != nil {
		return err
	}
	r.RenewWrites = written(before, after)
	m.say("all renewed in %v: %.0f a second; %d bytes written to disk on all nodes",
		r.Renew.Took.Round(time.Millisecond), r.Renew.Rate, r.RenewWrites)
	return nil
}

// memory reads how much memory the nodes need.
func (m *measurement) memory(ctx context.Context, r *Report) error {
	if left := time.Until(m.end); left < quietTime+settleTime {
		return fmt.Errorf("the leases end in %v: this machine took longer for them than it seemed at first; try "+
			"again, or with fewer --leases", left)
	}
	after, err := m.usages(ctx, true)
	if err != nil {
		return err
	}
	for i, u := range after {
		n := NodeCost{Node: i + 1, Records: u.records, RSS: u.rss, Heap: u.heap,
			RSSEach:  float64(u.rss-m.before[i].rss) / float64(m.cfg.Leases),
			HeapEach: float64(u.heap-m.before[i].heap) / float64(m.cfg.Leases)}
		r.Nodes = append(r.Nodes, n)
		m.say("%s", n)
	}
	return nil
}

// expire waits for the common end with other clients at work, and measures what it does to them.
func (m *measurement) expire(ctx context.Context, r *Report) error {
	if wait := time.Until(m.end) - quietTime; wait > 0 {
		m.say("all end in %v", (wait + quietTime).Round(time.Second))
		time.Sleep(wait)
	}
	o := startOthers(ctx, m.nodes.Endpoints())
	defer o.stop()
	time.Sleep(time.Until(m.end))
	r.Quiet = o.cut()
	free, err := m.crowd.free(ctx, m.end)
	if err != nil {
		return err
	}
	r.Free = free
	if err := m.gone(ctx, othersRecords); err != nil {
		return err
	}
	r.Gone = time.Since(m.end)
	time.Sleep(time.Second)
	r.Expiry = o.cut()
	m.say("after the end: others owned some of the names after %v, the last record was gone after %v",
		r.Free.Round(time.Millisecond), r.Gone.Round(time.Millisecond))
	m.say("clients of other leases, while all were held: %s; while all ended: %s", r.Quiet, r.Expiry)
	return nil
}
