package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// Of the story of the frozen disks: the bound of M6 under stuckLease, and what a healthy majority may take at most to
// have a ready master. The rest is for starts of processes on a busy machine.
const (
	stuckLease  = 500 * time.Millisecond
	stuckBound  = 2 * time.Second
	stuckWithin = 2*stuckBound + 4*time.Second
	mostKills   = 20
	leastWins   = 1 // elections that the frozen node must have won
)

// stuck freezes one node's file system, at elections and under a ready master, and looks for a ready master among the
// others.
func stuck(ctx context.Context, s *stage) error {
	if err := cluster.SmallDisksAvailable(); err != nil {
		s.say("left out: %v", err)
		return nil
	}
	disks, err := cluster.NewSmallDisks(s.dir, 3, 512<<20)
	if err != nil {
		s.say("left out: a file system in a file cannot be mounted here: %v", err)
		return nil
	}
	defer func() {
		if err := disks.Close(); err != nil {
			s.say("%v", err)
		}
	}()
	if err := errors.Join(disks.Freeze(1), disks.Thaw(1)); err != nil {
		s.say("left out: no file system can be frozen here: %v", err)
		return nil
	}
	c, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, DataDir: disks.DataDir,
		Flags: []string{"--lease-time", stuckLease.String()}})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	defer func() { // a process that waits for a frozen disk cannot die
		for _, n := range c.Nodes() {
			_ = disks.Thaw(n.ID)
		}
	}()
	if err := start(ctx, c); err != nil {
		return err
	}
	if err := frozenElections(ctx, s, c, disks); err != nil {
		return fmt.Errorf("at an election: %w", err)
	}
	if err := frozenMaster(ctx, s, c, disks); err != nil {
		return fmt.Errorf("under a ready master: %w", err)
	}
	return nil
}

// frozenElections kills whichever healthy node is master, and starts it again, until the frozen one has won.
func frozenElections(ctx context.Context, s *stage, c *cluster.Cluster, disks *cluster.SmallDisks) error {
	master, _, err := c.Master(ctx)
	if err != nil {
		return err
	}
	frozen := c.Node(master.ID%3 + 1)
	if err := disks.Freeze(frozen.ID); err != nil {
		return err
	}
	kills, wins, slowest := 0, 0, time.Duration(0)
	for ; kills < mostKills && wins < leastWins; kills++ {
		cluster.Pause(ctx, stuckBound) // idle: nobody can know of the frozen disk, nor of the other's
		begin := time.Now()
		if err := master.Kill(); err != nil {
			return err
		}
		if err := master.Start(); err != nil {
			return err
		}
		next, won, err := healthyMaster(ctx, c, frozen)
		if err != nil {
			return fmt.Errorf("kill %d: %w", kills+1, err)
		}
		if won {
			wins++
		}
		if err := putsAt(ctx, next, fmt.Sprintf("election/%d", kills), "v"); err != nil {
			return fmt.Errorf("kill %d: %w", kills+1, err)
		}
		slowest, master = max(slowest, time.Since(begin)), next
	}
	st, err := c.Status(ctx, frozen)
	if err != nil {
		return fmt.Errorf("the frozen node's status: %w", err)
	}
	s.say("node %d frozen: %d kills of healthy masters, the frozen one won %d times; a healthy one served after "+
		"%.1f s at most; it says able %v, standing back %d ms, %q",
		frozen.ID, kills, wins, slowest.Seconds(), st.Able, st.StandingBackMS, st.Problem)
	if wins < leastWins {
		return fmt.Errorf("the frozen node won %d of %d elections: nothing was tested", wins, kills)
	}
	if st.Able || !strings.Contains(st.Problem, "has not answered") {
		return fmt.Errorf("the frozen node does not say what is wrong: %+v", st)
	}
	if err := disks.Thaw(frozen.ID); err != nil {
		return err
	}
	return c.WaitReady(ctx, frozen)
}

// healthyMaster waits for a ready master other than frozen, and reports whether frozen held the lease meanwhile.
func healthyMaster(ctx context.Context, c *cluster.Cluster, frozen *cluster.Node) (next *cluster.Node, won bool,
	err error) {
	for end := time.Now().Add(stuckWithin); time.Now().Before(end); cluster.Pause(ctx, 10*time.Millisecond) {
		for _, n := range c.Nodes() {
			st, err := c.Status(ctx, n)
			switch {
			case err != nil: // it has just been started
			case n == frozen:
				won = won || st.Lease.Held
			case st.Lease.Held && st.Role == "master":
				return n, won, nil
			}
		}
	}
	return nil, won,
		fmt.Errorf("no ready master among the two healthy nodes within %v (the frozen one held the lease: %v)",
			stuckWithin, won)
}

// frozenMaster freezes the master's disk under writes that fill what it may owe its disk.
func frozenMaster(ctx context.Context, s *stage, c *cluster.Cluster, disks *cluster.SmallDisks) error {
	master, epoch, err := c.Master(ctx)
	if err != nil {
		return err
	}
	if err := disks.Freeze(master.ID); err != nil {
		return err
	}
	value := strings.Repeat("x", 256<<10)
	begin, before, after := time.Now(), 0, 0
	var gap, last time.Duration
	for end := begin.Add(30 * time.Second); time.Now().Before(end) && after < 50; {
		for _, n := range c.Nodes() {
			if n == master {
				continue
			}
			if err := putsAt(ctx, n, fmt.Sprintf("frozen/%d", before+after), value); err != nil {
				cluster.Pause(ctx, 50*time.Millisecond)
				continue
			}
			gap, last = max(gap, time.Since(begin)-last), time.Since(begin)
			if st, err := c.Status(ctx, n); err == nil && st.Epoch > epoch {
				after++
			} else {
				before++
			}
		}
	}
	if after == 0 {
		return fmt.Errorf("no write succeeded under another master; %d did before", before)
	}
	st, err := c.Status(ctx, master)
	if err != nil {
		return fmt.Errorf("the frozen node's status: %w", err)
	}
	s.say("node %d frozen as master: %d writes went on under it, then %d under another; the longest time without one "+
		"was %.1f s; it says able %v, %q",
		master.ID, before, after, gap.Seconds(), st.Able, st.Problem)
	if before == 0 {
		return errors.New("no write went on while the others' votes made majorities")
	}
	if gap > stuckWithin {
		return fmt.Errorf("%.1f s without a write that succeeded, %v is the bound", gap.Seconds(), stuckWithin)
	}
	if err := disks.Thaw(master.ID); err != nil {
		return err
	}
	return c.WaitReady(ctx, c.Nodes()...)
}

// putsAt writes through one node.
func putsAt(ctx context.Context, n *cluster.Node, key, value string) error {
	cl, err := client.New(client.Config{
		Endpoints: []string{"http://" + n.Client}, Timeout: time.Second, AttemptTimeout: time.Second,
		NoLearning: true,
	})
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = cl.Set(ctx, key, []byte(value), client.WriteOptions{})
	return err
}
