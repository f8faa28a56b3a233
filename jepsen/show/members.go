package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
	"tenure/jepsen/workload"
)

// Of the stories about members and snapshots.
const (
	comesBack = 60 * time.Second // in which a node must vote, or have what the others have
	fillValue = 64 << 10
	fillKeys  = 400 // that are written again and again: the state stays small while the log grows
)

// shortLeases keeps the stories short: a change of the voters waits until no lease of the voters before can be live.
const shortLeases = "--max-lease-time=2s"

// load is a ledger that is being written.
type load struct {
	ledger *workload.Ledger
	stop   context.CancelFunc
	done   chan error
}

// writeLedger begins to write a ledger through all nodes.
func writeLedger(ctx context.Context, c *cluster.Cluster) *load {
	l := &load{ledger: workload.NewLedger(workload.Config{Endpoints: c.Endpoints(), Clients: 16, Timeout: 5 * time.Second}),
		done: make(chan error, 1)}
	ctx, l.stop = context.WithCancel(ctx)
	go func() { l.done <- l.ledger.Write(ctx, "ledger") }()
	return l
}

// check ends the load, and looks for every write.
func (l *load) check(ctx context.Context, s *stage, reader *client.Client) error {
	l.stop()
	if err := <-l.done; err != nil {
		return err
	}
	problems, err := l.ledger.Check(ctx, reader, "ledger/")
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("%d problems, the first: %s", len(problems), problems[0])
	}
	acked, unknown, refused, slowest := l.ledger.Counts()
	s.say("%d writes acknowledged, all there, none twice; %d unknown, %d refused; the slowest took %.2f s", acked, unknown,
		refused, slowest.Seconds())
	if acked < 1000 {
		return fmt.Errorf("%d writes are no load", acked)
	}
	return nil
}

// overwrite writes so many bytes through the cluster, over few keys.
func overwrite(ctx context.Context, all *client.Client, total int) error {
	value := bytes.Repeat([]byte("fill"), fillValue/4)
	const writers = 8
	errs := make(chan error, writers)
	for w := range writers {
		go func() {
			var err error
			for i := w; i < total/fillValue && err == nil; i += writers {
				_, err = all.Set(ctx, fmt.Sprintf("fill/%d", i%fillKeys), value, client.WriteOptions{})
			}
			errs <- err
		}()
	}
	var err error
	for range writers {
		err = errors.Join(err, <-errs)
	}
	return err
}

// votes waits until a node votes, and returns its number.
func votes(ctx context.Context, c *cluster.Cluster, n *cluster.Node) (int, error) {
	var last string
	end := time.Now().Add(comesBack)
	for ; time.Now().Before(end) && ctx.Err() == nil; cluster.Pause(ctx, 20*time.Millisecond) {
		s, err := c.Status(ctx, n)
		if err == nil && s.Node != 0 && (s.Role == "master" || s.Role == "follower") {
			c.Enter(n, int(s.Node))
			return int(s.Node), nil
		}
		last = fmt.Sprint(s.Role, " ", s.Problem, " ", err)
		if !n.Running() { // a supervisor starts it again
			if err := n.Start(); err != nil {
				return 0, err
			}
		}
	}
	return 0, fmt.Errorf("the node in place %d does not vote after %v: %s; see %s", n.ID, comesBack, last, n.Log)
}

// same waits until the nodes have applied what the first of them had applied at the start of the wait, and compares what
// they hold.
func same(ctx context.Context, c *cluster.Cluster, prefix string) error {
	ctx, cancel := context.WithTimeout(ctx, comesBack)
	defer cancel()
	for {
		err := compare(ctx, c, prefix)
		if err == nil || ctx.Err() != nil {
			return err
		}
		cluster.Pause(ctx, 50*time.Millisecond)
	}
}

