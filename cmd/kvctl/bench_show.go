package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tenure/cmd/kvctl/bench"
	"tenure/cmd/kvctl/internal/output"
	"tenure/internal/progress"
)

// printBench prints a result. A run without a success is a failure.
func (p *printer) printBench(r bench.Result) error {
	if err := p.print(r, func(w io.Writer) error { return writeBench(w, r) }); err != nil {
		return err
	}
	switch {
	case r.Interrupted:
		return fmt.Errorf("interrupted after %.1f s: the figures are of the time until then", r.Seconds)
	case r.Ops == 0:
		return errors.New("no operation succeeded")
	}
	return nil
}

// writeBench writes a result for people.
func writeBench(w io.Writer, r bench.Result) error {
	loop, mode := "closed loop", ""
	if r.Rate > 0 {
		loop = fmt.Sprintf("open loop at %g/s", r.Rate)
	}
	if r.Mode != "" {
		mode = ", " + r.Mode + " reads"
	}
	of := output.Plural(uint64(r.Keys), "key") + " of " + output.Bytes(int64(r.ValueSize))
	switch ttl := time.Duration(r.TTLMS) * time.Millisecond; r.Op {
	case bench.Lease:
		of = fmt.Sprintf("new names for %v", ttl)
	case bench.Keepalive:
		of = fmt.Sprintf("%s for %v", output.Plural(uint64(r.Keys), "lease"), ttl)
	}
	fmt.Fprintf(w, "%s, %s: %s, %s, %s%s\n", r.Op, loop, output.Plural(uint64(r.Clients), "client"),
		output.Plural(uint64(r.Nodes), "endpoint"), of, mode)
	fmt.Fprintln(w, benchConnected(r))
	fmt.Fprintf(w, "%s in %.1f s, %.0f/s; this process used %.0f µs of CPU for each\n\n",
		output.Plural(r.Ops, "operation"), r.Seconds, r.OpsPerS, r.ClientCPUUS)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tOPS/S\tP50 MS\tP90\tP99\tP99.9\tMAX\t")
	row := func(name string, perSecond float64, l bench.Latency) {
		fmt.Fprintf(t, "%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", name, perSecond, l.P50, l.P90, l.P99, l.P999,
			l.Max)
	}
	row(r.Op, r.OpsPerS, r.Latency)
	if r.Reads != nil {
		row("reads", r.Reads.OpsPerS, r.Reads.Latency)
		row("writes", r.Writes.OpsPerS, r.Writes.Latency)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Errors == 0 {
		_, err := fmt.Fprintln(w, "\nno errors")
		return err
	}
	fmt.Fprintf(w, "\n%s:\n", output.Plural(r.Errors, "error"))
	for _, k := range slices.Sorted(maps.Keys(r.ErrorsByKind)) {
		if _, err := fmt.Fprintf(w, "  %-18s %d\n", k, r.ErrorsByKind[k]); err != nil {
			return err
		}
	}
	return nil
}

// benchConnected says which nodes have answered the requests of a run: figures of a client at the master and of one at
// another node differ by the way between the two.
func benchConnected(r bench.Result) string {
	var writes, reads []string
	for _, e := range r.Endpoints {
		name := "node " + strconv.FormatUint(e.Node, 10)
		switch {
		case e.Node == 0:
			name = e.Address
		case e.Master:
			name += " (master)"
		}
		if e.Writes > 0 {
			writes = append(writes, name)
		}
		if e.Reads > 0 {
			reads = append(reads, name)
		}
	}
	switch {
	case len(writes)+len(reads) == 0:
		return "no node has answered"
	case len(reads) == 0 || slices.Equal(writes, reads):
		return "connected to " + strings.Join(writes, ", ")
	case len(writes) == 0:
		return "connected to " + strings.Join(reads, ", ")
	}
	return "connected to " + strings.Join(reads, ", ") + " for reads, to " + strings.Join(writes, ", ") + " for writes"
}

// benchProgress shows on standard error how far a run is, if that is a terminal.
type benchProgress struct {
	cfg   bench.Config
	out   io.Writer // nil: no terminal
	meter *progress.Meter
	stage bench.Stage
}

func (a *app) benchProgress(cfg bench.Config) *benchProgress {
	p := &benchProgress{cfg: cfg}
	if progress.IsTerminal(a.stderr) {
		p.out = a.stderr
	}
	return p
}

// tell is a bench.Config's Watch.
func (p *benchProgress) tell(g bench.Progress) {
	if p.out == nil {
		return
	}
	if p.meter == nil || p.stage != g.Stage {
		p.end()
		p.stage, p.meter = g.Stage, p.newMeter(g.Stage)
	}
	at, text := int64(g.Elapsed/time.Millisecond), ""
	switch g.Stage {
	case bench.Filling:
		at = int64(g.Keys)
	case bench.Measuring:
		rate := 0.0
		if g.Elapsed > 0 {
			rate = float64(g.Ops) / g.Elapsed.Seconds()
		}
		text = fmt.Sprintf("%.0f/s", rate)
		if g.Failed > 0 {
			text += ", " + output.Plural(g.Failed, "error")
		}
	}
	p.meter.Set(at, text)
}

func (p *benchProgress) newMeter(s bench.Stage) *progress.Meter {
	length, text := p.cfg.Duration.Milliseconds(), p.cfg.Op
	switch s {
	case bench.Filling:
		length, text = int64(p.cfg.Keys), "writing the keys"
	case bench.Warming:
		length, text = p.cfg.Warmup.Milliseconds(), "warming up"
	}
	return progress.New(p.out, text, max(length, 1), "")
}

// end clears the display.
func (p *benchProgress) end() {
	p.meter.End()
	p.meter = nil
}
