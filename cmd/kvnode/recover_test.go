package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/certs"
	"tenure/internal/ident"
	"tenure/server"
	"tenure/storage"
)

// listener returns an address at which somebody listens.
func listener(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { // it ends each connection, as a member does that does not understand
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			c.Close()
		}
	}()
	return l.Addr().String()
}

func TestRejoin(t *testing.T) {
	inEmptyDir(t, nil)
	member := listener(t)
	formed(t, "d", 1, 3, 4, 5)
	o := command(t, nil, nil, "rejoin", "--data", "d", "--join", member)
	if o.code != exitConfig || !strings.Contains(o.stderr, "d is whole: it is the data of node 3") || o.config != nil {
		t.Fatalf("a whole directory: %+v", o)
	}
	if err := os.Truncate("d/state.db", 100); err != nil {
		t.Fatal(err)
	}
	o = command(t, nil, nil, "rejoin", "--data", "d", "--join", "127.0.0.1:1")
	if aside, _ := filepath.Glob("d/aside-*"); o.code != exitConfig || !strings.Contains(o.stderr, "nothing was moved") || aside != nil {
		t.Fatalf("nobody listens: %+v %v", o, aside)
	}
	clients := httptest.NewServer(http.NotFoundHandler())
	defer clients.Close()
	o = command(t, nil, nil, "rejoin", "--data", "d", "--join", clients.Listener.Addr().String())
	if aside, _ := filepath.Glob("d/aside-*"); o.code != exitConfig || !strings.Contains(o.stderr, "is a port for clients") || aside != nil {
		t.Fatalf("a port for clients: %+v %v", o, aside)
	}
	o = command(t, nil, []string{"KVNODE_JOIN=" + member}, "rejoin", "--data", "d")
	aside, err := filepath.Glob("d/aside-*/state.db")
	if o.config == nil || err != nil || len(aside) != 1 || !strings.Contains(o.stderr, filepath.Dir(aside[0])) {
		t.Fatalf("%+v %v %v", o, aside, err)
	}
	if c := o.config; c.Join != member || c.Replace != "node-3" || c.NodeName != "node-3" || c.Node != 0 || c.Data != "d" {
		t.Errorf("%+v", c)
	}
	o = command(t, nil, nil, "rejoin", "--data", "d", "--join", member) // it had not joined yet
	if o.config == nil || o.config.Replace != "node-3" || strings.Contains(o.stderr, "aside") {
		t.Errorf("again: %+v", o)
	}
	o = command(t, nil, nil, "rejoin", "--data", "e", "--join", member, "--node-name", "rack 7")
	if o.config == nil || o.config.Replace != "rack 7" || o.config.NodeName != "rack 7" {
		t.Errorf("nothing is left: %+v", o)
	}
	formed(t, "f", 1, 3)
	if o = command(t, nil, nil, "rejoin", "--data", "f", "--join", member, "--give-up"); o.config == nil ||
		!o.config.JoinCluster.IsZero() {
		t.Errorf("given up: %+v", o)
	}
}

// TestRejoinOfANodeThatIsStartedWithAList plays what docs/operations.md says: rebuild the node with its own settings,
// then start it with the same ones, again and again, although its number is another one each time.
func TestRejoinOfANodeThatIsStartedWithAList(t *testing.T) {
	member := listener(t)
	const own = "127.0.0.1:83"
	inEmptyDir(t, map[string]string{
		"n.toml": fmt.Sprintf("id = 3\ndata = 'd'\ncluster = ['3=%s', '4=%s', '5=127.0.0.1:2']", own, member)})
	formed(t, "d", 1, 3, 4, 5)
	for now := ballot.NodeID(6); now < 8; now++ {
		if err := os.Truncate("d/state.db", 100); err != nil {
			t.Fatal(err)
		}
		o := command(t, nil, nil, "rejoin", "--config", "n.toml")
		c := o.config
		if c == nil || c.Join != member || c.Replace != "node-3" || c.Node != 0 || c.Cluster != nil || c.StartedAs != 3 ||
			c.PeerAddr != own || c.PeerAdvertise != own || c.JoinCluster != (ident.ClusterID{1}) {
			t.Fatalf("rejoin: %+v %+v", o, c)
		}
		rejoined(t, *c, now)
		for _, args := range []string{"--config n.toml", "--data d --id 3 --cluster 3=" + own + ",4=" + member,
			"--data d --cluster 3=" + own + ",4=" + member} {
			o := command(t, nil, nil, strings.Fields(args)...)
			if c := o.config; c == nil || c.Node != now || c.PeerAddr != own || c.Cluster[len(c.Cluster)-1].Node != now {
				t.Errorf("%s: %+v %+v", args, o, c)
			}
		}
		o = command(t, fmt.Errorf("%w: page 7", server.ErrDamaged), nil, "--config", "n.toml")
		if !strings.HasSuffix(o.stderr, "kvnode rejoin --join "+member+" --config n.toml\n") {
			t.Errorf("%+v", o)
		}
	}
}

