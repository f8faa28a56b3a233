//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"

	"tenure/server/backup"
)

// identityFile writes a new identity to a file, and returns its recipient.
func identityFile(t *testing.T, name string) string {
	t.Helper()
	i, err := age.GenerateX25519Identity()
	if err == nil {
		err = os.WriteFile(name, []byte(i.String()+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return i.Recipient().String()
}

func fileNames(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestBackupsOfADirectory makes backups in a directory, encrypted and not, lists them and verifies the newest.
func TestBackupsOfADirectory(t *testing.T) {
	addr := realNode(t)
	if o := against(addr, "", "set", "k", "v", "--timeout", "30s"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	dir, keys := t.TempDir(), t.TempDir()
	own, other := filepath.Join(keys, "own"), filepath.Join(keys, "other")
	recipient := identityFile(t, own)
	identityFile(t, other)
	create := func(args ...string) backupJSON {
		t.Helper()
		o := against(addr, "", append([]string{"backup", "create", "--json"}, args...)...)
		out := decode[backupJSON](t, o.out)
		f, is := backup.ParseName(filepath.Base(out.File))
		if o.code != 0 || !is || f.Revision != out.Revision || f.Encrypted != out.Encrypted {
			t.Fatalf("%+v", o)
		}
		return out
	}
	plain := create(dir)
	if o := against(addr, "", "set", "k", "w"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	sealed := create("file://"+dir+"/", "--recipient", recipient)
	if plain.Encrypted || !sealed.Encrypted || plain.Revision != 2 || sealed.Revision != 3 ||
		filepath.Dir(plain.File) != dir {
		t.Errorf("%+v\n%+v", plain, sealed)
	}
	o := against(addr, "", "backup", "list", dir)
	lines := strings.Split(strings.TrimSpace(o.out), "\n")
	if o.code != 0 || len(lines) != 3 ||
		!strings.HasPrefix(lines[1], filepath.Base(sealed.File)+" ") || !strings.HasSuffix(lines[1], " yes") ||
		!strings.HasPrefix(lines[2], filepath.Base(plain.File)+" ") || !strings.HasSuffix(lines[2], " no") {
		t.Errorf("%+v", o)
	}
	l := decode[[]listedJSON](t, against(addr, "", "backup", "list", dir, "--json").out)
	if len(l) != 2 || l[0].Revision != 3 || l[0].Bytes <= int64(sealed.Bytes) {
		t.Errorf("%+v", l)
	}
	for _, flags := range [][]string{nil, {"--restore"}} {
		o := against(addr, "", append([]string{"backup", "verify", "--newest", dir, "--identity", own}, flags...)...)
		if o.code != 0 || !strings.Contains(o.out, "file      "+sealed.File+"\n") ||
			!strings.Contains(o.out, "revision  3\n") {
			t.Errorf("%+v", o)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"verify", sealed.File}, 1, "it is encrypted, and no identity was given; give --identity FILE"},
		{[]string{"verify", sealed.File, "--identity", other}, 1, "encrypted to others than the identities that were given"},
		{[]string{"verify", sealed.File, "--identity", sealed.File}, 2, "it has no AGE-SECRET-KEY-1"},
		{[]string{"verify", "--newest", keys}, 1, "there is no backup in " + keys + ": nothing was verified"},
		{[]string{"list", keys}, 0, "there are no backups in " + keys},
		{[]string{"list", "s3:/b"}, 2, "write s3://BUCKET/PREFIX"},
		{[]string{"create", "s3:/b/FILE"}, 2, "write s3://BUCKET/PREFIX"},
		{[]string{"verify", dir}, 2, "it is a directory; --newest verifies the newest backup"},
		{[]string{"verify", "S3:b"}, 1, "write s3://BUCKET/PREFIX"},
		{[]string{"prune", dir, "--keep-within", "2y"}, 2, "like 30s, 36h, 7d or 2w"},
		{[]string{"create", dir, "--force"}, 2, "--force is for a FILE"},
		{[]string{"create", dir + "/none/"}, 1, "there is no directory " + dir + "/none; make it, or mount the disk"},
		{[]string{"create", dir, "--recipient", "age1"}, 2, `recipient "age1": it is no age1`},
		{[]string{"create", "s3://b"}, 2, "bad target"},
		{[]string{"list", dir + "/none"}, 1, "there is no directory"},
		{[]string{"list", "ftp://x"}, 2, `scheme "ftp"`},
	} {
		o := against(addr, "", append([]string{"backup"}, c.args...)...)
		if o.code != c.code || o.out != "" || !strings.Contains(o.errOut, c.text) {
			t.Errorf("%q: %+v, want %d, %s", c.args, o, c.code, c.text)
		}
	}
	if got := fileNames(t, dir); len(got) != 2 {
		t.Errorf("%q", got)
	}

	// A file of a name of its own, and standard output, are encrypted likewise.
	file := filepath.Join(keys, "b")
	if o := against(addr, "", "backup", "create", file, "--recipient", recipient); o.code != 0 {
		t.Errorf("%+v", o)
	}
	o = against(addr, "", "backup", "verify", file, plain.File, "--identity", own)
	if o.code != 0 || strings.Count(o.out, "revision  ") != 2 {
		t.Errorf("%+v", o)
	}
	stdout := against(addr, "", "backup", "create", "-", "--recipient", recipient)
	if o := against(addr, stdout.out, "backup", "verify", "-", "--identity", own); stdout.code != 0 || o.code != 0 {
		t.Errorf("%+v", o)
	}
	if o := against(addr, stdout.out[:len(stdout.out)-20], "backup", "verify", "-", "--identity", own); o.code != 1 {
		t.Errorf("cut off: %+v", o)
	}
}

// TestPrune: what no flag keeps is gone, and nothing else.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	var backups []string
	for day := range 10 {
		backups = append(backups, fmt.Sprintf("tenure-8c0d3f5b-202611%02dT020000Z-r%d.backup", 11+day, 100+day))
	}
	others := []string{"tenure.backup", "tenure-8c0d3f5b-20261101T020000Z-r1.backup.partial", "tenure-notes.txt", "zzz"}
	for _, name := range slices.Concat(backups, others) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := fileNames(t, dir)
	prune := func(args ...string) outcome {
		return against("127.0.0.1:1", "", append([]string{"backup", "prune", dir}, args...)...)
	}
	for args, want := range map[string]string{"": "no --keep flag says what to keep", "--keep-last -1": "is negative",
		"--keep-last x": "must be a whole number", "--keep-last 0": "no --keep flag"} {
		if o := prune(strings.Fields(args)...); o.code != 2 || !strings.Contains(o.errOut, want) {
			t.Errorf("%s: %+v", args, o)
		}
	}
	dry := prune("--keep-last", "2", "--keep-weekly", "2", "--dry-run")
	if dry.code != 0 || !strings.Contains(dry.out, "3 kept, 7 to delete, which was not done\n") ||
		!strings.Contains(dry.out, "newest, last 1, week 2026-W47") || !slices.Equal(fileNames(t, dir), all) {
		t.Errorf("%+v", dry)
	}
	o := prune("--keep-last", "2", "--keep-weekly", "2", "--json")
	want := slices.Concat([]string{backups[4], backups[8], backups[9]}, others)
	slices.Sort(want)
	if got := fileNames(t, dir); o.code != 0 || !slices.Equal(got, want) {
		t.Errorf("%+v: %q, want %q", o, got, want)
	}
	if j := decode[[]prunedJSON](t, o.out); len(j) != 10 || !j[0].Kept || j[0].Name != backups[9] || j[2].Kept {
		t.Errorf("%+v", j)
	}
	if o := prune("--keep-within", "1w", "--dry-run"); o.code != 0 || !strings.Contains(o.out, "3 kept, 0 to delete") {
		t.Errorf("%+v", o)
	}
	if o := prune("--keep-within", "1d"); o.code != 0 || !strings.Contains(o.out, "2 kept, 1 deleted\n") {
		t.Errorf("%+v", o)
	}
	if o := prune("--keep-within", "1ns"); o.code != 0 || !strings.Contains(o.out, "1 kept, 1 deleted\n") {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(dir, backups[9])); errors.Is(err, fs.ErrNotExist) {
		t.Error("the newest is gone")
	}
}
