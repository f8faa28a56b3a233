package nemesis

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"tenure/internal/faultfs"
	"tenure/jepsen/cluster"
)

const (
	smallDiskBytes = 160 << 20 // of a node in the run with full disks; its reserve is an eighth
	noticeFailure  = 10 * time.Second
	healRefusal    = 10 * time.Second
)

// fullDisk takes the space away from one node at a time, now below the reserve, now all of it. Writes may be refused,
// or the node may end; once there is space again it must serve by itself, or after a start.
func fullDisk(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		n := b.pick(ctx, 1)[0]
		leave := b.Random.Int64N(12 << 20)
		if b.Random.IntN(2) == 0 {
			leave = 0
		}
		end := b.Log.begin("full-disk", n.ID)
		if err := b.Small.Fill(n.ID, leave); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(1500*ms, 3000*ms))
		seen := ""
		if !n.Running() {
			seen = "the node ended"
		} else if s, err := b.Cluster.Status(context.Background(), n); err == nil && s.Problem != "" {
			seen = fmt.Sprintf("%d bytes free: %s", s.Disk.FreeBytes, s.Problem)
		}
		if err := b.Small.Free(n.ID); err != nil {
			return err
		}
		end(seen)
		if !n.Running() {
			if err := n.Start(); err != nil {
				return err
			}
		}
		if err := b.healed(n); err != nil {
			return err
		}
		cluster.Pause(ctx, b.between(500*ms, 1000*ms))
	}
	return nil
}

// healed waits until a node with space on its disk is ready and has no complaint.
func (b *Bed) healed(n *cluster.Node) error {
	if err := b.ready(n); err != nil {
		return fmt.Errorf("with space on its disk again: %w", err)
	}
	problem := ""
	for end := time.Now().Add(healRefusal); time.Now().Before(end); time.Sleep(20 * ms) {
		s, err := b.Cluster.Status(context.Background(), n)
		if err == nil && s.Problem == "" {
			return nil
		}
		problem = fmt.Sprint(s.Problem, err)
	}
	return fmt.Errorf("node %d has had space for %v and still says: %s", n.ID, healRefusal, problem)
}

// failingSync makes every sync of one node fail. The node cannot know what is durable then, so it must end; unsynced
// data may be gone when it starts again.
func failingSync(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		n := b.pick(ctx, 1)[0]
		fs := b.Faulty[n.ID-1]
		before := fs.Counts().Failed[faultfs.Sync]
		end := b.Log.begin("failing-sync", n.ID)
		fs.SetError(faultfs.Sync, syscall.EIO)
		ended := waitUntil(noticeFailure, func() bool { return !n.Running() })
		failed := fs.Counts().Failed[faultfs.Sync] - before
		fs.SetError(faultfs.Sync, 0)
		if failed == 0 {
			end("") // the node had nothing to sync
			continue
		}
		if !ended {
			return fmt.Errorf("node %d went on for %v after %d syncs had failed", n.ID, noticeFailure, failed)
		}
		lost, err := fs.Crash(b.loss())
		if err != nil {
			return err
		}
		end(fmt.Sprintf("%d syncs failed, the node ended, %d pages lost", failed, lost))
		if err := n.Start(); err != nil {
			return err
		}
		if err := b.ready(n); err != nil {
			return fmt.Errorf("after failed syncs: %w", err)
		}
		cluster.Pause(ctx, b.between(500*ms, 1500*ms))
	}
	return nil
}

func (b *Bed) loss() faultfs.Loss {
	return faultfs.Loss{Seed: b.Random.Uint64(), Keep: []float64{0, 0.5, 0.9}[b.Random.IntN(3)],
		Torn: b.Random.IntN(2) == 0}
}

// lyingSync gives one node of the cluster, always the same one, a disk that reports syncs without doing them, and then
// loses the unsynced data. Every promise rests on disks that do not lie, and a node that forgets a vote can make a
// quorum forget a write, so not everything can hold. The others must keep everything that they have among them. The
// forgetful node must either find a fault and stay out, or catch up. Therefore it comes back only after the others have
// a master that recovered without it.
func lyingSync(ctx context.Context, b *Bed) error {
	n := b.Cluster.Node(1 + b.Random.IntN(len(b.Cluster.Nodes())))
	fs := b.Faulty[n.ID-1]
	for ctx.Err() == nil && !b.Out[n.ID] {
		end := b.Log.begin("lying-sync", n.ID)
		fs.LieAboutSync(true)
		cluster.Pause(ctx, b.between(1000*ms, 3000*ms))
		if err := n.Kill(); err != nil {
			return fmt.Errorf("node %d, whose disk lied but lost nothing yet: %w", n.ID, err)
		}
		if err := b.othersAgree(n); err != nil {
			return err
		}
		lost, err := fs.Crash(b.loss())
		if err != nil {
			return err
		}
		fs.LieAboutSync(false)
		if err := n.Start(); err != nil {
			return err
		}
		seen := ""
		if lost > 0 {
			seen = fmt.Sprintf("%d pages lost that were reported synced; ", lost)
		}
		if err := b.ready(n); err != nil {
			b.Out[n.ID] = true
			end(seen + "the node stays out: " + why(n, err))
			break
		}
		end(seen + "the node caught up")
		cluster.Pause(ctx, b.between(500*ms, 1500*ms))
	}
	<-ctx.Done()
	return nil
}

// othersAgree waits until the nodes but one have a ready master among them, and have applied all that any of them
// knows to be chosen at that time.
func (b *Bed) othersAgree(out *cluster.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), recovery)
	defer cancel()
	// A mastership that begins with this node down has recovered from the others' promises alone. The old one may go
	// on if the node was a follower; then what it had acknowledged is with the master and is sent to the others.
	if _, _, err := b.Cluster.Master(ctx); err != nil {
		return fmt.Errorf("without node %d: %w", out.ID, err)
	}
	var goal uint64
	for _, n := range b.Cluster.Nodes() {
		if n == out {
			continue
		}
		s, err := b.Cluster.Status(ctx, n)
		if err != nil {
			return err
		}
		goal = max(goal, s.Chosen, s.Applied)
	}
	for _, n := range b.Cluster.Nodes() {
		if n == out {
			continue
		}
		if !waitUntil(recovery, func() bool {
			s, err := b.Cluster.Status(ctx, n)
			return err == nil && s.Applied >= goal
		}) {
			return fmt.Errorf("node %d did not come to slot %d without node %d", n.ID, goal, out.ID)
		}
	}
	return nil
}

func waitUntil(d time.Duration, done func() bool) bool {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * ms) {
		if done() {
			return true
		}
	}
	return done()
}
