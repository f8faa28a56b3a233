package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"tenure/internal/buildinfo"
	"tenure/server"
	"tenure/server/runner"
)

// outcome is what a command line came to. Config is nil if the server was not called.
type outcome struct {
	code           int
	stdout, stderr string
	config         *server.Config
}

// command runs the command line in an empty directory with a server that returns result.
func command(t *testing.T, result error, environ []string, args ...string) outcome {
	t.Helper()
	var o outcome
	old := run
	defer func() { run = old }()
	run = func(_ context.Context, c server.Config) error {
		o.config = &c
		return result
	}
	var stdout, stderr bytes.Buffer
	o.code = execute(args, environ, &stdout, &stderr)
	o.stdout, o.stderr = stdout.String(), stderr.String()
	return o
}

func inEmptyDir(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExitCodes(t *testing.T) {
	inEmptyDir(t, nil)
	for _, c := range []struct {
		result error
		code   int
		lines  int // on standard error
	}{
		{nil, 0, 0},
		{errors.New("the disk is gone"), 1, 2},
		{fmt.Errorf("%w: different lists", server.ErrConfig), 78, 1},
		{fmt.Errorf("%w: node 3", runner.ErrRemoved), 0, 2},
	} {
		o := command(t, c.result, nil)
		if o.code != c.code || strings.Count(o.stderr, "\n") != c.lines {
			t.Errorf("%v: exit code %d, standard error %q", c.result, o.code, o.stderr)
		}
		if c.result != nil && !strings.HasSuffix(o.stderr, "kvnode: "+c.result.Error()+"\n") {
			t.Errorf("%v is not shown: %q", c.result, o.stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	if o := command(t, nil, nil, "--version"); o.code != 0 || o.stdout != buildinfo.Read().Line("kvnode")+"\n" ||
		o.config != nil {
		t.Errorf("%+v", o)
	}
	if o := command(t, nil, nil, "version"); o.code != 0 || !strings.HasPrefix(o.stdout, "kvnode ") || o.config != nil {
		t.Errorf("%+v", o)
	}
}
