package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The slack goes to a thread that is not the main one, where that is allowed.
func TestRelaxMonitor(t *testing.T) {
	tid, err := monitorThread()
	if err != nil {
		t.Fatal(err)
	}
	if tid == strconv.Itoa(os.Getpid()) {
		t.Fatal("that is the main thread")
	}
	const slack = 300 * time.Microsecond
	err = relaxMonitor(slack)
	if errors.Is(err, os.ErrPermission) {
		t.Skip("without CAP_SYS_NICE: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/" + tid + "/timerslack_ns")
	if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(int(slack)) {
		t.Errorf("%s %v", b, err)
	}
	if own, err := os.ReadFile("/proc/self/timerslack_ns"); err != nil ||
		strings.TrimSpace(string(own)) == strconv.Itoa(int(slack)) {
		t.Errorf("the main thread has %s too: %v", own, err)
	}
}

// Every thread gets the policy, the ones that come later too, and a policy that was chosen stays.
func TestBeBatch(t *testing.T) {
	t.Run("usual", func(t *testing.T) { wantPolicy(t, unix.SCHED_NORMAL, unix.SCHED_BATCH) })
	t.Run("realtime", func(t *testing.T) {
		if unix.Getuid() != 0 {
			t.Skip("needs CAP_SYS_NICE")
		}
		wantPolicy(t, unix.SCHED_NORMAL, unix.SCHED_RR)
	})
	t.Run("chosen", func(t *testing.T) { wantPolicy(t, unix.SCHED_IDLE, unix.SCHED_IDLE) })
}

const policyEnv = "KVNODE_TEST_POLICY"

// wantPolicy starts this test binary with a policy and has it end up with another.
func wantPolicy(t *testing.T, from, to uint32) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine, and its policy with it
		if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: from}, 0); err != nil {
			t.Error(err)
			return
		}
		child := exec.Command(os.Args[0], "-test.run", "^TestPolicyChild$", "-test.v")
		child.Env = append(os.Environ(), policyEnv+"="+strconv.Itoa(int(to)))
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	<-done
}

func TestPolicyChild(t *testing.T) {
	want, err := strconv.Atoi(os.Getenv(policyEnv))
	if err != nil {
		t.Skip("runs as a child of TestBeBatch")
	}
	be := beBatch
	if want == unix.SCHED_RR {
		be = beRealtime
	}
	if err := be(); errors.Is(err, os.ErrPermission) {
		t.Skip("not allowed: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	const more = 20
	var locked sync.WaitGroup
	for range more { // goroutines that hold their threads
		locked.Add(1)
		go func() {
			runtime.LockOSThread()
			locked.Done()
			time.Sleep(time.Minute)
		}()
	}
	locked.Wait() // an idle policy gets a processor when nobody else wants it
	all := threads(t)
	if len(all) < more {
		t.Errorf("%d threads", len(all))
	}
	for _, tid := range all {
		is, err := unix.SchedGetAttr(tid, 0)
		if err == nil && is.Policy != uint32(want) {
			t.Errorf("thread %d has policy %d", tid, is.Policy)
		}
	}
}

func threads(t *testing.T) (out []int) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range tasks {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tid)
	}
	return out
}
