// Package bench has what the measurements of its subpackages share: a cluster of real processes with known clock bounds
// and times, clients spread over its nodes, and the head of a report.
//
//	million   the costs of a million leases, and the effect of their common end on others
//	takeover  how long a lease has no owner after its owner's end
//	pinned    the effect of three scheduling settings
//	soak      whether a cluster under full load stays as it was
//	install   how long the upload of a snapshot holds up other requests
package bench

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
	"tenure/lease"
)

// Setup says on what to measure, and where.
type Setup struct {
	Nodes int
	Dir   string // binaries, data, logs
	Out   io.Writer

	Kvnode string // the program; Build sets it if it is empty
}

// MaxNodes is the most nodes of a measurement.
const MaxNodes = 7

// What nodes are told of their clocks by TimingFlags, so that D_A is known.
const (
	DriftPPM = 10_000
	Margin   = 10 * time.Millisecond

	startTimeout = 30 * time.Second
)

// TimingFlags returns the flags for leases of at most this length, with these clocks.
func TimingFlags(longest time.Duration) []string {
	return []string{"--max-lease-time=" + longest.String(), "--clock-drift=1%", "--lease-margin=" + Margin.String()}
}

// Timing returns the timing of nodes with TimingFlags.
func Timing(longest time.Duration) lease.Timing {
	return lease.Timing{MaxMaster: longest, MaxUser: longest, DriftPPM: DriftPPM, Margin: Margin}
}

// Bin returns the directory in which programs are built.
func (s *Setup) Bin() string { return filepath.Join(s.Dir, "bin") }

// Build builds kvnode, unless it is given.
func (s *Setup) Build(ctx context.Context) error {
	if s.Kvnode != "" {
		return nil
	}
	b, err := cluster.Build(ctx, s.Bin())
	s.Kvnode = b.Kvnode
	return err
}

// Cluster prepares nodes with these flags for Start. Their data lies in Dir/cluster.
func (s *Setup) Cluster(flags []string) (*cluster.Cluster, error) {
	return cluster.New(cluster.Config{Binaries: cluster.Binaries{Kvnode: s.Kvnode},
		Dir: filepath.Join(s.Dir, "cluster"), Nodes: s.Nodes, Flags: flags})
}

// Start starts the nodes and waits until they serve. If it fails, none is left; after that the caller stops them.
func Start(ctx context.Context, nodes *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	err := nodes.Start(ctx)
	if err != nil {
		nodes.Stop(0)
	}
	return err
}

// Connect returns client number i of a measurement, which prefers one of the endpoints. Its user closes it.
func Connect(endpoints []string, i int) *workload.LeaseConn {
	i %= len(endpoints)
	return workload.NewLeaseConn(slices.Concat(endpoints[i:], endpoints[:i]))
}

// Head is the first part of every report.
type Head struct {
	Date       time.Time `json:"date"`
	Processors int       `json:"processors"`
}

// NewHead returns the head of a report that begins now.
func NewHead() Head {
	return Head{Date: time.Now().UTC().Truncate(time.Second), Processors: runtime.NumCPU()}
}

// Percentile returns the smallest of the sorted values that percent of them do not exceed; 0 if there are none.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// MS returns a time in milliseconds.
func MS(d time.Duration) float64 { return d.Seconds() * 1000 }
