//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/client/clienttest"
	"tenure/cmd/kvctl/internal/child"
)

// testMainVariable makes the test binary kvctl itself.
const testMainVariable = "TENURE_TEST_KVCTL"

// kvctlProcess starts kvctl as a process, whose standard output is w.
func kvctlProcess(t *testing.T, c *clienttest.Cluster, w *os.File, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), testMainVariable+"=1", endpointsVariable+"="+strings.Join(c.Endpoints(), ","))
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	// What nohup has this test ignore kvctl would ignore as well. A signal that is caught here is none of those to it.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// What a command has started in the background holds its standard output, so that ends when all of them have ended.
const (
	leaves         = `(echo running; exec sleep 1000) & wait`
	leavesStubborn = `(trap '' TERM; echo running; exec sleep 1000) & wait`
)

// No ending of kvctl leaves behind what its command has started.
func TestNothingOutlivesKvctl(t *testing.T) {
	c := start(t, 1)
	number := 0
	for _, command := range []string{"lock", "lease run", "elect"} {
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGKILL} {
			for _, script := range []string{leaves, leavesStubborn} {
				number++
				outlives(t, c, sig, append(strings.Fields(command), "name-"+strconv.Itoa(number), "--kill-after", "200ms",
					"--", "sh", "-c", script)...)
			}
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGXCPU} {
		number++
		if rest := outlives(t, c, sig, "lock", "name-"+strconv.Itoa(number), "--", "sh", "-c", obedient); rest != "stopped\n" {
			t.Errorf("%v: the command was not told to end: %q", sig, rest)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		for _, leaves := range []string{"setsid", "timeout 1000"} { // the group
			number++
			args := append([]string{"lock", "name-" + strconv.Itoa(number), "--kill-after", "200ms", "--"}, strings.Fields(leaves)...)
			outlives(t, c, sig, append(args, "sh", "-c", leavesStubborn)...)
		}
	}
	before := strconv.FormatUint(c.Revision(), 10)
	c.Set("k", "v")
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGKILL} {
		outlives(t, c, sig, "watch", "k", "--index", before, "--exec", leaves)
	}
}

// outlives runs kvctl until its command prints that it runs, signals kvctl, and fails the test if anything is left of
// the command. It returns what the command has printed after that.
func outlives(t *testing.T, c *clienttest.Cluster, sig syscall.Signal, args ...string) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := kvctlProcess(t, c, w, args...)
	_ = w.Close()
	_ = r.SetReadDeadline(time.Now().Add(30 * time.Second))
	out := bufio.NewReader(r)
	for line := ""; line != "running\n"; {
		if line, err = out.ReadString('\n'); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it fails
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Errorf("%q: what it has started still runs after %v: %v", args, sig, err)
	}
	return string(rest)
}

// A signal that kvctl was started to ignore does not end it.
func TestWhatNohupIgnores(t *testing.T) {
	c := start(t, 1)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$0" "$@"`, program, "lock", "a", "--", "sh", "-c",
		`kill -HUP $PPID; sleep 0.1; echo on`)
	cmd.Env = append(os.Environ(), testMainVariable+"=1", endpointsVariable+"="+strings.Join(c.Endpoints(), ","))
	cmd.Stdout = w
	err = cmd.Run()
	_ = w.Close()
	if out, _ := io.ReadAll(r); err != nil || string(out) != "on\n" {
		t.Errorf("%v, %q", err, out)
	}
}

// While kvctl is stopped nothing is renewed, and its command is ended when somebody else may have what it runs under.
func TestStoppedKvctlEndsItsCommand(t *testing.T) {
	c := start(t, 1)
	const (
		obeys = `trap 'echo stopped; exit' TERM; echo running; while :; do sleep 0.05; echo tick; done`
		not   = `trap '' TERM; echo running; while :; do sleep 0.05; echo tick; done`
	)
	for line, script := range map[string]string{"lease run NAME --ttl 1s": not, "elect NAME --ttl 1s": obeys,
		"lock NAME --ttl 10s": obeys, "lock NAME --ttl 10s --count 2": not} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			args := strings.Fields(strings.Replace(line, "NAME", url.PathEscape(t.Name()), 1))
			cmd := kvctlProcess(t, c, w, append(args, "--kill-after", "300ms", "--", "sh", "-c", script)...)
			_ = w.Close()
			defer func() {
				_ = cmd.Process.Signal(syscall.SIGCONT)
				_ = cmd.Process.Signal(syscall.SIGTERM)
				if err := cmd.Wait(); err == nil {
					t.Error("kvctl ends as if the command had ended well")
				}
			}()
			_ = r.SetReadDeadline(time.Now().Add(30 * time.Second))
			out := bufio.NewReader(r)
			seen, err := out.ReadString('\n')
			if err != nil || seen != "running\n" {
				t.Fatalf("%q %v", seen, err)
			}
			time.Sleep(1500 * time.Millisecond) // longer than the TTL: it is renewed
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				_ = r.SetReadDeadline(time.Now().Add(2 * time.Second))
				line, err := out.ReadString('\n')
				if err != nil { // kvctl has the pipe too, so that it does not end
					if !strings.Contains(seen, "tick") || strings.Contains(seen, "stopped") != (script == obeys) {
						t.Errorf("%q", seen)
					}
					return
				}
				seen += line
			}
			t.Error("the command still runs")
		})
	}
}

// A command does nothing before its guard knows it: not if kvctl is gone by then.
func TestACommandWaitsForItsGuard(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, goes := range []bool{true, false} {
		theirs, goOn, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		var out bytes.Buffer
		cmd := exec.Command(program, child.LaunchCommand, "3", "4", "/bin/sh", "sh", "-c", "echo ran; [ ! -e /proc/self/fd/3 ]")
		cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{theirs, theirs}, &out, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		if goes {
			_, _ = goOn.Write([]byte{1})
		}
		goOn.Close()
		err = cmd.Wait()
		if ran := out.String() == "ran\n"; ran != goes || goes != (err == nil) {
			t.Errorf("let go: %v, output %q, %v", goes, &out, err)
		}
	}
}

// A command has the files that kvctl was given, under their numbers.
func TestACommandHasTheFilesOfKvctl(t *testing.T) {
	c := start(t, 1)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "lock", "k", "--", "sh", "-c", "cat <&3; cat <&4; cat <&5")
	cmd.Env = append(os.Environ(), testMainVariable+"=1", endpointsVariable+"="+strings.Join(c.Endpoints(), ","))
	for _, text := range []string{"three ", "four ", "five"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, _ = w.WriteString(text)
		w.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, r)
	}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "three four five" {
		t.Fatalf("%q, %v", out, err)
	}
}

// What cannot be run is told as if it had been run at once.
func TestACommandThatCannotBeRun(t *testing.T) {
	c := start(t, 1)
	none := filepath.Join(t.TempDir(), "none")
	if err := os.WriteFile(none, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, c, "lock k -- "+none, 1, "", "fork/exec "+none+": exec format error")
	expect(t, c, "lock k -- /dev/null", 2, "", "permission denied")
}
