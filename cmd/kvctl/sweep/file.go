package sweep

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/cmd/kvctl/bench"
)

// maxFileBytes bounds what Read takes; a real file has some ten kilobytes.
const maxFileBytes = 16 << 20

// File is what one series measured. Absolute figures belong to the machine and the day.
type File struct {
	Series  string         `json:"series"`
	Command string         `json:"command"` // that measured it
	Started time.Time      `json:"started"`
	Version string         `json:"version"` // of kvctl, which is that of the nodes if they were built together
	System  string         `json:"system"`  // such as "linux/amd64, 2 CPUs"
	Results []bench.Result `json:"results"` // repeats follow each other
}

// Read reads a file that Write wrote.
func Read(name string) (File, error) {
	info, err := os.Stat(name)
	if err != nil {
		return File{}, err
	}
	if info.Size() > maxFileBytes {
		return File{}, fmt.Errorf("%s: has %d bytes, above the %d that a series can have", name, info.Size(), maxFileBytes)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return File{}, err
	}
	var f File
	if err := json.Unmarshal(b, &f); err != nil {
		return File{}, fmt.Errorf("%s: is not of kvctl bench sweep: %w", name, err)
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

// Plot draws the charts of the file name beside it, and returns their names.
func Plot(name string) ([]string, error) {
	f, err := Read(name)
	if err != nil {
		return nil, err
	}
	pictures, err := f.Pictures()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var out []string
	for _, p := range pictures {
		svg := strings.TrimSuffix(name, filepath.Ext(name)) + "-" + p.Name + ".svg"
		if err := replace(svg, p.SVG); err != nil {
			return out, err
		}
		out = append(out, svg)
	}
	return out, nil
}

func replace(name string, b []byte) error {
	temporary := name + ".new"
	if err := os.WriteFile(temporary, b, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, name)
}
