package million

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
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
			if _, err := get(ctx, "http://"+admin+"/debug/pprof/heap?gc=1"); err != nil {
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
	text, err := get(ctx, "http://"+client+"/metrics")
	if err != nil {
		return u, err
	}
	var heap float64
	err = number(text, "go_memstats_heap_alloc_bytes ", &heap)
	u.heap = int64(heap)
	return u, err
}

// field is a number in a file of /proc.
func field(pid int, file, name string) (n int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err == nil {
		err = number(text, name, &n)
	}
	return n, err
}

// number reads what follows name at the beginning of a line.
func number(text []byte, name string, into any) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name); ok {
			_, err := fmt.Sscan(rest, into)
			return err
		}
	}
	return fmt.Errorf("%s is not there", name)
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer rsp.Body.Close()
	body, err := io.ReadAll(rsp.Body)
	if err == nil && rsp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.100s", url, rsp.StatusCode, body)
	}
	return body, err
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
