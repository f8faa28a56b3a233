package devcluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tenure/internal/ownfile"
)

// TestFormat pins dev.json: kvctl and kvnode may be of different versions.
func TestFormat(t *testing.T) {
	dir := t.TempDir()
	s := &State{Version: 1, Binary: "/d/kvnode", Nodes: []Node{{
		ID: 1, PID: 123, Client: "127.0.0.1:8500", Peer: "127.0.0.1:8300", Data: "/d/node1", Log: "/d/node1.log",
		Args: []string{"--id", "1"},
	}}}
	if err := Replace(t.Context(), dir, s); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"binary":"/d/kvnode","nodes":[{"id":1,"pid":123,"client":"127.0.0.1:8500",` +
		`"peer":"127.0.0.1:8300",` +
		`"data":"/d/node1","log":"/d/node1.log","args":["--id","1"]}]}`
	if got := strings.NewReplacer(" ", "", "\n", "").Replace(string(b)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDamagedOrForeignState(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":1`: "is damaged", `{"version":2}`: "has version 2", `{"version":1}`: "lists no nodes",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, StateName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestUpdatesAreNotLost has several writers change the state at once.
func TestUpdatesAreNotLost(t *testing.T) {
	dir := t.TempDir()
	if err := Replace(t.Context(), dir, &State{Version: StateVersion, Nodes: []Node{{ID: 1}}}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 25
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				if err := Update(t.Context(), dir, func(s *State) error { s.Nodes[0].PID++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	s, err := Read(dir)
	if err != nil || s.Nodes[0].PID != writers*each {
		t.Fatalf("%+v %v", s, err)
	}
}

func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	text := "old\n" + strings.Repeat("x", 5000) + "\n1\n2\n3\n4\n5\n6\n7\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(LogTail(name, 0), ","); got != "2,3,4,5,6,7" {
		t.Error(got)
	}
	if got := strings.Join(LogTail(name, int64(len(text)-4)), ","); got != "6,7" {
		t.Error(got)
	}
}

func TestChange(t *testing.T) {
	s := &State{Nodes: []Node{{ID: 1, Data: "/a"}, {ID: 2, Data: "/b"}, {ID: 3, Data: "/c"}}}
	s.Change(Node{ID: 7, Data: "/b"})
	s.Change(Node{ID: 5, Data: "/d"})
	s.Remove("/a")
	if s.IDs() != "3, 5, 7" || !s.Changed || s.With("/b").ID != 7 || s.With("/a") != nil {
		t.Errorf("%+v", s)
	}
}

func TestArguments(t *testing.T) {
	n := Node{Data: "/d", Client: "c:1", Peer: "p:1"}
	n.Args = n.OwnArgs([]string{"--id", "1"}, "--lease-time", "1s")
	if got := strings.Join(n.Args, " "); got !=
		"--id 1 --data /d --client c:1 --peer p:1 --log-format text --lease-time 1s" {
		t.Error(got)
	}
	if got := strings.Join(n.MoreArgs(), " "); got != "--lease-time 1s" {
		t.Error(got)
	}
	if got := (&Node{Args: []string{"--id", "1"}}).MoreArgs(); got != nil {
		t.Error(got)
	}
}

// TestFilesOfTheClusterAreNotFollowed: neither its state, nor its lock, nor its token is somebody else's.
func TestFilesOfTheClusterAreNotFollowed(t *testing.T) {
	for _, name := range []string{StateName + ".tmp", lockName, TokenName} {
		dir := t.TempDir()
		victim := filepath.Join(dir, "victim")
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		err := Replace(t.Context(), dir, &State{})
		if name == TokenName {
			err = MakeToken(TokenFile(dir))
		}
		if !errors.Is(err, ownfile.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}
