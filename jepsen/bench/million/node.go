package million

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"tenure/jepsen/scrape"
)

// usage is what a node's process has used.
type usage struct {
	rss     int64 // bytes that are resident
	heap    int64 // bytes of live objects and of those not collected yet
	written int64 // bytes that the process has caused to be written to disk
	records int   // leases that its acceptor remembers
}

// usages reads all nodes; if collected, after a garbage collection, and when memory that it freed has gone back.
func (m *measurement) usages(ctx context.Context, collected bool) (out []usage, err error) {
	if collected {
		for _, admin := range m.admin {
			if _, err := scrape.Get(ctx, http.DefaultClient, "http://"+admin+"/debug/pprof/heap?gc=1", ""); err != nil {
				return nil, err
			}
		}
		time.Sleep(settleTime)
	}
	for _, n := range m.nodes.Nodes() {
		u, err := read(ctx, n.PID(), n.Client)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", n.ID, err)
		}
		s, err := m.nodes.Status(ctx, n)
		if err != nil {
			return nil, err
		}
		u.records = s.Leases.Records
		out = append(out, u)
	}
	return out, nil
}

func read(ctx context.Context, pid int, client string) (u usage, err error) {
	if u.rss, err = field(pid, "status", "VmRSS:"); err != nil {
		return u, err
	}
	u.rss *= 1024
	if u.written, err = field(pid, "io", "write_bytes:"); err != nil {
		return u, err
	}
	text, err := scrape.Get(ctx, http.DefaultClient, "http://"+client+"/metrics", "")
	if err != nil {
		return u, err
	}
	heap, err := scrape.Numbers(text, "go_memstats_heap_alloc_bytes ")
	if err != nil {
		return u, err
	}
	u.heap = int64(heap[0])
	return u, nil
}

// field is a number in a file of /proc.
func field(pid int, file, name string) (n int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return 0, err
	}
	numbers, err := scrape.Numbers(text, name)
	if err != nil {
		return 0, err
	}
	return int64(numbers[0]), nil
}

// written is what all nodes have written between two looks.
func written(before, after []usage) (n int64) {
	for i := range after {
		n += after[i].written - before[i].written
	}
	return n
}

// gone waits until no node remembers more than so many leases.
func (m *measurement) gone(ctx context.Context, few int) error {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		most := 0
		for _, n := range m.nodes.Nodes() {
			s, err := m.nodes.Status(ctx, n)
			if err != nil {
				return err
			}
			most = max(most, s.Leases.Records)
		}
		if most <= few {
			return nil
		}
		if time.Since(began) > goneTimeout {
			return fmt.Errorf("after %v a node still remembers %d leases", goneTimeout, most)
		}
	}
}
