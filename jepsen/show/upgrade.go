package show

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/check"
	"tenure/jepsen/cluster"
	"tenure/jepsen/history"
	"tenure/jepsen/workload"
)

// upgrade is the story of an upgrade from an older release.
type upgrade struct {
	*stage
	c        *cluster.Cluster
	old      string // kvnode of the older release
	oldKvctl string
	kvctl    string // of now
	// raisedAbove is a slot that a node had applied before the level was raised.
	raisedAbove uint64
}

// olderLevel is the feature level that the older release knows.
const olderLevel = 0

// upgraded goes from an older release to this one and back, under load.
func upgraded(ctx context.Context, s *stage) error {
	u, bin := &upgrade{stage: s}, filepath.Join(s.dir, "bin")
	var err error
	if u.kvctl, err = cluster.BuildKvctl(ctx, bin); err != nil {
		return err
	}
	if u.old, u.oldKvctl, err = cluster.BuildOlder(ctx, bin); err != nil {
		return err
	}
	return u.play(ctx)
}

// upgradeSteps is how the nodes of three go from the old program to the new one and back. Each is one node.
var upgradeSteps = []struct {
	node int
	new  bool
}{{1, true}, {2, true}, {3, true}, {3, false}, {1, false}, {2, false}, {2, true}, {3, true}, {1, true}}

func (u *upgrade) play(ctx context.Context) error {
	c, err := cluster.New(cluster.Config{Binaries: cluster.Binaries{Kvnode: u.old}, Dir: u.dir, Nodes: 3,
		Flags: []string{shortLeases}})
	if err != nil {
		return err
	}
	u.c = c
	defer c.Stop(2 * time.Second)
	if err := start(ctx, c); err != nil {
		return err
	}
	all, err := connect(c, 10*time.Second)
	if err != nil {
		return err
	}
	defer all.Close()
	load := writeLedger(ctx, c)
	defer load.stop()
	keys := u.drive(ctx)
	defer keys.stop()
	for i, step := range upgradeSteps {
		if i == 4 { // two new nodes, one old
			if out, err := u.runSoon(ctx, u.kvctl, u.c.Node(2).Client, "master", "transfer", "--to", "3"); err != nil {
				return fmt.Errorf("the old node does not become master: %w: %s", err, out)
			}
			if err := u.finish(ctx, "knows no feature level above"); err != nil {
				return err
			}
		}
		if err := u.change(ctx, c.Node(step.node), step.new); err != nil {
			return err
		}
		if err := u.checkpoint(ctx, all, c.Node(step.node)); err != nil {
			return err
		}
	}
	before, err := c.Status(ctx, c.Node(2))
	if err != nil {
		return err
	}
	u.raisedAbove = before.Applied
	if err := u.finish(ctx, ""); err != nil {
		return err
	}
	cluster.Pause(ctx, time.Second)
	if err := load.check(ctx, u.stage, all); err != nil {
		return err
	}
	if err := keys.check(u.stage); err != nil {
		return err
	}
	if err := same(ctx, c, "ledger/"); err != nil {
		return err
	}
	return u.refusesOld(ctx, all)
}

// registers is the workload of shared keys, whose history is checked.
type registers struct {
	rec  *history.Recorder
	stop context.CancelFunc
	done chan error
}

func (u *upgrade) drive(ctx context.Context) *registers {
	r := &registers{rec: history.NewRecorder(), done: make(chan error, 1)}
	ctx, r.stop = context.WithCancel(ctx)
	cfg := workload.Config{Endpoints: u.c.Endpoints(), Clients: 12, Timeout: 5 * time.Second, Seed: 1}
	go func() { r.done <- workload.Registers(ctx, cfg, r.rec) }()
	return r
}

// upgradeCheck bounds the check of one key's history.
const upgradeCheck = 30 * time.Second

// check ends the workload, and looks for a history of a key that is not linearizable.
func (r *registers) check(s *stage) error {
	r.stop()
	if err := <-r.done; err != nil {
		return err
	}
	found := check.RegisterProblems(r.rec.Ops(), upgradeCheck)
	s.say("%d operations on %d keys: %d problems, %d keys undecided", found.Checked, found.Keys, len(found.Problems),
		found.Undecided)
	switch {
	case len(found.Problems) > 0:
		return fmt.Errorf("not linearizable: %s", found.Problems[0].Reason)
	case found.Undecided > 0 || found.Checked < 1000:
		return fmt.Errorf("%d operations checked and %d keys undecided prove nothing", found.Checked, found.Undecided)
	}
	return nil
}

