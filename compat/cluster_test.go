package compat

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"tenure/jepsen/cluster"
)

const (
	// startFor is how long a cluster may take to be ready, and a master to be found.
	startFor = 30 * time.Second
	// soon is how long anything else may take that happens at once on a machine with time to spare.
	soon = 20 * time.Second
)

// programs is where TestMain put what it built.
var programs string

func program(name string) string { return filepath.Join(programs, name) }

func TestMain(m *testing.M) { os.Exit(main(m)) }

// main builds the programs under test. TENURE_COMPAT_BIN names a directory to keep them in; what is in it and up to
// date is not linked again.
func main(m *testing.M) int {
	programs = os.Getenv("TENURE_COMPAT_BIN")
	if programs == "" {
		dir, err := os.MkdirTemp("", "tenure-compat-")
		if err != nil {
			return broken(err)
		}
		defer os.RemoveAll(dir)
		programs = dir
	}
	for _, b := range []struct{ dir, pkg string }{
		{"..", "./cmd/kvnode"}, {"..", "./cmd/kvctl"}, {".", "./consul"},
	} {
		cmd := exec.Command("go", "build", "-o", program(filepath.Base(b.pkg)), b.pkg)
		cmd.Dir = b.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return broken(fmt.Errorf("build %s: %w\n%s", b.pkg, err, out))
		}
	}
	return m.Run()
}

func broken(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// within is a context for what should be over soon.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// start runs three nodes until the test ends, with these further flags.
func start(t *testing.T, flags ...string) *cluster.Cluster {
	t.Helper()
	return startWith(t, cluster.Config{Flags: flags})
}

// startWith is start for clusters with more than flags.
func startWith(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	c := prepare(t, cfg)
	if err := c.Start(within(t, startFor)); err != nil {
		t.Fatal(err)
	}
	return c
}

// prepare is startWith, but the nodes do not run yet.
func prepare(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	cfg.Binaries, cfg.Dir, cfg.Nodes = cluster.Binaries{Kvnode: program("kvnode")}, t.TempDir(), 3
	cfg.Flags = append(cfg.Flags, "--log-level", "warn")
	c, err := cluster.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop(soon)
		if t.Failed() {
			showLogs(t, c)
		}
	})
	return c
}

func showLogs(t *testing.T, c *cluster.Cluster) {
	for _, n := range c.Nodes() {
		log, err := os.ReadFile(n.Log)
		t.Logf("log of node %d: %v\n%s", n.ID, err, log[max(0, len(log)-4<<10):])
	}
}

// roles are the master and the other nodes, by id.
func roles(t *testing.T, c *cluster.Cluster) (master *cluster.Node, others []*cluster.Node) {
	t.Helper()
	master, _, err := c.Master(within(t, startFor))
	if err != nil {
		t.Fatal(err)
	}
	others = slices.DeleteFunc(slices.Clone(c.Nodes()), func(n *cluster.Node) bool { return n == master })
	return master, others
}

// killMaster ends the master with SIGKILL, waits until another node is, and starts the old one again.
func killMaster(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	was, _ := roles(t, c)
	if err := was.Kill(); err != nil {
		t.Fatal(err)
	}
	now, _ := roles(t, c)
	if now == was {
		t.Fatalf("node %d is master, and was killed", was.ID)
	}
	t.Logf("node %d was killed; node %d is master", was.ID, now.ID)
	if err := was.Start(); err != nil {
		t.Fatal(err)
	}
}

// dial is a client of hashicorp/consul/api that talks to node n.
func dial(t *testing.T, n *cluster.Node) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: n.Client})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until ok.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); {
		if time.Since(began) > soon {
			t.Fatalf("not so after %v", soon)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
