package damage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tenure/jepsen/cluster"
)

// makeReceived makes the files of a node that has received a complete snapshot and was killed before it installed it.
// In a round its peers do not run, so nobody can send it the state again.
func makeReceived(ctx context.Context, bin cluster.Binaries, dir string) (*template, error) {
	c, err := cluster.New(cluster.Config{Binaries: bin, Dir: dir, Nodes: 3, Flags: nodeFlags})
	if err != nil {
		return nil, err
	}
	defer c.Stop(time.Second)
	t := &template{node: c.Node(3), want: map[string]string{}}
	started, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := c.Start(started); err != nil {
		return nil, err
	}
	if err := t.node.Kill(); err != nil {
		return nil, err
	}
	if err := t.overwrite(ctx, newClient(c.Node(1))); err != nil {
		return nil, err
	}
	if err := t.node.Start(); err != nil {
		return nil, err
	}
	if err := t.killReceived(ctx); err != nil {
		return nil, err
	}
	c.Stop(time.Second)
	if err := t.keep(); err != nil {
		return nil, err
	}
	return t, t.measure(ctx)
}

// overwrite writes more than the logs keep for a node that is down, so that the node needs a snapshot.
func (t *template) overwrite(ctx context.Context, w *client) error {
	for i := range smallKeys {
		key, value := fmt.Sprintf("small/%04d", i), text(i, 300)
		t.want[key] = value
		if err := w.fill(ctx, key, value); err != nil {
			return err
		}
	}
	for range 4 {
		for i := range largeKeys {
			key, value := fmt.Sprintf("large/%04d", i), text(i, largeBytes)
			t.want[key] = value
			if err := w.fill(ctx, key, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// measure starts the node once, undamaged, and checks that it has everything that was written. The slot that it has
// applied then is the one that it must reach in each round.
func (t *template) measure(ctx context.Context) error {
	if err := t.node.Start(); err != nil {
		return err
	}
	c := newClient(t.node)
	defer c.close()
	if up, err := c.answers(ctx, t.node, 1, func() bool { return false }); err != nil || !up {
		return errors.Join(err, fmt.Errorf("the node did not start on a snapshot: %s", t.node.LogFrom(0)))
	}
	for end := time.Now().Add(10 * time.Second); ; cluster.Pause(ctx, 100*time.Millisecond) {
		right, wrong := c.ask(ctx, rand.New(rand.NewPCG(1, 1)), &state{want: t.want})
		if wrong == nil && right == len(t.want) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("undamaged, %d of %d answers are right: %w", right, len(t.want), wrong)
		}
	}
	status, err := c.status(ctx)
	if err != nil {
		return err
	}
	t.applied = status.Applied
	return t.node.Kill()
}

// killReceived kills the node as soon as it has received a snapshot.
func (t *template) killReceived(ctx context.Context) error {
	received := filepath.Join(t.node.Data, receivedName)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); cluster.Pause(ctx, 200*time.Microsecond) {
		if _, err := os.Stat(received); err != nil {
			continue
		}
		if err := t.node.Kill(); err != nil {
			return err
		}
		_, err := os.Stat(received)
		return err
	}
	return errors.New("no snapshot was received")
}
