//go:build linux

package pinned

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tenure/jepsen/bench"
	"tenure/jepsen/cluster"
)

const (
	stopGrace = 2 * time.Second
	warmup    = 500 * time.Millisecond
)

// trial runs one cluster through all loads.
func (c Config) trial(ctx context.Context, r *Report, round int, world string, a arm) error {
	nodes, err := c.Cluster(a.flags)
	if err != nil {
		return err
	}
	defer os.RemoveAll(filepath.Join(c.Dir, "cluster"))
	nodeCores, loadCores := c.cores(world)
	if err := pinned(nodeCores, func() error { return bench.Start(ctx, nodes) }); err != nil {
		return err
	}
	defer nodes.Stop(stopGrace)
	for _, l := range c.Loads {
		before := processorTime(nodes)
		s, err := c.load(ctx, nodes.Endpoints(), l, loadCores)
		if err != nil {
			return err
		}
		if s.Ops == 0 || s.Errors > 0 {
			return fmt.Errorf("%s: %d operations, %d errors", l, s.Ops, s.Errors)
		}
		used := processorTime(nodes) - before
		r.add(sample{round: round, world: world, arm: a.name, load: l, perSecond: s.PerSecond, p99: s.P99,
			used: float64(used.Microseconds()) / float64(s.Ops)})
	}
	return nil
}

// benched is what kvctl bench --json says that is used here.
type benched struct {
	Ops       uint64  `json:"ops"`
	Errors    uint64  `json:"errors"`
	PerSecond float64 `json:"ops_per_s"`
	P99       float64 `json:"p99_ms"`
}

// load runs kvctl bench on its processors.
func (c Config) load(ctx context.Context, endpoints []string, load string, cores []int) (b benched, err error) {
	op, clients, err := parseLoad(load)
	if err != nil {
		return b, err
	}
	cmd := exec.CommandContext(ctx, c.Kvctl, "--endpoints", strings.Join(endpoints, ","), "--json", "bench", op,
		"--clients", strconv.Itoa(clients), "--keys", "1000", "--duration", c.Time.String(), "--warmup",
		warmup.String())
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := pinned(cores, cmd.Start); err != nil {
		return b, err
	}
	if err := cmd.Wait(); err != nil {
		return b, fmt.Errorf("kvctl bench: %w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return b, json.Unmarshal(out.Bytes(), &b)
}

// pinned runs start on a thread that may use only these processors: processes that it starts inherit that.
func pinned(cores []int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for _, core := range cores {
		set.Set(core)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("processors %v: %w", cores, err)
	}
	err := start()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}

// processorTime is what the nodes have used so far, in the kernel's ticks of 10 ms.
func processorTime(c *cluster.Cluster) (sum time.Duration) {
	for _, n := range c.Nodes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ") // behind the program's name
		f := strings.Fields(rest)
		for _, i := range []int{11, 12} { // utime and stime
			if i < len(f) {
				ticks, _ := strconv.ParseInt(f[i], 10, 64)
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}
