//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/client/clienttest"
	"tenure/internal/devcluster"
	"tenure/internal/freeport"
	"tenure/internal/process"
)

// testNodeVariable makes the test binary play a node; its value is the id of the master.
const testNodeVariable = "TENURE_TEST_NODE"

// joinedVariable is the id that a pretended node gets which joins.
const joinedVariable = "TENURE_TEST_JOINED"

// testNode serves the API of a pretended node until it is killed. Its arguments are: id, data directory, address; or
// those of a node that joins.
func testNode(args []string) int {
	nodes := 3
	if args[0] == "--join" {
		fmt.Println("joins with", args)
		nodes, _ = strconv.Atoi(os.Getenv(joinedVariable))
		i := slices.Index(args, "--data")
		if err := os.Mkdir(args[i+1], 0o700); err != nil {
			fmt.Println(err)
			return 1
		}
		args = []string{strconv.Itoa(nodes), args[i+1], args[i+3]}
	}
	id, _ := strconv.ParseUint(args[0], 10, 64)
	if _, err := os.Stat(filepath.Join(args[1], "broken")); err == nil {
		fmt.Println("the data directory is broken")
		return 4
	}
	master, _ := strconv.ParseUint(os.Getenv(testNodeVariable), 10, 64)
	c := clienttest.New(nodes)
	c.SetMaster(master)
	l, err := net.Listen("tcp", args[2])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("serving", args[2])
	if os.Getenv(headlessVariable) != "" {
		go func() { fmt.Println(http.Serve(l, c.Node(id).Handler())) }()
		_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread alone
	}
	fmt.Println(http.Serve(l, c.Node(id).Handler()))
	return 1
}

// headlessVariable makes a pretended node serve while its first thread has ended: so does a killed one for a while, if
// its other threads wait for a processor.
const headlessVariable = "TENURE_TEST_HEADLESS"

func init() {
	if os.Getenv(headlessVariable) != "" {
		runtime.LockOSThread() // the first thread stays the main goroutine's
	}
}

// devCluster is a directory with dev.json and no node running.
type devCluster struct {
	t     *testing.T
	dir   string
	state devcluster.State
}

func newDevCluster(t *testing.T, master int) *devCluster {
	t.Helper()
	t.Setenv(testNodeVariable, strconv.Itoa(master))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &devCluster{t: t, dir: t.TempDir(), state: devcluster.State{Version: 1, Binary: exe}}
	port, err := freeport.Run(3)
	if err != nil {
		t.Fatal(err)
	}
	for id := 1; id <= 3; id++ {
		addr := freeport.Address(port + id - 1)
		n := devcluster.Node{ID: id, Client: addr, Peer: "127.0.0.1:1",
			Data: filepath.Join(d.dir, fmt.Sprintf("node%d", id))}
		n.Log = n.Data + ".log"
		n.Args = []string{strconv.Itoa(id), n.Data, addr}
		if err := os.Mkdir(n.Data, 0o700); err != nil {
			t.Fatal(err)
		}
		d.state.Nodes = append(d.state.Nodes, n)
	}
	d.write()
	t.Cleanup(func() {
		for _, n := range d.read().Nodes {
			if n.PID > 0 && process.Look(&d.state, n) != process.Gone {
				_ = syscall.Kill(n.PID, syscall.SIGKILL)
			}
		}
	})
	return d
}

