package storage

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/internal/ident"
	"tenure/internal/lostfound"
	"tenure/multipaxos"
	"tenure/storage/internal/acceptor"
	"tenure/storage/internal/disk"
	"tenure/storage/internal/disktest"
)

func TestNewStoreIsEmptyPrivateAndKeepsItsID(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s := open(t, dir, small)
	info, err := os.Stat(dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	id := s.Identity()
	if id.Store.IsZero() || id.Node != 0 || id.Formed || id.TakesPart() || s.StartRecord() != (StartRecord{}) ||
		s.Durable() != (multipaxos.Durable{}) {
		t.Errorf("a new store has %+v %+v %+v", id, s.StartRecord(), s.Durable())
	}
	slot, meta, err := s.Loaded()
	if slot != 0 || len(meta) != 0 || err != nil {
		t.Errorf("a new state database is at %d with %q, %v", slot, meta, err)
	}
	if u := s.Usage(); u.LogFileBytes != small.LogInitialBytes || u.Low {
		t.Errorf("%+v", u)
	}
	if again := reopen(t, s).Identity(); again.Store != id.Store {
		t.Errorf("store id %s became %s", id.Store, again.Store)
	}
	if other := open(t, t.TempDir(), small).Identity(); other.Store == id.Store {
		t.Error("two stores with one id")
	}
}

// Every start that cannot go well says on one line what is wrong and how to mend it, and leaves the files alone.
func TestOpenRefuses(t *testing.T) {
	type row struct {
		name    string
		options Options
		spoil   func(t *testing.T, dir string) // what happened to the directory of a formed, checkpointed store
		kind    error
		words   []string
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, name))) }
	}
	cut := func(name string, size func(int64) int64) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			must(t, err)
			must(t, os.Truncate(path, size(info.Size())))
		}
	}
	zero := func(int64) int64 { return 0 }
	short := func(int64) int64 { return 3 * 4096 }
	odd := func(int64) int64 { return 5*4096 + 17 }
	older := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			old := readFile(t, path)
			s := open(t, dir, small)
			q := s.StartRecord().Quarantine
			must(t, s.Start(StartRecord{Restart: 2, Quarantine: q})) // as every run does
			fill(t, s, 40, 100)
			checkpointKeys(t, s, 0, 5, "newer")
			must(t, s.Commit([]multipaxos.Persist{{Truncate: s.Durable().Last}}))
			must(t, s.Close())
			overwrite(t, path, old)
		}
	}
	rows := []row{
		{"negative option", Options{QuotaBytes: -1}, nil, nil, []string{"QuotaBytes is -1"}},
		{"log missing", small, remove(disk.LogName), ErrDamaged, []string{disk.LogName, "missing"}},
		{"state missing", small, remove(disk.StateName), ErrDamaged, []string{disk.StateName, "missing"}},
		{"log empty", small, cut(disk.LogName, zero), ErrDamaged, []string{disk.LogName, "meta page"}},
		{"state empty", small, cut(disk.StateName, zero), ErrDamaged, []string{disk.StateName, "meta page"}},
		{"log cut", small, cut(disk.LogName, short), ErrDamaged, []string{disk.LogName, "cut short"}},
		{"state cut", small, cut(disk.StateName, short), ErrDamaged, []string{disk.StateName, "cut short"}},
		{"state cut inside a page", small, cut(disk.StateName, odd), ErrDamaged, []string{disk.StateName, "cut short"}},
		{"older log", small, older(disk.LogName), ErrDamaged, []string{disk.LogName, "older copy"}},
		{"older state", small, older(disk.StateName), ErrDamaged, []string{disk.StateName, "older copy"}},
		{"older journal", small, older(disk.JournalName), ErrDamaged, []string{disk.JournalName, "older copy"}},
		{"journal missing", small, remove(disk.JournalName), ErrDamaged, []string{disk.JournalName, "missing"}},
		{"journal empty", small, cut(disk.JournalName, zero), ErrDamaged, []string{disk.JournalName, "0 bytes"}},
		{"journal cut", small, cut(disk.JournalName, short), ErrDamaged, []string{disk.JournalName, "was made with"}},
		{"journal of zeros", small, func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, disk.JournalName), make([]byte, acceptor.MinJournalBytes))
		}, ErrDamaged, []string{disk.JournalName, "older copy"}},
		{"journal of another node", small, func(t *testing.T, dir string) {
			other := filepath.Join(t.TempDir(), "other")
			s := formed(t, other)
			fill(t, s, 100, 200)
			must(t, s.Close())
			overwrite(t, filepath.Join(dir, disk.JournalName), readFile(t, filepath.Join(other, disk.JournalName)))
		}, ErrDamaged, []string{disk.JournalName, "another store"}},
		{"all but the journal missing", small, func(t *testing.T, dir string) {
			remove(disk.LogName)(t, dir)
			remove(disk.StateName)(t, dir)
		}, ErrDamaged, []string{disk.LogName, "missing"}},
		{"state of another node", small, func(t *testing.T, dir string) {
			other := filepath.Join(t.TempDir(), "other")
			must(t, formed(t, other).Close())
			overwrite(t, filepath.Join(dir, disk.StateName), readFile(t, filepath.Join(other, disk.StateName)))
		}, ErrOtherNode, []string{disk.StateName, "put the files of one node together"}},
		{"log is a directory", small, func(t *testing.T, dir string) {
			remove(disk.LogName)(t, dir)
			must(t, os.Mkdir(filepath.Join(dir, disk.LogName), 0o700))
		}, ErrUnusable, []string{"not a plain file"}},
		{"not bbolt", small, func(t *testing.T, dir string) {
			overwrite(t, filepath.Join(dir, disk.LogName), []byte(strings.Repeat("x", 9000)))
		}, ErrDamaged, []string{disk.LogName, "meta page"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			dir := t.TempDir()
			s := formed(t, dir)
			fill(t, s, 100, 200)
			checkpointKeys(t, s, 0, 200, "v")
			must(t, s.Close())
			if r.spoil != nil {
				r.spoil(t, dir)
			}
			_, err := Open(dir, r.options)
			if r.kind == nil {
				r.kind = err
			}
			wantError(t, err, r.kind, r.words...)
			_, again := Open(dir, r.options)
			if again == nil || again.Error() != err.Error() {
				t.Errorf("the second time: %v", again)
			}
		})
	}
}

func TestOpenRefusesAFileAndAnUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(file, small)
	wantError(t, err, ErrUnusable, "not a directory")
	_, err = Open(filepath.Join(file, "below"), small)
	wantError(t, err, ErrUnusable, "not a directory")
	if os.Getuid() != 0 {
		dir := t.TempDir()
		must(t, os.Chmod(dir, 0o500))
		_, err = Open(dir, small)
		wantError(t, err, ErrUnusable, "cannot create "+filepath.Join(dir, lockName), "make "+dir+" writable")
	}
	_, err = Open("/proc/self", small)
	wantError(t, err, ErrUnusable, "/proc/self")
}

// TestADirectoryOfOthersIsLeftAlone: a directory with files of others keeps its mode and its files, whatever name was
// mistyped; an empty one, a new file system, and a node's own become private.
func TestADirectoryOfOthersIsLeftAlone(t *testing.T) {
	file := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { must(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644)) }
	}
	for _, c := range []struct {
		what string
		mode os.FileMode
		put  func(t *testing.T, dir string)
		want string // "": it becomes a node's
	}{
		{"of others", 0o755, file("passwd"), "such as passwd"},
		{"of others, private", 0o700, file("passwd"), "such as passwd"},
		{"of others, with a directory", 0o755, func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, "ssh"), 0o700))
		}, "such as ssh"},
		{"with a directory that has the name of a node's file", 0o755, func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, disk.JournalName), 0o700))
		}, "such as journal"},
		{"a new tmpfs", 0o777 | os.ModeSticky, func(*testing.T, string) {}, ""},
		{"for all, with a lock", 0o777 | os.ModeSticky, file(lockName), "for the files of all users"},
		{"empty", 0o755, func(*testing.T, string) {}, ""},
		{"a new file system", 0o755, func(t *testing.T, dir string) {
			must(t, os.Mkdir(filepath.Join(dir, lostfound.Name), 0o700))
		}, ""},
		{"a node's", 0o755, func(t *testing.T, dir string) {
			file("notes")(t, dir)
			file(lockName)(t, dir)
		}, ""},
	} {
		dir := t.TempDir()
		c.put(t, dir)
		must(t, os.Chmod(dir, c.mode))
		before := names(t, dir)
		s, err := Open(dir, small)
		info, statErr := os.Stat(dir)
		must(t, statErr)
		if c.want == "" {
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, mode %v", c.what, err, info.Mode())
			}
			if err == nil {
				must(t, s.Close())
			}
			continue
		}
		wantError(t, err, ErrUnusable, dir, c.want, "with --data")
		if now := names(t, dir); info.Mode() != c.mode|os.ModeDir || !slices.Equal(now, before) {
			t.Errorf("%s: mode %v, %q; before %v, %q", c.what, info.Mode(), now, c.mode, before)
		}
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestSecondOpenNamesTheHolder(t *testing.T) {
	s := open(t, t.TempDir(), small)
	_, err := Open(s.files.Dir, small)
	wantError(t, err, ErrInUse, "process", "stop that process")
	if !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("%v does not name process %d", err, os.Getpid())
	}
	reopen(t, s)
}

