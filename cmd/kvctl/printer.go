package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tenure/client"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/progress"
	"tenure/internal/shown"
)

// printer writes results to standard output and everything else to standard error, for people or as JSON.
type printer struct {
	stdout, stderr io.Writer
	json           bool
	onTerminal     func(io.Writer) bool // reports whether a writer is a terminal
}

// outputWriter is standard output. It remembers the first failed write, also if the caller ignores it. Later writes
// write nothing and return the same error.
type outputWriter struct {
	w   io.Writer
	err error
}

func (o *outputWriter) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.w.Write(b)
	o.err = err
	return n, err
}

// onTerminal reports whether w is a terminal: standard output, or another one.
func (o *outputWriter) onTerminal(w io.Writer) bool {
	if w == io.Writer(o) {
		w = o.w
	}
	return progress.IsTerminal(w)
}

// print writes v with --json, and otherwise what text writes. In both, what a terminal would obey or not show is escaped:
// names, values and errors may be text of strangers.
func (p *printer) print(v any, text func(w io.Writer) error) error {
	if p.json {
		return printJSON(p.stdout, v)
	}
	return text(shown.Writer(p.stdout))
}

// printJSON writes v as one line.
func printJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(shown.JSON(text), '\n'))
	}
	return err
}

// printf writes v with --json, and otherwise the formatted text.
func (p *printer) printf(v any, format string, args ...any) error {
	return p.print(v, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

// note writes a line to standard error.
func (p *printer) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.json {
		_ = printJSON(p.stderr, struct {
			Note string `json:"note"`
		}{text})
		return
	}
	fmt.Fprintf(p.stderr, "kvctl: %s\n", shown.Text(text))
}

// meter returns a progress bar on a terminal, and nil otherwise: a nightly job should print nothing. total is 0 if
// nobody knows it.
func (p *printer) meter(name string, total int64, unit string) *progress.Meter {
	if p.json || !p.onTerminal(p.stderr) {
		return nil
	}
	return progress.New(p.stderr, name, total, unit)
}

// noteIndex writes to standard error at which index an answer is.
func (p *printer) noteIndex(index uint64) {
	if p.json {
		_ = printJSON(p.stderr, struct {
			Index uint64 `json:"index"`
		}{index})
		return
	}
	p.note("index %d", index)
}

// oldAge is the age from which a stale read is reported: a follower that works hears from the master far more often.
const oldAge = time.Second

// noteAge reports how old a stale read is, if that is unusual. With --json it reports nothing.
func (p *printer) noteAge(m client.Meta) {
	if !p.json && (!m.KnownLeader || m.LastContact >= oldAge) {
		p.note("stale: the node has heard from no master for %s", output.Duration(m.LastContact))
	}
}

// written is what a write prints with --json.
type written struct {
	Key      string `json:"key"`
	Revision uint64 `json:"revision"`
}

func (p *printer) printWritten(key string, revision uint64) error {
	return p.printf(written{key, revision}, "revision %d\n", revision)
}

// printValue writes a value as it is. On a terminal, what the terminal would obey or not show is escaped, and a line end
// follows a value that has none.
func (p *printer) printValue(value []byte) error {
	if !p.onTerminal(p.stdout) || len(value) == 0 {
		_, err := p.stdout.Write(value)
		return err
	}
	text := shown.Text(string(value))
	_, err := io.WriteString(p.stdout, strings.TrimSuffix(text, "\n")+"\n")
	if text != string(value) && err == nil {
		p.note("what a terminal would obey or not show is escaped: write to a file or a pipe to have the value as it is")
	}
	return err
}

// table writes rows below a head in aligned columns, and nothing if there are no rows.
func table(w io.Writer, head []string, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range append([][]string{head}, rows...) {
		cells := slices.Clone(r)
		for i, c := range cells {
			if !shown.Plain(c) { // a line end or a tab in it would begin another row or cell
				cells[i] = shown.Line(c)
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// list prints v with --json, and otherwise a table; without rows nothing, which it says on standard error.
func (p *printer) list(v any, head []string, rows [][]string, nothing string) error {
	if len(rows) == 0 && !p.json {
		p.note("%s", nothing)
	}
	return p.print(v, func(w io.Writer) error { return table(w, head, rows) })
}

// orDash returns s, or "-" for an empty cell.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// durationOrDash returns d in Go's notation, or "-" for 0.
func durationOrDash(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return d.String()
}
