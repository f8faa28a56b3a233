package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"tenure/jepsen/bench"
	"tenure/jepsen/chart"
)

// Report is the whole measurement.
type Report struct {
	bench.Head
	Took      time.Duration    `json:"took_ns"`
	Clients   int              `json:"clients"`
	Keys      int              `json:"keys"`
	ValueSize int              `json:"value_size"`
	Archive   bool             `json:"archive"`
	Halves    [2]Half          `json:"halves"`
	Samples   []Sample         `json:"-"`
	Files     map[string]int64 `json:"most_bytes_by_file"`
	Looks     int              `json:"looks"` // number of listings of the reader
	Restored  []Restored       `json:"restored,omitempty"`
}

// What must hold of every run.
const (
	mostGrown  = 1.5 // 99.9th percentile of writes in the second half divided by that of the first
	mostLag    = 5.0 // lag of the archive, in seconds
	leastLooks = 2
)

// Check returns an error for the first limit that was exceeded.
func (r Report) Check() error {
	for i, h := range r.Halves {
		if h.Ops == 0 || h.Errors > 0 {
			return fmt.Errorf("half %d: %d writes and %d errors", i+1, h.Ops, h.Errors)
		}
	}
	node, most := r.mostTaken()
	switch {
	case most > r.bound():
		return fmt.Errorf("node %d took %s of its disk, its bound is %s", node, chart.Bytes(float64(most)),
			chart.Bytes(float64(r.bound())))
	case r.grown() > mostGrown:
		return fmt.Errorf("the 99.9th percentile of writes was %.2f times as long in the second half: at most %.1f "+
			"times", r.grown(), mostGrown)
	case r.mostLag() > mostLag:
		return fmt.Errorf("the archive was %.1f s behind: at most %.0f s", r.mostLag(), mostLag)
	case r.Looks < leastLooks:
		return fmt.Errorf("the reader looked %d times only", r.Looks)
	}
	return nil
}

func (r Report) bound() int64 { return bound(r.Keys+fewClients*fewKeys, r.ValueSize) }

// grown returns the 99.9th percentile of writes in the second half divided by that of the first.
func (r Report) grown() float64 { return r.Halves[1].P999 / r.Halves[0].P999 }

// mostTaken returns the largest disk use of any node, in bytes, and the number of that node.
func (r Report) mostTaken() (node int, most int64) {
	for _, s := range r.Samples {
		for i, b := range s.Nodes {
			if b > most {
				node, most = i+1, b
			}
		}
	}
	return node, most
}

func (r Report) mostLag() (most float64) {
	for _, s := range r.Samples {
		most = max(most, s.Lag)
	}
	return most
}

// Table writes the report in Markdown.
func (r Report) Table(w io.Writer) error {
	node, most := r.mostTaken()
	a, b := r.Halves[0], r.Halves[1]
	fmt.Fprintf(w, "%v of writes by %d clients, %s keys, %s values, %d processors.\n\n| figure | |\n|---|---|\n",
		r.Took, r.Clients, chart.Number(float64(r.Keys)), chart.Bytes(float64(r.ValueSize)), r.Processors)
	rows := [][2]string{
		{"writes a second, first and second half", fmt.Sprintf("%.0f, %.0f", a.OpsPerS, b.OpsPerS)},
		{"99th percentile", fmt.Sprintf("%.1f ms, %.1f ms", a.P99, b.P99)},
		{"99.9th percentile", fmt.Sprintf("%.1f ms, %.1f ms: %.2f times", a.P999, b.P999, r.grown())},
		{"longest", fmt.Sprintf("%.0f ms, %.0f ms", a.Max, b.Max)},
		{"most that a node took of its disk", fmt.Sprintf("%s (node %d), bound %s", chart.Bytes(float64(most)), node,
			chart.Bytes(float64(r.bound())))},
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		rows = append(rows, [2]string{"of it `" + name + "`", chart.Bytes(float64(r.Files[name]))})
	}
	if r.Archive {
		rows = append(rows, [2]string{"the archive lagged by at most", fmt.Sprintf("%.1f s", r.mostLag())},
			[2]string{"restored at revisions at which a reader had looked", fmt.Sprintf("%d of %d, all as it saw them",
				len(r.Restored), r.Looks)})
	}
	for _, row := range rows {
		fmt.Fprintf(w, "| %s | %s |\n", row[0], row[1])
	}
	_, err := fmt.Fprintln(w)
	return err
}

// write writes the files that the Config names.
func (m *measurement) write(r Report) error {
	if m.cfg.Plot != "" {
		svg, err := r.plot().SVG()
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.cfg.Plot, svg, 0o644); err != nil {
			return err
		}
	}
	if m.cfg.Results == "" {
		return nil
	}
	var out []byte
	for _, s := range r.Samples {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		out = append(append(out, line...), '\n')
	}
	return os.WriteFile(m.cfg.Results, out, 0o644)
}