// More address space than there is becomes less, and not an error.
func TestShortAddressSpace(t *testing.T) {
	s := open(t, t.TempDir(), Options{LogInitialBytes: 64 << 10, MapBytes: 1 << 47})
	fill(t, s, 10, 100)
	reopen(t, s)
}

// A crash during creation leaves log.db under its first name; the store is then made anew.
func TestUnfinishedCreationStartsAgain(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, newLogName), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, disk.StateName), []byte("half"), 0o600))
	s := open(t, dir, small)
	if _, err := os.Stat(filepath.Join(dir, newLogName)); err == nil {
		t.Error("the first name is still there")
	}
	fill(t, s, 1, 1)
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.MkdirAll(to, 0o700))
	for _, name := range []string{disk.LogName, disk.JournalName, disk.StateName} {
		must(t, os.WriteFile(filepath.Join(to, name), readFile(t, filepath.Join(from, name)), 0o600))
	}
}

func TestCopiedDirectoryIsRefusedUntilAccepted(t *testing.T) {
	dir := t.TempDir()
	s := formed(t, dir)
	fill(t, s, 3, 10)
	want := mustContent(t, s)
	must(t, s.Close())
	clone := filepath.Join(t.TempDir(), "a $(clone)")
	copyDir(t, dir, clone)
	_, err := Open(clone, small)
	wantError(t, err, ErrCopied, "touch '"+filepath.Join(clone, acceptedName)+"'", "replace this node")

	must(t, os.WriteFile(filepath.Join(clone, acceptedName), nil, 0o600))
	c := open(t, clone, small)
	if got := mustContent(t, c); got != want {
		t.Errorf("the copy holds\n%s\nand not\n%s", got, want)
	}
	if len(c.Notes()) == 0 {
		t.Error("nothing was noted")
	}
	c = reopen(t, c)
	if len(c.Notes()) != 0 {
		t.Errorf("noted again: %q", c.Notes())
	}
	// A rename is no copy.
	must(t, os.Rename(dir, dir+"-moved"))
	open(t, dir+"-moved", small)
}

