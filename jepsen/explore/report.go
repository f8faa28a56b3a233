package explore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
)

// Verdict returns one phrase: a violation, complete, or the bound that stopped it.
func (r Result) Verdict() string {
	switch {
	case r.Violation != "":
		return fmt.Sprintf("%s after %d steps", r.Violation, len(r.Trace))
	case r.Bound != "":
		return "none found, " + r.Bound
	}
	return "clean, complete"
}

// Print writes the result, and the trace if there is one.
func (r Result) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s: %d distinct states, depth %d, at most %d in a level, %.1f s, %.0f states a second\n",
		r.Name, r.Verdict(), r.States, r.Depth, r.Peak, r.Elapsed.Seconds(), pace(r.States, r.Elapsed))
	if r.Blocked > 0 {
		fmt.Fprintf(w, "in %d of them nobody owns, and nobody can until a vote has run out\n", r.Blocked)
	}
	for i, s := range r.Trace {
		fmt.Fprintf(w, "%4d %s\n", i+1, s.Line)
	}
}

// Script returns the trace in the form that Replay reads.
func (r Result) Script() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\nconfig %s\n", r.Verdict(), r.Name)
	for _, s := range r.Trace {
		b.WriteString(s.Script + "\n")
	}
	return b.String()
}

// List writes what names there are.
func List(w io.Writer) {
	fmt.Fprintln(w,
		"base                    two proposers, two acceptors, two ballots each; requests are lost, repeated and reordered")
	for _, f := range features {
		fmt.Fprintf(w, "%-23s %s\n", f.name, f.says)
	}
	fmt.Fprintln(w)
	for _, c := range worlds() {
		fmt.Fprintf(w, "%-23s %s\n", c.label(), c.says())
	}
	fmt.Fprintln(w, "\nIn the table:")
	for _, n := range TableNames() {
		fmt.Fprintln(w, "  "+n)
	}
}

const (
	tableBegin = "<!-- explored: begin -->"
	tableEnd   = "<!-- explored: end -->"
	tableHead  = "| configuration | distinct states | depth | seconds | verdict |\n|---|---|---|---|---|\n"
)

// UpdateTable puts the result's row into the table between the markers of a file: in place of the row of that name,
// or at its place in the order of TableNames. The file is made if there is none; one without markers gets them at its
// end.
func UpdateTable(path string, r Result) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the table: %w", err)
	}
	text := string(old)
	if !strings.Contains(text, tableBegin) || !strings.Contains(text, tableEnd) {
		text += tableBegin + "\n" + tableHead + tableEnd + "\n"
	}
	head, rest, _ := strings.Cut(text, tableBegin)
	body, tail, _ := strings.Cut(rest, tableEnd)
	if err := os.WriteFile(path, []byte(head+tableBegin+"\n"+withRow(body, r)+tableEnd+tail), 0o644); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// Missing returns those of names that have no row in the table of a file, or one of an interrupted search.
func Missing(path string, names []string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	done := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "| ") && !strings.Contains(line, "interrupted") {
			done[rowName(line)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return done[n] }), nil
}

func withRow(body string, r Result) string {
	var rows []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| configuration") && rowName(line) != r.Name {
			rows = append(rows, line)
		}
	}
	rows = append(rows, fmt.Sprintf("| %s | %d | %d | %.1f | %s |\n", r.Name, r.States, r.Depth, r.Elapsed.Seconds(),
		r.Verdict()))
	order := TableNames()
	place := func(line string) int {
		if i := slices.Index(order, rowName(line)); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(rows, func(a, b string) int { return place(a) - place(b) })
	return tableHead + strings.Join(rows,
		"") + fmt.Sprintf("\nMade by `go run ./jepsen explore --config NAME --table FILE`, %s, %d processors.\n",
		runtime.Version(), runtime.NumCPU())
}

func rowName(line string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
	return name
}
