package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tenure/internal/ownfile"
	"tenure/internal/shown"
	"tenure/server/audit"
)

// protectedError is about a directory in which systemd does not let the node write. Another start would end alike.
type protectedError struct{ adviceError }

func (e *protectedError) advised() *adviceError { return &e.adviceError }

// withUnit adds to an error about a read-only file system how the unit of this node lets it write, if it is only the
// unit that does not: the file system itself is writable.
func (s *settings) withUnit(err error) error {
	unit := unitOf(os.Getenv, "/proc/self/cgroup")
	dirs := []string{s.cfg.Data}
	if a := s.cfg.Audit.Path; a != "" && a != audit.Stdout {
		dirs = append(dirs, filepath.Dir(a))
	}
	for _, dir := range dirs {
		if full, absErr := filepath.Abs(dir); absErr == nil && unit != "" && isProtected(full, mountsFile) {
			return protected(err, unit, full)
		}
	}
	return err
}

// mountsFile has the mounts of this process: see proc_pid_mountinfo(5).
const mountsFile = "/proc/self/mountinfo"

// unitOf returns the unit of systemd that runs this process, "" if none does.
func unitOf(environ func(string) string, cgroups string) string {
	if environ("INVOCATION_ID") == "" {
		return ""
	}
	text, err := os.ReadFile(cgroups)
	for part := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '/' || r == '\n' }) {
		if err == nil && strings.HasSuffix(part, ".service") {
			return part
		}
	}
	return "kvnode.service"
}

// isProtected reports whether the mount at which dir is, or would be, is read-only and its file system is not.
func isProtected(dir, mounts string) bool {
	text, err := os.ReadFile(mounts)
	if err != nil {
		return false
	}
	if real, err := realPath(dir); err == nil {
		dir = real
	}
	deepest, is := "", false
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 6 || len(g) < 3 {
			continue
		}
		at := unescapeMount.Replace(f[4])
		if len(at) < len(deepest) || at != "/" && dir != at && !strings.HasPrefix(dir, at+"/") {
			continue
		}
		deepest, is = at, isReadOnly(f[5]) && !isReadOnly(g[2]) // a later mount is above an earlier one
	}
	return is
}

// realPath resolves the links in the part of a path that is there.
func realPath(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil || name == filepath.Dir(name) || !errors.Is(err, os.ErrNotExist) {
		return real, err
	}
	above, err := realPath(filepath.Dir(name))
	return filepath.Join(above, filepath.Base(name)), err
}

var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func isReadOnly(options string) bool { return options == "ro" || strings.HasPrefix(options, "ro,") }

// protected returns err with what to type to have the unit let the node write in dir.
func protected(err error, unit, dir string) error {
	advice := []string{
		"its unit, " + unit + ", lets it write nowhere but to its own directories (ProtectSystem); type as root:",
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) { // of one that is there neither owner nor mode are changed
		word := shown.Word(dir)
		advice = append(advice, "mkdir -p "+word+" && chown "+ownfile.UserName(os.Geteuid())+": "+word)
	}
	value := dir
	if strings.ContainsAny(dir, " \t\"'\\") {
		value = strconv.Quote(dir)
	}
	return &protectedError{adviceError{err, append(advice,
		"systemctl edit "+unit+"   # and put in these two lines:",
		"  [Service]",
		"  ReadWritePaths="+value,
		"systemctl restart "+unit)}}
}