// rejoined is what a node does that was let in as node now: its name stays.
func rejoined(t *testing.T, c server.Config, now ballot.NodeID) {
	t.Helper()
	s, err := storage.Open(c.Data, storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := ident.Membership{Number: uint64(now), Change: 1, Members: []ident.Member{
		{Node: 4, Store: ident.StoreID{4}}, {Node: now, Store: s.Identity().Store, Name: "node-3"}}}
	if err := errors.Join(s.NoteStartedAs(c.StartedAs), s.Join(c.JoinCluster, now, m), s.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestRejoinWhereNobodyHasTheName: in a cluster that was recovered without the node, for one.
func TestRejoinWhereNobodyHasTheName(t *testing.T) {
	inEmptyDir(t, nil)
	member := listener(t)
	formed(t, "d", 1, 3, 4, 5)
	var seen []string
	old := run
	defer func() { run = old }()
	run = func(_ context.Context, c server.Config) error {
		seen = append(seen, c.NodeName+" replaces "+c.Replace)
		if c.Replace != "" {
			return fmt.Errorf("%w: %w", server.ErrConfig, server.ErrNoSuchMember)
		}
		return nil
	}
	var stderr bytes.Buffer
	code := execute([]string{"rejoin", "--data", "d", "--join", member, "--give-up"}, nil, &stderr, &stderr)
	if code != 0 || !slices.Equal(seen, []string{"node-3 replaces node-3", "node-3 replaces "}) ||
		!strings.Contains(stderr.String(), "no member is named node-3 any more") {
		t.Errorf("%d %q %s", code, seen, stderr.String())
	}
}

func TestRejoinRefuses(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3)
	formed(t, "two", 1, 3, 4)
	for args, want := range map[string]string{
		"--data d": "rejoin: give the address of a member with --join HOST:PORT",
		"--data two --id 3 --cluster 3=127.0.0.1:1,4=127.0.0.1:2": "rejoin: nobody answers at 127.0.0.1:2, and " +
			"nothing was " +
			"moved; give the address of a member that runs with --join HOST:PORT",
		"--data two --cluster 4=127.0.0.1:2": "--cluster: lists 4, but two is the data directory of node 3; add " +
			"3=HOST:PORT to the list, or leave it out",
		"--join m:1 --replace x": "rejoin: takes the place that the node had; leave out --replace, " +
			"--non-voter and --spare, or start kvnode with them and an empty directory",
		"--join m:1 --data e": "rejoin: cannot look into e: stat e: no such file or directory; check " +
			"--data, or name the node with --node-name, as kvctl member list does",
		"--join m:1 --bogus": "unknown flag: --bogus; see kvnode rejoin --help",
		"--join m:1 --data . --node-name=": "rejoin: . does not say which node it is of; name the node with " +
			"--node-name, as kvctl member list does",
	} {
		o := command(t, nil, nil, append([]string{"rejoin"}, strings.Fields(args)...)...)
		if o.code != exitConfig || o.stderr != "kvnode: "+want+"\n" || o.config != nil {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

func TestRecover(t *testing.T) {
	inEmptyDir(t, nil)
	formed(t, "d", 1, 3, 4, 5)
	o := command(t, nil, nil, "recover", "plan", "d")
	if o.code != 0 || !strings.Contains(o.stderr, "its voters are 3, 4, 5; 2 of them gone: 4, 5.") {
		t.Fatalf("%+v", o)
	}
	if err := os.WriteFile("plan", []byte(o.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":     "recover apply: nobody has confirmed it; in a script use --yes-i-lose slots-above-0-of-01000000",
		"no\n": "confirm it in these words",
	} {
		code, stderr := apply(t, text)
		if code != exitConfig || !strings.Contains(stderr, want) {
			t.Errorf("%q: %d %s", text, code, stderr)
		}
	}
	if code, stderr := apply(t, "slots-above-0-of-01000000\n"); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	o = command(t, nil, nil, "--data", "new") // as the text says
	if o.config == nil || o.config.Node != ballot.NodeID(3) || o.config.Cluster != nil || o.config.PeerAddr != defaultPeer {
		t.Errorf("%+v", o)
	}
	o = command(t, nil, nil, "recover", "apply", "plan", "--data", "newer", "--yes-i-lose", "slots-above-0-of-01000000")
	if o.code != 0 || !strings.Contains(o.stdout, "newer is node 3 of cluster ") {
		t.Errorf("in a script: %+v", o)
	}
	for args, want := range map[string]string{
		"plan":            "recover plan: name the data directory of each node that is left",
		"plan none":       "holds no store",
		"":                "recover: needs a command: plan",
		"paln":            "did you mean plan?",
		"plan d d":        "are the same directory",
		"apply":           "recover apply: give the file that kvnode recover plan has written",
		"apply none":      "no such file or directory; give the file that kvnode recover plan has written",
		"apply d/journal": "this is no plan of kvnode recover plan",
	} {
		o := command(t, nil, nil, append([]string{"recover"}, strings.Fields(args)...)...)
		if o.code == 0 || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", args, o)
		}
	}
}

// apply applies the plan into the directory new, and types text.
func apply(t *testing.T, text string) (code int, stderr string) {
	t.Helper()
	var out bytes.Buffer
	cmd := newRoot(nil, &out, &out)
	cmd.SetArgs([]string{"recover", "apply", "plan", "--data", "new"})
	cmd.SetIn(strings.NewReader(text))
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil {
		return exitCode(err), out.String() + err.Error()
	}
	return 0, out.String()
}

// A directory that was lost does not say which node it was of; the certificate does. One of another node is refused
// before a file is moved.
func TestRejoinGoesByTheCertificate(t *testing.T) {
	inEmptyDir(t, nil)
	member := listener(t)
	ca, err := certs.Init("ca", "prod", time.Now(), certs.AuthorityValidity)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ca.Issue(certs.Request{Identity: certs.Identity{Role: certs.RoleNode, Name: "n3"}, Hosts: []string{"127.0.0.1"},
		Validity: certs.LeafValidity}, "", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("empty", 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"rejoin", "--id", "3", "--cluster", "3=127.0.0.1:83,4=" + member, "--tls-cert", w.Cert, "--tls-key", w.Key,
		"--tls-ca", "ca/ca.pem", "--acl", "--data"}
	o := command(t, nil, nil, append(args, "empty")...)
	if o.config == nil || o.config.Replace != "n3" || o.config.NodeName != "n3" {
		t.Errorf("a lost disk: %+v", o)
	}
	s, err := storage.Open("refused", storage.Options{LogInitialBytes: 64 << 10, JournalBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.SetNode(3), s.Close()); err != nil {
		t.Fatal(err)
	}
	o = command(t, nil, nil, append(args, "refused")...)
	if o.config == nil || o.config.Replace != "n3" || o.config.NodeName != "n3" {
		t.Errorf("a lost disk, and a start that was refused: %+v", o)
	}
	formed(t, "d", 1, 3, 4)
	if err := os.Truncate("d/state.db", 100); err != nil {
		t.Fatal(err)
	}
	o = command(t, nil, nil, append(args, "d")...)
	if aside, _ := filepath.Glob("d/aside-*"); o.code != exitConfig || aside != nil ||
		!strings.Contains(o.stderr, "this node was node-3, and the certificate in") {
		t.Errorf("the certificate of another: %+v, %v", o, aside)
	}
}
