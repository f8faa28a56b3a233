//go:build unix

package ownfile

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// OtherUser is the error about a directory of another user than that of this process. It wraps fs.ErrPermission.
type OtherUser struct {
	Dir   string
	Owner int // the user id
	Group int
	User  int // of this process
}

// CheckDir returns an *OtherUser if dir belongs to another user, and this process cannot make files there, or is root:
// the owner could not open root's files. A directory of root may be one of the process's group, such as a volume of
// Kubernetes. CheckDir returns nil if there is nothing to look at, which the caller finds out by itself.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int64(stat.Uid) == int64(os.Geteuid()) {
		return nil
	}
	if os.Geteuid() != 0 && unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil {
		return nil
	}
	return &OtherUser{Dir: dir, Owner: int(stat.Uid), Group: int(stat.Gid), User: os.Geteuid()}
}

// Error says whose the directory is.
func (e *OtherUser) Error() string {
	return fmt.Sprintf("%s belongs to user %s, and this process runs as user %s", e.Dir, UserName(e.Owner),
		UserName(e.User))
}

// Unwrap returns fs.ErrPermission.
func (e *OtherUser) Unwrap() error { return fs.ErrPermission }

// Remedy says what to type instead of command, a line for a shell. dir is the directory as a word of such a line.
func (e *OtherUser) Remedy(command, dir string) string {
	switch {
	case e.User == 0:
		return "type: " + e.as() + command
	case e.Owner == 0:
		return fmt.Sprintf("if root has made it for this node, type as root: chown -R %s: %s; else name another directory",
			UserName(e.User), dir)
	}
	return "type as root: " + e.as() + command
}

// as returns what goes before a command to run it as the owner. runuser takes no number.
func (e *OtherUser) as() string {
	if u, err := user.LookupId(strconv.Itoa(e.Owner)); err == nil {
		return "runuser -u " + u.Username + " -- "
	}
	return fmt.Sprintf("setpriv --reuid %d --regid %d --clear-groups -- ", e.Owner, e.Group)
}

// maxSystemAccount is the highest user id of accounts for services, as Debian, Fedora and systemd have it. Nobody logs
// in by such an account, so root types what its processes print.
const maxSystemAccount = 999

// AsOwner returns what root types before a command to run it as the owner of dir, for a line that this process prints.
// It is "" if root owns dir, or if this user, who owns it or is not root, can type the command without it.
func AsOwner(dir string) string {
	if e, ok := CheckDir(dir).(*OtherUser); ok && e.User == 0 {
		return e.as()
	}
	if uid := os.Geteuid(); uid > 0 && uid <= maxSystemAccount {
		return (&OtherUser{Owner: uid, Group: os.Getegid()}).as()
	}
	return ""
}

// Owner returns the name of the user to whom the file of that name belongs, and reports whether that is another user
// than that of this process.
func Owner(name string) (owner string, other bool) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return UserName(int(stat.Uid)), int64(stat.Uid) != int64(os.Geteuid())
}

// UserName returns the name of the user with that id, or the id if it has none here.
func UserName(id int) string {
	number := strconv.Itoa(id)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return number
}
