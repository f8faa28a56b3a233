package alerts

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// playDiffer changes a value in the state of each of two nodes, so that all three differ.
func playDiffer(ctx context.Context, b *bed) error {
	tamper, err := cluster.BuildTamper(ctx, b.dir)
	if err != nil {
		return err
	}
	if err := b.start(ctx, cluster.Config{}, nil); err != nil {
		return err
	}
	return b.try(ctx, b.differ(tamper))
}

// differ is the fault; tamper is the program that changes a value.
func (b *bed) differ(tamper string) fault {
	damage := func(ctx context.Context) error {
		if err := b.write(ctx, "damaged-2", "damaged-3"); err != nil {
			return err
		}
		for _, n := range b.c.Nodes() {
			if err := n.Terminate(10 * time.Second); err != nil {
				return err
			}
		}
		for _, n := range b.c.Nodes()[1:] {
			out, err := exec.CommandContext(ctx, tamper, n.Data, fmt.Sprint("damaged-", n.ID)).CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
		}
		return b.c.Start(ctx)
	}
	return fault{says: "the states of all three nodes differ", alerts: []string{"TenureReplicasDiffer"},
		begin: damage, last: true}
}

// write sets keys, and waits until each node has them in its state database.
func (b *bed) write(ctx context.Context, keys ...string) error {
	c, err := b.client(0)
	if err != nil {
		return err
	}
	defer c.Close()
	var revision uint64
	for _, key := range keys {
		if revision, err = c.Set(ctx, key, []byte("value"), client.WriteOptions{}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return b.c.WaitCheckpointed(ctx, revision)
}
