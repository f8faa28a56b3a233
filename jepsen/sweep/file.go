package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/jepsen/chart"
)

// maxFileBytes bounds what Read takes; a real file has some ten kilobytes.
const maxFileBytes = 16 << 20

// File is what one series measured. Absolute figures belong to the machine and the day.
type File struct {
	Series  string            `json:"series"`
	Command string            `json:"command"` // that measured it
	Started time.Time         `json:"started"`
	Version string            `json:"version"` // of the harness, which is that of the nodes if it has built them
	System  string            `json:"system"`  // such as "linux/amd64, 2 CPUs"
	Results []json.RawMessage `json:"results"` // each as kvctl bench --json printed it; repeats follow each other
}

// Result is the part of a result of kvctl bench that is drawn.
type Result struct {
	Op        string  `json:"op"`
	Nodes     int     `json:"nodes"`
	Clients   int     `json:"clients"`
	Keys      int     `json:"keys"`
	ValueSize int     `json:"value_size"`
	Ops       uint64  `json:"ops"`
	Errors    uint64  `json:"errors"`
	OpsPerS   float64 `json:"ops_per_s"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
}

func (f File) results() ([]Result, error) {
	out := make([]Result, len(f.Results))
	for i, text := range f.Results {
		if err := json.Unmarshal(text, &out[i]); err != nil {
			return nil, fmt.Errorf("result %d is not of kvctl bench: %w", i+1, err)
		}
	}
	return out, nil
}

// Read reads a file that Write wrote.
func Read(name string) (File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return File{}, err
	}
	if info.Size() > maxFileBytes {
		return File{},
			fmt.Errorf("%s: has %d bytes, above the %d that a series can have", name, info.Size(), maxFileBytes)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return File{}, err
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		return File{}, fmt.Errorf("%s: is not of jepsen sweep: %w", name, err)
	}
	if _, err := Find(f.Series); err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Write replaces the file name by f, whole or not at all.
func (f File) Write(name string) error {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return replace(name, append(b, '\n'))
}

// Draw draws the charts of the file name beside it, and returns their names.
func Draw(name string) ([]string, error) {
	f, err := Read(name)
	if err != nil {
		return nil, err
	}
	throughput, latency, err := f.charts()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []string
	for _, x := range []struct {
		name string
		c    chart.Chart
	}{{"throughput", throughput}, {"latency", latency}} {
		picture, err := x.c.SVG()
		if err != nil {
			return out, fmt.Errorf("%s: %s: %w", name, x.name, err)
		}
		svg := strings.TrimSuffix(name, filepath.Ext(name)) + "-" + x.name + ".svg"
		if err := replace(svg, picture); err != nil {
			return out, err
		}
		out = append(out, svg)
	}
	return out, nil
}

// replace writes the file name, whole or not at all.
func replace(name string, b []byte) error {
	temporary := name + ".new"
	if err := os.WriteFile(temporary, b, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, name)
}