// change restarts a node with the other program, once all nodes answer about leases: with two silent ones of three
// nobody could renew the master's.
func (u *upgrade) change(ctx context.Context, n *cluster.Node, toNew bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, x := range u.c.Nodes() {
		for {
			s, err := u.c.Status(ctx, x)
			if err == nil && s.Lease.QuarantineMS == 0 {
				break
			}
			if ctx.Err() != nil {
				return fmt.Errorf("node %d is silent about leases for too long", x.ID)
			}
			cluster.Pause(ctx, 20*time.Millisecond)
		}
	}
	binary, name := u.old, "the older release"
	if toNew {
		binary, name = u.bin.Kvnode, "this release"
	}
	began := time.Now()
	if err := n.Terminate(10 * time.Second); err != nil {
		return fmt.Errorf("node %d does not stop in order: %w", n.ID, err)
	}
	n.Run(binary)
	if err := start(ctx, u.c); err != nil {
		return err
	}
	u.say("node %d runs %s, ready after %.1f s", n.ID, name, time.Since(began).Seconds())
	if err := u.asks(ctx); err != nil {
		return err
	}
	cluster.Pause(ctx, 500*time.Millisecond)
	return nil
}

// checkpointBytes is more than a node keeps in memory before it writes a checkpoint.
const checkpointBytes = 20 << 20

// checkpoint has a node write its state database, which the next program reads.
func (u *upgrade) checkpoint(ctx context.Context, all *client.Client, n *cluster.Node) error {
	before, err := u.c.Status(ctx, n)
	if err != nil {
		return err
	}
	if err := overwrite(ctx, all, checkpointBytes); err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); cluster.Pause(ctx, 20*time.Millisecond) {
		if s, err := u.c.Status(ctx, n); err == nil && s.Checkpointed > before.Applied {
			return nil
		}
	}
	return fmt.Errorf("node %d has written no checkpoint since slot %d", n.ID, before.Applied)
}

// asks has kvctl of both releases write and read through every node.
func (u *upgrade) asks(ctx context.Context) error {
	for i, program := range []string{u.oldKvctl, u.kvctl} {
		for _, n := range u.c.Nodes() {
			key := fmt.Sprintf("asked/%d/%d", i, n.ID)
			for _, args := range [][]string{{"set", key, "v"}, {"get", key}, {"status"}} {
				if out, err := u.runSoon(ctx, program, n.Client, args...); err != nil {
					return fmt.Errorf("%s %s of node %d: %w: %s", filepath.Base(program),
						strings.Join(args, " "), n.ID, err, out)
				}
			}
		}
	}
	return nil
}

// runSoon is run, again for a while if it fails: the master may have changed just now.
func (u *upgrade) runSoon(ctx context.Context, program, endpoint string, args ...string) (out string, err error) {
	for range 50 {
		if out, err = u.run(ctx, program, endpoint, args...); err == nil {
			break
		}
		cluster.Pause(ctx, 100*time.Millisecond)
	}
	return out, err
}

func (u *upgrade) run(ctx context.Context, program, endpoint string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program,
		append([]string{"--endpoints", endpoint}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// finish asks node 2, which runs this release then, to raise the level, or is refused with a text that says why.
func (u *upgrade) finish(ctx context.Context, refused string) error {
	var out string
	var err error
	for range 50 { // a member that was restarted just now may not have been heard yet
		out, err = u.run(ctx, u.kvctl, u.c.Node(2).Client, "upgrade", "finish")
		if (err == nil) == (refused == "") && strings.Contains(out, refused) || strings.Contains(out, "unknown") {
			break
		}
		cluster.Pause(ctx, 100*time.Millisecond)
	}
	u.say("kvctl upgrade finish: %s", out)
	if (err == nil) != (refused == "") || !strings.Contains(out, refused) {
		return fmt.Errorf("kvctl upgrade finish: %w, %q", err, out)
	}
	for _, n := range u.c.Nodes() {
		s, err := u.c.Status(ctx, n)
		if err != nil {
			return err
		}
		if raised := s.FeatureLevel > olderLevel; raised && refused != "" {
			return fmt.Errorf("node %d is at level %d although that was refused", n.ID, s.FeatureLevel)
		}
	}
	return nil
}

// refusesOld starts the old program on a node's directory of the new level, and then the new one again.
func (u *upgrade) refusesOld(ctx context.Context, all *client.Client) error {
	n := u.c.Node(2)
	for end := time.Now().Add(10 * time.Second); ; cluster.Pause(ctx, 50*time.Millisecond) {
		s, err := u.c.Status(ctx, n)
		if err == nil && s.FeatureLevel > olderLevel && s.Checkpointed > u.raisedAbove {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("node %d has no checkpoint of the new level: %+v, %w", n.ID, s, err)
		}
	}
	if err := n.Terminate(10 * time.Second); err != nil {
		return err
	}
	n.Run(u.old)
	if err := n.Start(); err != nil {
		return err
	}
	if err := n.Wait(10 * time.Second); err == nil || strings.Contains(err.Error(), "still runs") {
		return fmt.Errorf("an old node runs on a directory of the new level: %w", err)
	}
	if err := saysInLog(ctx, u.stage, n, "feature level is 1", "knows up to level 0"); err != nil {
		return err
	}
	n.Run(u.bin.Kvnode)
	if err := start(ctx, u.c); err != nil {
		return fmt.Errorf("the node does not start again with the release it has had: %w", err)
	}
	_, err := all.Set(ctx, "after", []byte("v"), client.WriteOptions{})
	return err
}