func TestRefuseCopyKnowsUnstableInodes(t *testing.T) {
	born := diskRecord{Inode: 7, BirthSec: 100, BirthNsec: 5, Machine: "m"}
	for _, r := range []struct {
		name   string
		is     diskRecord
		refuse bool
	}{
		{"the same", born, false},
		{"another machine", diskRecord{Inode: 7, BirthSec: 100, BirthNsec: 5}, false},
		{"another inode, the same birth", diskRecord{Inode: 8, BirthSec: 100, BirthNsec: 5}, false},
		{"another birth", diskRecord{Inode: 7, BirthSec: 100, BirthNsec: 6}, true},
		{"no birth, the same inode", diskRecord{Inode: 7}, false},
		{"no birth, another inode", diskRecord{Inode: 8}, true},
	} {
		if err := refuseCopy("d", born, r.is); (err != nil) != r.refuse {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestIdentityIsBoundOnce(t *testing.T) {
	s := open(t, t.TempDir(), small)
	wantError(t, s.SetNode(0), ErrRefused, "node id 0")
	wantError(t, s.SetNode(70000), ErrRefused, "node id 70000")
	must(t, s.SetNode(2))
	must(t, s.SetNode(2))
	s = reopen(t, s)
	wantError(t, s.SetNode(3), ErrOtherNode, "belongs to node 2", "opened as node 3")
	if s.Identity().Node != 2 {
		t.Errorf("%+v", s.Identity())
	}
}

func TestBootstrapIsAcceptedOnceAndOnlyWithTheOwnStore(t *testing.T) {
	s := open(t, t.TempDir(), small)
	me, you := s.Identity().Store, ident.StoreID{5}
	m := func(members ...ident.Member) ident.Membership { return ident.Membership{Number: 1, Members: members} }
	good := m(ident.Member{Node: 1, Store: you}, ident.Member{Node: 2, Store: me})
	wantError(t, s.Found(ident.ClusterID{1}, good), ErrRefused, "does not name node 0")
	must(t, s.SetNode(2))
	for name, r := range map[string]struct {
		c ident.ClusterID
		m ident.Membership
	}{
		"no cluster": {ident.ClusterID{}, good},
		"another store": {ident.ClusterID{1},
			m(ident.Member{Node: 1, Store: me}, ident.Member{Node: 2, Store: you})},
		"not in it":     {ident.ClusterID{1}, m(ident.Member{Node: 1, Store: you})},
		"not the first": {ident.ClusterID{1}, ident.Membership{Number: 2, Members: good.Members}},
		"not sorted": {ident.ClusterID{1},
			m(ident.Member{Node: 2, Store: me}, ident.Member{Node: 1, Store: you})},
		"a member two times": {ident.ClusterID{1},
			m(ident.Member{Node: 2, Store: me}, ident.Member{Node: 2, Store: me})},
		"a member unnamed": {ident.ClusterID{1}, m(ident.Member{Node: 1}, ident.Member{Node: 2, Store: me})},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, s.Found(r.c, r.m), ErrRefused) })
	}
	must(t, s.Found(ident.ClusterID{1}, good))
	wantError(t, s.Found(ident.ClusterID{1}, good), ErrFormed)
	s = reopen(t, s)
	wantError(t, s.Found(ident.ClusterID{2}, good), ErrFormed, "accepts no other bootstrap")
	id := s.Identity()
	if !id.Formed || id.Cluster != (ident.ClusterID{1}) || id.Membership.String() != good.String() || !id.TakesPart() {
		t.Errorf("%+v", id)
	}
}

