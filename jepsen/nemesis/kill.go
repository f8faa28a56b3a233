// Package nemesis does to a running cluster what machines and networks do to real ones.
package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tenure/jepsen/cluster"
)

// Report says what a nemesis did and what came of it; a run that saw too little of it has tested nothing.
type Report struct {
	Faults  int      // that were seen to take effect
	Masters int      // changes of master that followed
	Events  []string // one line each, with the time since the start
}

// Kill kills random nodes with SIGKILL, at most a minority at a time, and starts them again. About every other time
// it is the master. It ends with all nodes running.
func Kill(ctx context.Context, c *cluster.Cluster, random *rand.Rand) (Report, error) {
	var r Report
	start := time.Now()
	note := func(format string, args ...any) {
		r.Events = append(r.Events, fmt.Sprintf("%7.3fs ", time.Since(start).Seconds())+fmt.Sprintf(format, args...))
	}
	minority := (len(c.Nodes()) - 1) / 2
	for ctx.Err() == nil {
		victims, err := pick(ctx, c, random, 1+random.IntN(minority))
		if err != nil {
			break
		}
		before, epoch, err := c.Master(ctx)
		if err != nil {
			break
		}
		for _, n := range victims {
			if err := n.Kill(); err != nil {
				return r, err
			}
			r.Faults++
			note("killed node %d", n.ID)
		}
		if after, now, err := c.Master(ctx); err == nil && now != epoch {
			r.Masters++
			note("node %d is master after node %d, epoch %d", after.ID, before.ID, now)
		}
		pause(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
		for _, n := range victims {
			if err := n.Start(); err != nil {
				return r, err
			}
			note("started node %d", n.ID)
		}
		pause(ctx, time.Duration(200+random.IntN(1500))*time.Millisecond)
	}
	return r, nil
}

// pick chooses count different nodes; every other time the master is the first of them.
func pick(ctx context.Context, c *cluster.Cluster, random *rand.Rand, count int) ([]*cluster.Node, error) {
	nodes := append([]*cluster.Node(nil), c.Nodes()...)
	random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	if random.IntN(2) == 0 {
		m, _, err := c.Master(ctx)
		if err != nil {
			return nil, err
		}
		for i := range nodes {
			if nodes[i] == m {
				nodes[0], nodes[i] = nodes[i], nodes[0]
			}
		}
	}
	return nodes[:count], nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
