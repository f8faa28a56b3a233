package client_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
)

// A node that is full does not catch up. It says so within one try, and the next one is asked.
func TestABackupIsTakenFromANodeThatCanGiveOne(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=96m"); err != nil {
		t.Skip("cannot mount a small file system: ", err)
	}
	t.Cleanup(func() { syscall.Unmount(disk, syscall.MNT_DETACH) })
	c, stop := realClusterIn(t, []string{filepath.Join(disk, "data"), t.TempDir(), t.TempDir()})
	t.Cleanup(func() { stop(1) }) // before the disk goes
	ctx := t.Context()
	full := c.Endpoints()[0]
	value := bytes.Repeat([]byte("v"), 100_000)
	write := func(key string) {
		t.Helper()
		if _, err := c.Set(ctx, key, value, client.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	write("before")
	awaitReady(ctx, t, full)
	if err := os.WriteFile(filepath.Join(disk, "others"), make([]byte, 96<<20), 0o600); err == nil {
		t.Fatal("the file system takes what it cannot have")
	}
	for end := time.Now().Add(20 * time.Second); ; {
		_, _ = c.Set(ctx, "more", value, client.WriteOptions{}) // refused until another node is master
		s, err := c.Nodes().StatusOf(ctx, full)
		if err == nil && strings.Contains(s.Problem, "falls behind") && s.Master != 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("node 1 is not short of space: %+v %v", s, err)
		}
	}
	write("the last one")
	code, text := get(ctx, t, full+api.PathBackup, api.HeaderTimeoutMS, "500")
	if code != api.CodeNotReady || !strings.Contains(text, "has not caught up with the others: ask another one") {
		t.Errorf("%s: %q", code, text)
	}

	asking, err := client.New(client.Config{Endpoints: c.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	began := time.Now()
	b, err := asking.Nodes().Backup(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	all, err := io.ReadAll(b)
	if err != nil || !bytes.Contains(all, []byte("the last one")) {
		t.Errorf("%d bytes of a backup without what was written last: %v", len(all), err)
	}
	if took := time.Since(began); took > 2*client.DefaultAttemptTimeout {
		t.Errorf("it took %v, more than one try at the full node", took)
	}
}

// get returns the error code and the text of an answer.
func get(ctx context.Context, t *testing.T, url, header, value string) (api.Code, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		t.Fatal(err)
	}
	return api.Code(resp.Header.Get(api.HeaderError)), string(text)
}

func awaitReady(ctx context.Context, t *testing.T, endpoint string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		code, text := get(ctx, t, endpoint+"/health/ready", "Accept", "*/*")
		if code == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(endpoint, text)
		}
	}
}
