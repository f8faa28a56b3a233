package compat

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenure/jepsen/cluster"
)

// uiTakes bounds how long the browser may take with the page of one cluster, on a machine with much else to do.
const uiTakes = 6 * time.Minute

// TestUI uses the web page of a node in a real Chromium: each part of it in health, while the master is killed ten
// times, while nodes hang, without a majority, at the quota of the disks, and with tokens. In each of these states axe
// finds no serious fault, no element is wider than a phone, and the page never violates its policy, whatever the keys
// and values. With TENURE_UI_PICTURES=DIR it leaves pictures.
//
// It is skipped where there is no Chromium, Node.js or npm: apt-get install chromium nodejs npm.
func TestUI(t *testing.T) {
	browser := chromium(t)
	dir := uiScripts(t)
	for _, x := range []struct {
		name   string
		flags  []string
		backup bool // the script downloads one
	}{
		{"open", nil, true},
		{"cluster", nil, false},
		{"tokens", []string{"--acl", "--archive", "file://" + t.TempDir()}, true},
		{"full", []string{"--quota-bytes", "24MiB"}, false},
		{"edits", nil, false},
		{"permits", []string{"--acl"}, false},
		{"policies", []string{"--acl"}, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := start(t, append(x.flags, "--lease-time", "2s")...) // a busy browser costs no master its mastership
			useUI(t, c, filepath.Join(dir, x.name+".mjs"), browser, dir)
			if x.backup {
				verify(t, filepath.Join(dir, x.name+".backup"))
			}
		})
	}
}

// verify checks a backup that the page has downloaded.
func verify(t *testing.T, file string) {
	t.Helper()
	if out, err := exec.Command(program("kvctl"), "backup", "verify", file).CombinedOutput(); err != nil {
		t.Errorf("the backup that the page has downloaded: %v\n%s", err, out)
	}
}

// uiScripts returns a directory with the scripts and what they need.
func uiScripts(t *testing.T) string {
	return npmPackages(t, "ui")
}

// useUI runs a script, and does to the nodes what it orders.
func useUI(t *testing.T, c *cluster.Cluster, script, browser, dir string) {
	t.Helper()
	args := []string{script, browser, dir}
	for _, n := range c.Nodes() {
		args = append(args, "http://"+n.Client)
	}
	cmd := exec.CommandContext(within(t, uiTakes), "node", args...)
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
		last = said.Text()
		order, ok := strings.CutPrefix(last, "> ")
		if !ok {
			t.Log(last)
			continue
		}
		answer := "done"
		if err := obey(c, order); err != nil {
			answer = err.Error()
		}
		_, err := io.WriteString(in, answer+"\n")
		must(t, err)
	}
	if err := cmd.Wait(); err != nil || last != "ok" {
		t.Errorf("%v, last said %q\n%s", err, last, errors.String())
	}
}

// obey does what an order of a script says.
func obey(c *cluster.Cluster, order string) error {
	var what string
	var id int
	if _, err := fmt.Sscanf(order, "%s %d", &what, &id); err != nil {
		return err
	}
	switch what {
	case "kill":
		return c.Node(id).Kill()
	case "start":
		return c.Node(id).Start()
	case "pause":
		return c.Node(id).Pause()
	case "resume":
		return c.Node(id).Resume()
	}
	return fmt.Errorf("no order %q", order)
}
