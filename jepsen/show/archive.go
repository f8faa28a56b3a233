package show

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/cluster"
)

const (
	archiveKills   = 3
	archiveReads   = 10               // revisions that are restored
	archiveBehind  = 5 * time.Second  // that the archive may be under load
	archiveNoticed = time.Minute      // within which a target that is gone shows
	archiveCatches = 30 * time.Second // within which the archive has what was written meanwhile
)

// archived has a cluster archive under load while its masters are killed and the target goes away, and restores
// revisions at which a reader has read everything.
func archived(ctx context.Context, s *stage) error {
	to := filepath.Join(s.dir, "archive")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	c, all, done, err := s.clusterAndClient(ctx, shortLeases, "--archive="+to, "--archive-full-every=1m",
		"--archive-verify-every=1m", "--archive-keep=1h")
	if err != nil {
		return err
	}
	defer done()
	if _, err := all.Set(ctx, "first", nil, client.WriteOptions{}); err != nil {
		return err
	}
	if err := archiveIs(ctx, c, comesBack, "verified",
		func(a *api.ArchiveStatus) bool { return a.Verified != nil }); err != nil {
		return err
	}
	w := readAndWrite(ctx, all)
	defer w.stop()
	err = s.killArchivers(ctx, c)
	if err == nil {
		err = s.loseTarget(ctx, c, to)
	}
	w.stop()
	if err != nil {
		return err
	}
	last, err := readEverything(ctx, all)
	if err != nil {
		return err
	}
	if err := archiveIs(ctx, c, archiveCatches, "complete", caughtUp); err != nil {
		return err
	}
	s.say("%d writes; everything was read at %d revisions", w.writes.Load(), len(w.seen))
	if len(w.seen) < archiveReads || w.writes.Load() < 1000 {
		return fmt.Errorf("that is no load")
	}
	rand.Shuffle(len(w.seen), func(i, j int) { w.seen[i], w.seen[j] = w.seen[j], w.seen[i] })
	for _, r := range append(w.seen[:archiveReads], last) {
		if err := s.restoredAt(ctx, to, r); err != nil {
			return err
		}
	}
	s.say("restored at %d random revisions and at the end: each as the reader saw it", archiveReads)
	return nil
}

// everything is all that a reader saw, and the revision at which it was so.
type everything struct {
	revision uint64
	entries  []client.Entry
}

func readEverything(ctx context.Context, all *client.Client) (everything, error) {
	entries, meta, err := all.List(ctx, "", client.ListOptions{})
	return everything{meta.Index, entries}, err
}

// archiveLoad writes few keys, and reads all of them again and again.
type archiveLoad struct {
	cancel context.CancelFunc
	group  sync.WaitGroup
	writes atomic.Int64
	seen   []everything // once it has stopped
}

func readAndWrite(ctx context.Context, all *client.Client) *archiveLoad {
	l := &archiveLoad{}
	ctx, l.cancel = context.WithCancel(ctx)
	for w := range 8 {
		l.group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("k%d/%d", w, i%20)
				var err error
				if i%7 == 6 {
					_, err = all.Delete(ctx, key, client.WriteOptions{})
				} else {
					_, err = all.Set(ctx, key, fmt.Appendf(nil, "%d of %d", i, w),
						client.WriteOptions{Flags: uint64(i)})
				}
				if err == nil {
					l.writes.Add(1)
				}
			}
		})
	}
	l.group.Go(func() {
		for ; ctx.Err() == nil; cluster.Pause(ctx, 200*time.Millisecond) {
			if r, err := readEverything(ctx, all); err == nil {
				l.seen = append(l.seen, r)
			}
		}
	})
	return l
}

func (l *archiveLoad) stop() {
	l.cancel()
	l.group.Wait()
}

// archiveIs waits until the node that archives says of the archive what cond asks for.
func archiveIs(ctx context.Context, c *cluster.Cluster, wait time.Duration, what string,
	cond func(*api.ArchiveStatus) bool) error {
	last := "no node archives"
	for end := time.Now().Add(wait); time.Now().Before(end) && ctx.Err() == nil; cluster.Pause(ctx, 20*time.Millisecond) {
		for _, n := range c.Nodes() {
			if !n.Running() {
				continue
			}
			st, err := c.Status(ctx, n)
			if err != nil || st.Archive == nil || !st.Archive.Active {
				continue
			}
			if cond(st.Archive) {
				return nil
			}
			last = fmt.Sprintf("%+v", *st.Archive)
		}
	}
	return fmt.Errorf("the archive is not %s after %v: %s", what, wait, last)
}

func caughtUp(a *api.ArchiveStatus) bool { return a.LagSlots == 0 && a.Problem == "" }

