package show

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// rejoined damages one file after the other, each of another node, under load, and types what the node says when it
// refuses to start.
func rejoined(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	l := writeLedger(ctx, c)
	defer l.stop()
	cluster.Pause(ctx, time.Second)
	for i, file := range []string{"state.db", "log.db", "journal", "state.sums"} {
		n := c.Node(i%3 + 1)
		begin := time.Now()
		said, err := refuses(n, file)
		if err != nil {
			return err
		}
		if err := typed(n, said); err != nil {
			return err
		}
		id, err := votes(ctx, c, n)
		if err != nil {
			return fmt.Errorf("%s: %w", said, err)
		}
		if err := n.Terminate(10 * time.Second); err != nil {
			return err
		}
		c.Settle(n, n.Data) // without rejoin from then on
		if err := n.Start(); err != nil {
			return err
		}
		if err := c.WaitReady(ctx, n); err != nil {
			return err
		}
		s.say("%s of node %d was damaged: %.1f s later it voted as node %d, by what it had said", file, n.ID,
			time.Since(begin).Seconds(), id)
	}
	if err := l.check(ctx, s, all); err != nil {
		return err
	}
	return same(ctx, c, "ledger/")
}

// refuses damages a file of a node that is killed, and returns its last words.
func refuses(n *cluster.Node, file string) (string, error) {
	if err := n.Kill(); err != nil {
		return "", err
	}
	if err := spoilSums(filepath.Join(n.Data, file)); err != nil {
		return "", err
	}
	from := n.LogSize()
	if err := n.Start(); err != nil {
		return "", err
	}
	if err := n.Wait(20 * time.Second); err == nil || n.Running() {
		return "", errors.Join(fmt.Errorf("node %d runs on a damaged %s", n.ID, file), err)
	}
	last := cluster.LastWords(n.LogFrom(from))
	if !strings.Contains(last, filepath.Join(n.Data, file)) {
		return "", fmt.Errorf("node %d does not name %s: %s", n.ID, file, last)
	}
	return last, nil
}

// spoilSums inverts a bit in each of many bytes of a file, from the second page on: a file of checksums, and what is
// longer, has some of them in use.
func spoilSums(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for off := 4096; off < min(len(b), 64<<10); off += 4 {
		b[off] ^= 1
	}
	_, err = f.WriteAt(b, 0)
	return err
}

// typed has the node's next start be what follows the colon of a line: kvnode and its arguments.
func typed(n *cluster.Node, line string) error {
	_, command, ok := strings.Cut(line, "from the other members: kvnode ")
	if !ok {
		return fmt.Errorf("node %d does not say what to type: %s", n.ID, line)
	}
	n.Args = strings.Fields(command)
	return n.Start()
}
