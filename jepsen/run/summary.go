package run

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// Summary writes the table of a matrix in Markdown.
func Summary(w io.Writer, results []Result, left []string, command string) error {
	total := Result{}
	held := 0
	for _, r := range results {
		total.OK += r.OK
		total.Failed += r.Failed
		total.Unknown += r.Unknown
		total.Checked += r.Checked
		total.Undecided += r.Undecided
		total.Faults += r.Faults
		total.Masters += r.Masters
		if r.Err() == nil {
			held++
		}
	}
	date := time.Now().UTC().Format("2006-01-02 15:04")
	fmt.Fprintf(w, "# Real processes under faults\n\n`%s`, %s UTC, %s/%s, %d processors.\n\n", command, date,
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintf(w, "%d of %d runs held: %d operations checked, %d violations, %d undecided keys, %d faults seen to "+
		"take effect, %d changes of master.\n\n",
		held, len(results), total.Checked, count(results, Violation), total.Undecided, total.Faults, total.Masters)
	for _, l := range left {
		fmt.Fprintf(w, "Left out on this machine: %s.\n\n", l)
	}
	fmt.Fprint(w, "Not applied: certainly without effect, and said so. Unknown: the client never learned. Silence: "+
		"the longest time in which nothing succeeded.\n\n")
	fmt.Fprint(w, "| nodes | nemesis | workload | checked | not applied | unknown | faults | masters | p50 ms | p99 "+
		"ms | silence s | verdict |\n")
	fmt.Fprint(w, "|--:|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, r := range results {
		verdict := r.Verdict
		if r.Reason != "" {
			verdict = "**" + verdict + "**: " + r.Reason
		}
		if r.Shown > 0 {
			verdict += fmt.Sprintf(", and showed %d late writes", r.Shown)
		}
		verdict += r.counted()
		fmt.Fprintf(w, "| %d | %s | %s | %d | %d | %d | %d | %d | %.1f | %.1f | %.2f | %s |\n", r.Nodes, r.Nemesis,
			r.Workload, r.Checked,
			r.Failed, r.Unknown, r.Faults, r.Masters, r.P50.Seconds()*1000, r.P99.Seconds()*1000, r.Gap.Seconds(),
			verdict)
	}
	_, err := fmt.Fprintln(w)
	return err
}

func count(results []Result, verdict string) (n int) {
	for _, r := range results {
		if r.Verdict == verdict {
			n++
		}
	}
	return n
}
