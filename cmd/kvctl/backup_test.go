//go:build linux

package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/client"
	"tenure/internal/freeport"
	"tenure/server"
)

// realNode runs a node in this process and returns its address for clients.
func realNode(t *testing.T) string {
	t.Helper()
	base, err := freeport.Run(2)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	peer, addr := freeport.Address(base), freeport.Address(base+1)
	cfg := server.Config{
		Node: 1, Cluster: []server.Address{{Node: 1, Addr: peer}}, Data: t.TempDir(), ClientAddr: addr, PeerAddr: peer,
		LeaseTime: 2 * time.Second, MaxLeaseTime: 2 * time.Second, ClockDriftPPM: 10_000, LeaseMargin: 10 * time.Millisecond,
		Version: "test", Logger: zerolog.Nop(),
	}
	go func() { done <- server.Run(ctx, cfg) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return addr
}

// against runs a command line against the nodes at addr.
func against(addr, stdin string, args ...string) outcome {
	var out, errOut bytes.Buffer
	code := run(context.Background(), args, []string{endpointsVariable + "=" + addr}, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

func TestBackup(t *testing.T) {
	addr := realNode(t)
	if o := against(addr, "", "set", "k", "v", "--timeout", "30s"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "b")
	o := against(addr, "", "backup", "create", file)
	if o.code != 0 || !strings.Contains(o.out, "\nrevision  2\n") || o.errOut != "" {
		t.Fatalf("%+v", o)
	}
	if v := against(addr, "", "backup", "verify", file); v.code != 0 || v.out != o.out {
		t.Errorf("%+v\nwant %s", v, o.out)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	v := against(addr, "", "backup", "verify", file, "--restore", "--temp", dir, "--json")
	if j := decode[backupJSON](t, v.out); v.code != 0 || !j.Restored || j.Revision != 2 || j.Bytes != uint64(info.Size()) || j.File != file {
		t.Errorf("%+v", v)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("%v %v", files, err)
	}
	if o := against(addr, "", "backup", "create", file); o.code != 2 || !strings.Contains(o.errOut, "is there already, and kept; --force replaces it") {
		t.Errorf("a second time: %+v", o)
	}
	if o := against(addr, "", "backup", "create", file, "--force", "--json"); o.code != 0 || decode[backupJSON](t, o.out).File != file {
		t.Errorf("by force: %+v", o)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if o := against(addr, "", "backup", "create", link, "--force"); o.code != 2 || !strings.Contains(o.errOut, "is no regular file, and is kept") {
		t.Errorf("in the place of a link: %+v", o)
	}
	if o := against(addr, "", "backup", "create", ""); o.code != 2 || !strings.Contains(o.errOut, "the name of the file is empty") {
		t.Errorf("without a name: %+v", o)
	}
	o = against(addr, "", "backup", "create", "-")
	if o.code != 0 || !strings.Contains(o.errOut, "revision 2, ") {
		t.Errorf("exit %d, %s", o.code, o.errOut)
	}
	if v := against(addr, o.out, "backup", "verify", "-"); v.code != 0 {
		t.Errorf("from standard input: %+v", v)
	}

	damaged := []byte(o.out)
	damaged[len(damaged)/2] ^= 1
	for _, flags := range [][]string{nil, {"--restore"}} {
		v := against(addr, string(damaged), append([]string{"backup", "verify", "-"}, flags...)...)
		if v.code != 1 || v.out != "" || !strings.Contains(v.errOut, "-: the backup is damaged at byte ") {
			t.Errorf("damaged, %v: %+v", flags, v)
		}
	}
	for args, want := range map[string]string{
		"backup":                         "needs a command: create, verify, list, prune",
		"backup create":                  "wrong number of arguments",
		"backup verify b --temp d":       "--temp is for --restore",
		"backup create b --stale":        "leave them out here",
		"backup verify /there/is/none":   "no such file",
		"backup create /there/is/no/one": "no such file",
	} {
		if o := against(addr, "", strings.Fields(args)...); o.code == 0 || !strings.Contains(o.errOut, want) {
			t.Errorf("%s: %+v, want %s", args, o, want)
		}
	}
}

// TestTwoBackupsToOneFile: the second one does not write into what the first one is about to name.
func TestTwoBackupsToOneFile(t *testing.T) {
	addr := realNode(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "b")
	first, err := openPartial(file + ".partial")
	if err != nil {
		t.Fatal(err)
	}
	o := against(addr, "", "backup", "create", file, "--timeout", "30s")
	if o.code != 1 || !strings.Contains(o.errOut, "is being written by another kvctl") {
		t.Errorf("%+v", o)
	}
	if err := os.Rename(file+".partial", file); err != nil {
		t.Fatal(err)
	}
	if err := isStill(first, file+".partial"); err == nil {
		t.Error("a file that has another name now is taken for the partial one")
	}
	first.Close()
	if err := os.WriteFile(file+".partial", []byte("left by one that was killed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := against(addr, "", "backup", "create", file, "--force", "--timeout", "30s"); o.code != 0 {
		t.Errorf("%+v", o)
	}
	if o := against(addr, "", "backup", "verify", file); o.code != 0 {
		t.Errorf("%+v", o)
	}
}

// TestPartialFilesAreNotFollowed: a link at the name of the file that is not whole yet is not written through, and a
// leftover that others may read, or have open, is not written to.
func TestPartialFilesAreNotFollowed(t *testing.T) {
	addr := realNode(t)
	for _, args := range [][]string{
		{"backup", "create", "FILE", "--timeout", "30s"}, {"export", "-o", "FILE", "--timeout", "30s"},
	} {
		dir := t.TempDir()
		file, victim := filepath.Join(dir, "b"), filepath.Join(dir, "victim")
		partial := file + ".partial"
		args[slices.Index(args, "FILE")] = file
		if err := os.WriteFile(victim, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		for what, put := range map[string]func() error{
			"a link":              func() error { return os.Symlink(victim, partial) },
			"a link into nowhere": func() error { return os.Symlink(filepath.Join(dir, "none"), partial) },
			"a directory":         func() error { return os.Mkdir(partial, 0o700) },
		} {
			if err := put(); err != nil {
				t.Fatal(err)
			}
			if o := against(addr, "", args...); o.code == 0 || !strings.Contains(o.errOut, "remove it, or choose another name") {
				t.Errorf("%v, %s: %+v", args, what, o)
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
				t.Errorf("%v, %s: the file behind it has %q, %v", args, what, b, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "none")); err == nil {
				t.Errorf("%v, %s: a file was made behind it", args, what)
			}
			if err := os.Remove(partial); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(victim, partial); err != nil { // as a leftover that somebody else has open
			t.Fatal(err)
		}
		if o := against(addr, "", args...); o.code != 0 {
			t.Errorf("%v: %+v", args, o)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%v: the leftover has %q, %v", args, b, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v: %v, %v", args, info.Mode(), err)
		}
	}
}

// TestABackupThatBreaksOffLeavesNothing: neither a file that is not whole, nor in place of one that is.
func TestABackupThatBreaksOffLeavesNothing(t *testing.T) {
	whole := against(realNode(t), "", "backup", "create", "-", "--timeout", "30s")
	if whole.code != 0 {
		t.Fatalf("%+v", whole)
	}
	dir, target := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "b")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	last := whole.out[len(whole.out)-1]
	for name, send := range map[string]func(http.ResponseWriter){
		"cut":       func(w http.ResponseWriter) { w.Write([]byte(whole.out)[:200]); panic(http.ErrAbortHandler) },
		"too short": func(w http.ResponseWriter) { w.Write([]byte(whole.out)[:200]) },
		"last byte": func(w http.ResponseWriter) { w.Write([]byte(whole.out[:len(whole.out)-1])); w.Write([]byte{^last}) },
		"flipped":   func(w http.ResponseWriter) { w.Write([]byte(strings.Replace(whole.out, "TENUREBK", "TENUREBJ", 1))) },
		"refused": func(w http.ResponseWriter) {
			w.Header()[api.HeaderNode], w.Header()[api.HeaderError] = []string{"1"}, []string{string(api.CodeOverloaded)}
			w.WriteHeader(503)
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { send(w) }))
		o := against(s.Listener.Addr().String(), "", "backup", "create", file, "--force", "--timeout", "1s")
		in := against(s.Listener.Addr().String(), "", "backup", "create", target, "--timeout", "1s")
		s.Close()
		if left, err := os.ReadDir(target); in.code != 1 || in.out != "" || err != nil || len(left) != 0 {
			t.Errorf("%s, to a directory: %+v, %v %v", name, in, left, err)
		}
		b, err := os.ReadFile(file)
		files, _ := os.ReadDir(dir)
		if o.code != 1 || string(b) != "before" || err != nil || len(files) != 1 {
			t.Errorf("%s: %+v, %q %v, %v", name, o, b, err, files)
		}
		if name == "refused" && !strings.Contains(o.errOut, string(client.ErrUnavailable.Error())) {
			t.Errorf("%+v", o)
		}
	}
}

func TestBackupStatusShowsAGap(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_000)
	for want, gap := range map[string]*api.ArchiveGap{
		"": nil,
		"gap        slots 7 to 90 were never archived, 1m5s ago: the states between them cannot be restored\n": {First: 7,
			Last: 90, FoundMS: now.Add(-65 * time.Second).UnixMilli()},
		"gap        slots 7 to 90 were never archived, it grows until the archive goes on: " +
			"the states between them cannot be restored\n": {First: 7, Last: 90},
	} {
		var out strings.Builder
		if err := writeArchive(&out, &api.ArchiveStatus{Known: true, Slot: 90, Gap: gap}, now); err != nil {
			t.Fatal(err)
		}
		if _, after, _ := strings.Cut(out.String(), "verified   none\n"); after != want {
			t.Errorf("%q, want %q", after, want)
		}
	}
}
