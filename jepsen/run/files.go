package run

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tenure/jepsen/history"
)

// The files of a run, in its directory.
const (
	resultFile   = "result.json"
	ednFile      = "history.edn"
	jsonFile     = "history.json"
	pageFile     = "timeline.html"
	problemsFile = "problems.txt"
)

// write leaves the run's files.
func (s *record) write(r Result) error {
	failed := errors.Join(
		s.file(resultFile, func(w io.Writer) error { return indented(w, r) }),
		s.file(ednFile, func(w io.Writer) error { return history.WriteEDN(w, s.ops, s.faults) }),
		s.file(jsonFile, func(w io.Writer) error {
			return json.NewEncoder(w).Encode(struct {
				Faults []history.Fault `json:"faults"`
				Ops    []history.Op    `json:"ops"`
			}{s.faults, s.ops})
		}),
		s.file(pageFile, func(w io.Writer) error { return s.page(w, r) }),
	)
	if len(s.found.Problems) > 0 {
		failed = errors.Join(failed, s.file(problemsFile, s.problems))
		_ = s.problems(s.cfg.Out)
	}
	return failed
}

// problems writes what is wrong, each with the operations that show it.
func (s *record) problems(w io.Writer) error {
	for _, p := range s.found.Problems {
		fmt.Fprintf(w, "%s: %s\n", p.Kind, p.Reason)
		for _, op := range p.Ops {
			fmt.Fprintf(w, "    %v\n", op)
		}
	}
	return nil
}

func (s *record) file(name string, write func(io.Writer) error) error {
	f, err := os.Create(filepath.Join(s.cfg.Dir, name))
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	return errors.Join(write(b), b.Flush(), f.Close())
}

func indented(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Tidy removes what is needed only if a run failed: binaries and data.
func Tidy(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, "bin")), os.RemoveAll(filepath.Join(dir, clusterDir)))
}
