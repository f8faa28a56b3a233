package show

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	crashState   = fillKeys * fillValue // that the snapshot carries
	crashRounds  = 2                    // of every moment
	crashWait    = 20 * time.Second
	truncateFor  = 20 * time.Second
	leastKills   = 8
	leastWritten = 100 << 20
)

// moment is when a node that receives a snapshot is killed.
type moment struct {
	name string
	is   func(n *cluster.Node, from int64) bool // from is where its log was when it was started
}

var moments = []moment{
	{"while the snapshot comes", func(n *cluster.Node, _ int64) bool { return receives(n, 1) }},
	{"when most of it is there", func(n *cluster.Node, _ int64) bool { return receives(n, crashState/4) }},
	{"before it is applied", func(n *cluster.Node, from int64) bool { return says(n, from, "the snapshot is whole") }},
	{"after it was applied", func(n *cluster.Node, from int64) bool {
		return says(n, from, "the snapshot is whole") && !receives(n, 0)
	}},
}

// receives reports whether the file of a snapshot on its way has so many bytes at least.
func receives(n *cluster.Node, bytes int64) bool {
	info, err := os.Stat(filepath.Join(n.Data, "state.db.receiving"))
	return err == nil && info.Size() >= bytes
}

// snapshotCrash is etcd's failpoints before and after a snapshot is applied.
func snapshotCrash(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	if err := overwrite(ctx, all, blackholeBytes); err != nil { // more than the logs keep
		return err
	}
	victim, via := c.Node(3), c.Node(1)
	for _, m := range moments {
		met := 0
		for range crashRounds {
			hit, err := crashAt(ctx, c, victim, via, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			if hit {
				met++
			}
		}
		s.say("killed %s: %d times of %d; each time it came to the same state", m.name, met, crashRounds)
		if met == 0 {
			return fmt.Errorf("no kill came %s", m.name)
		}
	}
	return nil
}

// crashAt has a node lose its disk, kills it at a moment of its return, and has it come back. hit is false if it was
// back before.
func crashAt(ctx context.Context, c *cluster.Cluster, n, via *cluster.Node, m moment) (hit bool, err error) {
	from := n.LogSize()
	if err := lose(c, n, via); err != nil {
		return false, err
	}
	for end := time.Now().Add(crashWait); !hit && time.Now().Before(end); cluster.Pause(ctx, time.Millisecond) {
		if hit = m.is(n, from); hit {
			if err := n.Kill(); err != nil {
				return false, err
			}
			if err := n.Start(); err != nil {
				return false, err
			}
		} else if s, err := c.Status(ctx, n); err == nil && s.Node != 0 && s.Role == "follower" {
			break
		}
	}
	if _, err := votes(ctx, c, n); err != nil {
		return hit, err
	}
	return hit, same(ctx, c, "fill/")
}

// truncateCrash kills nodes while so much is written that their logs are cut off all the time.
func truncateCrash(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	l := writeLedger(ctx, c)
	defer l.stop()
	filling, enough := context.WithCancel(ctx)
	defer enough()
	written, filled := 0, make(chan struct{})
	go func() {
		defer close(filled)
		for filling.Err() == nil {
			if overwrite(filling, all, 4<<20) == nil { // a kill makes some of it fail
				written += 4 << 20
			}
		}
	}()
	kills := 0
	for end := time.Now().Add(truncateFor); time.Now().Before(end); kills++ {
		n := c.Node(1 + rand.IntN(3))
		cluster.Pause(ctx, time.Duration(200+rand.IntN(1000))*time.Millisecond)
		if err := n.Kill(); err != nil {
			return err
		}
		if err := n.Start(); err != nil {
			return err
		}
		if err := c.WaitReady(ctx, n); err != nil {
			return err
		}
	}
	enough()
	<-filled
	if err := l.check(ctx, s, all); err != nil {
		return err
	}
	if err := same(ctx, c, ""); err != nil {
		return err
	}
	s.say("%d kills while %d MiB were written", kills, written>>20)
	if kills < leastKills || written < leastWritten {
		return fmt.Errorf("%d kills and %d bytes are too little to have met a truncation", kills, written)
	}
	// A node that is killed in the middle of a checkpoint keeps the log for the next one. All that is written is more.
	return smallLogs(s, c, nil, crashLogAtMost)
}

// crashLogAtMost is what log.db may grow to while nodes are killed again and again.
const crashLogAtMost = 512 << 20
