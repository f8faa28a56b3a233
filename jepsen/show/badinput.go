package show

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

func badInput(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	before, err := all.Set(ctx, "k", []byte("v"), client.WriteOptions{})
	if err != nil {
		return err
	}
	for _, part := range []func(context.Context, *stage, *cluster.Cluster) error{badRequests, brokenBody, randomFrames,
		badStarts} {
		if err := part(ctx, s, c); err != nil {
			return err
		}
	}
	e, _, err := all.Get(ctx, "k", client.ReadOptions{})
	if err != nil || string(e.Value) != "v" || e.ModifyIndex != before {
		return fmt.Errorf("after all that the key reads %q @%d, %v", e.Value, e.ModifyIndex, err)
	}
	after, err := all.Set(ctx, "k", []byte("w"), client.WriteOptions{})
	if err != nil || after != before+1 {
		return fmt.Errorf("something was written: revision %d after %d, %v", after, before, err)
	}
	s.say("nothing was changed by any of it: the next write has the next revision")
	return nil
}

// badRequests sends what no client should.
func badRequests(ctx context.Context, s *stage, c *cluster.Cluster) error {
	base := "http://" + c.Node(1).Client
	for _, q := range []struct {
		what, method, path, body string
		want                     int
	}{
		{"empty key", http.MethodPut, "/v1/kv/", "v", 400},
		{"key of 1,025 bytes", http.MethodPut, "/v1/kv/" + strings.Repeat("x", 1025), "v", 400},
		{"key that is not UTF-8", http.MethodPut, "/v1/kv/%ff", "v", 400},
		{"value over the limit", http.MethodPut, "/v1/kv/big", strings.Repeat("x", 512<<10+1), 413},
		{"cas that is no number", http.MethodPut, "/v1/kv/k?cas=x", "v", 400},
		{"contradictory query", http.MethodGet, "/v1/kv/k?stale&consistent", "", 400},
		{"another contradictory query", http.MethodGet, "/v1/kv/k?count&raw", "", 400},
		{"unknown query name on a write", http.MethodPut, "/v1/kv/k?colour=red", "v", 400},
		{"unknown method", http.MethodPatch, "/v1/kv/k", "v", 405},
		{"unknown path", http.MethodGet, "/v2/kv/k", "", 404},
	} {
		code, text, _, err := ask(ctx, q.method, base+q.path, strings.NewReader(q.body))
		text = strings.TrimSpace(text)
		if err != nil {
			return fmt.Errorf("%s: %w", q.what, err)
		}
		s.say("%s: %d %s", q.what, code, text)
		if code != q.want || (text == "" && code != 404) {
			return fmt.Errorf("%s: %d %q, want %d and what to do", q.what, code, text, q.want)
		}
	}
	return nil
}

