package show

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// backUp makes a backup through a follower while writes run, and makes a new cluster of it beside what is left of the
// old one.
func backUp(ctx context.Context, s *stage) error {
	kvctl, err := cluster.BuildKvctl(ctx, filepath.Join(s.dir, "bin"))
	if err != nil {
		return err
	}
	c, all, done, err := s.clusterAndClient(ctx, shortLeases)
	if err != nil {
		return err
	}
	defer done()
	e, err := plantEstate(ctx, c, all)
	if err != nil {
		return err
	}
	l := writeLedger(ctx, c)
	defer l.stop()
	cluster.Pause(ctx, 2*time.Second)
	file := filepath.Join(s.dir, "backup")
	before := l.ledger.Acknowledged()
	begin := time.Now()
	for _, args := range [][]string{{"create", file}, {"verify", file, "--restore"}} {
		out, err := exec.CommandContext(ctx, kvctl, append([]string{"--endpoints", c.Node(2).Client, "backup"}, args...)...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("kvctl backup %s: %w: %s", args[0], err, out)
		}
		s.say("kvctl backup %s: %.2f s: %s", args[0], time.Since(begin).Seconds(), strings.Join(strings.Fields(string(out)), " "))
	}
	cluster.Pause(ctx, time.Second)
	l.stop()
	if err := <-l.done; err != nil {
		return err
	}
	newest, err := all.Revision(ctx)
	if err != nil {
		return err
	}
	if err := s.restored(ctx, c, file); err != nil {
		return err
	}
	if err := s.hasAll(ctx, c, &e, l, before, newest); err != nil {
		return err
	}
	if err := s.joinAnew(ctx, c); err != nil {
		return err
	}
	if err := same(ctx, c, ""); err != nil {
		return err
	}
	return s.bySnapshot(ctx, c, &e)
}

// bySnapshot ends the node that was restored: what the others have came to them by a snapshot.
func (s *stage) bySnapshot(ctx context.Context, c *cluster.Cluster, e *estate) error {
	for _, n := range []*cluster.Node{c.Node(2), c.Node(3)} {
		if err := saysInLog(ctx, s, n, "the snapshot is whole"); err != nil {
			return err
		}
	}
	if err := c.Node(1).Kill(); err != nil {
		return err
	}
	two, err := client.New(client.Config{Endpoints: []string{c.Node(2).Client, c.Node(3).Client}, Timeout: comesBack,
		NoLearning: true})
	if err != nil {
		return err
	}
	defer two.Close()
	if err := e.unchanged(ctx, two); err != nil {
		return fmt.Errorf("by a snapshot: %w", err)
	}
	s.say("keys, flags, locks, sessions, quotas and fences are the same at the two nodes that got them by a snapshot")
	return nil
}

// restored has the node in place 1 go on with a new cluster, at its old address, while the others of the old one run.
func (s *stage) restored(ctx context.Context, c *cluster.Cluster, file string) error {
	one := c.Node(1)
	old, err := c.Status(ctx, one)
	if err != nil {
		return err
	}
	if err := one.Kill(); err != nil {
		return err
	}
	to := filepath.Join(s.dir, "restored")
	out, err := exec.CommandContext(ctx, s.bin.Kvnode, "restore", file, "--data", to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kvnode restore: %w: %s", err, out)
	}
	s.say("%s", strings.TrimSpace(string(out)))
	c.Settle(one, to)
	if err := one.Start(); err != nil {
		return err
	}
	if _, err := votes(ctx, c, one); err != nil {
		return err
	}
	cluster.Pause(ctx, time.Second) // in which an old node could come
	now, err := c.Status(ctx, one)
	if err != nil {
		return err
	}
	two, err := c.Status(ctx, c.Node(2))
	if err != nil {
		return err
	}
	if now.Cluster == old.Cluster || two.Cluster != old.Cluster || len(now.Peers) != 0 {
		return fmt.Errorf("the old cluster is %s: the node that was restored is of %s, with %d peers, and node 2 of %s",
			old.Cluster, now.Cluster, len(now.Peers), two.Cluster)
	}
	return nil
}

// hasAll compares node 1, the new cluster, with the writes acknowledged before the backup began. newest is a revision
// that the old cluster had reached.
func (s *stage) hasAll(ctx context.Context, c *cluster.Cluster, e *estate, l *load, before map[string]uint64,
	newest uint64) error {
	one, err := client.New(client.Config{Endpoints: []string{c.Node(1).Client}, Timeout: 20 * time.Second,
		NoLearning: true})
	if err != nil {
		return err
	}
	defer one.Close()
	entries, _, err := one.List(ctx, "ledger/", client.ListOptions{})
	if err != nil {
		return err
	}
	found := map[string]client.Entry{}
	for _, e := range entries {
		found[e.Key] = e
	}
	for key, revision := range before {
		if e, ok := found[key]; !ok || e.ModifyIndex != revision {
			return fmt.Errorf("%s was acknowledged at %d before the backup, and is at %d there", key, revision, e.ModifyIndex)
		}
	}
	problems, err := l.ledger.Check(ctx, one, "ledger/")
	if err != nil {
		return err
	}
	for _, text := range problems {
		if !strings.HasSuffix(text, "was acknowledged and is lost") { // after the backup
			return fmt.Errorf("the new cluster holds what nobody wrote so: %s", text)
		}
	}
	acked, _, _, _ := l.ledger.Counts()
	s.say("all %d writes that were acknowledged before the backup are there, and %d of the %d that came later", len(before),
		len(entries)-len(before), acked-len(before))
	if len(before) < 1000 || acked <= len(before) {
		return fmt.Errorf("%d and %d writes are no load", len(before), acked)
	}
	if err := e.unchanged(ctx, one); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	if err := e.surpassed(ctx, one, c); err != nil {
		return err
	}
	s.say("keys, flags, locks, sessions, quotas and fences are the same; token and epoch are above those of the old " +
		"cluster")
	revision, err := one.Set(ctx, "new", nil, client.WriteOptions{})
	if err == nil && revision < newest+1<<39 {
		err = fmt.Errorf("the first write is at %d, the old cluster had reached %d", revision, newest)
	}
	return err
}

// joinAnew has the old nodes join the new cluster with empty directories.
func (s *stage) joinAnew(ctx context.Context, c *cluster.Cluster) error {
	for _, n := range []*cluster.Node{c.Node(2), c.Node(3)} {
		if err := n.Kill(); err != nil {
			return err
		}
		if err := c.Wipe(n); err != nil {
			return err
		}
		c.Prepare(n, c.Node(1), fmt.Sprint("new-", n.ID))
		if err := n.Start(); err != nil {
			return err
		}
		if _, err := votes(ctx, c, n); err != nil {
			return err
		}
	}
	return nil
}
