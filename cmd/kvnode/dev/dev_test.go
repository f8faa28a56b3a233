package dev

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/devcluster"
	"tenure/internal/freeport"
)

func TestStartsTellsAndStops(t *testing.T) {
	r := begin(t, options(t, sound, 3))
	r.await(t, `ready after [0-9.]+ s: node (1) is master`)
	s := r.state()
	if len(s.Nodes) != 3 || s.Binary != filepath.Join(r.o.Data, "kvnode") {
		t.Fatalf("%+v", s)
	}
	for _, n := range s.Nodes {
		if !runs(s.Binary, n, n.PID) {
			t.Errorf("node %d, pid %d, does not run", n.ID, n.PID)
		}
		contains(t, r.now(), strconv.Itoa(n.PID), n.Client, n.Peer, n.Data)
	}
	r.await(t, "Ctrl-C stops all nodes")
	contains(t, r.now(), "kvctl --endpoints ", " set hello world", "kvctl dev kill 1 --data "+r.o.Data,
		"In a browser: http://"+s.Nodes[0].Client+"/ui/")
	setMaster(t, r.o.Data, 0)
	r.await(t, `no node is master`)
	setMaster(t, r.o.Data, 2)
	r.await(t, `node (2) is master, epoch 7`)
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	contains(t, r.now(), "stopping 3 nodes")
	r.nothingRuns(s)
	if log := strings.Join(devcluster.LogTail(s.Nodes[0].Log, 0), "\n"); !strings.Contains(log,
		"fake node 1 stops in order") {
		t.Errorf("node 1 was not asked to stop: %s", log)
	}
}

