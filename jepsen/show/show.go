// Package show plays the failures that people worry about on real processes, one story each, and reports whether the
// promise held. Every story checks that its fault took effect.
package show

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// Story is one failure played out.
type Story struct {
	Name string
	Says string // what it shows, in one line
	play func(context.Context, *stage) error
}

// Stories returns all stories, in the order in which Play plays them.
func Stories() []Story {
	return []Story{
		{"kill-all", "kill -9 of all nodes at once, in mid-write, ten times: nothing acknowledged is lost, nothing " +
			"applied twice", inCluster(killAll)},
		{"one-left", "one node of three left: writes and reads are refused, stale reads tell their age; service " +
			"returns by itself", inCluster(oneLeft)},
		{"pause", "the master is stopped for three lease times, twenty times, under load: every key's history stays " +
			"linearizable", pauseMaster},
		{"guardian", "kill -9 of the master, of its guardian, of both; the master stopped: only the first releases " +
			"the lease", crashRelease},
		{"stall", "the master's disk stalls for 5 s: no change of master, nothing lost, service resumes", stall},
		{"leases", "kill -9 of all nodes while a lease is held: the next owner comes soon after its end, not after " +
			"--max-lease-time", leasesRestart},
		{"stuck", "a node's disk is frozen, at elections and under the master: the healthy majority has a ready " +
			"master in time", stuck},
		{"full", "quotas of a node and of a prefix reached, small file systems full, one member of three full: 507 names " +
			"the node or the prefix, deletes heal, one full disk stops nobody else", full},
		{"lost-reply", "every third answer to a write is lost: compare-and-set counters count each write once",
			lostReply},
		{"damage", "changes in the state.db of a running node: every answer is right, or the node has ended and says " +
			"where", damage},
		{"disk-errors", "a node's disk fails in writes, syncs or reads, or is read-only: the node ends and names the " +
			"file, does not start on it, and the others go on", diskFails},
		{"rejoin", "each file in turn is damaged under load: the node refuses to start and says what to type, and " +
			"that brings it back", inCluster(rejoined, shortLeases)},
		{"differ", "a value in the state.db of a stopped node is changed, with right checksums: the others find it, " +
			"it ends and stays out, and kvnode rejoin mends it", differ},
		{"wiped", "a wiped node does not vote and says why", inCluster(wiped)},
		{"replace", "a member loses its disk under load and takes its own place by its command line: nothing " +
			"acknowledged is lost", inCluster(replaced, shortLeases)},
		{"spares", "a node killed for good is replaced by a spare, without a person; of two killed at once nobody is " +
			"removed", spares},
		{"operators", "operations whose answers are lost, two operators at once, a client whose addresses are all " +
			"dead: a clear outcome each", operators},
		{"blackhole", "a member is cut off until the others have forgotten what it lacks: it comes back by a snapshot",
			blackhole},
		{"snapshot-crash", "kill -9 of a node before, while and after it takes over a snapshot: it comes to the same " +
			"state", inCluster(snapshotCrash, shortLeases)},
		{"truncate-crash", "kill -9 of nodes while their logs are cut off: they start, and nothing acknowledged is lost",
			inCluster(truncateCrash)},
		{"recover", "two of three nodes are lost for good: the plan tells what may be lost, and a new cluster goes on",
			inCluster(recoverMajority, shortLeases)},
		{"backup", "a backup through a follower while writes run: the cluster that is made of it has every write " +
			"that was acknowledged before", backUp},
		{"backup-crash", "kill -9 of backup create and of restore at any step: what they leave is whole or nothing, " +
			"and the next run does its work", backupCrash},
		{"archive", "an archive under load, the nodes that write it killed, its target gone for a while: restored at " +
			"ten random revisions it is what a reader saw there", archived},
		{"upgrade", "from an older release node by node under load, back, forward again, and the level raised: " +
			"every key's history stays linearizable, nothing is lost, and an old node is refused", upgraded},
		{"rotation", "node by node under load, all certificates and the authority are renewed: no request is refused, and " +
			"what was renewed is good for nothing", rotated},
		{"strangers", "a node comes with every certificate that is not its own, or with none: it does not take part, " +
			"the reason is said, and with its own it does", strangers},
		{"lists", "two nodes with different lists refuse each other and show both; a list that contradicts a node's " +
			"data is refused, nothing touched", differentLists},
		{"bad-input", "bad requests, bad frames and bad configurations get a clear error and change nothing",
			inCluster(badInput)},
	}
}

