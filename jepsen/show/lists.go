package show

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

// differentLists starts two new nodes with lists that differ, and then nodes whose lists contradict their data.
func differentLists(ctx context.Context, s *stage) error {
	c, err := cluster.New(cluster.Config{Binaries: s.bin, Dir: s.dir, Nodes: 2})
	if err != nil {
		return err
	}
	defer c.Stop(2 * time.Second)
	one, two := c.Node(1), c.Node(2)
	longer := fmt.Sprintf("1=%s,2=%s,3=127.0.0.1:1", one.Peer, two.Peer)
	shorter := fmt.Sprintf("1=%s,2=%s", one.Peer, two.Peer)
	for i, a := range two.Args {
		if a == shorter {
			two.Args[i] = longer
		}
	}
	if err := one.Start(); err != nil {
		return err
	}
	if err := two.Start(); err != nil {
		return err
	}
	for _, n := range c.Nodes() {
		if err := saysInLog(ctx, s, n, "different lists", shorter, longer); err != nil {
			return err
		}
	}
	return contradictedLists(ctx, s)
}

// contradictedLists starts nodes of a cluster of one and of a cluster of three with lists that their data contradicts.
func contradictedLists(ctx context.Context, s *stage) error {
	three, err := startNew(ctx, cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "three"), Nodes: 3})
	if err != nil {
		return err
	}
	defer three.Stop(2 * time.Second)
	one, all, done, err := started(ctx, cluster.Config{Binaries: s.bin, Dir: filepath.Join(s.dir, "one"), Nodes: 1})
	if err != nil {
		return err
	}
	defer done()
	if _, err := all.Set(ctx, "k", []byte("written alone"), client.WriteOptions{}); err != nil {
		return err
	}
	alone, first, third := one.Node(1), three.Node(1), three.Node(3)
	for _, n := range []*cluster.Node{alone, first, third} {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	for _, q := range contradictions(alone, first, third) {
		args := []string{"--id", q.id, "--data", q.node.Data, "--client", "127.0.0.1:0", "--peer", "127.0.0.1:0"}
		if q.list != "" {
			args = append(args, "--cluster", q.list)
		}
		if err := s.refusesUntouched(ctx, q.what, q.node.Data, args, q.want); err != nil {
			return err
		}
	}
	if err := errors.Join(start(ctx, one), start(ctx, three)); err != nil {
		return fmt.Errorf("with their own lists: %w", err)
	}
	if e, _, err := all.Get(ctx, "k", client.ReadOptions{}); err != nil || string(e.Value) != "written alone" {
		return fmt.Errorf("the key reads %q, %v", e.Value, err)
	}
	s.say("with their own lists both clusters serve again")
	return nil
}

// contradiction is a start that must be refused.
type contradiction struct {
	what string
	node *cluster.Node
	id   string
	list string // empty: without --cluster
	want []string
}

// contradictions returns starts of nodes whose data contradicts their lists or ids.
func contradictions(alone, first, third *cluster.Node) []contradiction {
	return []contradiction{
		{"ran alone, now in a list of three", alone, "1", list(1, 2, 3), []string{list(1, 2, 3), "node 1 alone"}},
		{"was one of three, now alone", third, "3", list(3), []string{list(3), "nodes 1, 2, 3"}},
		{"was the first of three, now without a list", first, "1", "", []string{"--cluster", "nodes 1, 2, 3"}},
		{"was the third of three, now without a list", third, "3", "", []string{"--id 3", "--cluster"}},
		{"a list with a stranger", third, "3", list(1, 3, 4), []string{list(1, 3, 4), "nodes 1, 2, 3"}},
		{"a list of two of three", third, "3", list(2, 3), []string{list(2, 3), "nodes 1, 2, 3"}},
		{"a list of four", third, "3", list(1, 2, 3, 4), []string{list(1, 2, 3, 4), "nodes 1, 2, 3"}},
		{"a list without itself", third, "3", list(1, 2), []string{"--id 3", "lists 1, 2"}},
		{"another id", third, "1", list(1, 2, 3), []string{"--id 1", "node 3"}},
	}
}

// list returns a list of nodes on addresses that nothing listens at.
func list(ids ...int) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, fmt.Sprintf("%d=127.0.0.1:%d", id, id))
	}
	return strings.Join(parts, ",")
}

// refusesUntouched starts a node that must end with exit code 78 and one line, and leave its data as it was.
func (s *stage) refusesUntouched(ctx context.Context, what, dir string, args, want []string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	before, err := contents(dir)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, s.bin.Kvnode, args...).CombinedOutput()
	text := strings.TrimSpace(string(out))
	s.say("%s: %v: %s", what, err, text)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 78 || strings.Contains(text, "\n") || !containsAll(text, want) {
		return fmt.Errorf("%s: ended with %v and said %q, want exit code 78 and %q", what, err, text, want)
	}
	after, err := contents(dir)
	if err != nil {
		return err
	}
	if !bytes.Equal(before, after) {
		return fmt.Errorf("%s: the refusal has changed %s", what, dir)
	}
	return nil
}

// contents returns all files of dir with their names and times of change.
func contents(dir string) ([]byte, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []byte
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		all = fmt.Appendf(all, "%s %v\n%s\n", f.Name(), info.ModTime(), b)
	}
	return all, nil
}
