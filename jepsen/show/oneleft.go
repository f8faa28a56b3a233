package show

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/cluster"
)

func oneLeft(ctx context.Context, s *stage, c *cluster.Cluster, all *client.Client) error {
	if _, err := all.Set(ctx, "k", []byte("before"), client.WriteOptions{}); err != nil {
		return err
	}
	survivor := c.Node(1)
	cluster.Pause(ctx, 200*time.Millisecond) // until the survivor has applied it: a stale read waits for nothing
	for _, n := range c.Nodes()[1:] {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	base := "http://" + survivor.Client + "/v1/kv/k"
	for _, q := range []struct {
		method, query string
		want          []int
	}{
		{http.MethodPut, "", []int{503, 504}}, {http.MethodDelete, "", []int{503, 504}},
		{http.MethodGet, "", []int{503}}, {http.MethodGet, "?consistent", []int{503}},
	} {
		begin := time.Now()
		code, text, _, err := ask(ctx, q.method, base+q.query, nil)
		if err != nil {
			return err
		}
		s.say("%s %s: %d after %.1f s: %s", q.method, "/v1/kv/k"+q.query, code, time.Since(begin).Seconds(),
			strings.TrimSpace(text))
		if !slices.Contains(q.want, code) {
			return fmt.Errorf("%s %s answered %d", q.method, q.query, code)
		}
	}
	code, text, header, err := ask(ctx, http.MethodGet, base+"?stale&raw", nil)
	if err != nil {
		return err
	}
	s.say("GET /v1/kv/k?stale: %d %q, last contact with a master %s ms ago, known leader %s", code, text,
		header.Get("X-Consul-LastContact"), header.Get("X-Consul-KnownLeader"))
	if code != 200 || text != "before" || header.Get("X-Consul-LastContact") == "0" ||
		header.Get("X-Consul-KnownLeader") != "false" {
		return fmt.Errorf("the stale read is wrong: %d %q %v", code, text, header)
	}
	if err := c.Node(2).Start(); err != nil {
		return err
	}
	begin := time.Now()
	if _, err := all.Set(ctx, "k", []byte("after"), client.WriteOptions{}); err != nil {
		return fmt.Errorf("two of three do not serve: %w", err)
	}
	s.say("a write succeeds %.2f s after the second node was started", time.Since(begin).Seconds())
	return nil
}
