package show

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
)

const killAllTrials = 10

func killAll(ctx context.Context, s *stage, c *cluster.Cluster, reader *client.Client) error {
	ledger := workload.NewLedger(workload.Config{Endpoints: c.Endpoints(), Clients: 16, Timeout: 3 * time.Second})
	for trial := range killAllTrials {
		writing, enough := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- ledger.Write(writing, fmt.Sprintf("ledger/%d", trial)) }()
		cluster.Pause(ctx, time.Duration(300+rand.IntN(500))*time.Millisecond)
		var wg sync.WaitGroup
		for _, n := range c.Nodes() {
			wg.Go(func() { _ = n.Kill() })
		}
		wg.Wait()
		enough()
		if err := start(ctx, c); err != nil {
			return err
		}
		if err := <-done; err != nil {
			return err
		}
		problems, err := ledger.Check(ctx, reader, "ledger/")
		if err != nil {
			return err
		}
		if len(problems) > 0 {
			return fmt.Errorf("after kill %d of all nodes: %d problems, the first: %s", trial+1, len(problems),
				problems[0])
		}
	}
	acked, unknown, refused, slowest := ledger.Counts()
	s.say("%d kills of all three; %d writes acknowledged, all there, none twice; %d unknown, %d refused; the slowest "+
		"took %.1f s, across a kill",
		killAllTrials, acked, unknown, refused, slowest.Seconds())
	if acked < 100*killAllTrials || slowest < 300*time.Millisecond {
		return fmt.Errorf("%d acknowledged writes, the slowest of %v: the kills did not come in mid-write", acked,
			slowest)
	}
	return nil
}
