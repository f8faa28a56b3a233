package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// initTestVariable makes the test binary a process of the tests of init: init itself, the node under it, or what that
// leaves behind.
const initTestVariable = "KVNODE_INIT_TEST"

func init() {
	role, file := os.Getenv(initTestVariable), os.Getenv("KVNODE_INIT_TEST_FILE")
	switch role {
	case "":
		return
	case "init":
		os.Setenv(initTestVariable, os.Args[2])
		os.Exit(execute([]string{"init", "--lease-time", "1s"}, nil, os.Stdout, os.Stderr))
	case "arguments":
		fmt.Println(os.Args[1:])
		os.Exit(78)
	case "signals":
		got := make(chan os.Signal, 8)
		signal.Notify(got, passedOn...)
		fmt.Println("ready")
		for range passedOn {
			fmt.Println(<-got)
		}
		os.Exit(3)
	case "killed", "stuck": // leaves a process behind, and dies
		os.Setenv(initTestVariable, map[string]string{"killed": "guardian", "stuck": "forever"}[role])
		left := exec.Command("/proc/self/exe")
		if err := left.Start(); err != nil {
			panic(err)
		}
		fmt.Println(left.Process.Pid)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "guardian":
		time.Sleep(200 * time.Millisecond)
		_ = os.WriteFile(file, nil, 0o600)
	case "forever":
		time.Sleep(20 * time.Second)
	}
	os.Exit(0)
}

// startInit starts init over a node that plays a role.
func startInit(t *testing.T, role string) (cmd *exec.Cmd, out *bytes.Buffer, file string) {
	t.Helper()
	cmd, out, file = exec.Command("/proc/self/exe", "-", role), &bytes.Buffer{}, filepath.Join(t.TempDir(), "said")
	cmd.Env = append(os.Environ(), initTestVariable+"=init", "KVNODE_INIT_TEST_FILE="+file)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, file
}

func TestInitPassesArgumentsAndTheExitCode(t *testing.T) {
	cmd, out, _ := startInit(t, "arguments")
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != 78 || out.String() != "[--lease-time 1s]\n" {
		t.Errorf("exit code %d, %s", cmd.ProcessState.ExitCode(), out)
	}
}

func TestInitPassesSignalsOn(t *testing.T) {
	cmd, _, _ := startInit(t, "signals")
	cmd.Stdout = nil
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := func(want string) {
		t.Helper()
		b := make([]byte, 100)
		if n, err := lines.Read(b); string(b[:n]) != want+"\n" {
			t.Errorf("%q, %v, want %s", b[:n], err, want)
		}
	}
	read("ready")
	for _, s := range passedOn {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		read(s.String())
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
}

// What the node leaves behind, such as its guardian, has ended when init ends.
func TestInitWaitsForTheGuardian(t *testing.T) {
	cmd, out, said := startInit(t, "killed")
	_ = cmd.Run()
	if cmd.ProcessState.ExitCode() != 128+9 {
		t.Errorf("exit code %d, %s", cmd.ProcessState.ExitCode(), out)
	}
	if _, err := os.Stat(said); err != nil {
		t.Error("init has ended before the guardian")
	}
}

// A process that does not end holds a container up for a moment only.
func TestInitWaitsNoLongerThanAGuardianTakes(t *testing.T) {
	cmd, out, _ := startInit(t, "stuck")
	cmd.Stdout, cmd.Stderr = nil, nil // the process that is left has them too
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	began := time.Now()
	_ = cmd.Run()
	took := time.Since(began)
	b := make([]byte, 100)
	n, _ := r.Read(b)
	if pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n]))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if cmd.ProcessState.ExitCode() != 128+9 || took < lingers || took > lingers+5*time.Second {
		t.Errorf("exit code %d after %v, %s", cmd.ProcessState.ExitCode(), took, out)
	}
}