func (d *devCluster) write() {
	d.t.Helper()
	b, err := json.Marshal(d.state)
	if err == nil {
		err = os.WriteFile(filepath.Join(d.dir, devcluster.StateName), b, 0o600)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *devCluster) read() *devcluster.State {
	d.t.Helper()
	s, err := devcluster.Read(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *devCluster) run(args ...string) outcome {
	d.t.Helper()
	var out, errOut strings.Builder
	code := run(d.t.Context(), append([]string{"dev", "--data", d.dir}, args...), nil, nil, &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// outcomeOf is that of a whole command line.
func outcomeOf(d *devCluster, args ...string) outcome {
	var out, errOut strings.Builder
	code := run(d.t.Context(), args, nil, nil, &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

func (d *devCluster) want(code int, text string, args ...string) {
	d.t.Helper()
	if o := d.run(args...); o.code != code || !strings.Contains(o.out+o.errOut, text) {
		d.t.Fatalf("kvctl dev %s: exit %d, %q, %q; want exit %d and %q", strings.Join(args, " "), o.code, o.out,
			o.errOut, code, text)
	}
}

func (d *devCluster) states() string {
	d.t.Helper()
	o := d.run("status", "--json")
	if o.code != 0 {
		d.t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
	var words []string
	for _, n := range decode[[]devStatusJSON](d.t, o.out) {
		words = append(words, strings.TrimSpace(n.State+" "+n.Role))
	}
	return strings.Join(words, ", ")
}

func TestDev(t *testing.T) {
	d := newDevCluster(t, 2)
	if got := d.states(); got != "not running, not running, not running" {
		t.Fatal(got)
	}
	d.want(1, "not running", "kill", "1")
	d.want(1, "no node in", "master")
	d.want(0, "started, clients on", "start", "1", "2", "3")
	d.want(1, "running already", "start", "2")
	if got := d.states(); got != "running follower, running master, running follower" {
		t.Fatal(got)
	}
	d.want(0, "2\n", "master")
	d.want(0, "paused", "pause", "3")
	if got := d.states(); got != "running follower, running master, paused" {
		t.Fatal(got)
	}
	d.want(1, "paused already", "start", "3")
	if o := d.run("resume", "all"); o.code != 0 || !strings.Contains(o.out, "resumed") || strings.Count(o.out, "\n") != 1 {
		t.Fatalf("resume all: exit %d, %q", o.code, o.out)
	}
	d.want(0, "was not paused", "resume", "3")
	before := d.read().Nodes[1].PID
	d.want(0, fmt.Sprintf("node 2 (pid %d) killed", before), "kill", "master")
	if got := d.states(); got != "running follower, not running, running follower" || d.read().Nodes[1].PID != 0 {
		t.Fatal(got, d.read().Nodes[1].PID)
	}
	d.want(0, "node 2", "start", "2")
	log, err := os.ReadFile(d.state.Nodes[1].Log)
	if err != nil || strings.Count(string(log), "serving") != 2 {
		t.Fatalf("the log of both runs: %q, %v", log, err)
	}
	o := d.run("status")
	if o.code != 0 || !strings.Contains(o.out, "running  master") {
		t.Fatalf("exit %d\n%s", o.code, o.out)
	}
	d.want(2, "there is no node 9", "kill", "1", "9")
	if got := d.states(); got != "running follower, running master, running follower" {
		t.Fatalf("a command with a wrong number has done a part: %s", got)
	}
	d.want(2, "is not a node", "kill", "slave")
}

// TestDevStartWaitsForTheEnd: a process that looks gone may hold its port and its data for a while.
func TestDevStartWaitsForTheEnd(t *testing.T) {
	d := newDevCluster(t, 2)
	t.Setenv(headlessVariable, "1")
	d.want(0, "started, clients on", "start", "2")
	t.Setenv(headlessVariable, "")
	n := d.read().Nodes[1]
	for process.Look(d.read(), n) != process.Ending {
		time.Sleep(time.Millisecond)
	}
	if got := d.states(); got != "not running, ending, not running" {
		t.Fatal(got)
	}
	d.want(1, "still ending: its ports and its data are not free yet", "start", "2", "--timeout", "100ms")
	time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(n.PID, syscall.SIGKILL) })
	d.want(0, "started, clients on", "start", "2")
}

func TestDevStartOfABrokenNode(t *testing.T) {
	d := newDevCluster(t, 1)
	if err := os.WriteFile(filepath.Join(d.state.Nodes[0].Data, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(1, "| the data directory is broken", "start", "1")
	if pid := d.read().Nodes[0].PID; pid != 0 {
		t.Fatalf("dev.json has pid %d", pid)
	}
}

// TestDevLeavesOthersAlone: processes that have the number, the program or the arguments of a node, but not all.
func TestDevLeavesOthersAlone(t *testing.T) {
	d := newDevCluster(t, 1)
	n := &d.state.Nodes[0]
	sleeper := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// The shell's own child must end with it.
		t.Cleanup(func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL); _ = c.Wait() })
		return c
	}
	for name, c := range map[string]*exec.Cmd{
		"another program":                sleeper("sleep", "1000"),
		"another program, same words":    sleeper("sh", "-c", "sleep 1000; :", n.Args[0], n.Args[1], n.Args[2]),
		"the program, another node":      sleeper(d.state.Binary, "2", d.state.Nodes[1].Data, d.state.Nodes[1].Client),
		"the program, another cluster":   sleeper(d.state.Binary, "1", t.TempDir(), "127.0.0.1:0"),
		"the program, one more argument": sleeper(d.state.Binary, append(n.Args[:3:3], "more")...),
	} {
		n.PID = c.Process.Pid
		d.write()
		for _, verb := range []string{"kill", "pause", "resume"} {
			d.want(1, "not running", verb, "1")
		}
		if err := c.Process.Signal(syscall.Signal(0)); err != nil {
			t.Errorf("%s: it was killed", name)
		}
	}
	// The node itself, but dev.json names another program. It has a port of its own: one that ended would be "ending".
	n.Args[2] = "127.0.0.1:0"
	c := sleeper(d.state.Binary, n.Args...)
	n.PID, d.state.Binary = c.Process.Pid, "/bin/sleep"
	d.write()
	d.want(1, "not running", "kill", "1")
}

func TestDevState(t *testing.T) {
	d := newDevCluster(t, 1)
	name := filepath.Join(d.dir, devcluster.StateName)
	for text, want := range map[string]string{
		`{"version":2}`:            "version 2",
		`{"version":1`:             "damaged",
		`{"version":1,"nodes":[]}`: "lists no nodes",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.want(1, want, "status")
		d.want(1, want, "kill", "1")
	}
	d.write()
	err := devcluster.Update(t.Context(), d.dir, func(*devcluster.State) error {
		began := time.Now()
		d.want(1, "another program holds it", "start", "1", "--timeout", "100ms")
		if time.Since(began) > 5*time.Second {
			t.Errorf("gave up after %v", time.Since(began))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if o := d.run("--data", filepath.Join(d.dir, "none"), "status"); o.code != 1 ||
		!strings.Contains(o.errOut, "kvnode dev") {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
}

func TestDevStopRestartLogs(t *testing.T) {
	d := newDevCluster(t, 2)
	d.want(0, "started", "start", "all")
	d.want(0, fmt.Sprintf("node 2 (pid %d) stopped", d.read().Nodes[1].PID), "stop", "master")
	if got := d.states(); got != "running follower, not running, running follower" || d.read().Nodes[1].PID != 0 {
		t.Fatal(got)
	}
	d.want(1, "not running", "stop", "2")
	d.want(0, "node 2", "start", "all")
	before := d.read().Nodes
	d.want(0, "node 3 (pid", "restart", "all")
	for i, n := range d.read().Nodes {
		if n.PID == 0 || n.PID == before[i].PID {
			t.Errorf("node %d has pid %d, before %d", n.ID, n.PID, before[i].PID)
		}
	}
	if got := d.states(); got != "running follower, running master, running follower" {
		t.Fatal(got)
	}
	d.want(0, "paused", "pause", "1")
	d.want(1, "dev resume 1 --data ", "stop", "1")
	d.want(1, "dev resume 1", "restart", "1")
	d.want(0, "resumed", "resume", "1")
	d.want(2, "leave the others out", "stop", "all", "1")
	d.want(0, "", "stop", "all")
	d.want(0, "", "stop", "all")
	if got := d.states(); got != "not running, not running, not running" {
		t.Fatal(got)
	}
	d.want(0, "node 1 (pid", "restart", "1") // of one that does not run it is a start
	d.want(0, "node 2", "restart", "2")

	serving := "serving " + d.state.Nodes[0].Client
	if o := d.run("logs", "1"); o.code != 0 || o.out != strings.Repeat(serving+"\n", 3) {
		t.Errorf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
	if o := d.run("logs", "1", "2", "--lines",
		"1"); o.out != "1  "+serving+"\n2  serving "+d.state.Nodes[1].Client+"\n" {
		t.Errorf("%q, %q", o.out, o.errOut)
	}
	d.want(0, "3  serving", "logs")
	d.want(2, "--lines", "logs", "--lines", "-1")
	if o := outcomeOf(d, "__complete", "dev", "--data", d.dir, "restart", "2", ""); !strings.HasPrefix(o.out,
		"1\n3\n:") {
		t.Errorf("%q", o.out)
	}
	if o := outcomeOf(d, "__complete", "dev", "--data", d.dir, "logs", ""); !strings.HasPrefix(o.out,
		"1\n2\n3\nmaster\nall\n:") {
		t.Errorf("%q", o.out)
	}
}

func TestDevFollowsLogs(t *testing.T) {
	d := newDevCluster(t, 1)
	log := func(text string) {
		f, err := os.OpenFile(d.state.Nodes[0].Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil || f.Close() != nil {
			t.Fatal(err)
		}
	}
	log("before\nha")
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{more: make(chan struct{}, 1)}
	code := make(chan int)
	go func() { code <- run(ctx, []string{"dev", "--data", d.dir, "logs", "1", "-f"}, nil, nil, out, out) }()
	out.waitFor(t, "before\n")
	log("lf\nmore\n")
	out.waitFor(t, "half\nmore\n")
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit %d", c)
	}
}

// TestDevMembers grows a cluster, loses a disk and gets it back, and shrinks it again.
func TestDevMembers(t *testing.T) {
	d := newDevCluster(t, 2)
	t.Setenv(joinedVariable, "5") // other numbers were used up before
	d.want(1, "no node in", "add")
	d.want(0, "started", "start", "all")
	d.want(0, "node 5 (pid", "add")
	s := d.read()
	n := s.Nodes[3]
	if !s.Changed || n.ID != 5 || n.PID == 0 || filepath.Base(n.Data) != "node4" || n.Args[0] != "--join" ||
		n.Args[1] != s.Nodes[0].Peer || s.Node(4) != nil {
		t.Fatalf("%+v", s)
	}
	for _, x := range s.Nodes[:3] {
		if x.Client == n.Client || x.Peer == n.Peer || x.Data == n.Data {
			t.Errorf("%+v has what %+v has", n, x)
		}
	}
	if got := d.states(); got != "running follower, running master, running follower, running follower" {
		t.Fatal(got)
	}

	d.want(1, "lose its disk first: kvctl dev wipe 3", "replace", "3")
	d.want(0, "node 3", "stop", "3")
	if err := os.WriteFile(filepath.Join(s.Nodes[2].Data, "log.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.want(1, "to keep it: kvctl dev start 3", "replace", "3")
	d.want(0, "has lost", "wipe", "3")
	if _, err := os.Stat(s.Nodes[2].Data); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	t.Setenv(joinedVariable, "7")
	d.want(0, "takes the place of node 3", "replace", "3")
	s = d.read()
	back := s.Node(7)
	if back == nil || len(s.Nodes) != 4 || s.Node(3) != nil || filepath.Base(back.Data) != "node3" ||
		!slices.Equal(back.Args[2:6], []string{"--replace", "node-3", "--node-name", "node-3"}) {
		t.Fatalf("%+v", s)
	}
	d.want(0, "has lost", "wipe", "7") // also of one that runs
	if p := process.Find(s, *back); p.State != process.Gone {
		t.Errorf("node 7 is %v", p.State)
	}

	defer func(was time.Duration) { removedGrace = was }(removedGrace)
	removedGrace = 10 * time.Millisecond // a pretended node does not end by itself
	d.want(0, "node 1 is removed: waits until its process has ended", "remove", "1")
	if s = d.read(); s.Node(1) != nil || len(s.Nodes) != 3 {
		t.Fatalf("%+v", s)
	}
	d.want(2, "there is no node 1", "remove", "1")
}
