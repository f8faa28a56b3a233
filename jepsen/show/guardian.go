package show

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	guardedLease  = 3 * time.Second // so long that a crash with and one without a guardian cannot be confused
	guardedTrials = 5
)

// crashRelease is P7 on real processes.
func crashRelease(ctx context.Context, s *stage) error {
	c, err := s.cluster(ctx, "--lease-time", guardedLease.String())
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	for _, part := range []func(context.Context, *stage, *cluster.Cluster) error{killServers, killGuardian, killBoth,
		pauseServer} {
		if err := whole(ctx, c); err != nil {
			return err
		}
		if err := part(ctx, s, c); err != nil {
			return err
		}
	}
	return nil
}

// whole starts what does not run, and waits until no node is silent (A4) any more: one that is gives no vote.
func whole(ctx context.Context, c *cluster.Cluster) error {
	if err := start(ctx, c); err != nil {
		return err
	}
	for _, n := range c.Nodes() {
		for {
			st, err := c.Status(ctx, n)
			if err != nil {
				return err
			}
			if st.Lease.QuarantineMS == 0 {
				break
			}
			cluster.Pause(ctx, time.Duration(st.Lease.QuarantineMS)*time.Millisecond)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// killServers: the guardian of each master that is killed has the lease released.
func killServers(ctx context.Context, s *stage, c *cluster.Cluster) error {
	var gaps []time.Duration
	released := uint64(0)
	for range guardedTrials {
		if err := whole(ctx, c); err != nil {
			return err
		}
		gap, n, err := afterEnd(ctx, c, func(m *cluster.Node, _ int) error { return m.Kill() })
		if err != nil {
			return err
		}
		gaps, released = append(gaps, gap), released+n
	}
	slices.Sort(gaps)
	s.say("kill -9 of the server, %d times: the next write was acknowledged after %v (median; %v to %v), with a "+
		"lease of %v; %d records released",
		guardedTrials, ms(gaps[guardedTrials/2]), ms(gaps[0]), ms(gaps[guardedTrials-1]), guardedLease, released)
	if gaps[guardedTrials/2] > guardedLease/3 || released < guardedTrials {
		return fmt.Errorf("the guardians did not release: %v, %d records", gaps, released)
	}
	return nil
}

// killGuardian: nothing happens but that it is started again.
func killGuardian(ctx context.Context, s *stage, c *cluster.Cluster) error {
	m, epoch, err := c.Master(ctx)
	if err != nil {
		return err
	}
	old, err := guardianOf(ctx, c, m)
	if err != nil {
		return err
	}
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the guardian: %w", err)
	}
	if err := staysMaster(ctx, c, m, epoch, guardedLease); err != nil {
		return err
	}
	now, err := guardianOf(ctx, c, m)
	if err != nil {
		return err
	}
	if now == old {
		return fmt.Errorf("the guardian of node %d is process %d as before: it was not killed", m.ID, old)
	}
	s.say("kill -9 of the guardian: node %d stayed master of epoch %d for %v, and its guardian is process %d now", m.ID,
		epoch, guardedLease, now)
	return nil
}

// killBoth: nobody is left to say anything, and the lease runs out.
func killBoth(ctx context.Context, s *stage, c *cluster.Cluster) error {
	gap, released, err := afterEnd(ctx, c, func(m *cluster.Node, guardian int) error {
		if err := m.Pause(); err != nil { // it could start another guardian
			return err
		}
		if err := syscall.Kill(guardian, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill the guardian: %w", err)
		}
		return m.Kill()
	})
	if err != nil {
		return err
	}
	s.say("kill -9 of both: the next write was acknowledged after %v, when the lease had run out; %d records released",
		ms(gap), released)
	if gap < guardedLease/3 || released > 0 {
		return fmt.Errorf("somebody released the lease: %v, %d records", gap, released)
	}
	return nil
}

// pauseServer: a server that does not answer is not dead, and its guardian says nothing.
func pauseServer(ctx context.Context, s *stage, c *cluster.Cluster) error {
	var master *cluster.Node
	gap, released, err := afterEnd(ctx, c, func(m *cluster.Node, _ int) error { master = m; return m.Pause() })
	if err != nil {
		return err
	}
	if err := master.Resume(); err != nil {
		return err
	}
	s.say("the server stopped (SIGSTOP): the next write was acknowledged after %v, when the lease had run out; %d "+
		"records released", ms(gap), released)
	if gap < guardedLease/3 || released > 0 {
		return fmt.Errorf("the guardian spoke for a server that lives: %v, %d records", gap, released)
	}
	return nil
}

// afterEnd does something to the master, and tells how long it took from there to the next write that another node
// acknowledged, and how many lease records the others have released meanwhile.
func afterEnd(ctx context.Context, c *cluster.Cluster, end func(m *cluster.Node, guardian int) error) (time.Duration,
	uint64, error) {
	m, epoch, err := c.Master(ctx)
	if err != nil {
		return 0, 0, err
	}
	guardian, err := guardianOf(ctx, c, m)
	if err != nil {
		return 0, 0, err
	}
	var others []string
	for _, n := range c.Nodes() {
		if n != m {
			others = append(others, "http://"+n.Client)
		}
	}
	w, err := client.New(client.Config{
		Endpoints: others, Timeout: 5 * guardedLease, AttemptTimeout: time.Second, NoLearning: true,
	})
	if err != nil {
		return 0, 0, err
	}
	defer w.Close()
	if _, err := w.Set(ctx, "k", []byte("before"), client.WriteOptions{}); err != nil {
		return 0, 0, err
	}
	before, err := releasedBy(ctx, c, m)
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := end(m, guardian); err != nil {
		return 0, 0, err
	}
	if _, err := w.Set(ctx, "k", []byte("after"), client.WriteOptions{}); err != nil {
		return 0, 0, fmt.Errorf("nobody took over: %w", err)
	}
	gap := time.Since(begin)
	after, err := releasedBy(ctx, c, m)
	if err != nil {
		return 0, 0, err
	}
	if _, next, err := c.Master(ctx); err != nil || next <= epoch {
		return 0, 0, fmt.Errorf("epoch %d after epoch %d: nobody took over: %w", next, epoch, err)
	}
	return gap, after - before, nil
}

// guardianOf waits for a node's guardian.
func guardianOf(ctx context.Context, c *cluster.Cluster, n *cluster.Node) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		st, err := c.Status(ctx, n)
		if err == nil && st.Guardian.PID != 0 {
			return st.Guardian.PID, nil
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("node %d has no guardian: %s %w", n.ID, st.Guardian.Problem, err)
		}
		cluster.Pause(ctx, 10*time.Millisecond)
	}
}

// releasedBy counts the records that all nodes but one have released on the report of guardians.
func releasedBy(ctx context.Context, c *cluster.Cluster, but *cluster.Node) (sum uint64, err error) {
	for _, n := range c.Nodes() {
		if n == but {
			continue
		}
		st, err := c.Status(ctx, n)
		if err != nil {
			return 0, err
		}
		sum += st.Guardian.ReleasedHere
	}
	return sum, nil
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
