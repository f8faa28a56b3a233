package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	}{
		{"--data node", exitConfig, true},
		{"--data empty --join " + member + " --peer 127.0.0.1:9 --audit log", exitConfig, true},
		{"--id 3 --cluster 3=127.0.0.1:9,4=" + member + " --data node --audit log", exitConfig, true},
		{"rejoin --data node --join " + member, exitConfig, true},
		{"rejoin --data empty --join " + member + " --node-name n3", exitConfig, true},
		{"restore b --data empty", exitConfig, true},
		{"restore b --data node", exitConfig, true},
		{"recover apply plan --yes-i-lose slots-above-0-of-01000000 --data empty", exitConfig, true},
		{"check node", 1, false},
		{"inspect node --log", 0, false},
		{"validate --data node", 0, false},
	} {
		o := command(t, nil, nil, strings.Fields(c.args)...)
		want := "type: setpriv --reuid 54321 --regid 54322 --clear-groups -- kvnode " + c.args + "\n"
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
