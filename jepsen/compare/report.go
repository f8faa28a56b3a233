package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// JSON writes the result as JSON. Durations are in nanoseconds.
func (r Result) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Print writes the tables, as Markdown.
func (r Result) Print(w io.Writer) {
	p := r.Options.Params
	fmt.Fprintf(w, "Lease time %v, ρ %.1f %%, margin %v, ε %v; three voters; messages take %v to %v; after a failed "+
		"try %v to %v. %d schedules a row.\n",
		p.Lease, float64(p.DriftPPM)/10_000, p.Margin, p.Skew, p.DelayLeast, p.DelayMost, round(p.BackoffLeast),
		round(p.BackoffMost), r.Options.Seeds)
	r.printCosts(w)
	r.printContention(w)
	r.printClocks(w)
}

func (r Result) printCosts(w io.Writer) {
	head(w, "What it costs", append([]string{""}, names(r.Costs, func(c Cost) string { return c.Core })...))
	line := func(what string, f func(c Cost) string) {
		row(w, append([]string{what}, names(r.Costs, f)...))
	}
	line("acquire: messages between nodes, rounds, time (median)", func(c Cost) string {
		return fmt.Sprintf("%.0f, %.0f, %v", c.AcquireMessages, c.AcquireRounds, round(c.AcquireTime))
	})
	line("renew: messages, rounds", func(c Cost) string {
		if !c.Renews {
			return "cannot"
		}
		return fmt.Sprintf("%.0f, %.0f", c.RenewMessages, c.RenewRounds)
	})
	line("the owner's machine is lost: time to the next owner, median and 99 of 100", func(c Cost) string {
		s := fmt.Sprintf("%v, %v", round(c.FailoverTime), round(c.FailoverWorst))
		if c.FailoverNone > 0 {
			s += fmt.Sprintf("; none in %d runs", c.FailoverNone)
		}
		return s
	})
	line("… and messages, rounds until then, of both others", func(c Cost) string {
		return fmt.Sprintf("%.0f, %.1f", c.FailoverMessages, c.FailoverRounds)
	})
	line("the owner leaves on purpose: time to the next owner, median",
		func(c Cost) string { return fmt.Sprint(round(c.LeaveTime)) })
	line("a restarted voter keeps silent for", func(c Cost) string { return fmt.Sprint(round(c.RestartWait)) })
}

func (r Result) printContention(w io.Writer) {
	head(w, "Contenders that block each other: all begin at once", []string{
		"contenders", "", "first owner after, median", "99 of 100", "longer than half a lease time",
	})
	for _, c := range r.Contention {
		row(w, []string{fmt.Sprint(c.Contenders), c.Core, fmt.Sprint(round(c.First)), fmt.Sprint(round(c.FirstWorst)),
			percent(c.FirstBlocked)})
	}
	head(w, "Contenders that block each other: each lease runs out and is contended for anew", []string{
		"contenders", "", "nobody owns", "gap, median", "99 of 100", "gaps over half a lease time", "tries a lease",
		"messages a lease",
	})
	for _, c := range r.Contention {
		row(w, []string{
			fmt.Sprint(c.Contenders), c.Core, percent(c.Idle), fmt.Sprint(round(c.Gap)), fmt.Sprint(round(c.Worst)),
			percent(c.Blocked),
			fmt.Sprintf("%.1f", c.Attempts), fmt.Sprintf("%.0f", c.Messages),
		})
	}
	head(w, "The owner renews while the others go on trying", []string{
		"contenders", "", "nobody owns", "leases lost in 100 lease times", "messages a lease time",
	})
	for _, c := range r.Contention {
		if c.Renews {
			row(w, []string{fmt.Sprint(c.Contenders), c.Core, percent(c.KeepIdle), fmt.Sprintf("%.2f", c.KeepLost),
				fmt.Sprintf("%.0f", c.KeepMessages)})
		}
	}
}

func (r Result) printClocks(w io.Writer) {
	if len(r.Clocks) == 0 {
		return
	}
	head(w, "Clock faults: runs with two owners at once",
		append([]string{""}, names(r.Clocks[0].Cells, func(c ClockCell) string { return c.Core })...))
	for _, k := range r.Clocks {
		row(w, append([]string{k.Fault}, names(k.Cells, func(c ClockCell) string {
			s := fmt.Sprintf("%d/%d", c.Two, k.Runs)
			if !c.Within {
				s += " (outside)"
			}
			return s
		})...))
	}
	fmt.Fprint(w, "\n\"outside\": the algorithm does not promise anything there.\n")
}

func head(w io.Writer, title string, cells []string) {
	fmt.Fprintf(w, "\n**%s**\n\n", title)
	row(w, cells)
	fmt.Fprintln(w, "|"+strings.Repeat("---|", len(cells)))
}

func row(w io.Writer, cells []string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

func names[T any](xs []T, f func(T) string) []string {
	var out []string
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

func round(d time.Duration) time.Duration {
	if d < 100*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

func percent(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
