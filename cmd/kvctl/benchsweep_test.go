//go:build linux

package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tenure/client/clienttest"
	"tenure/cmd/kvctl/sweep"
	"tenure/internal/freeport"
)

// testDevVariable makes the test binary play kvnode dev.
const testDevVariable = "KVCTL_TEST_DEV"

// testDev serves the API of a pretended cluster until it is interrupted.
func testDev(args []string) int {
	if os.Getenv(testDevVariable) == "broken" {
		fmt.Println("the port is in use")
		return 5
	}
	after := func(flag string) int {
		n, _ := strconv.Atoi(args[slices.Index(args, flag)+1])
		return n
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	nodes := after("--nodes")
	c := clienttest.New(nodes)
	c.AcceptPlain()
	c.SetMaster(1)
	for i := range nodes {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(after("--base-port")+i))
		go func() { fmt.Println(http.ListenAndServe(addr, c.Node(uint64(i+1)).Handler())) }()
	}
	<-interrupted
	return 0
}

// sweepLine is a short sweep: long enough that a busy machine answers something, which is all that is looked at.
func sweepLine(t *testing.T, dir, line string) []string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first, err := freeport.Run(3)
	if err != nil {
		t.Fatal(err)
	}
	common := fmt.Sprintf(" --kvnode %s --data %s --out %s/out --base-port %d --duration 400ms --warmup 0s", exe, dir, dir, first)
	return strings.Fields("bench sweep " + line + common)
}

func TestBenchSweep(t *testing.T) {
	t.Setenv(testDevVariable, "1")
	dir := t.TempDir()
	o := kvctl(t, start(t, 1), "", sweepLine(t, dir, "nodes --points 1,3 --repeat 2")...)
	if o.code != exitDone {
		t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
	name := filepath.Join(dir, "out", "nodes.json")
	want := []string{name, strings.TrimSuffix(name, ".json") + "-throughput.svg", strings.TrimSuffix(name, ".json") + "-latency.svg"}
	if got := strings.Fields(o.out); !slices.Equal(got, want) {
		t.Errorf("prints %q, want %q", got, want)
	}
	f, err := sweep.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range f.Results {
		got = append(got, fmt.Sprint(r.Op, r.Nodes))
		if r.Ops == 0 || r.Errors != 0 {
			t.Errorf("%+v", r)
		}
	}
	if want := "put1 get1 put1 get1 put3 get3 put3 get3"; strings.Join(got, " ") != want {
		t.Errorf("measured %v, want %s", got, want)
	}
	if f.Command != "kvctl bench sweep nodes --repeat 2 --duration 400ms --warmup 0s --points 1,3" {
		t.Error(f.Command)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "kvctl-bench-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	before, err := os.ReadFile(want[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(want[1]); err != nil {
		t.Fatal(err)
	}
	o = kvctl(t, start(t, 1), "", "bench", "plot", name)
	after, err := os.ReadFile(want[1])
	if o.code != exitDone || err != nil || string(before) != string(after) {
		t.Errorf("exit %d, %q, %v; or drawn again it differs", o.code, o.errOut, err)
	}
}

// A cluster that does not come up: its own words are shown, and nothing is left.
func TestBenchSweepWithoutACluster(t *testing.T) {
	t.Setenv(testDevVariable, "broken")
	dir := t.TempDir()
	o := kvctl(t, start(t, 1), "", sweepLine(t, dir, "clients --points 1")...)
	if o.code != exitFailed || !strings.Contains(o.errOut, "exit status 5") || !strings.Contains(o.errOut, "the port is in use") {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "kvctl-bench-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestBenchSweepUsage(t *testing.T) {
	c := start(t, 1)
	for _, x := range []struct{ line, err string }{
		{"bench sweep", "arg"},
		{"bench sweep moon", "clients, nodes, value-size, keys"},
		{"bench sweep keys nodes --points 1", "one series"},
		{"bench sweep nodes --points 9", "at most 7"},
		{"bench sweep clients --points 0", "1 or more"},
		{"bench sweep keys --points 900000000", "--keys"},
		{"bench sweep keys --repeat 0", "--repeat 0"},
		{"bench sweep keys --duration 0s", "--duration"},
		{"bench sweep keys --kvnode /nowhere", "--kvnode /nowhere"},
		{"bench plot", "arg"},
	} {
		o := kvctl(t, c, "", strings.Fields(x.line)...)
		if o.code != exitUsage || o.out != "" || !strings.Contains(o.errOut, x.err) {
			t.Errorf("kvctl %s: exit %d, %q, %q; want exit 2 and %q", x.line, o.code, o.out, o.errOut, x.err)
		}
	}
	if o := kvctl(t, c, "", "bench", "plot", "/nowhere.json"); o.code != exitFailed || !strings.Contains(o.errOut, "/nowhere.json") {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
}

// Without --out a sweep has a directory of its own, and none that holds results already.
func TestBenchSweepDirectory(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if a, b := newResults(at), newResults(at.Add(time.Second)); a != "kvctl-bench-20260102-030405" || a == b {
		t.Errorf("%s, %s", a, b)
	}
	cmd := newBenchSweep(newApp(nil, nil, nil, nil))
	if def := cmd.Flag("out").DefValue; def != "" {
		t.Errorf("--out is %q", def)
	}
}
