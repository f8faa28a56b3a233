// Package nemesis does to a running cluster what machines, disks, clocks and networks do to real ones. Every fault is
// logged with the evidence of its effect; a fault without evidence does not count.
//
//	nemesis.go                    the type of a nemesis, and the bed that it works on
//	all.go                        the table of nemeses
//	process.go                    kills, pauses, restarts
//	partition.go                  cut, lossy and slow links
//	clock.go                      clocks that err
//	disk.go                       full, lying and failing disks
//	flip.go                       bits flipped in files
//	overload.go                   floods of writes
//	members.go                    nodes that join, leave, lose their disk
//	certrotate.go, certexpire.go  certificates renewed, expired and replaced by useless ones
//	tokens.go, intruder.go        tokens rotated, expired and revoked, while somebody still uses them
package nemesis

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
)

// Needs says what a bed must have beside plain nodes.
type Needs struct {
	Links, Loss, Delay bool // cuts between nodes; packet loss; slow links
	Faulty, Small      bool // disks that fail on command; disks of little space
	Clocks             bool // nodes built with a clock that errs on purpose
	Spares             int  // places for nodes that join
	TLS                bool // certificates
	ACL                bool // tokens
}

// Nemesis is one kind of trouble, with the least that a run under it must have seen.
type Nemesis struct {
	Name string
	Says string // in one line; what must hold if that is not everything
	Needs
	Flags []string // for every node
	// ConsistentOnly: the trouble is outside of what default reads promise, so that clients only read by a quorum.
	ConsistentOnly bool
	MinOps         float64 // that succeed, per second
	MinFaults      float64 // seen, per 10 seconds
	MinMasters     float64 // changes of master, per 10 seconds
	MinChanges     float64 // of the members, seen to take effect, per 10 seconds
	// Run makes trouble until ctx ends, and then leaves the cluster so that it can recover: all nodes running but those
	// it reports as out, all links and disks whole. An error says that a node did what it must not.
	Run func(ctx context.Context, b *Bed) error
}

// Bed is a running cluster, with the handles on it that the nemesis needs; the others are nil.
type Bed struct {
	Cluster    *cluster.Cluster
	Random     *rand.Rand
	Log        *Log
	History    *history.Recorder // for operations of the nemesis itself
	Links      cluster.Links
	Namespaces *cluster.Namespaces
	Proxied    *cluster.Proxied
	Faulty     []*faultfs.FS // by id − 1
	Small      *cluster.SmallDisks
	Clocks     *cluster.Clocks
	// Out are nodes that need not be ready at the end: they noticed that their disk betrayed them.
	Out map[int]bool
}

// Log collects faults. It is safe for concurrent use.
type Log struct {
	now func() time.Duration
	out io.Writer
	mu  sync.Mutex
	all []history.Fault
}

// NewLog returns a log with the history's clock. Each fault is also written to out.
func NewLog(now func() time.Duration, out io.Writer) *Log { return &Log{now: now, out: out} }

// Faults returns the faults that have ended.
func (l *Log) Faults() []history.Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]history.Fault(nil), l.all...)
}

// begin records the start of a fault. The function that it returns records its end and what showed its effect, or "" if
// nothing did.
func (l *Log) begin(name string, nodes ...int) func(seen string) {
	f := history.Fault{Name: name, Nodes: nodes, From: l.now()}
	return func(seen string) {
		f.To, f.Seen = l.now(), seen
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, f)
		if seen == "" {
			seen = "NOT SEEN"
		}
		fmt.Fprintf(l.out, "%8.3fs %6.3fs  %s of %v: %s\n", f.From.Seconds(), (f.To - f.From).Seconds(), name, nodes,
			seen)
	}
}

const (
	recovery = 20 * time.Second // in which a node that was started must be ready
)

// master returns the node that is master; nil if ctx ends, or there is none within recovery.
func (b *Bed) master(ctx context.Context) *cluster.Node {
	ctx, cancel := context.WithTimeout(ctx, recovery)
	defer cancel()
	n, _, err := b.Cluster.Master(ctx)
	if err != nil {
		return nil
	}
	return n
}

// pick returns count different random nodes that are not out. Every other time the master is the first.
func (b *Bed) pick(ctx context.Context, count int) []*cluster.Node {
	var nodes []*cluster.Node
	for _, n := range b.Cluster.Nodes() {
		if !b.Out[n.ID] {
			nodes = append(nodes, n)
		}
	}
	b.Random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	if b.Random.IntN(2) == 0 {
		m := b.master(ctx)
		for i := range nodes {
			if nodes[i] == m {
				nodes[0], nodes[i] = nodes[i], nodes[0]
			}
		}
	}
	return nodes[:min(count, len(nodes))]
}

func (b *Bed) minority() int { return (len(b.Cluster.Nodes()) - 1) / 2 }

// ready waits until the nodes are ready, even beyond the end of the run.
func (b *Bed) ready(nodes ...*cluster.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	return b.Cluster.WaitReady(ctx, nodes...)
}

// between returns a random time from from to to.
func (b *Bed) between(from, to time.Duration) time.Duration {
	return from + time.Duration(b.Random.Int64N(int64(to-from)+1))
}

func ids(nodes []*cluster.Node) (out []int) {
	for _, n := range nodes {
		out = append(out, n.ID)
	}
	return out
}
