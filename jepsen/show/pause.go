package show

import (
	"context"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"tenure/jepsen/check"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/workload"
)

const (
	pauseTrials = 20
	leaseTime   = 500 * time.Millisecond
)

func pauseMaster(ctx context.Context, s *stage) error {
	c, err := s.cluster(ctx, "--lease-time", leaseTime.String())
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	loading, enough := context.WithCancel(ctx)
	defer enough()
	rec := history.NewRecorder()
	done := make(chan error, 1)
	go func() {
		done <- workload.Registers(loading,
			workload.Config{Endpoints: c.Endpoints(), Clients: 20, Timeout: 2 * time.Second, Seed: 1}, rec)
	}()
	changes := 0
	for trial := range pauseTrials {
		waiting, cancel := context.WithTimeout(ctx, 10*time.Second)
		m, epoch, err := c.Master(waiting)
		if err == nil {
			err = m.Pause()
		}
		if err != nil {
			cancel()
			return fmt.Errorf("trial %d: %w", trial, err)
		}
		cluster.Pause(ctx, 3*leaseTime)
		_, next, err := c.Master(waiting)
		cancel()
		if err != nil {
			return fmt.Errorf("trial %d: nobody took over from the paused master: %w", trial, err)
		}
		if next > epoch {
			changes++
		}
		if err := m.Resume(); err != nil {
			return err
		}
		cluster.Pause(ctx, leaseTime)
	}
	enough()
	if err := <-done; err != nil {
		return err
	}
	ops := rec.Ops()
	verdicts := check.Registers(ops, 30*time.Second)
	for _, v := range verdicts {
		if v.Result != porcupine.Ok {
			return fmt.Errorf("the history of key %s: %v", v.Key, v.Result)
		}
	}
	s.say("%d pauses, %d changes of master, %d operations, %d keys, all linearizable", pauseTrials, changes, len(ops),
		len(verdicts))
	if changes < pauseTrials || len(ops) < 50*pauseTrials {
		return fmt.Errorf("%d changes of master and %d operations: the pauses did not take effect", changes, len(ops))
	}
	return nil
}