// brokenBody cuts a chunked body off in the middle.
func brokenBody(_ context.Context, s *stage, c *cluster.Cluster) error {
	conn, err := net.Dial("tcp", c.Node(1).Client)
	if err != nil {
		return err
	}
	defer conn.Close()
	fmt.Fprintf(conn, "PUT /v1/kv/k HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "+
		"chunked\r\n\r\n5\r\nhello\r\nzz\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 500)
	n, err := conn.Read(buf)
	line, rest, _ := strings.Cut(string(buf[:n]), "\r\n")
	_, text, _ := strings.Cut(rest, "\r\n\r\n")
	s.say("broken chunked body: %s: %s", line, strings.TrimSpace(text))
	if err != nil || !strings.Contains(line, " 400 ") {
		return fmt.Errorf("a broken chunked body got %q, %v", line, err)
	}
	return nil
}

const randomFrameCount = 10_000

// randomFrames throws noise at the peer port.
func randomFrames(ctx context.Context, s *stage, c *cluster.Cluster) error {
	m, epoch, err := c.Master(ctx)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range randomFrameCount {
		conn, err := net.DialTimeout("tcp", m.Peer, 5*time.Second)
		if err != nil {
			return fmt.Errorf("the peer port does not take connections any more: %w", err)
		}
		noise := make([]byte, 1+random.IntN(200))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		if random.IntN(2) == 0 { // a plausible length in front
			copy(noise, []byte{0, 0, 0, byte(len(noise))})
		}
		_, _ = conn.Write(noise) // the node may have closed it already
		_ = conn.Close()
	}
	again, now, err := c.Master(ctx)
	if err != nil {
		return err
	}
	s.say("%d random frames on the master's peer port: node %d is still master of epoch %d", randomFrameCount, again.ID,
		now)
	if again != m || now != epoch {
		return fmt.Errorf("noise on the peer port changed the master")
	}
	return nil
}

// badStarts starts nodes that must refuse, and two that must refuse each other.
func badStarts(ctx context.Context, s *stage, c *cluster.Cluster) error {
	file := filepath.Join(s.dir, "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	spare := filepath.Join(s.dir, "spare")
	for _, q := range []struct {
		what string
		args []string
		want string
	}{
		{"second process on a data directory", []string{"--data", c.Node(1).Data, "--client", "127.0.0.1:0"}, "in use"},
		{"data directory that cannot be made",
			[]string{"--data", filepath.Join(file, "data"), "--client", "127.0.0.1:0"}, "director"},
		{"port in use", []string{"--data", spare, "--client", c.Node(1).Client}, "in use"},
		{"contradictory lease times",
			[]string{"--data", spare, "--lease-time", "2m", "--max-lease-time", "1ms", "--client", "127.0.0.1:0"},
			"lease"},
		{"drift beyond reason", []string{"--data", spare, "--clock-drift", "150%", "--client", "127.0.0.1:0"}, "drift"},
		{"listener for all the world", []string{"--data", spare, "--client", "0.0.0.0:0"}, "insecure"},
		{"unknown flag", []string{"--colour", "red"}, "colour"},
	} {
		if err := s.refuses(ctx, q.what, q.args, q.want); err != nil {
			return err
		}
	}
	if err := wrongNodeID(ctx, s, c); err != nil {
		return err
	}
	if err := wrongCluster(ctx, s, c); err != nil {
		return err
	}
	return otherLeaseTime(ctx, s, c)
}

// refuses starts a node that must end by itself with want in its last words.
func (s *stage) refuses(ctx context.Context, what string, args []string, want string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.bin.Kvnode, args...).CombinedOutput()
	last := cluster.LastWords(string(out))
	s.say("%s: %v: %s", what, err, last)
	if err == nil || ctx.Err() != nil || !strings.Contains(strings.ToLower(last), want) {
		return fmt.Errorf("%s: ended with %v and said %q", what, err, out)
	}
	return nil
}

// wrongNodeID starts node 3's directory under another id.
func wrongNodeID(ctx context.Context, s *stage, c *cluster.Cluster) error {
	n := c.Node(3)
	if err := n.Terminate(5 * time.Second); err != nil {
		return err
	}
	err := s.refuses(ctx, "wrong node id",
		[]string{"--id", "7", "--cluster", "7=127.0.0.1:1", "--peer", "127.0.0.1:0", "--data", n.Data, "--client",
			"127.0.0.1:0"}, "node 3")
	if err != nil {
		return err
	}
	return start(ctx, c)
}

// wrongCluster lets a node of another cluster with the same list try to talk to this one.
func wrongCluster(ctx context.Context, s *stage, c *cluster.Cluster) error {
	n := c.Node(3)
	if err := n.Terminate(5 * time.Second); err != nil {
		return err
	}
	keep := n.Data + ".keep"
	if err := os.Rename(n.Data, keep); err != nil {
		return err
	}
	other, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "other"), Nodes: 3})
	if err != nil {
		return err
	}
	err = start(ctx, other)
	other.Stop(2 * time.Second)
	if err != nil {
		return err
	}
	if err := os.Rename(other.Node(3).Data, n.Data); err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	for _, x := range []*cluster.Node{n, c.Node(1)} {
		if err := saysInLog(ctx, s, x, "another cluster"); err != nil {
			return err
		}
	}
	if n.Running() {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(n.Data); err != nil {
		return err
	}
	if err := os.Rename(keep, n.Data); err != nil {
		return err
	}
	return start(ctx, c)
}

// otherLeaseTime starts node 3 with a lease time that is not the cluster's.
func otherLeaseTime(ctx context.Context, s *stage, c *cluster.Cluster) error {
	n := c.Node(3)
	if err := n.Terminate(5 * time.Second); err != nil {
		return err
	}
	args := n.Args
	n.Args = append(append([]string(nil), args...), "--lease-time", "700ms")
	if err := n.Start(); err != nil {
		return err
	}
	for _, x := range []*cluster.Node{n, c.Node(1)} {
		if err := saysInLog(ctx, s, x, "700ms", "500ms"); err != nil {
			return err
		}
	}
	if err := n.Kill(); err != nil {
		return err
	}
	n.Args = args
	return start(ctx, c)
}
