package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// agree compares the whole state of all nodes that are not out, each by its own word, once they have applied the same
// writes. Nobody writes any more.
func (b *bed) agree(ctx context.Context) error {
	goal := uint64(0)
	for _, n := range b.Cluster.Nodes() {
		if s, err := b.Cluster.Status(ctx, n); err == nil && !b.Out[n.ID] {
			goal = max(goal, s.Revision)
		}
	}
	first := ""
	for _, n := range b.Cluster.Nodes() {
		if b.Out[n.ID] {
			continue
		}
		for {
			s, err := b.Cluster.Status(ctx, n)
			if err == nil && s.Revision == goal {
				break
			}
			if ctx.Err() != nil || (err == nil && s.Revision > goal) {
				return fmt.Errorf("node %d is at revision %d and not at %d, %v", n.ID, s.Revision, goal, err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		sum, err := digest(ctx, n)
		if err != nil {
			return fmt.Errorf("list all of node %d: %w", n.ID, err)
		}
		if first == "" {
			first = sum
		}
		if sum != first {
			return fmt.Errorf("replicas differ at revision %d: node %d has %s, one before it %s", goal, n.ID, sum, first)
		}
	}
	return nil
}

// digest is of every entry that the node has applied.
func digest(ctx context.Context, n *cluster.Node) (string, error) {
	c, err := client.New(client.Config{Endpoints: []string{n.Client}, Timeout: finalTimeout})
	if err != nil {
		return "", err
	}
	defer c.Close()
	entries, _, err := c.List(ctx, "", client.ListOptions{Mode: client.Stale})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q %d %d %d %d %x\n", e.Key, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex, sha256.Sum256(e.Value))
	}
	return fmt.Sprintf("%d entries %x", len(entries), h.Sum(nil)[:8]), nil
}
