package web

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// fakeBackup hands out pieces, and then err.
type fakeBackup struct {
	pieces [][]byte
	all    [][]byte
	err    error
	broken error // what comes at the end instead of err once it was rewound
	closed chan error
}

func newFakeBackup(n, size int, err error) *fakeBackup {
	b := &fakeBackup{err: err, closed: make(chan error, 1)}
	for i := range n {
		b.pieces = append(b.pieces, bytes.Repeat([]byte{byte(i)}, size))
	}
	b.all = b.pieces
	return b
}

func (b *fakeBackup) Next() ([]byte, error) {
	if len(b.pieces) == 0 {
		return nil, b.err
	}
	piece := b.pieces[0]
	b.pieces = b.pieces[1:]
	return piece, nil
}

func (b *fakeBackup) Info() service.BackupInfo {
	return service.BackupInfo{Cluster: "c", Slot: 5, Revision: 7, Era: 3, Made: time.UnixMilli(1_790_000_000_123)}
}

func (b *fakeBackup) Rewind() {
	b.pieces = b.all
	b.err = cmp.Or(b.broken, b.err)
}

func (b *fakeBackup) Close(err error) { b.closed <- err }

func (f *fake) Restore(_ time.Duration, body io.Reader, install kv.Command) (kv.Result, error) {
	var err error
	if f.restored, err = io.ReadAll(body); err != nil {
		return kv.Result{}, fmt.Errorf("%w: %w", service.ErrSnapshot, err)
	}
	f.install = install
	return f.restoreResult, f.restoreErr
}

func (f *fake) Backup(time.Duration) (service.Backup, error) {
	if err := cmp.Or(f.backupErr, f.readErr); err != nil {
		return nil, err
	}
	if f.backup == nil {
		return newFakeBackup(1, 10, io.EOF), nil
	}
	return f.backup, nil
}

func TestBackup(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.backup = newFakeBackup(3, 10, io.EOF)
	w := call(s, "GET", "/v1/backup", "")
	if w.Code != 200 || head(w, "Content-Type") != "application/octet-stream" || w.Body.Len() != 30 {
		t.Errorf("%d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
	if err := <-f.backup.closed; err != nil {
		t.Error(err)
	}
	sent := s.metrics.backupSent.Load()
	if age := time.Since(time.Unix(0, sent)); age < 0 || age > time.Minute {
		t.Errorf("the backup was sent %v ago", age)
	}
	f.backup = newFakeBackup(0, 0, fmt.Errorf("%w: later", service.ErrNotApplied))
	if w = call(s, "GET", "/v1/backup", ""); w.Code != 503 || head(w, api.HeaderError) != string(api.CodeNotApplied) {
		t.Errorf("refused by the first piece: %d %v", w.Code, w.Header())
	}
	if err := <-f.backup.closed; !errors.Is(err, service.ErrNotApplied) {
		t.Error(err)
	}
	if s.metrics.backupSent.Load() != sent {
		t.Error("what was refused counts as sent")
	}
	f.backup = newFakeBackup(3, 10, io.EOF)
	if w = call(s, "GET", "/v1/snapshot", ""); w.Code != 200 || s.metrics.backupSent.Load() == sent {
		t.Errorf("%d: a snapshot counts as a backup that was sent", w.Code)
	}
	<-f.backup.closed
	f.backupErr = fmt.Errorf("%w: two", service.ErrOverloaded)
	if w = call(s, "GET", "/v1/backup", ""); w.Code != 503 || head(w, api.HeaderError) != string(api.CodeOverloaded) ||
		head(w, api.HeaderRetryAfter) != "1" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w = call(s, "GET", "/v1/backup?stale", ""); w.Code != 400 {
		t.Errorf("a stale one: %d", w.Code)
	}
}

// TestABackupThatBreaksOffIsCut: the client must not take it for whole.
func TestABackupThatBreaksOffIsCut(t *testing.T) {
	f := newFake(t)
	f.backup = newFakeBackup(2, 100_000, fmt.Errorf("%w: the disk is short of space", service.ErrNotApplied))
	url := serveBackup(t, f, time.Minute)
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d bytes and no error", len(b))
	}
	if err := <-f.backup.closed; !errors.Is(err, service.ErrNotApplied) {
		t.Error(err)
	}
}

// TestAClientThatReadsNothingLosesItsBackup within the time for a piece, whatever the time for answers is.
func TestAClientThatReadsNothingLosesItsBackup(t *testing.T) {
	f := newFake(t)
	f.backup = newFakeBackup(100, 1<<20, io.EOF)
	url := serveBackup(t, f, 200*time.Millisecond)
	c, err := net.Dial("tcp", url[len("http://"):len(url)-len(api.PathBackup)])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", api.PathBackup)
	select {
	case err := <-f.backup.closed:
		if err == nil {
			t.Error("it was taken for read")
		}
	case <-time.After(20 * time.Second):
		t.Error("it holds its backup still")
	}
}

// serveBackup serves f and returns the address of its backup.
func serveBackup(t *testing.T, f *fake, piece time.Duration) string {
	t.Helper()
	s, err := New(Config{Addr: "127.0.0.1:0", Node: 1, EventTimeout: piece, AllowedHosts: []string{"x"}}, service.FrontOf(f))
	if err == nil {
		err = s.Listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve()
	t.Cleanup(func() { s.http.Close() })
	return "http://" + s.Addr() + api.PathBackup
}

// A backup has tokens with the hashes of their secrets, sessions and fences: who may not see one of these gets none.
func TestABackupNeedsAllThatIsInIt(t *testing.T) {
	g := newGuarded(t)
	rules := []string{`operator = "read"`, `acl = "read"`, `key_prefix "" { policy = "read" }`,
		`session_prefix "" { policy = "read" }`, `lease_prefix "" { policy = "read" }`}
	g.made("all", strings.Join(rules, "\n"))
	for _, path := range []string{"/v1/backup", "/v1/snapshot"} {
		g.backup = newFakeBackup(1, 1, io.EOF)
		if w := g.as("all").call("GET", path, ""); denied(w) {
			t.Errorf("%s with all: %d %s", path, w.Code, w.Body)
		}
		for i, missing := range rules {
			name := fmt.Sprintf("all-but-%d", i)
			if path == "/v1/backup" {
				g.made(name, strings.Join(slices.Delete(slices.Clone(rules), i, i+1), "\n"))
			}
			if w := g.as(name).call("GET", path, ""); !denied(w) {
				t.Errorf("%s without %s: %d", path, missing, w.Code)
			}
		}
	}
}
