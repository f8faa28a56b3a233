package million

import (
	"fmt"
	"io"
	"time"

	"tenure/jepsen/bench"
)

// Report is the whole measurement.
type Report struct {
	bench.Head
	Leases  int `json:"leases"`
	Clients int `json:"clients"`

	// Bytes written to disk by all nodes together.
	IdleTime      time.Duration `json:"idle_time_ns"`
	IdleWrites    int64         `json:"idle_write_bytes"`
	AcquireWrites int64         `json:"acquire_write_bytes"`
	RenewWrites   int64         `json:"renew_write_bytes"`

	Acquire Phase      `json:"acquire"`
	Renew   Phase      `json:"renew"`
	Nodes   []NodeCost `json:"nodes"`

	// Since no acceptor excluded anybody any more.
	Free time.Duration `json:"free_ns"` // until others owned some of the names
	Gone time.Duration `json:"gone_ns"` // until the records were gone

	Quiet  Latency `json:"others_while_held"`
	Expiry Latency `json:"others_while_ending"`

	rate float64
}

// Phase is how fast all were done.
type Phase struct {
	Took time.Duration `json:"took_ns"`
	Rate float64       `json:"a_second"`
}

// NodeCost is one node's memory while all were held; Each is what it has grown by for each lease, after a collection.
type NodeCost struct {
	Node     int     `json:"node"`
	Records  int     `json:"records"`
	RSS      int64   `json:"rss_bytes"`
	Heap     int64   `json:"heap_bytes"`
	RSSEach  float64 `json:"rss_bytes_each"`
	HeapEach float64 `json:"heap_bytes_each"`
}

// Latency is how long operations of other clients took.
type Latency struct {
	Operations int           `json:"operations"`
	Failed     int           `json:"failed"`
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	Max        time.Duration `json:"max_ns"`
}

func newReport(c Config) Report {
	return Report{Head: bench.NewHead(), Leases: c.Leases, Clients: c.Clients}
}

func phase(n int, took time.Duration) Phase { return Phase{took, float64(n) / took.Seconds()} }

// What must hold so that the figures mean anything, or because it is promised.
const (
	leastRecords = 0.99 // share of the leases that each node knew of
	leastOthers  = 100  // operations of other clients
	mostWritten  = 0.1  // bytes for each operation on a lease, beyond what an idle cluster writes in that time
)

// Check tells what is not as it must be.
func (r Report) Check() error {
	for _, n := range r.Nodes {
		if float64(n.Records) < leastRecords*float64(r.Leases) {
			return fmt.Errorf("node %d knew of %d leases of %d", n.Node, n.Records, r.Leases)
		}
	}
	if r.Quiet.Operations < leastOthers || r.Expiry.Operations < leastOthers {
		return fmt.Errorf("other clients did %d and %d operations: too few to tell", r.Quiet.Operations,
			r.Expiry.Operations)
	}
	if each := r.writtenEach(); each > mostWritten {
		return fmt.Errorf("%.2f bytes were written to disk for each acquisition and renewal: none may be", each)
	}
	return nil
}

// writtenEach is how many bytes each acquisition and renewal had written, beyond those of an idle cluster.
func (r Report) writtenEach() float64 {
	idle := float64(r.IdleWrites) * float64(r.Acquire.Took+r.Renew.Took) / float64(r.IdleTime)
	return max(0, float64(r.AcquireWrites+r.RenewWrites)-idle) / float64(2*r.Leases)
}

// String is the node in one line.
func (n NodeCost) String() string {
	return fmt.Sprintf("node %d: %d leases, %d MB resident, %d MB of heap; each lease %.0f bytes resident, %.0f of "+
		"heap",
		n.Node, n.Records, n.RSS>>20, n.Heap>>20, n.RSSEach, n.HeapEach)
}

// String is the latencies in one line.
func (l Latency) String() string {
	return fmt.Sprintf("%d operations, %d failed, p50 %.1fms p99 %.1fms max %.1fms", l.Operations, l.Failed,
		bench.MS(l.P50), bench.MS(l.P99), bench.MS(l.Max))
}

// Table writes the report in Markdown.
func (r Report) Table(w io.Writer) error {
	rss, heap := 0.0, 0.0
	for _, n := range r.Nodes {
		rss, heap = max(rss, n.RSSEach), max(heap, n.HeapEach)
	}
	fmt.Fprintf(w, "%d leases at a time on %d nodes, %d processors, %d clients with a connection each.\n\n| figure | "+
		"|\n|---|---|\n",
		r.Leases, len(r.Nodes), r.Processors, r.Clients)
	for _, row := range [][2]string{
		{"memory of a lease, each node",
			fmt.Sprintf("%.0f bytes of heap, %.0f bytes resident (the most of a node)", heap, rss)},
		{"acquisitions", fmt.Sprintf("%.0f a second", r.Acquire.Rate)},
		{"renewals, 1,024 in a call", fmt.Sprintf("%.0f a second", r.Renew.Rate)},
		{"bytes written to disk",
			fmt.Sprintf("%d for all acquisitions, %d for all renewals; %d in %v without any", r.AcquireWrites,
				r.RenewWrites, r.IdleWrites, r.IdleTime)},
		{"all end at one time: names can be owned anew after", fmt.Sprintf("%.0f ms", bench.MS(r.Free))},
		{"and their records are gone after",
			fmt.Sprintf("%.0f ms, 2 s of which they are kept on purpose", bench.MS(r.Gone))},
		{"other clients' operations while all are held", r.Quiet.String()},
		{"and while all end", r.Expiry.String()},
	} {
		fmt.Fprintf(w, "| %s | %s |\n", row[0], row[1])
	}
	_, err := fmt.Fprintln(w)
	return err
}
