//go:build unix

package ownfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const nobody = 65534

func TestTheOwnerOfADirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{dir, filepath.Join(dir, "none")} {
		if err := CheckDir(name); err != nil || AsOwner(name) != "" {
			t.Errorf("%s: %v, %q", name, err, AsOwner(name))
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	err := CheckDir(dir)
	var other *OtherUser
	if !errors.As(err, &other) || !errors.Is(err, fs.ErrPermission) || *other != (OtherUser{dir, nobody, nobody, 0}) {
		t.Fatalf("%v", err)
	}
	if err := os.Chown(dir, 54321, 54322); err != nil {
		t.Fatal(err)
	}
	if as := AsOwner(dir); as != "setpriv --reuid 54321 --regid 54322 --clear-groups -- " {
		t.Errorf("%q", as)
	}
}

// A directory of root may be one of the group of this process, as the volumes of Kubernetes are.
func TestADirectoryOfTheGroup(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	const group, user = 54322, 54321
	ours, others := t.TempDir(), t.TempDir()
	if err := os.Chmod(filepath.Dir(ours), 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, gid := range map[string]int{ours: group, others: group + 1} {
		if err := errors.Join(os.Chown(dir, 0, gid), os.Chmod(dir, 0o770)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(syscall.Setegid(group), syscall.Seteuid(user)); err != nil {
		t.Fatal(err)
	}
	inOurs, inOthers := CheckDir(ours), CheckDir(others)
	if err := errors.Join(syscall.Seteuid(0), syscall.Setegid(0)); err != nil {
		t.Fatal(err)
	}
	if inOurs != nil || inOthers == nil {
		t.Errorf("of this group: %v; of another: %v", inOurs, inOthers)
	}
}

// Whoever is not the owner is told what to type, as that user or as root.
func TestWhatToTypeAsTheOwner(t *testing.T) {
	for _, c := range []struct {
		e    OtherUser
		want string
	}{
		{OtherUser{Owner: 54321, Group: 54322}, "type: setpriv --reuid 54321 --regid 54322 --clear-groups -- kvnode --data d"},
		{OtherUser{Owner: 54321, User: 54323}, "type as root: setpriv --reuid 54321 --regid 0 --clear-groups -- kvnode --data d"},
		{OtherUser{User: 54323}, "if root has made it for this node, type as root: chown -R 54323: d; else name another " +
			"directory"},
	} {
		if got := c.e.Remedy("kvnode --data d", "d"); got != c.want {
			t.Errorf("%+v: %s", c.e, got)
		}
	}
	if UserName(0) != "root" {
		t.Skip("this machine has no root")
	}
	e := OtherUser{Dir: "d", Owner: 0, User: 54323}
	if got := e.Error(); got != "d belongs to user root, and this process runs as user 54323" {
		t.Error(got)
	}
}

// What a service prints is typed by root, since nobody logs in as the service's user.
func TestASystemAccountIsNamed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	dir := t.TempDir()
	as := func(uid int) string {
		if err := syscall.Seteuid(uid); err != nil {
			t.Fatal(err)
		}
		defer syscall.Seteuid(0)
		return AsOwner(dir)
	}
	if got := as(1); got != "runuser -u daemon -- " && got != "runuser -u bin -- " {
		t.Errorf("as a system account: %q", got)
	}
	if got := as(54321); got != "" {
		t.Errorf("as somebody who logs in: %q", got)
	}
}
