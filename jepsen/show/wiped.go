package show

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

func wiped(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	if _, err := all.Set(ctx, "k", []byte("v"), client.WriteOptions{}); err != nil {
		return err
	}
	victim := c.Node(2)
	if err := victim.Kill(); err != nil {
		return err
	}
	if err := os.RemoveAll(victim.Data); err != nil {
		return err
	}
	if err := c.Node(3).Kill(); err != nil { // one member and a wiped node must not make two
		return err
	}
	if err := victim.Start(); err != nil {
		return err
	}
	if err := saysInLog(ctx, s, victim, "must not vote", "joins again under its name"); err != nil {
		return err
	}
	code, text, _, err := ask(ctx, http.MethodPut, "http://"+c.Node(1).Client+"/v1/kv/k", nil)
	if err != nil {
		return err
	}
	s.say("with one member and the wiped node a write gets %d: %s", code, strings.TrimSpace(text))
	if code != 503 && code != 504 {
		return fmt.Errorf("a write with one member and a wiped node got %d", code)
	}
	if err := c.Node(3).Start(); err != nil {
		return err
	}
	if _, err := all.Set(ctx, "k", []byte("w"), client.WriteOptions{}); err != nil {
		return fmt.Errorf("two members do not serve beside the wiped node: %w", err)
	}
	s.say("with two members the cluster serves again")
	return nil
}

// saysInLog waits until one line of the node's log holds all the texts, and shows it.
func saysInLog(ctx context.Context, s *stage, n *cluster.Node, texts ...string) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); cluster.Pause(ctx, 20*time.Millisecond) {
		log, err := os.ReadFile(n.Log)
		if err != nil {
			return err
		}
		for _, line := range strings.Split(string(log), "\n") {
			if containsAll(line, texts) {
				s.say("node %d: %s", n.ID, line)
				return nil
			}
		}
	}
	return fmt.Errorf("node %d did not say %q; see %s", n.ID, texts, n.Log)
}

func containsAll(line string, texts []string) bool {
	for _, t := range texts {
		if !strings.Contains(line, t) {
			return false
		}
	}
	return true
}
