package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"tenure/internal/ident"
	"tenure/kv"
	"tenure/server/archive"
	"tenure/server/backup/target"
	"tenure/server/recovery"
)

// archivedAt is when the revisions of archived were reached.
var archivedAt = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

// archived makes the directory dir the archive of cluster 01: a full copy of slot 1, and segments of the slots 2 and 3,
// and 6. It encrypts to the recipients.
func archived(t *testing.T, dir string, recipients ...age.Recipient) {
	t.Helper()
	formed(t, "of-"+dir, 1, 3)
	backedUp(t, "of-"+dir, dir+".backup")
	full, err := os.ReadFile(dir + ".backup")
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	to, err := target.Open(dir, target.Config{Recipients: recipients})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	put := func(name string, b []byte) {
		if err := to.Put(context.Background(), name, bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
	}
	c := ident.ClusterID{1}
	put(archive.Marker(c), nil)
	put(archive.Full{Slot: 1, Revision: 2, Made: archivedAt, Node: 3}.Name(c), full)
	set := kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("2")}
	for _, s := range []struct{ first, last, revision uint64 }{{2, 3, 4}, {6, 6, 7}} {
		b := archive.NewBuilder(c, s.first, archive.BeginChain(c, s.first))
		for slot := s.first; slot <= s.last; slot++ {
			b.Add(slot, kv.AppendBatch(nil, kv.EncodeCommand(&set)), 0)
		}
		var m archive.Moments
		m.Add(s.last, s.revision, archivedAt.Add(time.Duration(s.last)*time.Minute))
		name, segment, ok := b.Encode(&m)
		if !ok {
			t.Fatal("not encoded")
		}
		put(name.Name(c), segment)
	}
}

func TestRestoreList(t *testing.T) {
	inEmptyDir(t, nil)
	archived(t, "a")
	o := command(t, nil, nil, "restore", "a", "--list")
	for _, text := range []string{"cluster 01000000", "2 to 4", "2026-11-23T02:00:00.000Z  2026-11-23T02:03:00.000Z",
		"verified: never"} {
		if o.code != 0 || !strings.Contains(o.stdout, text) {
			t.Errorf("%q is missing: %+v", text, o)
		}
	}
	o = command(t, nil, nil, "restore", "a", "--list", "--json", "--cluster-id", "01")
	var all struct{ Clusters []recovery.Catalog }
	if err := json.Unmarshal([]byte(o.stdout), &all); err != nil || len(all.Clusters) != 1 {
		t.Fatalf("%+v %v", o, err)
	}
	if r := all.Clusters[0].Ranges; len(r) != 1 || r[0].LastRevision != 4 || !r[0].LastIsEnd || r[0].LastSlot != 3 {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat("kvnode-data"); err == nil {
		t.Error("a list has made a data directory")
	}
}

func TestRestoreOfAnEncryptedArchive(t *testing.T) {
	inEmptyDir(t, nil)
	mine, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]*age.X25519Identity{"mine": mine, "other": other} {
		if err := os.WriteFile(name, []byte(id.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archived(t, "a", mine.Recipient())
	for args, want := range map[string]string{
		"":                 "is encrypted: give the file with the secret with --identity FILE",
		"--identity other": "is encrypted to others than the identities that were given",
	} {
		o := command(t, nil, nil, append([]string{"restore", "a", "--data", "up/new"}, strings.Fields(args)...)...)
		if o.code != exitConfig || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: %+v", args, o)
		}
		if _, err := os.Stat("up"); err == nil {
			t.Errorf("%s: a directory is left", args)
		}
	}
	o := command(t, nil, nil, "restore", "a", "--list")
	if o.code != 0 || !strings.Contains(o.stdout, "2 to 2 or more") || !strings.Contains(o.stdout, "--identity FILE") {
		t.Errorf("%+v", o)
	}
	o = command(t, nil, nil, "restore", "a", "--list", "--identity", "mine")
	if o.code != 0 || !strings.Contains(o.stdout, "2 to 4 ") {
		t.Errorf("%+v", o)
	}
	if o = command(t, nil, nil, "restore", "a", "--data", "new", "--identity", "mine", "--at",
		"2026-11-23T02:00:30Z"); o.code != 0 {
		t.Errorf("%+v", o)
	}
}

func TestRestoreAtATime(t *testing.T) {
	newest := archivedAt.Add(time.Hour)
	for _, c := range []struct {
		at, now    time.Time
		note, says string
	}{
		{time.Time{}, newest, "", ""},
		{newest, newest, "", ""},
		{newest.Add(time.Second), newest.Add(time.Hour), "the newest state in the archive is of 2026-11-23T03:00:00.000Z", ""},
		{newest.Add(time.Hour), newest.Add(time.Minute), "", "is in the future; the newest state in the archive is of " +
			"2026-11-23T03:00:00.000Z"},
	} {
		note, err := checkTime(c.at, newest, c.now)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) ||
			(c.note == "") != (note == "") || !strings.HasPrefix(note, c.note) {
			t.Errorf("%v at %v: %q %v", c.at, c.now, note, err)
		}
	}
}

// A failed restore removes the directories it made, and no others.
func TestAFailedRestoreLeavesNoDirectory(t *testing.T) {
	inEmptyDir(t, nil)
	archived(t, "a")
	b, err := os.ReadFile("a.backup")
	if err == nil {
		b[len(b)/2] ^= 1
		err = os.WriteFile("damaged", b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"damaged", "a --at 99"} {
		if o := command(t, nil, nil, append([]string{"restore", "--data", "x/y/z"}, strings.Fields(from)...)...); o.code != 1 {
			t.Errorf("%s: %+v", from, o)
		}
		if _, err := os.Stat("x"); err == nil {
			t.Errorf("%s: x is left", from)
		}
	}
	if err := os.Mkdir("mine", 0o700); err != nil {
		t.Fatal(err)
	}
	o := command(t, nil, nil, "restore", "damaged", "--data", "mine/new")
	if left, err := os.ReadDir("mine"); o.code != 1 || err != nil || len(left) != 0 {
		t.Errorf("%+v %v %v", o, left, err)
	}
}

func TestRestoreRefusesFlagsThatItWouldIgnore(t *testing.T) {
	inEmptyDir(t, map[string]string{"some.backup": "x"})
	archived(t, "a")
	for args, want := range map[string]string{
		"a --json":                    "--json is for --list",
		"a --list --at 3":             "--list restores nothing; leave out --at",
		"a --list --data x":           "--list restores nothing; leave out --data",
		"none --list":                 "no such file or directory; give the file or the URL",
		"of-a --data x":               "is the data directory of a node and no archive",
		"s3:/b/x.backup --data x":     "write s3://BUCKET/PREFIX",
		"some.backup --list":          "--list is for an archive",
		"some.backup --at 5":          "which has one revision only",
		". --data new":                "has backups and no archive",
		"a --at 2999-01-01T00:00:00Z": "is in the future",
	} {
		o := command(t, nil, nil, append([]string{"restore"}, strings.Fields(args)...)...)
		if o.code != exitConfig || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}
