package install

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"tenure/jepsen/bench"
)

// Report is the result of a measurement.
type Report struct {
	bench.Head
	Nodes      int     `json:"nodes"`
	Keys       int     `json:"keys"`
	ValueBytes int     `json:"value_bytes"`
	Trials     []Trial `json:"trials"`
}

// Trial is what one upload did to others.
type Trial struct {
	UploadSeconds float64 `json:"upload_seconds"`
	Writes        Times   `json:"writes"`
	Reads         Times   `json:"reads"`
}

// Times are those of requests of one kind, in milliseconds, by when they were made.
type Times struct {
	Quiet   []float64 `json:"quiet_ms"`   // before the upload
	Upload  []float64 `json:"upload_ms"`  // while its pieces came
	Install []float64 `json:"install_ms"` // the first of each prober that was behind the install
}

// Table writes the report for people.
func (r Report) Table(w io.Writer) error {
	var all Trial
	var seconds []float64
	for _, t := range r.Trials {
		seconds = append(seconds, t.UploadSeconds)
		all.Writes.add(&t.Writes)
		all.Reads.add(&t.Reads)
	}
	slices.Sort(seconds)
	fmt.Fprintf(w, "%d uploads of %d keys of %d bytes to %d nodes, %d processors, median %.2f s\n\n", len(r.Trials),
		r.Keys, r.ValueBytes, r.Nodes, r.Processors, percentile(seconds, 50))
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "request\twhen\tnumber\tp50 ms\tp99 ms\tlongest ms")
	for _, kind := range []struct {
		name string
		t    *Times
	}{{"put", &all.Writes}, {"get", &all.Reads}} {
		for _, when := range []struct {
			name string
			took []float64
		}{{"before", kind.t.Quiet}, {"upload", kind.t.Upload}, {"install", kind.t.Install}} {
			slices.Sort(when.took)
			fmt.Fprintf(out, "%s\t%s\t%d\t%.1f\t%.1f\t%.1f\n", kind.name, when.name, len(when.took),
				percentile(when.took, 50), percentile(when.took, 99), percentile(when.took, 100))
		}
	}
	return out.Flush()
}

func (t *Times) add(o *Times) {
	t.Quiet = append(t.Quiet, o.Quiet...)
	t.Upload = append(t.Upload, o.Upload...)
	t.Install = append(t.Install, o.Install...)
}

// percentile returns the smallest of the sorted values that percent of them do not exceed; 0 if there are none.
func percentile(sorted []float64, percent int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}
