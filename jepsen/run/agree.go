package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// agreeTimeout is how long replicas may take to become the same once nobody writes.
const agreeTimeout = 15 * time.Second

// agree waits until all nodes that are not out report the same state, each on its own. Writes have ended, so the states
// must become equal.
func (b *bed) agree(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, agreeTimeout)
	defer cancel()
	for {
		states, same, err := b.states(ctx)
		if same {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("after %v without writes the replicas differ: %s %w", agreeTimeout, states, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (b *bed) states(ctx context.Context) (text string, same bool, err error) {
	var all []string
	same = true
	for _, n := range b.Cluster.Nodes() {
		if b.Out[n.ID] {
			continue
		}
		state, err := digest(ctx, b.Cluster, n)
		if err != nil {
			return strings.Join(all, "; "), false, fmt.Errorf("list all of node %d: %w", n.ID, err)
		}
		same = same && (len(all) == 0 || strings.HasSuffix(all[0], state))
		all = append(all, fmt.Sprintf("node %d: %s", n.ID, state))
	}
	return strings.Join(all, "; "), same, ctx.Err()
}

// digest returns a digest of every entry that the node has applied, and its revision.
func digest(ctx context.Context, of *cluster.Cluster, n *cluster.Node) (string, error) {
	c, err := client.New(client.Config{Endpoints: []string{of.Endpoint(n)}, TLS: of.TLS(), Token: of.Root(),
		Timeout: agreeTimeout, NoLearning: true})
	if err != nil {
		return "", err
	}
	defer c.Close()
	entries, meta, err := c.List(ctx, "", client.ListOptions{Mode: client.Stale})
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, e := range entries {
		fmt.Fprintf(h, "%q %d %d %d %d %x\n", e.Key, e.Flags, e.CreateIndex, e.ModifyIndex, e.LockIndex,
			sha256.Sum256(e.Value))
	}
	return fmt.Sprintf("revision %d, %d entries, digest %x", meta.Index, len(entries), h.Sum(nil)[:8]), nil
}
