package main

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tenure/internal/ownfile"
)

// TestOnlyTheOwnerOfADirectoryUsesIt: as another user, root too, no subcommand leaves a file in a directory that the
// owner then could not open. The refusal is the command that the owner types.
func TestOnlyTheOwnerOfADirectoryUsesIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	inEmptyDir(t, nil)
	formed(t, "old", 1, 3)
	backedUp(t, "old", "b")
	formed(t, "left", 1, 3, 4, 5)
	if o := command(t, nil, nil, "recover", "plan", "left"); o.code != 0 || os.WriteFile("plan", []byte(o.stdout), 0o600) != nil {
		t.Fatalf("%+v", o)
	}
	member := listener(t)
	formed(t, "node", 1, 3, 4)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir("empty", 0o700))
	must(os.Truncate("node/state.db", 100))
	must(os.Remove("node/LOCK"))
	for _, dir := range []string{"node", "empty"} {
		must(filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(name, 54321, 54322))
		}))
	}
	before := files(t)
	for _, c := range []struct {
		args    string
		code    int
		refused bool
		typed   string // in place of args; "": they are
	}{
		{"--data node", exitConfig, true, ""},
		{"--data empty --join " + member + " --peer 127.0.0.1:9 --audit log", exitConfig, true, ""},
		{"--id 3 --cluster 3=127.0.0.1:9,4=" + member + " --data node --audit log", exitConfig, true, ""},
		{"rejoin --data node --join " + member, exitConfig, true, ""},
		{"rejoin --data empty --join " + member + " --node-name n3", exitConfig, true, ""},
		{"restore b --data empty", exitConfig, true, "restore - --data empty < b"},
		{"restore b --data node", exitConfig, true, "restore - --data node < b"},
		{"recover apply plan --yes-i-lose slots-above-0-of-01000000 --data empty", exitConfig, true,
			"recover apply - --yes-i-lose slots-above-0-of-01000000 --data empty < plan"},
		{"recover apply plan --data empty", exitConfig, true,
			"recover apply - --data empty --yes-i-lose slots-above-0-of-01000000 < plan"},
		{"check node", 1, false, ""},
		{"inspect node --log", 0, false, ""},
		{"validate --data node", 0, false, ""},
	} {
		o := command(t, nil, nil, strings.Fields(c.args)...)
		want := "type: setpriv --reuid 54321 --regid 54322 --clear-groups -- kvnode " + cmp.Or(c.typed, c.args) + "\n"
		if o.code != c.code || o.config != nil || c.refused && (!strings.HasSuffix(o.stderr, want) || strings.Count(o.stderr, "\n") != 1) {
			t.Errorf("%s: %+v", c.args, o)
		}
		if now := files(t); !slices.Equal(now, before) {
			t.Errorf("%s: there is\n%q\nand was\n%q", c.args, now, before)
		}
	}
	o := command(t, nil, nil, "check", "node")
	if !strings.Contains(o.stdout, "setpriv --reuid 54321 --regid 54322 --clear-groups -- kvnode rejoin --data node") {
		t.Errorf("what check tells root to type: %+v", o)
	}
}

// files returns the names of all files below the present directory.
func files(t *testing.T) (list []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		list = append(list, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What the owner can read stays as it was typed, and a plan and a backup are taken on standard input.
func TestStandardInputInPlaceOfAFile(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3)
	backedUp(t, "d", "b")
	formed(t, "left", 1, 3, 4, 5)
	plan := command(t, nil, nil, "recover", "plan", "left")
	if err := os.WriteFile("plan", []byte(plan.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, args string }{
		{"b", "restore - --data restored"},
		{"plan", "recover apply - --yes-i-lose slots-above-0-of-01000000 --data recovered"},
	} {
		in, err := os.Open(c.file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var out bytes.Buffer
		cmd := newRoot(nil, &out, &out)
		cmd.SetArgs(strings.Fields(c.args))
		cmd.SetIn(in)
		if err := cmd.Execute(); err != nil || !strings.Contains(out.String(), "is node 3 of cluster") {
			t.Errorf("%s: %v\n%s", c.args, err, out.String())
		}
	}
	other := &ownfile.OtherUser{Dir: "d", Owner: os.Getuid(), Group: os.Getgid()}
	if got := asOwner(&readingError{error: other, file: "b"}, other, []string{"restore", "b"}); got != "restore b" {
		t.Errorf("the owner can read it, and is to type: %s", got)
	}
}

// A file that the node's user cannot read is given by root on standard input.
func TestAFileThatThisUserCannotRead(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	inEmptyDir(t, map[string]string{"b": "", "n.toml": ""})
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Setegid(54322), syscall.Seteuid(54321)); err != nil {
		t.Fatal(err)
	}
	var said [3]outcome
	for i, args := range []string{"restore b --data new", "recover apply b --data new", "--config n.toml"} {
		said[i] = command(t, nil, nil, strings.Fields(args)...)
	}
	if err := errors.Join(syscall.Seteuid(0), syscall.Setegid(0)); err != nil {
		t.Fatal(err)
	}
	const as = "; type as root: setpriv --reuid 54321 --regid 54322 --clear-groups -- kvnode "
	for i, want := range []string{as + "restore - --data new < b\n", as + "recover apply - --data new < b\n",
		"and this process runs as user 54321: type as root: chgrp 54322 n.toml && chmod g+r n.toml\n"} {
		if o := said[i]; o.code != exitConfig || !strings.HasSuffix(o.stderr, want) {
			t.Errorf("%+v\nwant …%s", o, want)
		}
	}
}
