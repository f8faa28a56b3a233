//go:build linux

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/client/clienttest"
)

// readers are commands that read FILE, a pipe to which nobody writes, or standard input for "-".
var readers = []string{
	"set k FILE", "cas k 0 FILE", "test-and-set k v FILE", "txn FILE", "import FILE", "import FILE --dry-run",
	"acl bootstrap FILE", "acl policy create --name p --rules FILE", "acl policy update p --rules FILE",
	"backup verify FILE", "backup verify --restore FILE",
}

// silentInput is a standard input that never gives anything. It tells when it is read.
type silentInput chan struct{}

func (s silentInput) Read([]byte) (int, error) {
	s <- struct{}{}
	select {}
}

// runWithin runs a command line in this process, and fails the test if it does not end.
func runWithin(t *testing.T, ctx context.Context, c *clienttest.Cluster, in io.Reader, args ...string) (o outcome) {
	t.Helper()
	environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
	done := make(chan outcome, 1)
	go func() {
		var out, errOut bytes.Buffer
		code := run(ctx, args, environ, in, &out, &errOut)
		done <- outcome{code, out.String(), errOut.String()}
	}()
	select {
	case o = <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("kvctl %s does not end", strings.Join(args, " "))
	}
	return o
}

// A signal ends a command that waits for its standard input. Nothing is written.
func TestSignalEndsReading(t *testing.T) {
	c := start(t, 1)
	before := c.Applied()
	for _, line := range readers {
		ctx, cancel := context.WithCancel(t.Context())
		in := make(silentInput)
		go func() {
			<-in
			cancel()
		}()
		o := runWithin(t, ctx, c, in, strings.Fields(strings.Replace(line, "FILE", "-", 1))...)
		if o.code != exitFailed || o.out != "" || !strings.Contains(o.errOut, "interrupted while reading standard input") {
			t.Errorf("kvctl %s: %+v", line, o)
		}
	}
	if c.Applied() != before {
		t.Error("something was written")
	}
}

// A signal ends an import in the middle of its input, and how to go on is printed.
func TestSignalEndsImport(t *testing.T) {
	c := start(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	in := make(silentInput)
	go func() {
		<-in
		cancel()
	}()
	o := runWithin(t, ctx, c, io.MultiReader(strings.NewReader(`{"key":"k","value":"dg=="}`+"\n"), in), "import", "-")
	if o.code != exitFailed || o.out != "0 keys written\n" || !strings.Contains(o.errOut, "interrupted before every key") ||
		!strings.Contains(o.errOut, "with --resume ") || c.Applied() != 0 {
		t.Errorf("%+v", o)
	}
}

// An explicit --timeout bounds the reading too, and the opening of a pipe that nobody writes to.
func TestTimeoutEndsReading(t *testing.T) {
	c := start(t, 1)
	before := c.Applied()
	dir := t.TempDir()
	pipe, txn := filepath.Join(dir, "pipe"), filepath.Join(dir, "txn")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(txn, []byte("set k @"+pipe+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := append([]string{"txn " + txn, "get k --token-file FILE", "backup verify x --identity FILE",
		"backup create - --recipients-file FILE", "import --from-etcd FILE"}, readers...)
	for _, line := range lines {
		name := pipe
		if strings.HasPrefix(line, "set") || strings.HasPrefix(line, "cas") || strings.HasPrefix(line, "test-and-set") {
			name = "@" + pipe
		}
		args := append(strings.Fields(strings.Replace(line, "FILE", name, 1)), "--timeout", "100ms")
		o := runWithin(t, t.Context(), c, nil, args...)
		if o.code != exitFailed || o.out != "" || !strings.Contains(o.errOut, "the time limit has ended before the end of") {
			t.Errorf("kvctl %s: %+v", line, o)
		}
	}
	if c.Applied() != before {
		t.Error("something was written")
	}
}

// The signals themselves, and a process that has opened the pipe.
func TestSignalsEndReading(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT) // a shell that runs tests in the background has them ignore it, and so all children
	defer signal.Stop(caught)
	c := start(t, 1)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := kvctlProcess(t, c, nil, "set", "k", "@"+pipe)
		w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once kvctl has opened it
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it fails
		if !late.Stop() || cmd.ProcessState.ExitCode() != exitFailed {
			t.Errorf("%v: %v", sig, cmd.ProcessState)
		}
		_ = w.Close()
	}
}
