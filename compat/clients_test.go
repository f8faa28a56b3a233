package compat

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestPython runs python-consul, which Debian has as python3-consul.
func TestPython(t *testing.T) {
	python := "/usr/bin/python3" // Debian's packages are for that one
	if err := exec.Command(python, "-c", "import consul").Run(); err != nil {
		t.Skipf("python3-consul is not there: apt-get install python3-consul (%v)", err)
	}
	script(t, python, "clients/python/client.py")
}

// npmPackages returns a copy of a directory of this module, with the packages of npm that its lock file names. The test is
// skipped where there is no Node.js or npm.
func npmPackages(t *testing.T, from string) (dir string) {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	dir = t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(from)))
	install := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return dir
}

// TestNode runs the npm package consul.
func TestNode(t *testing.T) {
	dir := npmPackages(t, "clients/node")
	script(t, "node", filepath.Join(dir, "client.js"))
}

// script runs a script with the address of a node, and kills the master when it says that it is ready.
func script(t *testing.T, argv ...string) {
	c := start(t)
	_, others := roles(t, c)
	host, port, err := net.SplitHostPort(others[0].Client)
	must(t, err)
	cmd := exec.CommandContext(within(t, 5*soon), argv[0], append(argv[1:], host, port)...)
	cmd.WaitDelay = time.Second
	var errors bytes.Buffer
	cmd.Stderr = &errors
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	said, last := bufio.NewScanner(out), ""
	for said.Scan() {
		if last = said.Text(); last == "ready" {
			killOnly(t, c, others)
			_, err := io.WriteString(in, "go\n")
			must(t, err)
		}
	}
	if err := cmd.Wait(); err != nil || last != "ok" {
		t.Errorf("%s: %v, last said %q\n%s", argv[0], err, last, errors.String())
	}
}