// kvctlStart does what `kvctl dev start` does.
func kvctlStart(t *testing.T, dir string, id int) (pid int) {
	t.Helper()
	err := devcluster.Update(t.Context(), dir, func(s *devcluster.State) error {
		n := s.Node(id)
		cmd := exec.Command(s.Binary, n.Args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return err
		}
		n.PID = cmd.Process.Pid
		pid = n.PID
		go func() { _ = cmd.Wait() }()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

func TestDeathIsShownAndNothingIsRestarted(t *testing.T) {
	r := begin(t, options(t, sound, 2))
	r.await(t, `ready after`)
	s := r.state()
	first := s.Nodes[1].PID
	kill(t, first, syscall.SIGKILL)
	r.await(t, fmt.Sprintf(`node 2 \(pid %d\) has ended: killed \(signal 9\)(?s:.*)\| fake node 2 says hello`, first))
	awaitTrue(t, func() bool { return r.state().Nodes[1].PID == 0 })

	again := kvctlStart(t, r.o.Data, 2)
	r.await(t, fmt.Sprintf(`node 2 was started, pid %d`, again))
	kill(t, again, syscall.SIGKILL)
	r.await(t, fmt.Sprintf(`node 2 \(pid %d\) has ended; start it again with: kvctl dev start 2`, again))
	awaitTrue(t, func() bool { return r.state().Nodes[1].PID == 0 })

	third := kvctlStart(t, r.o.Data, 2)
	r.await(t, fmt.Sprintf(`node 2 was started, pid %d`, third))
	kill(t, third, syscall.SIGSTOP)
	r.await(t, `node 2 is paused`)
	kill(t, third, syscall.SIGCONT)
	r.await(t, `node 2 was resumed`)
	kill(t, third, syscall.SIGSTOP) // it must be ended all the same
	s = r.state()
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	r.nothingRuns(s)
	if strings.Contains(r.now(), "is killed: it did not stop") {
		t.Errorf("the paused node was not woken to stop in order:\n%s", r.now())
	}
}

// awaitTrue polls a file or a process, which cannot be waited on.
func awaitTrue(t *testing.T, ok func() bool) {
	t.Helper()
	for late := time.Now().Add(waitLimit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("it does not come true")
		}
	}
}

func TestSecondSupervisorIsRefused(t *testing.T) {
	r := begin(t, options(t, sound, 1))
	r.await(t, `ready after`)
	second := r.o
	second.Out = &screen{more: make(chan struct{}, 1)}
	err := Run(t.Context(), second)
	want := fmt.Sprintf("another kvnode dev (pid %d) runs on %s; stop it, or use another --data", os.Getpid(), r.o.Data)
	if err == nil || err.Error() != want {
		t.Fatalf("%v, want %s", err, want)
	}
}

func TestRedis(t *testing.T) {
	o := options(t, sound, 3)
	o.Redis, o.RedisBasePort = true, o.BasePort+5
	taken, err := net.Listen("tcp", loopback(o.RedisBasePort+2))
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--redis-base-port") {
		t.Errorf("a port of them is taken: %v", err)
	}
	_ = taken.Close()
	r := begin(t, o)
	r.await(t, "redis-cli -p "+strconv.Itoa(o.RedisBasePort)+"\n")
	for i, n := range r.state().Nodes {
		if args := strings.Join(n.Args, " "); !strings.Contains(args, " --redis "+loopback(o.RedisBasePort+i)+" ") {
			t.Error(args)
		}
	}
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
}

func TestPortInUse(t *testing.T) {
	o := options(t, sound, 3)
	l, err := net.Listen("tcp", loopback(o.PeerBasePort+1))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = Run(t.Context(), o)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	contains(t, err.Error(), "node 2 cannot listen on "+loopback(o.PeerBasePort+1), "address already in use",
		"--peer-base-port")
	if text := o.Out.(*screen).now(); text != "" {
		t.Errorf("something was started: %s", text)
	}
	if s, err := readState(o.Data); s != nil || err != nil {
		t.Errorf("dev.json was written: %v %v", s, err)
	}
}

func TestStubbornNodesAreKilledInAHurry(t *testing.T) {
	o := options(t, stubborn, 2)
	hurry := make(chan struct{})
	o.Hurry = hurry
	r := begin(t, o)
	r.await(t, `ready after`)
	s := r.state()
	r.stop()
	r.await(t, `stopping 2 nodes`)
	close(hurry)
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	contains(t, r.now(), "node 1 is killed", "node 2 is killed")
	r.nothingRuns(s)
}

func TestAllNodesDieAtTheStart(t *testing.T) {
	r := begin(t, options(t, stillborn, 2))
	if err := r.ended(); !errors.Is(err, errAllDead) {
		t.Fatal(err)
	}
	contains(t, r.now(), "has ended: exit code 3", "| the disk is full of eels")
}

// TestNodesDieWithTheirSupervisor kills a supervisor that cannot say goodbye.
func TestNodesDieWithTheirSupervisor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child of its parent's death")
	}
	o := options(t, supervisor, 3)
	out := o.Out.(*screen)
	cmd := exec.Command(o.Binary, strconv.Itoa(o.BasePort), o.Data)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = waitLimit
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.await(t, `ready after`)
	s, err := readState(o.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.Nodes {
		if !runs(s.Binary, n, n.PID) {
			t.Errorf("node %d does not run", n.ID)
		}
		t.Cleanup(func() {
			if runs(s.Binary, n, n.PID) {
				_ = syscall.Kill(n.PID, syscall.SIGKILL)
			}
		})
	}
	kill(t, cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	for _, n := range s.Nodes {
		awaitTrue(t, func() bool { return !runs(s.Binary, n, n.PID) })
	}
	// A process that is on its way out has no command line any more, and its sockets still.
	awaitTrue(t, func() bool {
		return freeport.Free(o.BasePort, len(s.Nodes)) && freeport.Free(o.PeerBasePort, len(s.Nodes))
	})
	// dev.json still names them; the next supervisor must see that nothing runs.
	t.Setenv(fakeEnv, sound)
	r := begin(t, o)
	r.await(t, `ready after(?s:.*)ready after`)
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnEarlierRunLeft(t *testing.T) {
	o := options(t, sound, 1)
	r := begin(t, o)
	r.await(t, `ready after`)
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	pid := kvctlStart(t, o.Data, 1)
	want := fmt.Sprintf("node 1 of an earlier run on %s still runs (pid %d); end it with: kill %d", o.Data, pid, pid)
	if err := Run(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	s := r.state()
	kill(t, pid, syscall.SIGTERM)
	awaitTrue(t, func() bool { return !runs(s.Binary, s.Nodes[0], pid) })
	o.Nodes = 2
	err := Run(t.Context(), o)
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	contains(t, err.Error(), "--nodes 2: ", "holds a cluster of 1; use --nodes 1 or another --data")
}

// TestDataWithoutDevJSON has lost the file that says how many nodes there are.
func TestDataWithoutDevJSON(t *testing.T) {
	o := options(t, sound, 1)
	for _, node := range []string{"node1", "node2", "node3"} {
		if err := os.MkdirAll(filepath.Join(o.Data, node), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(o.Data, node, "log.db"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, o.Nodes = range []int{1, 4} {
		err := Run(t.Context(), o)
		if !errors.Is(err, ErrConfig) {
			t.Fatal(err)
		}
		contains(t, err.Error(), fmt.Sprintf("--nodes %d: ", o.Nodes),
			"holds data of 3 nodes; use --nodes 3 or another --data")
	}
}

// TestALateExitLeavesTheSuccessorAlone has kvctl start a node before the exit of its last run was seen.
func TestALateExitLeavesTheSuccessorAlone(t *testing.T) {
	o := options(t, sound, 1)
	nodes, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	nodes[0].PID = 200
	if err := devcluster.Replace(t.Context(), o.Data,
		&devcluster.State{Version: devcluster.StateVersion, Nodes: nodes}); err != nil {
		t.Fatal(err)
	}
	c := newCluster(o, o.Data, "", nodes)
	if err := c.exited(exit{data: nodes[0].Data, pid: 100, how: "exit code 0"}); err != nil {
		t.Fatal(err)
	}
	s, err := readState(o.Data)
	if err != nil || s.Nodes[0].PID != 200 || c.running() != 1 {
		t.Fatalf("%+v %v", s, err)
	}
}

// TestMembersComeAndGo does to dev.json what `kvctl dev add`, replace and remove do.
func TestMembersComeAndGo(t *testing.T) {
	o := options(t, sound, 2)
	r := begin(t, o)
	r.await(t, `ready after`)
	change := func(fn func(*devcluster.State)) {
		t.Helper()
		err := devcluster.Update(t.Context(), o.Data, func(s *devcluster.State) error { fn(s); return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	n := devcluster.Node{ID: 9, Client: loopback(o.BasePort + 2), Peer: loopback(o.PeerBasePort + 2),
		Data: filepath.Join(o.Data, "node9"), Log: filepath.Join(o.Data, "node9.log")}
	n.Args = n.OwnArgs([]string{"--id", "9"})
	change(func(s *devcluster.State) { s.Change(n) })
	r.await(t, `node 9 was added`)
	n.PID = kvctlStart(t, o.Data, 9)
	r.await(t, fmt.Sprintf(`node 9 was started, pid %d`, n.PID))
	n.ID = 11
	change(func(s *devcluster.State) { s.Change(n) })
	r.await(t, `node 9 is node 11 now`)

	first := r.state().Nodes[0]
	kill(t, first.PID, syscall.SIGKILL)
	r.await(t, `node 1 \(pid [0-9]+\) has ended`)
	change(func(s *devcluster.State) { s.Remove(first.Data) })
	r.await(t, `node 1 was removed`)
	s := r.state()
	r.stop()
	if err := r.ended(); err != nil {
		t.Fatal(err)
	}
	r.nothingRuns(s)

	o.Nodes, o.NodesGiven = 3, true
	err := Run(t.Context(), o)
	if !errors.Is(err, ErrConfig) {
		t.Fatal(err)
	}
	contains(t, err.Error(), "--nodes 3: the cluster in "+o.Data+" has 2 nodes by now")
	o.NodesGiven, o.NodeArgs = false, []string{"--lease-time", "1s"}
	o.Out = &screen{more: make(chan struct{}, 1)}
	setMaster(t, o.Data, 2)
	again := begin(t, o)
	again.await(t, `ready after [0-9.]+ s: node (2) is master`)
	s = again.state()
	if s.IDs() != "2, 11" || !s.Changed || strings.Join(s.Nodes[1].MoreArgs(), " ") != "--lease-time 1s" {
		t.Errorf("%+v", s)
	}
	again.stop()
	if err := again.ended(); err != nil {
		t.Fatal(err)
	}
}
