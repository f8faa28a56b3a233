package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"tenure/jepsen/check"
	"tenure/jepsen/history"
	"tenure/jepsen/workload"
)

// Load is checked load on a cluster that somebody else runs, and does something to.
type Load struct {
	Endpoints []string
	Clients   int
	Every     time.Duration // how often each client begins an operation
	Seed      uint64
	// LongestGap is how long the cluster may acknowledge no write, 0 for as long as it likes.
	LongestGap time.Duration
	Out        io.Writer
}

const (
	loadTimeout = 10 * time.Second // of one operation
	// loadPrefix begins the keys of the load. The cluster must not have such keys.
	loadPrefix = "load"
	// checkLoad bounds the check of one register.
	checkLoad = 60 * time.Second
)

// Run drives the clients until ctx ends. Then it reads all keys, and checks what the clients saw: it must be
// linearizable, and no gap between two acknowledged writes may be longer than LongestGap.
func (l *Load) Run(ctx context.Context) error {
	cfg := workload.Config{Endpoints: l.Endpoints, Clients: l.Clients, Timeout: loadTimeout, Seed: l.Seed}
	rec := history.NewRecorder()
	if err := workload.Paced(ctx, cfg, rec, loadPrefix, l.Every); err != nil {
		return err
	}
	gap, from := longestGap(rec.Ops(), rec.Now())
	ok, failed, unknown := outcomes(rec.Ops())
	if err := workload.Final(context.WithoutCancel(ctx), cfg, rec); err != nil {
		return err
	}
	fmt.Fprintf(l.Out, "%d operations done, %d not applied, %d unknown; longest time without an acknowledged write: "+
		"%.0f ms, %.1f s after the start\n", ok, failed, unknown, milliseconds(gap), from.Seconds())
	result := check.RegisterProblems(rec.Ops(), checkLoad)
	fmt.Fprintf(l.Out, "%d operations on %d keys checked\n", result.Checked, result.Keys)
	switch {
	case len(result.Problems) > 0:
		return fmt.Errorf("%d problems, the first: %v", len(result.Problems), result.Problems[0])
	case result.Undecided > 0:
		return fmt.Errorf("%d of %d keys could not be decided", result.Undecided, result.Keys)
	case gap == 0:
		return errors.New("no two writes were acknowledged: that is no load")
	case l.LongestGap > 0 && gap > l.LongestGap:
		return fmt.Errorf("no write was acknowledged for %.0f ms, more than %v", milliseconds(gap), l.LongestGap)
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// longestGap returns the longest time between two acknowledged writes, of whichever clients, or from the last one to
// the end, and when it began. It is 0 if there are no two.
func longestGap(ops []history.Op, end time.Duration) (gap, from time.Duration) {
	var acked []time.Duration
	for _, op := range ops {
		if op.Done() {
			acked = append(acked, op.Return)
		}
	}
	if len(acked) < 2 {
		return 0, 0
	}
	slices.Sort(acked)
	acked = append(acked, end)
	for i := 1; i < len(acked); i++ {
		if d := acked[i] - acked[i-1]; d > gap {
			gap, from = d, acked[i-1]
		}
	}
	return gap, from
}

func outcomes(ops []history.Op) (ok, failed, unknown int) {
	for _, op := range ops {
		switch op.Outcome {
		case history.OK:
			ok++
		case history.Fail:
			failed++
		default:
			unknown++
		}
	}
	return ok, failed, unknown
}
