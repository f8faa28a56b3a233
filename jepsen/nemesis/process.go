package nemesis

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"tenure/jepsen/cluster"
)

const ms = time.Millisecond

// kill ends random nodes with SIGKILL, at most a minority at a time, and starts them again.
func kill(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		victims := b.pick(ctx, 1+b.Random.IntN(b.minority()))
		end := b.Log.begin("kill", ids(victims)...)
		for _, n := range victims {
			if err := n.Kill(); err != nil {
				return err
			}
		}
		cluster.Pause(ctx, b.between(300*ms, 2000*ms))
		end(gone(victims))
		for _, n := range victims {
			if err := n.Start(); err != nil {
				return err
			}
		}
		cluster.Pause(ctx, b.between(200*ms, 1500*ms))
	}
	return nil
}

func gone(nodes []*cluster.Node) string {
	for _, n := range nodes {
		if n.Running() {
			return ""
		}
	}
	return "gone"
}

// killAll ends all nodes at once.
func killAll(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		nodes := b.Cluster.Nodes()
		end := b.Log.begin("kill-all", ids(nodes)...)
		errs := make([]error, len(nodes))
		var wg sync.WaitGroup
		for i, n := range nodes {
			wg.Go(func() { errs[i] = n.Kill() })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return err
			}
		}
		cluster.Pause(ctx, b.between(0, 500*ms))
		end(gone(nodes))
		for _, n := range nodes {
			if err := n.Start(); err != nil {
				return err
			}
		}
		if err := b.ready(nodes...); err != nil {
			return fmt.Errorf("after a kill of all nodes: %w", err)
		}
		cluster.Pause(ctx, b.between(500*ms, 1500*ms))
	}
	return nil
}

// pauses stops nodes with SIGSTOP, at most a minority at a time, for one to five lease times.
func pauses(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		victims := b.pick(ctx, 1+b.Random.IntN(b.minority()))
		end := b.Log.begin("pause", ids(victims)...)
		for _, n := range victims {
			if err := n.Pause(); err != nil {
				return err
			}
		}
		cluster.Pause(ctx, b.between(500*ms, 2500*ms))
		seen := "the kernel shows them stopped"
		for _, n := range victims {
			if !stopped(n.PID()) {
				seen = ""
			}
			if err := n.Resume(); err != nil {
				return err
			}
		}
		end(seen)
		cluster.Pause(ctx, b.between(300*ms, 1200*ms))
	}
	return nil
}

// stopped tells whether the process is in state T.
func stopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	s := string(text)
	return strings.HasPrefix(strings.TrimSpace(s[strings.LastIndexByte(s, ')')+1:]), "T")
}

// rolling restarts one node after the other with SIGTERM, as for a new version. Each must leave in order.
func rolling(ctx context.Context, b *Bed) error {
	for ctx.Err() == nil {
		for _, n := range b.Cluster.Nodes() {
			if ctx.Err() != nil {
				break
			}
			end := b.Log.begin("restart", n.ID)
			if err := n.Terminate(10 * time.Second); err != nil {
				return fmt.Errorf("node %d, asked to end: %w", n.ID, err)
			}
			end("it ended with status 0")
			if err := n.Start(); err != nil {
				return err
			}
			if err := b.ready(n); err != nil {
				return fmt.Errorf("after a restart: %w", err)
			}
			cluster.Pause(ctx, b.between(300*ms, 800*ms))
		}
	}
	return nil
}
