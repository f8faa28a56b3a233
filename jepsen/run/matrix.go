package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/nemesis"
	"tenure/jepsen/workload"
)

// Matrix is many runs, one after another. Each leaves its result in a directory of its own below Dir, so that the same
// call goes on where an earlier one stopped.
type Matrix struct {
	Workloads []string // nil: all
	Nemeses   []string // nil: all that can be had here
	Nodes     int
	Five      bool // and a choice of cells on five nodes
	Clients   int
	Time      time.Duration
	Seed      uint64 // of all; each cell draws its own from it
	Dir       string
	Out       io.Writer
}

// cell is one run of a matrix.
type cell struct {
	Workload, Nemesis string
	Nodes             int
}

func (c cell) name() string { return fmt.Sprintf("%d-%s-%s", c.Nodes, c.Workload, c.Nemesis) }

// onFive is what also runs on five nodes: where the number of nodes makes a difference.
var onFive = struct{ workloads, nemeses []string }{
	[]string{"register", "append"},
	[]string{"kill", "pause", "partition-majority", "partition-ring", "loss", "clock-rate", "rolling"},
}

// cells returns the cells to run, and what this machine cannot run, with the reasons.
func (m Matrix) cells() (cells []cell, left []string, err error) {
	workloads, nemeses := m.Workloads, m.Nemeses
	if workloads == nil {
		for _, w := range workload.All() {
			workloads = append(workloads, w.Name)
		}
	}
	if nemeses == nil {
		for _, n := range nemesis.All() {
			nemeses = append(nemeses, n.Name)
		}
	}
	byName := map[string]workload.Workload{}
	for _, w := range workloads {
		if byName[w], err = workload.ByName(w); err != nil {
			return nil, nil, err
		}
	}
	for _, name := range nemeses {
		n, err := nemesis.ByName(name)
		if err != nil {
			return nil, nil, err
		}
		if missing := Missing(n); missing != nil {
			left = append(left, fmt.Sprintf("%s: %v", name, missing))
			continue
		}
		for _, w := range workloads {
			if fits(byName[w], n) != nil {
				continue
			}
			cells = append(cells, cell{w, name, m.Nodes})
			if m.Five && m.Nodes != 5 && slices.Contains(onFive.workloads, w) && slices.Contains(onFive.nemeses, name) {
				cells = append(cells, cell{w, name, 5})
			}
		}
	}
	return cells, left, nil
}

// Run runs the cells that have not held yet. It goes on after a failed one; the error tells how many failed.
func (m Matrix) Run(ctx context.Context) ([]Result, []string, error) {
	cells, left, err := m.cells()
	if err != nil {
		return nil, nil, err
	}
	for _, l := range left {
		fmt.Fprintln(m.Out, "left out:", l)
	}
	bin, err := cluster.Build(ctx, filepath.Join(m.Dir, "bin"))
	if err != nil {
		return nil, nil, err
	}
	test, err := cluster.BuildTestClock(ctx, filepath.Join(m.Dir, "bin"))
	if err != nil {
		return nil, nil, err
	}
	random := rand.New(rand.NewPCG(m.Seed, 0))
	var results []Result
	failed := 0
	for i, c := range cells {
		seed := random.Uint64()
		r, ok := m.earlier(c)
		if !ok {
			if r, err = m.one(ctx, c, seed, bin, test); err != nil {
				return results, left, err
			}
			fmt.Fprintf(m.Out, "%3d/%d %s\n", i+1, len(cells), r.Line())
		}
		results = append(results, r)
		if r.Err() != nil {
			failed++
		}
	}
	if failed > 0 {
		return results, left, fmt.Errorf("%d of %d cells did not hold; what they left is below %s", failed, len(cells),
			m.Dir)
	}
	return results, left, nil
}

// earlier returns the result of a cell that an earlier call ran, if it held and ran as long.
func (m Matrix) earlier(c cell) (Result, bool) {
	text, err := os.ReadFile(filepath.Join(m.Dir, c.name(), resultFile))
	if err != nil {
		return Result{}, false
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return Result{}, false
	}
	return r, r.Err() == nil && r.Time == m.Time && r.Clients == m.Clients
}

// one runs a cell. If it held, only the result and the page are kept. A cluster that could not be started is an error
// of the cell, not of the matrix.
func (m Matrix) one(ctx context.Context, c cell, seed uint64, bin, test cluster.Binaries) (Result, error) {
	dir := filepath.Join(m.Dir, c.name())
	if _, err := os.Stat(dir); err == nil { // of a failed or interrupted run: kept under another name
		if err := os.Rename(dir, fmt.Sprintf("%s.%d", dir, time.Now().Unix())); err != nil {
			return Result{}, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Result{}, err
	}
	log, err := os.Create(filepath.Join(dir, "run.log"))
	if err != nil {
		return Result{}, err
	}
	defer log.Close()
	r, err := Run(ctx, Config{Workload: c.Workload, Nemesis: c.Nemesis, Nodes: c.Nodes, Clients: m.Clients,
		Time: m.Time, Seed: seed, Dir: dir, Out: log, Binaries: bin, TestClock: test})
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if err != nil {
		return Result{Workload: c.Workload, Nemesis: c.Nemesis, Nodes: c.Nodes, Clients: m.Clients, Time: m.Time,
			Seed:    seed,
			Verdict: Misbehave, Reason: err.Error()}, nil
	}
	if r.Err() == nil {
		err = errors.Join(Tidy(dir), os.Remove(filepath.Join(dir, jsonFile)), os.Remove(filepath.Join(dir, ednFile)))
	}
	return r, err
}