// A4: the restart counter grows, the start record keeps the longest quarantine owed, and only the second write lowers
// it.
func TestA4StartRecord(t *testing.T) {
	s := open(t, t.TempDir(), small)
	long, brief := Quarantine{Master: 2 * time.Second, User: time.Minute},
		Quarantine{Master: time.Second, User: time.Second}
	must(t, s.Start(StartRecord{Restart: 1, Quarantine: long}))
	wantError(t, s.Start(StartRecord{Restart: 1, Quarantine: long}), ErrRefused, "must grow")
	s = reopen(t, s)
	if got := s.StartRecord(); got != (StartRecord{Restart: 1, Quarantine: long}) {
		t.Fatalf("%+v", got)
	}
	// A lowered maximum must not shorten what an earlier run owes.
	wantError(t, s.Start(StartRecord{Restart: 2, Quarantine: brief}), ErrRefused, "no quarantine may shrink")
	must(t, s.Start(StartRecord{Restart: 2, Quarantine: long}))
	wantError(t, s.LowerQuarantine(3*time.Second), ErrRefused, "only be lowered")
	wantError(t, s.LowerQuarantine(-1), ErrRefused)
	must(t, s.LowerQuarantine(brief.Master))
	s = reopen(t, s)
	brief.User = long.User
	if got := s.StartRecord(); got != (StartRecord{Restart: 2, Quarantine: brief}) {
		t.Fatalf("%+v", got)
	}
	must(t, s.Start(StartRecord{Restart: 7, Quarantine: brief, Longest: time.Hour}))
	must(t, s.Start(StartRecord{Restart: 8, Quarantine: brief, Longest: time.Minute}))
	s = reopen(t, s)
	if got := s.StartRecord(); got != (StartRecord{Restart: 8, Quarantine: brief, Longest: time.Hour}) {
		t.Fatalf("%+v", got)
	}
}

// N4: the bucket and its quarantine are durable when SetBucket returns, in both directions, and leave the rest alone.
// The start record of an older version, which knows no bucket, is read as one without.
func TestN4BucketIsDurable(t *testing.T) {
	s := open(t, t.TempDir(), small)
	must(t, s.log.PutNode("write an old record", acceptor.NodeRecord{Key: startKey, Value: &struct {
		Restart      uint64
		Master, User time.Duration
	}{3, time.Second, time.Minute}}))
	s = reopen(t, s)
	want := StartRecord{Restart: 3, Quarantine: Quarantine{Master: time.Second, User: time.Minute}}
	if got := s.StartRecord(); got != want {
		t.Fatalf("an older version's record is read as %+v", got)
	}
	for _, length := range []time.Duration{2048 * time.Millisecond, 4096 * time.Millisecond, 1024 * time.Millisecond} {
		must(t, s.SetBucket(length, length+time.Millisecond))
		s = reopen(t, s)
		want.Bucket, want.Quarantine.User = length, length+time.Millisecond
		if got := s.StartRecord(); got != want {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	want.Restart++
	must(t, s.Start(want))
	s = reopen(t, s)
	if got := s.StartRecord(); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	wantError(t, s.SetBucket(0, time.Second), ErrRefused)
	wantError(t, s.SetBucket(time.Second, 0), ErrRefused)
}

func TestClosedStoreRefusesEverything(t *testing.T) {
	s := formed(t, t.TempDir())
	must(t, s.Close())
	must(t, s.Close())
	_, entries := s.Entries(1, 2, 1)
	_, view := s.View()
	_, _, loaded := s.Loaded()
	for name, err := range map[string]error{
		"Commit": s.Commit([]multipaxos.Persist{{Chosen: 1}}), "Checkpoint": checkpoint(s, &listed{}),
		"Entries": entries, "View": view, "Loaded": loaded,
		"Start": s.Start(StartRecord{Restart: 9}), "Refresh": s.Refresh(), "SetNode": s.SetNode(1),
		"Verify":          s.Verify(t.Context()),
		"LowerQuarantine": s.LowerQuarantine(0), "SetBucket": s.SetBucket(1, 1),
		"Found":         s.Found(ident.ClusterID{1}, ident.Membership{}),
		"SetMembership": s.SetMembership(ident.Membership{}),
		"Join":          s.Join(ident.ClusterID{1}, 1, ident.Membership{}),
	} {
		if name == "" || err == nil {
			t.Errorf("%s of a closed store went through", name)
			continue
		}
		wantError(t, err, ErrClosed)
	}
}

// The lock goes with the process, whatever it dies of.
func TestLockEndsWithItsProcess(t *testing.T) {
	flock, err := exec.LookPath("flock")
	if err != nil {
		t.Skip("no flock command")
	}
	dir := t.TempDir()
	must(t, open(t, dir, small).Close())
	cmd := exec.Command(flock, "-o", filepath.Join(dir, lockName), "sh", "-c", "echo locked; exec cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var b [1]byte
	if _, err := out.Read(b[:]); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, small)
	wantError(t, err, ErrInUse)
	cmd.Process.Signal(syscall.SIGKILL)
	cmd.Process.Wait()
	must(t, in.Close())
	open(t, dir, small)
}

// No option of a store is less than nothing, whichever it is, and the error names it.
func TestNegativeOptionsAreRefused(t *testing.T) {
	for i, f := range reflect.VisibleFields(reflect.TypeOf(Options{})) {
		var o Options
		v := reflect.ValueOf(&o).Elem().Field(i)
		if !v.CanInt() {
			continue
		}
		v.SetInt(-1)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), f.Name+" is -1") {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// Check looks at the identity; a store that it does not refuse is opened.
func TestCheckLooksAtTheStore(t *testing.T) {
	dir := t.TempDir()
	want := formed(t, dir)
	must(t, want.Close())
	o := small
	var seen Identity
	o.Check = func(id Identity) error { seen = id; return nil }
	s := open(t, dir, o)
	if id := s.Identity(); id.Node != 1 || !reflect.DeepEqual(seen, id) {
		t.Errorf("it looked at %+v, the store is %+v", seen, id)
	}
}

// A view that nobody closes, as after a panic of its reader, does not keep the process from ending.
func TestCloseDoesNotWaitForEverForAView(t *testing.T) {
	s := formed(t, t.TempDir())
	fill(t, s, 3, 10)
	checkpointKeys(t, s, 0, 3, "v")
	v, err := s.View()
	must(t, err)
	err = s.close(20 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "a view of it was not closed") {
		t.Errorf("with an open view: %v", err)
	}
	v.Close()
	open(t, s.files.Dir, small)
}

// TestLinksInPlaceOfFiles: a store does not write through links that other users have left in its directory.
func TestLinksInPlaceOfFiles(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(purposes)) {
		dir := t.TempDir()
		s := formed(t, dir)
		fill(t, s, 3, 10)
		must(t, s.Close())
		path, victim := filepath.Join(dir, name), filepath.Join(t.TempDir(), "victim")
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(victim, []byte("mine"), 0o600))
		must(t, os.Symlink(victim, path))
		_, err := Open(dir, small)
		wantError(t, err, ErrUnusable, path)
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%s: the file behind it has %q, %v", name, b, err)
		}
	}
}

