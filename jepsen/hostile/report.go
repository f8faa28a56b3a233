package hostile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tenure/jepsen/history"
)

// The bounds.
const (
	// MaxRatio is of the load's 99th percentile beside a flood of the cluster to that beside the idle program.
	MaxRatio    = 2.0
	MaxResident = 256 << 20       // bytes of one node in memory
	MaxStatus   = 5 * time.Second // for kvctl status
	MaxUndone   = 100             // at most one operation of so many may have no good end
)

const (
	leastOps        = 20 // beside each side of a flood, for the run to have measured anything
	usuallyInFlight = 20 // requests at one node, by the load and those who look
)

// Row is what came of one flood.
type Row struct {
	Flood *Flood
	seen  seen
	tally tally
	// The load's operations beside the cluster's flood: how many, how many of them were not done, and the 99th
	// percentile of their times; that beside the idle program's.
	Ops, Undone  int
	P99, IdleP99 time.Duration
	// Processors that all nodes kept busy beside either flood, and the idle program did.
	Nodes, IdleNodes, Sink float64
	// Changes of the master while the cluster was flooded, and while the idle program was, which the machine did.
	Changes, IdleChanges int
	Limited              int64    // how often the flood's limit was reached, as the nodes say
	Broken               []string // the bounds that did not hold, in words
}

// add adds what came of an attack on the cluster.
func (r *Row) add(a *attack) {
	t := a.tally()
	r.tally.Opened += t.Opened
	r.tally.Failed += t.Failed
	r.tally.Cut += t.Cut
	r.tally.Refused += t.Refused
	r.tally.Answered += t.Answered
	r.tally.Most = max(r.tally.Most, t.Most)
}

// effect returns how often the effect was seen that the flood must have.
func (r *Row) effect() int64 {
	switch r.Flood.Effect {
	case Held:
		return r.seen.inFlight - usuallyInFlight
	case Refused:
		return r.tally.Refused
	case Limited:
		return r.Limited
	case Open:
		return r.tally.Most - int64(r.Flood.conns)*99/100
	}
	return r.tally.Cut
}

// processors fills in how many processors were busy.
func (r *Row) processors(sides []side) {
	var flooded, idle side
	for _, s := range sides {
		sum := &flooded
		if s.idle {
			sum = &idle
		}
		sum.to += s.to - s.from
		sum.nodes += s.nodes
		sum.sink += s.sink
	}
	r.Nodes = float64(flooded.nodes) / float64(max(flooded.to, 1))
	r.IdleNodes, r.Sink = float64(idle.nodes)/float64(max(idle.to, 1)), float64(idle.sink)/float64(max(idle.to, 1))
}

// judge fills in what the load has seen, and compares all with the bounds.
func (r *Row) judge(cfg *Config, ops []history.Op, sides []side) {
	var beside, idle []time.Duration
	for _, op := range ops {
		i := slices.IndexFunc(sides, func(s side) bool { return s.from <= op.Call && op.Call < s.to })
		if i < 0 {
			continue
		}
		took := op.Return - op.Call
		if op.Outcome == history.Info {
			took = opTimeout
		}
		if sides[i].idle {
			idle = append(idle, took)
			continue
		}
		beside = append(beside, took)
		if op.Outcome != history.OK {
			r.Undone++
		}
	}
	r.processors(sides)
	r.Ops, r.P99, r.IdleP99 = len(beside), percentile99(beside), percentile99(idle)
	breaks := func(when bool, format string, args ...any) {
		if when {
			r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
		}
	}
	if err := checked(ops); err != nil {
		breaks(true, "the load saw what may not be: %v", err)
	}
	breaks(r.Changes > r.IdleChanges, "the master changed %d times, and %d times beside the idle program", r.Changes,
		r.IdleChanges)
	breaks(r.effect() <= 0, "the flood had no effect: %v", r.tally)
	breaks(r.Ops < leastOps || !cfg.Short && len(idle) < leastOps, "too little load: %d operations, and %d beside the "+
		"idle program", r.Ops, len(idle))
	breaks(r.Undone*MaxUndone > r.Ops, "%d of %d operations of the load were not done", r.Undone, r.Ops)
	breaks(!cfg.Short && r.Ratio() > MaxRatio, "p99 of the load is %.1f times what it is beside an idle program",
		r.Ratio())
	if most := requestsOfOne(sides); r.Flood.asOne {
		breaks(r.tally.Answered > most, "%d requests of one client were answered, at most %d may be", r.tally.Answered,
			most)
	}
	breaks(r.seen.resident > cmp.Or(r.Flood.resident, MaxResident), "a node has %d MiB in memory", r.seen.resident>>20)
	breaks(r.seen.failed != nil, "%v", r.seen.failed)
	breaks(r.seen.statuses == 0, "kvctl status was not asked")
	breaks(r.seen.status > MaxStatus, "kvctl status took %v", r.seen.status)
}

