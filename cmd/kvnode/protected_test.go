package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A directory that only the unit protects is told from a disk that has become read-only.
func TestAUnitThatProtectsTheDirectory(t *testing.T) {
	inEmptyDir(t, map[string]string{
		"mounts": `21 1 8:1 / / ro,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
30 21 8:2 / /var/lib/kvnode rw,relatime - ext4 /dev/sda1 rw
31 21 8:3 / /failed ro,relatime - ext4 /dev/sdb1 ro,errors=remount-ro
32 21 8:4 / /with\040space ro - xfs /dev/sdc1 rw
`,
		"cgroup": "0::/system.slice/tenure-node.service\n",
	})
	for dir, want := range map[string]bool{
		"/none/kvnode": true, "/var/lib/kvnode": false, "/var/lib/kvnode/n1": false, "/var/lib/kvnode2": true,
		"/failed/kvnode": false, "/with space/kvnode": true,
	} {
		if got := isProtected(dir, "mounts"); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
	set := func(name string) string {
		if name == "INVOCATION_ID" {
			return "0123"
		}
		return ""
	}
	if got := unitOf(set, "cgroup"); got != "tenure-node.service" {
		t.Errorf("unit %q", got)
	}
	if got := unitOf(func(string) string { return "" }, "cgroup"); got != "" {
		t.Errorf("without systemd: unit %q", got)
	}
}

// The lines say what to put into the unit, each to be copied, and the exit code that a restart would not help.
func TestTheUnitIsTold(t *testing.T) {
	err := protected(fmt.Errorf("cannot write /srv/kvnode: %w", syscall.EROFS), "kvnode.service", "/srv/kvnode")
	var out strings.Builder
	showEnd(&out, err)
	for _, want := range []string{
		"kvnode: cannot write /srv/kvnode: read-only file system\n", "\n    [Service]\n    ReadWritePaths=/srv/kvnode\n",
		"\n  systemctl restart kvnode.service\n", "\n  systemctl edit kvnode.service ", ": /srv/kvnode\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
	out.Reset()
	showEnd(&out, protected(syscall.EROFS, "kvnode.service", os.TempDir()))
	if strings.Contains(out.String(), "chown") {
		t.Errorf("a directory that is there is changed:\n%s", out.String())
	}
	if exitCode(err) != exitConfig || !errors.Is(err, syscall.EROFS) {
		t.Errorf("exit code %d", exitCode(err))
	}
	t.Setenv("INVOCATION_ID", "")
	if o := command(t, syscall.EROFS, nil); o.code != exitFailed || strings.Contains(o.stderr, "ReadWritePaths") {
		t.Errorf("a disk that is read-only: %+v", o)
	}
}
