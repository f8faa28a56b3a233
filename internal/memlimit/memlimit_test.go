package memlimit_test

import (
	"os"
	"runtime"
	"testing"
	"testing/fstest"

	"tenure/internal/memlimit"
)

const (
	gib      = 1 << 30
	mountV2  = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1  = "36 25 0:30 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory\n"
	otherV1  = "37 25 0:31 / /sys/fs/cgroup/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu\n"
	ordinary = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
)

var machine = "MemFree:  100 kB\nMemTotal:       8388608 kB\nSwapTotal: 4 kB\n" // 8 GiB

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		groups, mounts string
		files          map[string]string
		bytes          int64
		file           string
	}{
		"no control groups": {"", ordinary, nil, 8 * gib, "/proc/meminfo"},
		"v2, of the group itself": {"0::/tenure.slice/kvnode.service\n", ordinary + mountV2, map[string]string{
			"sys/fs/cgroup/tenure.slice/kvnode.service/memory.max": "1073741824\n",
			"sys/fs/cgroup/tenure.slice/memory.max":                "max\n",
		}, gib, "/sys/fs/cgroup/tenure.slice/kvnode.service/memory.max"},
		"v2, of one above it": {"0::/tenure.slice/kvnode.service\n", mountV2, map[string]string{
			"sys/fs/cgroup/tenure.slice/kvnode.service/memory.max": "3221225472\n",
			"sys/fs/cgroup/tenure.slice/memory.max":                "2147483648\n",
		}, 2 * gib, "/sys/fs/cgroup/tenure.slice/memory.max"},
		"v2, of the root of a container": {"0::/\n", mountV2, map[string]string{
			"sys/fs/cgroup/memory.max": "536870912\n",
		}, gib / 2, "/sys/fs/cgroup/memory.max"},
		"v2, slowed down before": {"0::/a\n", mountV2, map[string]string{
			"sys/fs/cgroup/a/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.high": "1073741824\n",
		}, gib, "/sys/fs/cgroup/a/memory.high"},
		"v2, none": {"0::/a/b\n", mountV2, map[string]string{
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 8 * gib, "/proc/meminfo"},
		"v2, more than the machine has": {"0::/a\n", mountV2, map[string]string{
			"sys/fs/cgroup/a/memory.max": "17179869184\n",
		}, 8 * gib, "/proc/meminfo"},
		"v2, no number": {"0::/a\n", mountV2, map[string]string{
			"sys/fs/cgroup/a/memory.max": "-1\n",
		}, 8 * gib, "/proc/meminfo"},
		"v2, only a part is mounted": {"0::/docker/abc/sub\n",
			"30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/sub/memory.max": "max\n", "sys/fs/cgroup/memory.max": "1073741824\n",
			}, gib, "/sys/fs/cgroup/memory.max"},
		"v2, the path is that of the host": {"0::/system.slice/abc.scope\n",
			"30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/memory.max": "1073741824\n",
			}, gib, "/sys/fs/cgroup/memory.max"},
		"v2, a name that only begins like what is mounted": {"0::/a/bc\n",
			"30 23 0:26 /a/b /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n", map[string]string{
				"sys/fs/cgroup/memory.max": "2147483648\n", "sys/fs/cgroup/c/memory.max": "1073741824\n",
			}, 2 * gib, "/sys/fs/cgroup/memory.max"},
		"v2, a space in the path": {"0::/a\n", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n", map[string]string{
			"my groups/a/memory.max": "1073741824\n",
		}, gib, "/my groups/a/memory.max"},
		"v1": {"5:cpu,cpuacct:/x\n4:memory:/docker/abc\n", otherV1 + mountV1, map[string]string{
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":            "9223372036854771712\n",
			"sys/fs/cgroup/cpu/docker/abc/memory.limit_in_bytes":    "4096\n",
		}, gib, "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes"},
		"v1, none": {"4:memory:/docker/abc\n", mountV1, map[string]string{
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
		}, 8 * gib, "/proc/meminfo"},
		"both": {"4:memory:/a\n0::/b\n", mountV1 + mountV2, map[string]string{
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n",
			"sys/fs/cgroup/b/memory.max":                   "536870912\n",
			"sys/fs/cgroup/a/memory.max":                   "4096\n",
		}, gib / 2, "/sys/fs/cgroup/b/memory.max"},
		"lines cut short": {"0\n0:\n", "30 23\n30 - cgroup2\n", nil, 8 * gib, "/proc/meminfo"},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/meminfo": {Data: []byte(machine)}, "proc/self/cgroup": {Data: []byte(c.groups)},
				"proc/self/mountinfo": {Data: []byte(c.mounts)}}
			for file, text := range c.files {
				root[file] = &fstest.MapFile{Data: []byte(text)}
			}
			l, ok := memlimit.Find(root)
			if !ok || l.Bytes != c.bytes || l.File != c.file {
				t.Errorf("%d of %s (%v), want %d of %s", l.Bytes, l.File, ok, c.bytes, c.file)
			}
		})
	}
}

func TestNothingIsFound(t *testing.T) {
	if l, ok := memlimit.Find(fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: many kB\n")}}); ok {
		t.Errorf("found %+v", l)
	}
}

func TestSoft(t *testing.T) {
	for _, c := range []struct{ bytes, want int64 }{
		{8 * gib, 6 * gib}, {gib, 768 << 20}, {64 << 20, memlimit.Least}, {1, memlimit.Least},
	} {
		if got := (memlimit.Limit{Bytes: c.bytes}).Soft(); got != c.want {
			t.Errorf("of %d bytes: %d, want %d", c.bytes, got, c.want)
		}
	}
}

// The machine that runs this has a limit, whatever it is.
func TestFindHere(t *testing.T) {
	l, ok := memlimit.Find(os.DirFS("/"))
	if runtime.GOOS != "linux" {
		return
	}
	if !ok || l.Bytes < 16<<20 {
		t.Errorf("found %+v (%v)", l, ok)
	}
	t.Logf("%d bytes, by %s", l.Bytes, l.File)
}
