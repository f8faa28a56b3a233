package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/backup"
	"tenure/storage"
)

// backedUp writes a backup of the directory of a formed node, after one write.
func backedUp(t *testing.T, dir, file string) {
	t.Helper()
	s, err := storage.Open(dir, storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	state, err := kv.Open(s, kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	set := kv.Command{Op: kv.OpSet, Key: "a", Value: []byte("1")}
	_, err = state.Apply(1, kv.AppendBatch(nil, kv.EncodeCommand(&set)))
	p := multipaxos.Persist{Seq: 1, Chosen: 1, Entries: []multipaxos.Entry{{Slot: 1, Ballot: ballot.Ballot{Counter: 1, Node: 3}}}}
	err = errors.Join(err, s.Commit([]multipaxos.Persist{p}))
	if err == nil {
		err = s.Checkpoint(state.Freeze().Checkpoint())
	}
	if err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	var all []byte
	m, err := backup.NewMaker(snapshot, time.Unix(1_790_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Next()
	for ; err == nil; b, err = m.Next() {
		all = append(all, b...)
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, all, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRestore(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3, 4, 5)
	backedUp(t, "d", "b")
	o := command(t, nil, nil, "restore", "b", "--data", "new")
	if o.code != 0 || !strings.Contains(o.stdout, "new is node 3 of cluster ") ||
		!strings.Contains(o.stdout, " at revision 2, made 2026-09-21 14:13:20 UTC.") || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	o = command(t, nil, nil, "--data", "new") // as the text says
	if o.config == nil || o.config.Node != ballot.NodeID(3) || o.config.Cluster != nil {
		t.Errorf("%+v", o)
	}
	b, err := os.ReadFile("b")
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile("damaged", b, 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		code int
		text string
	}{
		"":                       {exitConfig, "restore: give the file that kvctl backup create has written"},
		"b --data new":           {exitConfig, "is not empty; name a new directory with --data: nothing that is there is changed"},
		"none --data newer":      {exitConfig, "no such file or directory; give the file or the URL of a backup that kvctl backup create has written"},
		"d/journal --data newer": {1, "the backup is damaged at byte 0: it does not begin as a backup does"},
		"damaged --data newer":   {1, "the backup is damaged at byte "},
	} {
		o := command(t, nil, nil, append([]string{"restore"}, strings.Fields(args)...)...)
		if o.code != want.code || !strings.Contains(o.stderr, want.text) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", args, o)
		}
	}
	if files, err := os.ReadDir("newer"); len(files) > 0 {
		t.Errorf("left %v %v", files, err)
	}
}

// silentInput is a standard input that never gives anything. It tells when it is read.
type silentInput chan struct{}

func (s silentInput) Read([]byte) (int, error) {
	s <- struct{}{}
	select {}
}

// A signal ends a restore also while its input gives nothing. Nothing is left of it.
func TestSignalEndsRestore(t *testing.T) {
	inEmptyDir(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	in, done := make(silentInput), make(chan error, 1)
	go func() { done <- restoreFile(ctx, "-", restoreFlags{data: "new"}, in, io.Discard, io.Discard) }()
	<-in
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, errInterrupted) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	if files, err := os.ReadDir("."); len(files) > 0 {
		t.Errorf("left %v %v", files, err)
	}
}
