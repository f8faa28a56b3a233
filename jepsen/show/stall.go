package show

import (
	"context"
	"fmt"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
)

const stallFor = 5 * time.Second

func stall(ctx context.Context, s *stage) error {
	if err := faultfs.Available(); err != nil {
		s.say("left out: %v", err)
		return nil
	}
	disks, dataDir, unmount, err := cluster.FaultyDisks(s.dir, 3)
	if err != nil {
		return err
	}
	defer func() { _ = unmount() }() // what cannot be unmounted fails nothing
	c, err := startNew(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, DataDir: dataDir})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	ledger := workload.NewLedger(workload.Config{Endpoints: c.Endpoints(), Clients: 16, Timeout: 20 * time.Second})
	writing, enough := context.WithCancel(ctx)
	defer enough()
	done := make(chan error, 1)
	go func() { done <- ledger.Write(writing, "ledger") }()
	cluster.Pause(ctx, time.Second)
	master, epoch, err := c.Master(ctx)
	if err != nil {
		return err
	}
	before, _, _, _ := ledger.Counts()
	disks[master.ID-1].Stall(stallFor)
	if err := staysMaster(ctx, c, master, epoch, stallFor+time.Second); err != nil {
		return err
	}
	enough()
	if err := <-done; err != nil {
		return err
	}
	waited := disks[master.ID-1].Counts().Waited
	reader, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer reader.Close()
	problems, err := ledger.Check(ctx, reader, "ledger/")
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems, the first: %s", len(problems), problems[0])
	}
	acked, unknown, _, slowest := ledger.Counts()
	s.say("node %d stayed master of epoch %d through a stall of %v (%d disk operations waited); %d writes "+
		"acknowledged before it, %d in all, %d unknown; the slowest took %.1f s",
		master.ID, epoch, stallFor, waited, before, acked, unknown, slowest.Seconds())
	if waited == 0 || acked <= before {
		return fmt.Errorf("the stall took no effect, or service did not resume")
	}
	return nil
}

// staysMaster watches for d that the node holds the lease in the same epoch.
func staysMaster(ctx context.Context, c *cluster.Cluster, n *cluster.Node, epoch uint64, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); cluster.Pause(ctx, 20*time.Millisecond) {
		st, err := c.Status(ctx, n)
		if err != nil {
			return fmt.Errorf("the master's status does not answer: %w", err)
		}
		if !st.Lease.Held || st.Epoch != epoch {
			return fmt.Errorf("node %d lost mastership of epoch %d: %+v", n.ID, epoch, st)
		}
	}
	return nil
}