// killArchivers kills the node that archives, several times, and has another one go on.
func (s *stage) killArchivers(ctx context.Context, c *cluster.Cluster) error {
	for i := range archiveKills {
		cluster.Pause(ctx, 3*time.Second)
		m, _, err := c.Master(ctx)
		if err != nil {
			return err
		}
		if err := m.Kill(); err != nil {
			return err
		}
		began := time.Now()
		near := func(a *api.ArchiveStatus) bool { return time.Duration(a.LagMS)*time.Millisecond < archiveBehind }
		if err := archiveIs(ctx, c, archiveCatches, "taken over", near); err != nil {
			return err
		}
		s.say("kill -9 of node %d, which archived: another one goes on after %.2f s (%d of %d)", m.ID,
			time.Since(began).Seconds(),
			i+1, archiveKills)
		if err := m.Start(); err != nil {
			return err
		}
		if _, err := votes(ctx, c, m); err != nil {
			return err
		}
	}
	return nil
}

// loseTarget takes the target away under load, looks whether that shows and whether writes go on, and brings it back.
func (s *stage) loseTarget(ctx context.Context, c *cluster.Cluster, to string) error {
	if err := os.Rename(to, to+".gone"); err != nil {
		return err
	}
	began := time.Now()
	m, err := s.failing(ctx, c, archiveNoticed)
	if err != nil {
		return err
	}
	s.say("the target is gone: tenure_archive_failing is 1 on node %d after %.1f s", m.ID, time.Since(began).Seconds())
	if err := saysInLog(ctx, s, m, "archiving fails"); err != nil {
		return err
	}
	cluster.Pause(ctx, 5*time.Second)
	if lag, err := figure(ctx, m, "tenure_archive_lag_seconds"); err != nil || lag < 4 {
		return fmt.Errorf("the lag is %v s: %v", lag, err)
	}
	if err := os.Rename(to+".gone", to); err != nil {
		return err
	}
	began = time.Now()
	back := func(a *api.ArchiveStatus) bool { return a.Problem == "" && a.LagMS < 2500 }
	if err := archiveIs(ctx, c, archiveCatches, "caught up", back); err != nil {
		return err
	}
	s.say("the target is back: the archive has caught up after %.1f s", time.Since(began).Seconds())
	return nil
}

// failing waits until a node says that archiving fails.
func (s *stage) failing(ctx context.Context, c *cluster.Cluster, wait time.Duration) (*cluster.Node, error) {
	for end := time.Now().Add(wait); time.Now().Before(end) && ctx.Err() == nil; cluster.Pause(ctx, 50*time.Millisecond) {
		for _, n := range c.Nodes() {
			if f, err := figure(ctx, n, "tenure_archive_failing"); err == nil && f == 1 {
				return n, nil
			}
		}
	}
	return nil, fmt.Errorf("the target has been gone for %v, and no node shows it", wait)
}

// figure returns one of a node's metrics.
func figure(ctx context.Context, n *cluster.Node, name string) (float64, error) {
	_, text, _, err := ask(ctx, "GET", "http://"+n.Client+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("node %d has no %s", n.ID, name)
	}
	return strconv.ParseFloat(m[1], 64)
}

// restoredAt restores the archive at a revision, starts a node with that, and compares.
func (s *stage) restoredAt(ctx context.Context, from string, want everything) error {
	dir := filepath.Join(s.dir, fmt.Sprint("at-", want.revision))
	data := filepath.Join(dir, "restored")
	out, err := exec.CommandContext(ctx, s.bin.Kvnode, "restore", from, "--data", data, "--at",
		fmt.Sprint(want.revision)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("kvnode restore --at %d: %w: %s", want.revision, err, out)
	}
	if !strings.Contains(string(out), fmt.Sprintf(" at revision %d, which was reached by ", want.revision)) {
		return fmt.Errorf("kvnode restore --at %d: %s", want.revision, out)
	}
	one, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: dir, Nodes: 1, Flags: []string{shortLeases}})
	if err != nil {
		return err
	}
	defer one.Stop(2 * time.Second)
	one.Settle(one.Node(1), data)
	if err := start(ctx, one); err != nil {
		return err
	}
	all, err := connect(one, 10*time.Second)
	if err != nil {
		return err
	}
	defer all.Close()
	got, err := readEverything(ctx, all)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got.entries, want.entries) {
		a, _ := json.Marshal(want.entries)
		b, _ := json.Marshal(got.entries)
		return fmt.Errorf("at revision %d a reader saw\n%s\nand what was restored is\n%s", want.revision, a, b)
	}
	return nil
}
