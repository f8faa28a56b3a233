package show

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// lossPlan is what the story reads of a plan.
type lossPlan struct {
	Chosen    uint64 `json:"chosen"`
	Last      uint64 `json:"last"`
	Uncertain uint64 `json:"uncertain"`
	Complete  bool   `json:"complete"`
	Confirm   string `json:"confirm"`
	Touched   []struct {
		Name string `json:"name"`
	} `json:"touched"`
}

// recoverMajority loses two of three nodes for good in mid-write, and makes a new cluster of what the third has.
func recoverMajority(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	l := writeLedger(ctx, c)
	defer l.stop()
	cluster.Pause(ctx, 2*time.Second)
	survivor, lost := c.Node(1), []*cluster.Node{c.Node(2), c.Node(3)}
	for _, n := range append(lost, survivor) {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	l.stop()
	if err := <-l.done; err != nil {
		return err
	}
	for _, n := range lost {
		if err := c.Wipe(n); err != nil {
			return err
		}
	}
	p, err := s.recover(ctx, c, survivor)
	if err != nil {
		return err
	}
	if err := survivor.Start(); err != nil {
		return err
	}
	begin := time.Now()
	if _, err := votes(ctx, c, survivor); err != nil {
		return err
	}
	if err := s.reallyLost(ctx, l, survivor, p); err != nil {
		return err
	}
	for _, n := range lost {
		c.Prepare(n, survivor, fmt.Sprint("new-", n.ID))
		if err := n.Start(); err != nil {
			return err
		}
		if _, err := votes(ctx, c, n); err != nil {
			return err
		}
	}
	s.say("%.1f s after the survivor was started the new cluster has three voters", time.Since(begin).Seconds())
	if err := s.oldClient(ctx, all); err != nil {
		return err
	}
	return same(ctx, c, "")
}

// oldClient writes with a client of the old cluster. A write that it had begun there would be refused, as one that may be
// a retry; new ones go on.
func (s *stage) oldClient(ctx context.Context, all *client.Client) error {
	once := client.WriteOptions{Once: client.Once{Key: "begun-in-the-old-cluster", Base: 1}}
	if _, err := all.Set(ctx, "after", []byte("v"), once); !errors.Is(err, client.ErrUnknown) {
		return fmt.Errorf("a write that may be a retry of one in the old cluster got %v", err)
	}
	_, err := all.Set(ctx, "after", []byte("v"), client.WriteOptions{})
	return err
}

// recover makes the plan for what the survivor has, applies it, and has the survivor go on with the new directory.
func (s *stage) recover(ctx context.Context, c *cluster.Cluster, survivor *cluster.Node) (p lossPlan, err error) {
	var plan, report bytes.Buffer
	cmd := exec.CommandContext(ctx, s.bin.Kvnode, "recover", "plan", survivor.Data)
	cmd.Stdout, cmd.Stderr = &plan, &report
	if err := cmd.Run(); err != nil {
		return p, fmt.Errorf("recover plan: %w: %s", err, report.String())
	}
	for line := range strings.Lines(report.String()) {
		if line = strings.TrimSpace(line); line != "" {
			s.say("| %s", line)
		}
	}
	if err := json.Unmarshal(plan.Bytes(), &p); err != nil {
		return p, err
	}
	file, to := filepath.Join(s.dir, "plan.json"), filepath.Join(s.dir, "recovered")
	if err := os.WriteFile(file, plan.Bytes(), 0o600); err != nil {
		return p, err
	}
	out, err := exec.CommandContext(ctx, s.bin.Kvnode, "recover", "apply", file, "--data", to, "--yes-i-lose",
		p.Confirm).CombinedOutput()
	if err != nil {
		return p, fmt.Errorf("recover apply: %w: %s", err, out)
	}
	c.Settle(survivor, to)
	return p, nil
}

// reallyLost compares what was acknowledged with what the new cluster has: the plan must not have promised more.
func (s *stage) reallyLost(ctx context.Context, l *load, survivor *cluster.Node, p lossPlan) error {
	one, err := client.New(client.Config{Endpoints: []string{survivor.Client}, Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	defer one.Close()
	problems, err := l.ledger.Check(ctx, one, "ledger/")
	if err != nil {
		return err
	}
	missing := 0
	for _, text := range problems {
		if !strings.HasSuffix(text, "was acknowledged and is lost") {
			return fmt.Errorf("the new cluster holds what nobody wrote so: %s", text)
		}
		missing++
	}
	acked, unknown, _, _ := l.ledger.Counts()
	s.say("%d writes were acknowledged and %d unknown; the plan called slots above %d uncertain; really lost: %d acknowledged "+
		"writes", acked, unknown, p.Chosen, missing)
	if p.Complete && missing > 0 {
		return fmt.Errorf("the plan said that nothing is lost, and %d acknowledged writes are", missing)
	}
	if acked < 1000 {
		return fmt.Errorf("%d writes are no load", acked)
	}
	return nil
}