// requestsOfOne returns how many requests of one client may be answered while the cluster is flooded.
func requestsOfOne(sides []side) (most int64) {
	for _, s := range sides {
		if !s.idle {
			most += int64(requestRate * (1 + (s.to - s.from).Seconds()))
		}
	}
	return most
}

// Ratio returns how the load's 99th percentile grows because it is the cluster that is flooded.
func (r *Row) Ratio() float64 {
	if r.IdleP99 == 0 {
		return 0
	}
	return float64(r.P99) / float64(r.IdleP99)
}

func percentile99(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return d[(len(d)*99+99)/100-1]
}

func (r *Row) line() string {
	verdict := "held"
	if len(r.Broken) > 0 {
		verdict = "BROKEN: " + strings.Join(r.Broken, "; ")
	}
	idle, processors := "", fmt.Sprintf("%.2f", r.Nodes)
	if r.IdleP99 > 0 {
		idle = fmt.Sprintf(" (%.1f ms beside an idle program)", ms(r.IdleP99))
		processors += fmt.Sprintf(" (%.2f, and %.2f by it)", r.IdleNodes, r.Sink)
	}
	return fmt.Sprintf("%-14s %v; load: %d operations, p99 %.1f ms%s; processors %s; %d MiB; status %.2f s: %s",
		r.Flood.Name, r.tally, r.Ops, ms(r.P99), idle, processors, r.seen.resident>>20, r.seen.status.Seconds(), verdict)
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// Report is what came of all floods and cases.
type Report struct {
	Short bool
	Began time.Time
	Took  time.Duration
	Rows  []*Row
	Cases []Case
}

// Err returns the bounds that did not hold, nil if all did.
func (r *Report) Err() error {
	var err error
	for _, row := range r.Rows {
		for _, b := range row.Broken {
			err = errors.Join(err, fmt.Errorf("%s: %s", row.Flood.Name, b))
		}
	}
	for _, c := range r.Cases {
		if c.Wrong != "" {
			err = errors.Join(err, fmt.Errorf("%s: %s", c.Name, c.Wrong))
		}
	}
	return err
}

// Write writes the tables, in Markdown.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| flood | connections (most at once) | cut off | refused | answered | p99 beside it | " +
		"beside an idle program | ratio | processors taken by all nodes | changes of master | memory of a node | " +
		"`kvctl status` |\n" +
		strings.Repeat("|---", 12) + "|\n")
	for _, row := range r.Rows {
		idle, ratio, changes := "–", "–", fmt.Sprint(row.Changes)
		processors := fmt.Sprintf("%.2f", row.Nodes)
		if !r.Short {
			idle, ratio = fmt.Sprintf("%.1f ms", ms(row.IdleP99)), fmt.Sprintf("%.2f", row.Ratio())
			processors += fmt.Sprintf(" (%.2f beside the idle program, and %.2f by it)", row.IdleNodes, row.Sink)
			changes += fmt.Sprintf(" (%d beside the idle program)", row.IdleChanges)
		}
		t := row.tally
		fmt.Fprintf(&b, "| %s: %s | %d (%d) | %d | %d | %d | %.1f ms | %s | %s | %s | %s | %d MiB | %.2f s |\n",
			row.Flood.Name, row.Flood.Says, t.Opened, t.Most, t.Cut, t.Refused, t.Answered, ms(row.P99), idle, ratio,
			processors, changes, row.seen.resident>>20, row.seen.status.Seconds())
	}
	b.WriteString("\n| what comes | what must come of it | what did |\n|---|---|---|\n")
	for _, c := range r.Cases {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Name, c.Must, c.Got)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
