// Package memlimit finds out how much memory a process may have: that of the machine, or less where a control group (a
// container, a unit of systemd) says so. A soft limit for Go's collector follows from it.
//
// Libraries that read control groups do not count memory.high, do not tell which file holds, and cannot be given files
// for a test. The reading itself is short.
package memlimit

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Least is the smallest soft limit. A node under full load has less on its heap, by far (docs/performance.md). With a
// limit below what is in use the collector would run all the time, and up to half of the processor time would be its
// own. It is better then that the kernel ends the process, which says what was wrong.
const Least = 128 << 20

// Limit is how much memory the process may have.
type Limit struct {
	Bytes int64
	File  string // that says so
}

// Soft returns the soft limit for Go's collector: three quarters of l, at least Least. Go counts neither the program
// nor pages of files, such as those of the state database that the kernel keeps, nor what the kernel has for sockets.
func (l Limit) Soft() int64 { return max(l.Bytes/4*3, Least) }

// Find returns the smallest limit that holds for this process, given the file system from its root on. It is false
// where there is none to be found, as on other systems than Linux.
func Find(root fs.FS) (Limit, bool) {
	l := Limit{Bytes: math.MaxInt64}
	l.atMost(machine(root), machineFile)
	mounts := mountsOf(root)
	for _, g := range groupsOf(root) {
		for _, m := range mounts {
			if m.version == g.version {
				l.within(root, m, g)
			}
		}
	}
	return l, l.File != ""
}

// atMost takes over a smaller limit; 0 is none.
func (l *Limit) atMost(bytes int64, file string) {
	if bytes > 0 && bytes < l.Bytes {
		*l = Limit{Bytes: bytes, File: "/" + file}
	}
}

// within takes over the smaller limits of a group and of all above it, up to the one that is mounted. Of directories
// that are not there, since the group has another path outside of a container, only those above count.
func (l *Limit) within(root fs.FS, m mount, g group) {
	below, ok := strings.CutPrefix(g.path+"/", strings.TrimSuffix(m.root, "/")+"/")
	if !ok {
		below = "" // it is not below what is mounted
	}
	for dir := path.Join("/", below); ; dir = path.Dir(dir) {
		for _, name := range limitFiles[m.version] {
			file := path.Join(m.point, dir, name)
			l.atMost(number(read(root, file)), file)
		}
		if dir == "/" {
			return
		}
	}
}

const machineFile = "proc/meminfo"

// machine returns the bytes of memory that the machine has, or 0.
func machine(root fs.FS) int64 {
	for line := range strings.Lines(read(root, machineFile)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "MemTotal:" && words[2] == "kB" {
			return min(number(words[1]), math.MaxInt64>>10) << 10
		}
	}
	return 0
}

// limitFiles names the files of a control group that bound its memory. A group above its memory.high is slowed down
// until hardly anything goes on, so that counts as a limit too.
var limitFiles = map[version][]string{
	v1: {"memory.limit_in_bytes"},
	v2: {"memory.max", "memory.high"},
}

// version is that of control groups: a machine may have both.
type version int

const (
	v1 version = 1
	v2 version = 2
)

// group is a control group of this process that may bound its memory.
type group struct {
	version version
	path    string // from the root of its hierarchy, as this process sees it
}

func groupsOf(root fs.FS) (all []group) {
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		switch {
		case len(f) < 3:
		case f[1] == "":
			all = append(all, group{v2, path.Clean(f[2])})
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			all = append(all, group{v1, path.Clean(f[2])})
		}
	}
	return all
}

// mount is where a hierarchy of control groups is mounted, from its directory root on.
type mount struct {
	version     version
	root, point string
}

func mountsOf(root fs.FS) (all []mount) {
	for line := range strings.Lines(read(root, "proc/self/mountinfo")) {
		before, after, _ := strings.Cut(line, " - ")
		f, of := strings.Fields(before), strings.Fields(after) // type, device, options
		if len(f) < 5 || len(of) < 3 {
			continue
		}
		m := mount{root: unescape.Replace(f[3]), point: strings.TrimPrefix(unescape.Replace(f[4]), "/")}
		switch {
		case of[0] == "cgroup2":
			m.version = v2
		case of[0] == "cgroup" && slices.Contains(strings.Split(of[2], ","), "memory"):
			m.version = v1
		default:
			continue
		}
		all = append(all, m)
	}
	return all
}

// unescape undoes what the kernel writes for characters that would break a line of mountinfo apart.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// number returns the number in text; 0 if it is none, such as "max".
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// read returns what is in a file, and nothing if it cannot be read.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return string(b)
}