// stage is what a story plays on.
type stage struct {
	dir string
	out io.Writer
	bin cluster.Binaries
}

// Play builds the node and plays the stories with these names, or all without names. dir holds data and logs.
func Play(ctx context.Context, dir string, out io.Writer, names []string) error {
	chosen, err := choose(names)
	if err != nil {
		return err
	}
	bin, err := cluster.Build(ctx, filepath.Join(dir, "bin"))
	if err != nil {
		return err
	}
	for _, s := range chosen {
		fmt.Fprintf(out, "== %s: %s\n", s.Name, s.Says)
		start := time.Now()
		if err := s.play(ctx, &stage{dir: filepath.Join(dir, s.Name), out: out, bin: bin}); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(out, "   held, %.1f s\n", time.Since(start).Seconds())
	}
	return nil
}

func choose(names []string) ([]Story, error) {
	if len(names) == 0 {
		return Stories(), nil
	}
	var out []Story
	for _, name := range names {
		found := false
		for _, s := range Stories() {
			if s.Name == name {
				out, found = append(out, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no story %q; jepsen show --list names all", name)
		}
	}
	return out, nil
}

func (s *stage) say(format string, args ...any) { fmt.Fprintf(s.out, "   "+format+"\n", args...) }

// cluster starts a cluster of three and waits until it is ready.
func (s *stage) cluster(ctx context.Context, flags ...string) (*cluster.Cluster, error) {
	return startNew(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, Flags: flags})
}

// startNew starts a new cluster and waits until it is ready.
func startNew(ctx context.Context, cfg cluster.Config) (*cluster.Cluster, error) {
	c, err := cluster.New(cfg)
	if err != nil {
		return nil, err
	}
	if err := start(ctx, c); err != nil {
		c.Stop(time.Second)
		return nil, err
	}
	return c, nil
}

// clusterAndClient is cluster, with a client of all nodes. done ends both.
func (s *stage) clusterAndClient(ctx context.Context, flags ...string) (c *cluster.Cluster, all *client.Client,
	done func(), err error) {
	return started(ctx, cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 3, Flags: flags})
}

// inCluster makes a story of one that plays in a cluster of three, with a client of all nodes.
func inCluster(play func(context.Context, *stage, *cluster.Cluster, *client.Client) error,
	flags ...string) func(context.Context, *stage) error {
	return func(ctx context.Context, s *stage) error {
		c, all, done, err := s.clusterAndClient(ctx, flags...)
		if err != nil {
			return err
		}
		defer done()
		return play(ctx, s, c, all)
	}
}

// started is clusterAndClient for any cluster.
func started(ctx context.Context, cfg cluster.Config) (c *cluster.Cluster, all *client.Client, done func(), err error) {
	if c, err = startNew(ctx, cfg); err != nil {
		return nil, nil, nil, err
	}
	if all, err = connect(c, 10*time.Second); err != nil {
		c.Stop(time.Second)
		return nil, nil, nil, err
	}
	return c, all, func() { all.Close(); c.Stop(2 * time.Second) }, nil
}

// start starts the nodes that do not run and waits until all are ready.
func start(ctx context.Context, c *cluster.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return c.Start(ctx)
}

func connect(c *cluster.Cluster, timeout time.Duration) (*client.Client, error) {
	return client.New(client.Config{Endpoints: c.Endpoints(), TLS: c.TLS(), Timeout: timeout, AttemptTimeout: timeout / 2})
}

// ask sends one HTTP request and returns the answer's status, text and header.
func ask(ctx context.Context, method, url string, body io.Reader) (int, string, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, "", nil, err
	}
	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer rsp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(rsp.Body, 1<<20))
	return rsp.StatusCode, string(text), rsp.Header, err
}
