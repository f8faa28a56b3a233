package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"tenure/server"
	"tenure/server/transport"
)

// The last line of a node that ends with damage is the command that mends it.
func TestDamageTellsTheCommandToRejoin(t *testing.T) {
	inEmptyDir(t, map[string]string{"n.toml": "id = 3\ndata = 'my d'\n" +
		`cluster = ["3=127.0.0.1:83", "4=127.0.0.1:84", "5=127.0.0.1:85"]`})
	formed(t, "my d", 1, 3, 4, 5)
	found := fmt.Errorf("%w: my d/state.db: page 7 fails its checksum", server.ErrDamaged)
	lost := fmt.Errorf("%w: it joins under a new id", server.ErrWiped)
	list := "3=127.0.0.1:83,4=127.0.0.1:84,5=127.0.0.1:85"
	for _, c := range []struct {
		result error
		spoil  string // what happens to log.db first
		env    []string
		args   []string
		says   string
	}{
		{found, "", nil, []string{"--id", "3", "--cluster", list, "--data", "my d", "--client", "127.0.0.1:9",
			"--quota-bytes", "1GiB", "--insecure"},
			"page 7 fails its checksum\n  to rebuild it from the other members:\n  kvnode rejoin --join 127.0.0.1:84 " +
				"--id 3 --cluster " + list + " --data 'my d' --client 127.0.0.1:9 --quota-bytes 1GiB --insecure=true"},
		{found, "", []string{"KVNODE_CLIENT=127.0.0.1:9"}, []string{"--data", "my d", "--join", "127.0.0.1:84",
			"--peer", "127.0.0.1:83"},
			"kvnode rejoin --join 127.0.0.1:84 --data 'my d' --peer 127.0.0.1:83"},
		{lost, "", nil, []string{"--config", "n.toml"}, "joins under a new id\n  to rebuild it from the other members:\n" +
			"  kvnode rejoin --join 127.0.0.1:84 --config n.toml"},
		{errors.New("no network"), "", nil, []string{"--id", "3", "--cluster", list, "--data", "my d"}, "kvnode: no network"},
		{found, "log.db", nil, []string{"--id", "3", "--cluster", list, "--data", "my d"},
			"kvnode rejoin --join 127.0.0.1:84 --id 3 --cluster " + list + " --data 'my d'"},
		{nil, "", nil, []string{"--data", "my d"}, // log.db is spoilt, so that nothing says who it is
			"kvnode rejoin --join HOST:PORT --node-name NAME --peer 127.0.0.1:8300 --data 'my d'"},
		{found, "", nil, []string{"--config", "n.toml"}, "to rebuild it from the other members:\n  kvnode rejoin --join " +
			"127.0.0.1:84 --config n.toml"},
	} {
		if c.spoil != "" {
			if err := os.Truncate("my d/"+c.spoil, 100); err != nil {
				t.Fatal(err)
			}
		}
		o, code := command(t, c.result, c.env, c.args...), exitFailed
		if c.result == lost { // systemd must not start it again
			code = exitWiped
		}
		if last := strings.TrimSpace(o.stderr); o.code != code || !strings.HasSuffix(last, c.says) {
			t.Errorf("%q: %d\n%s\nwant\n…%s", c.args, o.code, o.stderr, c.says)
		}
	}
}

// A rescue by hand ends by itself once the node is ready, so that its service can go on with the directory.
func TestRejoinStopsWhenReady(t *testing.T) {
	inEmptyDir(t, nil)
	for _, only := range []bool{true, false} {
		old := run
		run = func(ctx context.Context, c server.Config) error {
			if c.Told == nil {
				return errors.New("nobody is told")
			}
			c.Told(server.Stage{Text: "this node receives a copy of the state", Moves: 1})
			if ctx.Err() != nil {
				return errors.New("it stops too soon")
			}
			c.Told(server.Stage{Ready: true, Text: "follower"})
			return ctx.Err()
		}
		peer, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		args := []string{"rejoin", "--data", "d", "--node-name", "n3", "--peer", "127.0.0.1:83",
			"--join", peer.Addr().String()}
		if only {
			args = append(args, "--stop-when-ready")
		}
		code := execute(args, nil, &out, &out)
		run = old
		peer.Close()
		said := out.String()
		if only != strings.Contains(said, "context canceled") || only == strings.Contains(said, "nobody is told") {
			t.Errorf("--stop-when-ready=%v: %d\n%s", only, code, said)
		}
	}
}

// Whoever starts the service once rejoin has ended must know if it was stopped too early.
func TestRejoinThatIsStoppedTooEarlyFails(t *testing.T) {
	for _, ready := range []bool{false, true} {
		inEmptyDir(t, nil)
		old := run
		run = func(_ context.Context, c server.Config) error {
			c.Told(server.Stage{Ready: ready})
			return nil // told to stop
		}
		peer, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if c, err := peer.Accept(); err == nil { // as a port for peers does
				c.Close()
			}
		}()
		var out bytes.Buffer
		code := execute([]string{"rejoin", "--data", "d", "--node-name", "n3", "--peer", "127.0.0.1:83", "--join",
			peer.Addr().String(), "--stop-when-ready"}, nil, &out, &out)
		run = old
		peer.Close()
		early := strings.Contains(out.String(), "stopped before the node was ready")
		if early == ready || (code == 0) != ready {
			t.Errorf("ready=%v: %d\n%s", ready, code, &out)
		}
	}
}

// What is said of a node without its data are lines that can be read, and each is said once where people read the log.
func TestAWipedNodeIsToldInLines(t *testing.T) {
	inEmptyDir(t, nil)
	lost := &transport.BootstrapError{Kind: server.ErrWiped,
		Text: "node 3 takes no part. It has store a. Start the node with it"}
	for format, times := range map[string]int{formatText: 1, formatJSON: 2} {
		o := command(t, lost, nil, "--id", "3", "--cluster", "3=127.0.0.1:83,4=127.0.0.1:84", "--log-format", format)
		const want = "kvnode: node 3 takes no part\n  It has store a\n  Start the node with it\n" +
			"  to rebuild it from the other members:\n  kvnode rejoin --join 127.0.0.1:84 "
		if !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "takes no part") != times {
			t.Errorf("%s:\n%s", format, o.stderr)
		}
	}
}