// Something that is no plain file, under any name of a node's file, is refused before it is opened: a pipe would be
// waited for.
func TestPipesInPlaceOfFiles(t *testing.T) {
	for name := range purposes {
		dir := t.TempDir()
		s := formed(t, dir)
		fill(t, s, 3, 10)
		must(t, s.Close())
		path := filepath.Join(dir, name)
		must(t, os.RemoveAll(path))
		must(t, syscall.Mkfifo(path, 0o600))
		for what, do := range map[string]func() error{
			"open":    func() error { _, err := Open(dir, small); return err },
			"offline": func() error { _, err := Open(dir, Options{Offline: true}); return err },
			"examine": func() error { _, err := Examine(dir); return err },
		} {
			done := make(chan error, 1)
			go func() { done <- do() }()
			select {
			case err := <-done:
				wantError(t, err, ErrUnusable, path)
			case <-time.After(10 * time.Second):
				t.Fatalf("%s waits for the pipe %s", what, name)
			}
		}
	}
}

// An identity that is not durable is none, and its caller knows.
func TestIdentityNeedsTheDisk(t *testing.T) {
	s := open(t, t.TempDir(), small)
	text := readFile(t, s.files.LogPath())
	newest, _ := disktest.MetaAt(t, text)
	text[newest+disktest.HeadBytes+16] ^= 1
	disktest.OverwriteKeeping(t, s.files.LogPath(), text)
	wantError(t, s.SetNode(1), ErrDamaged, s.files.LogPath(), "bind the directory")
	if id := s.Identity(); id.Node != 0 {
		t.Errorf("%+v", id)
	}
}
