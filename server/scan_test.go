package server

import (
	"fmt"
	"strings"
	"testing"

	"tenure/kv"
)

// scanned asks a node for the next page of a SCAN.
func (h *host) scanned(t *testing.T, cursor string) (next string, keys []string) {
	t.Helper()
	c := dialRedis(t, h)
	if got := c.do("SCAN " + cursor + " COUNT 100"); got != "*2" {
		t.Fatalf("node %d, SCAN %s: %s", h.cfg.Node, cursor, got)
	}
	next, n := c.bulk(), 0
	if _, err := fmt.Sscanf(c.line(), "*%d", &n); err != nil {
		t.Fatal(err)
	}
	for range n {
		keys = append(keys, c.bulk())
	}
	return next, keys
}

// line returns the next line of a reply.
func (c *redisClient) line() string {
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\r\n")
}

// bulk returns a text of a reply, which has no line end in it.
func (c *redisClient) bulk() string {
	c.line() // its length
	return c.line()
}

// A SCAN that goes on at one node after the other, while each of them is restarted, leaves no key out.
func TestAScanGoesOnThroughARollingRestart(t *testing.T) {
	hosts := startCluster(t, 3, func(c *Config) { c.RedisAddr = freeAddr(t) })
	hosts[0].until(t, "at the newest feature level", func() bool {
		return hosts[0].status(t).FeatureLevel == kv.NewestLevel
	})
	c := dialRedis(t, hosts[0])
	for i := range 1100 {
		if got := c.do(fmt.Sprintf("SET %sanimal/%04d v", strings.Repeat("farm/", 50), i)); got != "+OK" {
			t.Fatal(got)
		}
	}
	_ = c.Close()
	cursor, seen := "0", map[string]bool{}
	for page := 0; page == 0 || cursor != "0"; page++ {
		var keys []string
		h := hosts[page%len(hosts)]
		cursor, keys = h.scanned(t, cursor)
		for _, k := range keys {
			seen[k] = true
		}
		if page < len(hosts) {
			next := hosts[(page+1)%len(hosts)]
			next.stop(t)
			next.start(t)
			next.awaitReady(t)
		}
	}
	if len(seen) != 1100 {
		t.Errorf("%d keys of 1100", len(seen))
	}
}
