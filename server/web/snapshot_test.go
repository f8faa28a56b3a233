package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/backup/tarred"
	"tenure/server/service"
)

func TestSnapshot(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.backup = newFakeBackup(3, 10, io.EOF)
	w := call(s, "GET", "/v1/snapshot?stale&dc=dc1", "")
	if w.Code != 200 || head(w, "Content-Type") != "application/gzip" || head(w, api.HeaderIndex) != "7" ||
		head(w, api.HeaderKnownLeader) != "true" || head(w, api.HeaderLastContact) != "0" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	var state []byte
	m, err := tarred.Read(w.Body, func(r io.Reader) (err error) { state, err = io.ReadAll(r); return err })
	if err != nil || m.Index != 7 || m.Term != 3 || m.Size != 30 || !bytes.Equal(state, bytes.Join(f.backup.all, nil)) {
		t.Errorf("%+v, %d bytes, %v", m, len(state), err)
	}
	if err := <-f.backup.closed; err != nil {
		t.Error(err)
	}
	f.backup = newFakeBackup(2, 10, fmt.Errorf("%w: the disk is short of space", service.ErrNotApplied))
	if w = call(s, "GET", "/v1/snapshot", ""); w.Code != 503 || head(w, api.HeaderError) != string(api.CodeNotApplied) {
		t.Errorf("broken in the first pass: %d %v", w.Code, w.Header())
	}
	<-f.backup.closed
	f.backup = newFakeBackup(2, 10, io.EOF)
	if w = call(s, "HEAD", "/v1/snapshot", ""); w.Code != 200 || len(f.backup.pieces) != 2 {
		t.Errorf("HEAD: %d, %d pieces left", w.Code, len(f.backup.pieces))
	}
	<-f.backup.closed
}

// TestASnapshotThatBreaksOffIsCut: the client must not take it for whole.
func TestASnapshotThatBreaksOffIsCut(t *testing.T) {
	f := newFake(t)
	f.backup = newFakeBackup(2, 1<<20, io.EOF)
	f.backup.broken = fmt.Errorf("%w: the node is stopping", service.ErrNotApplied)
	url := serveBackup(t, f, time.Minute)
	resp, err := http.Get(url[:len(url)-len(api.PathBackup)] + api.PathSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d bytes and no error", len(b))
	}
	if err := <-f.backup.closed; err == nil {
		t.Error("it was taken for read")
	}
}

func TestRestore(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	f.restoreResult = kv.Result{Code: kv.CodeDone, Revision: 1 << 41, Count: 3}
	w := call(s, "PUT", "/v1/snapshot?token=x", "body", api.HeaderIdempotencyKey+": mine", api.HeaderBase+": 7")
	if w.Code != 200 || w.Body.String() != "true" || head(w, api.HeaderRevision) != "2199023255552" ||
		head(w, api.HeaderCount) != "3" || string(f.restored) != "body" || f.install.IdemKey != "mine" || f.install.Base != 7 {
		t.Errorf("%d %v %s, %+v", w.Code, w.Header(), w.Body, f.install)
	}
	if call(s, "PUT", "/v1/snapshot", "body"); f.install.IdemKey != "" {
		t.Errorf("%+v", f.install)
	}
	for _, c := range []struct {
		code   kv.Code
		err    error
		status int
		want   api.Code
	}{
		{code: kv.CodeExists, status: 503, want: api.CodeOverloaded}, {code: kv.CodeMissing, status: 503, want: api.CodeNotApplied},
		{code: kv.CodeTooMany, status: 413, want: api.CodeTooLarge}, {code: kv.CodeTooLarge, status: 413, want: api.CodeTooLarge},
		{code: kv.CodeMalformed, status: 400, want: api.CodeInvalid}, {code: kv.CodeLevel, status: 409, want: api.CodeFeatureLevel},
		{err: service.ErrSnapshot, status: 400, want: api.CodeInvalid}, {err: service.ErrSnapshotTooLarge, status: 413, want: api.CodeTooLarge},
		{err: service.ErrNotApplied, status: 503, want: api.CodeNotApplied}, {err: service.ErrUnknown, status: 504, want: api.CodeUnknown},
	} {
		f.restoreResult, f.restoreErr = kv.Result{Code: c.code}, c.err
		w := call(s, "PUT", "/v1/snapshot", "body")
		if w.Code != c.status || head(w, api.HeaderError) != string(c.want) {
			t.Errorf("%v %v: %d %s %s", c.code, c.err, w.Code, head(w, api.HeaderError), w.Body)
		}
	}
}

// TestAnUploadThatDoesNotComeEnds: one that sends nothing, and one that dribbles, hold the place for snapshots only as
// long as a client may take.
func TestAnUploadThatDoesNotComeEnds(t *testing.T) {
	addr := serve(t, newServer(t, newFake(t), func(c *Config) { c.EventTimeout = 100 * time.Millisecond }))
	for name, every := range map[string]time.Duration{"nothing": time.Hour, "a dribble": 10 * time.Millisecond} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n", api.PathSnapshot)
		answered := make(chan struct{})
		go func() {
			for {
				select {
				case <-answered:
					return
				case <-time.After(every):
					_, _ = c.Write([]byte("x"))
				}
			}
		}()
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		close(answered)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "came too slowly") {
			t.Errorf("%s: %d %s", name, resp.StatusCode, text)
		}
		c.Close()
	}
}
