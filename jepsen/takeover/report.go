package takeover

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Report is the whole measurement.
type Report struct {
	Date       time.Time     `json:"date"`
	Processors int           `json:"processors"`
	Nodes      int           `json:"nodes"`
	Names      int           `json:"names"` // at a time
	TTL        time.Duration `json:"ttl_ns"`
	Exclusion  time.Duration `json:"exclusion_ns"` // D_A of that
	Rows       []Row         `json:"rows"`
}

// Row is the distribution for one number of contenders. All times but the renewal's are beyond D_A, or after the release.
type Row struct {
	End        string        `json:"end"` // death, release
	Contenders int           `json:"contenders"`
	Trials     int           `json:"trials"`
	Min        time.Duration `json:"min_ns"`
	Median     time.Duration `json:"median_ns"`
	P90        time.Duration `json:"p90_ns"`
	P99        time.Duration `json:"p99_ns"`
	Max        time.Duration `json:"max_ns"`
	// Renewal is the median time of a renewal meanwhile: the client's request, and an attempt of two round trips between nodes.
	Renewal time.Duration `json:"renewal_ns"`
}

func newReport(c Config) Report {
	d, err := c.timing().Exclusion(c.TTL)
	if err != nil {
		panic(err) // Validate has bounded it
	}
	return Report{Date: time.Now().UTC().Truncate(time.Second), Processors: runtime.NumCPU(), Nodes: c.Nodes, Names: c.Names, TTL: c.TTL, Exclusion: d}
}

func (r *Report) add(end string, contenders int, all []sample) Row {
	var beyond, renewals []time.Duration
	for _, s := range all {
		beyond = append(beyond, s.beyond)
		renewals = append(renewals, s.renewals...)
	}
	slices.Sort(beyond)
	slices.Sort(renewals)
	row := Row{End: end, Contenders: contenders, Trials: len(beyond), Min: beyond[0], Median: rank(beyond, 50), P90: rank(beyond, 90),
		P99: rank(beyond, 99), Max: beyond[len(beyond)-1], Renewal: rank(renewals, 50)}
	r.Rows = append(r.Rows, row)
	return row
}

// rank is the smallest value that percent of all do not exceed.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// String is the row in one line.
func (r Row) String() string {
	return fmt.Sprintf("%-7s %3d contenders, %d trials: min %s median %s p90 %s p99 %s max %s; a renewal takes %s", r.End, r.Contenders, r.Trials,
		ms(r.Min), ms(r.Median), ms(r.P90), ms(r.P99), ms(r.Max), ms(r.Renewal))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1fms", d.Seconds()*1000) }

// Table writes the report in Markdown.
func (r Report) Table(w io.Writer) error {
	fmt.Fprintf(w, "A lease of %v on %d nodes, %d processors; D_A is %v. Times are in ms: of a death those beyond D_A, of a release those since it was sent.\n\n",
		r.TTL, r.Nodes, r.Processors, r.Exclusion)
	fmt.Fprint(w, "| the owner's end | contenders | trials | min | median | p90 | p99 | max | a renewal, median |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, x := range r.Rows {
		cell := func(d time.Duration) float64 { return d.Seconds() * 1000 }
		fmt.Fprintf(w, "| %s | %d | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", x.End, x.Contenders, x.Trials,
			cell(x.Min), cell(x.Median), cell(x.P90), cell(x.P99), cell(x.Max), cell(x.Renewal))
	}
	_, err := fmt.Fprintln(w)
	return err
}