func compare(ctx context.Context, c *cluster.Cluster, prefix string) error {
	var first []client.Entry
	for i, n := range c.Nodes() {
		one, err := client.New(client.Config{Endpoints: []string{n.Client}, NoLearning: true})
		if err != nil {
			return err
		}
		entries, _, err := one.List(ctx, prefix, client.ListOptions{Mode: client.Stale})
		one.Close()
		switch {
		case err != nil:
			return err
		case i == 0:
			first = entries
		case len(entries) != len(first):
			return fmt.Errorf("node %d holds %d entries and node %d holds %d", n.ID, len(entries), c.Nodes()[0].ID, len(first))
		}
		for j := range entries {
			if e, f := &entries[j], &first[j]; e.Key != f.Key || e.ModifyIndex != f.ModifyIndex || !bytes.Equal(e.Value, f.Value) {
				return fmt.Errorf("node %d differs at %q", n.ID, e.Key)
			}
		}
	}
	return nil
}

// lose kills a node and deletes its data; it comes back with the command line of a container that is to take its place.
func lose(c *cluster.Cluster, n, via *cluster.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	if err := c.Wipe(n); err != nil {
		return err
	}
	c.Prepare(n, via, n.Name(), "--replace", n.Name())
	return n.Start()
}

// replaced is etcd's failpoint of a member that is replaced under load: first a follower, then the master.
func replaced(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	l := writeLedger(ctx, c)
	defer l.stop()
	for _, what := range []string{"a follower", "the master"} {
		cluster.Pause(ctx, time.Second)
		m, _, err := c.Master(ctx)
		if err != nil {
			return err
		}
		victim, via := c.Node(m.ID%3+1), m
		if what == "the master" {
			victim, via = m, victim
		}
		was, begin := victim.Member(), time.Now()
		if err := lose(c, victim, via); err != nil {
			return err
		}
		id, err := votes(ctx, c, victim)
		if err != nil {
			return err
		}
		s.say("%s, node %d, lost its disk, and voted %.1f s later as node %d", what, was, time.Since(begin).Seconds(), id)
	}
	if err := l.check(ctx, s, all); err != nil {
		return err
	}
	return same(ctx, c, "ledger/")
}

// logAtMost bounds log.db on a disk with enough space: the kept tail, and some slack.
const (
	blackholeBytes = 160 << 20
	logAtMost      = 128 << 20
)

// blackhole is etcd's failpoint of a member that is cut off until it needs a snapshot.
func blackhole(ctx context.Context, s *stage) error {
	links, err := cluster.NewProxied(3)
	if err != nil {
		return err
	}
	defer links.Close()
	c, err := startNew(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, Network: links})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	all, err := connect(c, 20*time.Second)
	if err != nil {
		return err
	}
	defer all.Close()
	m, _, err := c.Master(ctx)
	if err != nil {
		return err
	}
	victim := c.Node(m.ID%3 + 1)
	var cuts []cluster.Way
	for _, n := range c.Nodes() {
		if n != victim {
			cuts = append(cuts, cluster.Way{From: n.ID, To: victim.ID}, cluster.Way{From: victim.ID, To: n.ID})
		}
	}
	if err := links.Cut(cuts...); err != nil {
		return err
	}
	if err := overwrite(ctx, all, blackholeBytes); err != nil {
		return err
	}
	if err := smallLogs(s, c, victim, logAtMost); err != nil {
		return err
	}
	begin := time.Now()
	if err := links.Heal(); err != nil {
		return err
	}
	if err := same(ctx, c, "fill/"); err != nil {
		return err
	}
	s.say("node %d was cut off while %d MiB were written; %.1f s after the cut it has what the others have", victim.ID,
		blackholeBytes>>20, time.Since(begin).Seconds())
	return saysInLog(ctx, s, victim, "the snapshot is whole")
}

// smallLogs checks that the others' logs have at most so many bytes while a member, or nil, is away.
func smallLogs(s *stage, c *cluster.Cluster, away *cluster.Node, most int64) error {
	for _, n := range c.Nodes() {
		if n == away {
			continue
		}
		info, err := os.Stat(filepath.Join(n.Data, "log.db"))
		if err != nil {
			return err
		}
		s.say("node %d: log.db has %d MiB", n.ID, info.Size()>>20)
		if info.Size() > most {
			return fmt.Errorf("log.db of node %d has %d bytes, more than %d: it is not cut off", n.ID, info.Size(), most)
		}
	}
	return nil
}

// says reports whether the node's log, from a byte on, has a text.
func says(n *cluster.Node, from int64, text string) bool {
	return strings.Contains(n.LogFrom(from), text)
}
