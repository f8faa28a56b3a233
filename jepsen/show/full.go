package show

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	fullValueBytes = 400_000
	fullHeals      = 10 * time.Second
	mib            = 1 << 20
)

// full fills a store up to its quota, a prefix up to its own, stores on small file systems, and one member's file system
// of three.
func full(ctx context.Context, s *stage) error {
	if err := fillsAndHeals(ctx, s, "a quota of 64 MiB",
		cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "quota"), Nodes: 1,
			Flags: []string{"--quota-bytes", "64MiB"}}); err != nil {
		return err
	}
	if err := prefixFull(ctx, s); err != nil {
		return fmt.Errorf("a quota of a prefix: %w", err)
	}
	if err := cluster.SmallDisksAvailable(); err != nil {
		s.say("the rest is left out: %v", err)
		return nil
	}
	for _, size := range []int64{64, 200} {
		if err := smallDisk(ctx, s, size); err != nil {
			return err
		}
	}
	return oneMemberFull(ctx, s)
}

func smallDisk(ctx context.Context, s *stage, size int64) error {
	dir := filepath.Join(s.dir, fmt.Sprintf("fs%d", size))
	disks, err := cluster.NewSmallDisks(dir, 1, size*mib)
	if err != nil {
		return err
	}
	err = fillsAndHeals(ctx, s, fmt.Sprintf("a file system of %d MiB", size),
		cluster.Config{Binaries: s.bin, Dir: dir, Nodes: 1, DataDir: disks.DataDir})
	return errors.Join(err, disks.Close())
}

// fillsAndHeals writes until there is no space, deletes everything, and writes again; twice.
func fillsAndHeals(ctx context.Context, s *stage, what string, cfg cluster.Config) error {
	c, to, done, err := started(ctx, cfg)
	if err != nil {
		return err
	}
	defer done()
	for range 2 {
		n, err := fill(ctx, to)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		for i := range n {
			if _, err := to.Delete(ctx, fmt.Sprintf("full/%d", i), client.WriteOptions{}); err != nil {
				return fmt.Errorf("%s: delete %d of %d: %w", what, i, n, err)
			}
		}
		begin := time.Now()
		for {
			_, err := to.Set(ctx, "full/again", make([]byte, fullValueBytes), client.WriteOptions{})
			if err == nil {
				break
			}
			if time.Since(begin) > fullHeals || !c.Node(1).Running() {
				return fmt.Errorf("%s: %v after everything was deleted: %w", what, fullHeals, err)
			}
			cluster.Pause(ctx, 50*time.Millisecond)
		}
		s.say("%s: %d values of %d bytes, then 507; all deleted by the Go client, and writes go on %.2f s later", what,
			n, fullValueBytes,
			time.Since(begin).Seconds())
	}
	return nil
}

// fill writes until the store refuses for want of space, and names the node.
func fill(ctx context.Context, to *client.Client) (n int, err error) {
	value := make([]byte, fullValueBytes)
	for ; n < 10_000; n++ {
		rand.Read(value)
		_, err := to.Set(ctx, fmt.Sprintf("full/%d", n), value, client.WriteOptions{})
		if errors.Is(err, client.ErrNoSpace) {
			if !strings.Contains(err.Error(), "node 1 ") {
				return n, fmt.Errorf("the refusal does not name the node: %w", err)
			}
			return n, nil
		}
		if err != nil {
			return n, fmt.Errorf("write %d: %w", n, err)
		}
	}
	return n, errors.New("it was never full")
}

// oneMemberFull fills the file system of the master of three: writes, deletes and renewals go on, under another master,
// and a session outlives it. Once there is space again the member catches up.
func oneMemberFull(ctx context.Context, s *stage) error {
	dir := filepath.Join(s.dir, "three")
	disks, err := cluster.NewSmallDisks(dir, 3, 160*mib)
	if err != nil {
		return err
	}
	err = func() error {
		c, err := startNew(ctx, cluster.Config{Binaries: s.bin, Dir: dir, Nodes: 3, DataDir: disks.DataDir})
		if err != nil {
			return err
		}
		defer c.Stop(2 * time.Second)
		return fullMember(ctx, s, c, disks)
	}()
	return errors.Join(err, disks.Close())
}

func fullMember(ctx context.Context, s *stage, c *cluster.Cluster, disks *cluster.SmallDisks) error {
	to, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer to.Close()
	victim, _, err := c.Master(ctx)
	if err != nil {
		return err
	}
	if err := disks.Fill(victim.ID, 0); err != nil {
		return err
	}
	named := func() bool {
		st, err := c.Status(ctx, victim)
		return err == nil && len(st.Full) == 1 && st.Full[0] == uint64(victim.ID) && st.Problem != ""
	}
	for end := time.Now().Add(5 * time.Second); !named(); cluster.Pause(ctx, 20*time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("node %d has no space and does not say so", victim.ID)
		}
	}
	var slowest time.Duration
	value := bytes.Repeat([]byte("x"), 50_000)
	for i := range 200 {
		begin := time.Now()
		key := fmt.Sprintf("member/%d", i%20)
		if _, err := to.Set(ctx, key, value, client.WriteOptions{}); err != nil {
			return fmt.Errorf("write %d with node %d full: %w", i, victim.ID, err)
		}
		if _, err := to.Delete(ctx, key, client.WriteOptions{}); err != nil {
			return fmt.Errorf("delete %d with node %d full: %w", i, victim.ID, err)
		}
		slowest = max(slowest, time.Since(begin))
	}
	master, _, err := c.Master(ctx)
	if err != nil {
		return err
	}
	if master == victim {
		return fmt.Errorf("node %d has no space and stays master", victim.ID)
	}
	code, text, _, err := ask(ctx, http.MethodGet, c.Endpoints()[master.ID-1]+"/health/ready", nil)
	if err != nil || code != http.StatusOK || !strings.Contains(text, fmt.Sprintf("node %d ", victim.ID)) {
		return fmt.Errorf("readiness of the master does not name the full node: %d %q %v", code, text, err)
	}
	if err := disks.Free(victim.ID); err != nil {
		return err
	}
	begin := time.Now()
	if err := c.WaitReady(ctx, victim); err != nil {
		return fmt.Errorf("with space again: %w", err)
	}
	s.say("the file system of node %d, the master, was full: node %d took over, 400 writes and deletes went on, the "+
		"slowest pair took %.2f s; with space again it had caught up after %.2f s",
		victim.ID, master.ID, slowest.Seconds(), time.Since(begin).Seconds())
	return nil
}
