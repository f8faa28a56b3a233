package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// fullDisk is standard output on a full disk, or without a reader.
type fullDisk struct{ err error }

func (f fullDisk) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/full", Err: f.err} // another one each time, as os.File has it
}

// unprinted runs a command line whose output cannot be written.
func unprinted(c *clienttest.Cluster, stdin string, err error, args ...string) outcome {
	var errOut bytes.Buffer
	environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
	code := run(context.Background(), args, environ, strings.NewReader(stdin), fullDisk{err}, &errOut)
	return outcome{code, "", errOut.String()}
}

// changing has a command line for each command that changes something. They are run in this order.
var changing = []string{"set a 1", "set n 1", "add n 1", "cas a 2 2", "test-and-set a 2 3", "rename a b", "expire n 1h",
	"remove b", "delete n", "set p/a 1", "prune p/", "txn -", "import RECORDS",
	"session create --name s", "lease acquire l --owner o", "master transfer", "member update 3 --name third", "member remove 3",
	"backup prune DIR/store --keep-last 1",
	"ca init DIR/ca", "ca --dir DIR/ca client me --out DIR/ca", "ca --dir DIR/ca renew", "ca --dir DIR/ca renew --authority"}

// A command that has changed something and cannot print its result is not reported as failed: the user would run it
// again, and change it twice.
func TestDoneAndNotPrinted(t *testing.T) {
	c := start(t, 3)
	dir := t.TempDir()
	records := filepath.Join(dir, "records")
	if err := os.WriteFile(records, []byte(`{"key":"imported","value":"MQ=="}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/store", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, line := range changing {
		args := strings.Fields(strings.NewReplacer("DIR", dir, "RECORDS", records).Replace(line))
		o := unprinted(c, "set t 1", syscall.ENOSPC, args...)
		if o.code != exitUnknown || !strings.Contains(o.errOut, "it was done, and what came of it could not be printed: write /dev/full: no space") {
			t.Errorf("%s: exit %d, %q", line, o.code, o.errOut)
		}
	}
	if v, ok := c.Value("imported"); !ok || v != "1" {
		t.Errorf("imported: %q %v", v, ok)
	}
	o := unprinted(c, "", syscall.ENOSPC, "--json", "add", "t", "1")
	if f := decode[failure](t, o.errOut); o.code != exitUnknown || f.Outcome != "done" {
		t.Errorf("exit %d, %+v", o.code, f)
	}
	if o := unprinted(c, "", syscall.EPIPE, "add", "t", "1"); o.code != exitUnknown {
		t.Errorf("without a reader: exit %d, %s", o.code, o.errOut)
	}
}

// Commands that only read fail, or end in silence if the reader has enough.
func TestReadAndNotPrinted(t *testing.T) {
	c := start(t, 3)
	c.Set("t", "1")
	for _, line := range []string{"get t", "list", "count", "master show", "member list", "status", "--json get t",
		"import - --dry-run", "--help", "get --help", "help get", "--version", "version", "txn -",
		"completion bash"} {
		stdin := ""
		if line == "txn -" {
			stdin = "get t\ncheck-not-exists missing"
		}
		if o := unprinted(c, stdin, syscall.ENOSPC, strings.Fields(line)...); o.code != exitFailed ||
			!strings.Contains(o.errOut, "the output could not be written: write /dev/full: no space") {
			t.Errorf("%s: exit %d, %q", line, o.code, o.errOut)
		}
		if o := unprinted(c, stdin, syscall.EPIPE, strings.Fields(line)...); o.code != exitBrokenPipe || o.errOut != "" {
			t.Errorf("%s: exit %d, %q", line, o.code, o.errOut)
		}
	}
	// What has failed is told as before.
	if o := unprinted(c, "", syscall.ENOSPC, "add", "missing", "1"); o.code != exitFailed || strings.Contains(o.errOut, "done") {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
}

// A transaction that only reads has no outcome to be in doubt of, unless its fence is remembered.
func TestReadsAreNotInDoubt(t *testing.T) {
	c := start(t, 3)
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.IsWrite() {
			return clienttest.Unknown
		}
		return clienttest.None
	})
	o := kvctl(t, c, "get-or-empty t", "--timeout", "300ms", "txn", "-")
	if o.code != exitFailed || !strings.Contains(o.errOut, "unavailable") || strings.Contains(o.errOut, "idempotency") {
		t.Errorf("exit %d, %q", o.code, o.errOut)
	}
	for _, args := range [][]string{{"txn", "-", "--fence", "f:1"}, {"txn", "-"}} {
		stdin := "get-or-empty t"
		if len(args) == 2 {
			stdin += "\nset t 1"
		}
		if o := kvctl(t, c, stdin, append([]string{"--timeout", "300ms"}, args...)...); o.code != exitUnknown {
			t.Errorf("%q: exit %d, %q", args, o.code, o.errOut)
		}
	}
}

// The error of an output that is written in pieces is that of the first.
func TestOutputInPieces(t *testing.T) {
	a := newApp(nil, nil, fullDisk{syscall.ENOSPC}, io.Discard)
	err := a.printUpgrade(&client.Upgrade{Members: []api.MemberLevel{{Node: 1}}})
	if err == nil || !errors.Is(err, a.output.err) {
		t.Errorf("%v, and the output's error is %v", err, a.output.err)
	}
}
