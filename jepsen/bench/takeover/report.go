package takeover

import (
	"fmt"
	"io"
	"slices"
	"time"

	"tenure/jepsen/bench"
)

// Report is the whole measurement.
type Report struct {
	bench.Head
	Nodes     int           `json:"nodes"`
	Names     int           `json:"names"` // at a time
	TTL       time.Duration `json:"ttl_ns"`
	Exclusion time.Duration `json:"exclusion_ns"` // D_A of that
	Rows      []Row         `json:"rows"`
}

// Row is the distribution for one number of contenders. All times but the renewal's are beyond D_A, or after the
// release.
type Row struct {
	End        string        `json:"end"` // death, release
	Contenders int           `json:"contenders"`
	Trials     int           `json:"trials"`
	Min        time.Duration `json:"min_ns"`
	Median     time.Duration `json:"median_ns"`
	P90        time.Duration `json:"p90_ns"`
	P99        time.Duration `json:"p99_ns"`
	Max        time.Duration `json:"max_ns"`
	// Renewal is the median time of a renewal meanwhile: the client's request, and an attempt of two round trips
	// between nodes.
	Renewal time.Duration `json:"renewal_ns"`
}

func newReport(c Config) Report {
	d, err := bench.Timing(c.TTL).Exclusion(c.TTL)
	if err != nil {
		panic(err) // Validate has bounded it
	}
	return Report{Head: bench.NewHead(), Nodes: c.Nodes, Names: c.Names, TTL: c.TTL, Exclusion: d}
}

func (r *Report) add(end string, contenders int, all []sample) Row {
	var beyond, renewals []time.Duration
	for _, s := range all {
		beyond = append(beyond, s.beyond)
		renewals = append(renewals, s.renewals...)
	}
	slices.Sort(beyond)
	slices.Sort(renewals)
	row := Row{End: end, Contenders: contenders, Trials: len(beyond), Min: beyond[0],
		Median: bench.Percentile(beyond, 50), P90: bench.Percentile(beyond, 90), P99: bench.Percentile(beyond, 99),
		Max: bench.Percentile(beyond, 100), Renewal: bench.Percentile(renewals, 50)}
	r.Rows = append(r.Rows, row)
	return row
}

// String is the row in one line.
func (r Row) String() string {
	return fmt.Sprintf("%-7s %3d contenders, %d trials: min %s median %s p90 %s p99 %s max %s; a renewal takes %s",
		r.End, r.Contenders, r.Trials,
		ms(r.Min), ms(r.Median), ms(r.P90), ms(r.P99), ms(r.Max), ms(r.Renewal))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1fms", bench.MS(d)) }

// Table writes the report in Markdown.
func (r Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "A lease of %v on %d nodes, %d processors; D_A is %v. Times are in ms: of a death those beyond "+
		"D_A, of a release those since it was sent.\n\n",
		r.TTL, r.Nodes, r.Processors, r.Exclusion)
	fmt.Fprint(w, "| the owner's end | contenders | trials | min | median | p90 | p99 | max | a renewal, median "+
		"|\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", x.End, x.Contenders, x.Trials,
			bench.MS(x.Min), bench.MS(x.Median), bench.MS(x.P90), bench.MS(x.P99), bench.MS(x.Max), bench.MS(x.Renewal))
	}
	_, err := fmt.Fprintln(w)
	return err
}
