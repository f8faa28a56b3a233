package pinned

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"tenure/jepsen/bench"
)

// sample is one load on one cluster.
type sample struct {
	round            int
	world, arm, load string
	perSecond, p99   float64 // p99 in milliseconds
	// the servers' processor time, warm-up included, in microseconds for each operation measured
	used float64
}

// Spread is a median with its range.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(list []float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	list = slices.Clone(list)
	slices.Sort(list)
	n := len(list)
	return Spread{Median: (list[(n-1)/2] + list[n/2]) / 2, Min: list[0], Max: list[n-1]}
}

// Row is one arm under one load in one world.
type Row struct {
	World     string `json:"world"`
	Load      string `json:"load"`
	Arm       string `json:"arm"`
	PerSecond Spread `json:"ops_per_s"`
	P99MS     Spread `json:"p99_ms"`
	UsedUS    Spread `json:"server_us_per_op"`
	// Ratio is the throughput of "all on" divided by this arm's, of the same round: above 1, what is switched off here
	// helps.
	Ratio Spread `json:"all_on_ratio"`
	// UsedRatio is the same of the processor time: below 1, what is switched off here saves.
	UsedRatio Spread `json:"all_on_used_ratio"`
}

// Report is the whole measurement.
type Report struct {
	bench.Head
	Nodes     int   `json:"nodes"`
	Rounds    int   `json:"rounds"`
	NodeCores []int `json:"node_cores"`
	LoadCores []int `json:"load_cores"`
	samples   []sample
}

func newReport(c Config) Report {
	return Report{Head: bench.NewHead(), Nodes: c.Nodes, Rounds: c.Rounds, NodeCores: c.NodeCores,
		LoadCores: c.LoadCores}
}

// MarshalJSON also writes the rows.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return json.Marshal(struct {
		plain
		Rows []Row `json:"rows"`
	}{plain(r), r.Rows()})
}

func (r *Report) add(s sample) { r.samples = append(r.samples, s) }

// Rows are the medians, in the order in which worlds, loads and arms were first measured.
func (r *Report) Rows() []Row {
	var rows []Row
	for _, s := range r.samples {
		is := func(x Row) bool { return x.World == s.world && x.Load == s.load && x.Arm == s.arm }
		if !slices.ContainsFunc(rows, is) {
			rows = append(rows, r.row(s.world, s.load, s.arm))
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return r.first(a) - r.first(b) })
	return rows
}

// first is where a row's world and load come first.
func (r *Report) first(row Row) int {
	return slices.IndexFunc(r.samples, func(s sample) bool { return s.world == row.World && s.load == row.Load })
}

func (r *Report) row(world, load, name string) Row {
	var rates, late, used, ratio, usedRatio []float64
	for _, s := range r.samples {
		if s.world != world || s.load != load || s.arm != name {
			continue
		}
		rates, late, used = append(rates, s.perSecond), append(late, s.p99), append(used, s.used)
		for _, b := range r.samples {
			if b.round == s.round && b.world == world && b.load == load && b.arm == arms[0].name && s.perSecond > 0 &&
				s.used > 0 {
				ratio, usedRatio = append(ratio, b.perSecond/s.perSecond), append(usedRatio, b.used/s.used)
			}
		}
	}
	return Row{World: world, Load: load, Arm: name, PerSecond: spread(rates), P99MS: spread(late), UsedUS: spread(used),
		Ratio: spread(ratio), UsedRatio: spread(usedRatio)}
}

// Table writes the rows for people.
func (r Report) Table(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORLD\tLOAD\tNODES RUN\tOPS/S\tP99 MS\tSERVER US/OP\tALL ON, TIMES THIS\tITS SERVER TIME")
	for _, x := range r.Rows() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", x.World, x.Load, x.Arm, x.PerSecond.text(0), x.P99MS.text(1),
			x.UsedUS.text(0),
			x.Ratio.text(2), x.UsedRatio.text(2))
	}
	return w.Flush()
}

func (s Spread) text(digits int) string {
	return fmt.Sprintf("%.*f (%.*f–%.*f)", digits, s.Median, digits, s.Min, digits, s.Max)
}
