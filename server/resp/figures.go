package resp

import (
	"fmt"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"tenure/server/resp/proto"
)

// sections is what INFO answers, in order: only what is true here. What Redis has beside it is left out.
var sections = []struct {
	name   string
	fields func(c *conn) string
}{
	{"Server", (*conn).serverFields},
	{"Clients", func(c *conn) string {
		return fmt.Sprintf("connected_clients:%d\r\nmaxclients:%d\r\n", c.open.Load(), c.cfg.maxClients())
	}},
	{"Memory", func(*conn) string {
		used := usedMemory()
		return fmt.Sprintf("used_memory:%d\r\nused_memory_human:%.2fM\r\nmaxmemory_policy:noeviction\r\n", used,
			float64(used)/(1<<20))
	}},
	{"Persistence", func(*conn) string { return "loading:0\r\naof_enabled:1\r\n" }},
	{"Replication", (*conn).replicationFields},
	{"Cluster", func(*conn) string { return "cluster_enabled:0\r\n" }},
	{"Keyspace", func(c *conn) string {
		if keys, expiring, known := c.to.countKeys(); known && keys > 0 {
			return fmt.Sprintf("db0:keys=%d,expires=%d\r\n", keys, min(expiring, keys))
		}
		return ""
	}},
}

// info answers the sections that were asked for, or all.
func info(c *conn, args [][]byte) {
	var asked []string
	for _, a := range args[1:] {
		asked = append(asked, strings.ToLower(string(a)))
	}
	all := len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool {
		return name == "all" || name == "default" || name == "everything"
	})
	var parts []string
	for _, s := range sections {
		if all || slices.Contains(asked, strings.ToLower(s.name)) {
			if fields := s.fields(c); fields != "" {
				parts = append(parts, "# "+s.name+"\r\n"+fields)
			}
		}
	}
	c.batch.reply(func(w *proto.Writer) { w.Verbatim(strings.Join(parts, "\r\n")) })
}

func (c *conn) serverFields() string {
	up := int64(time.Since(c.began) / time.Second)
	return fmt.Sprintf("redis_version:%s\r\nredis_mode:standalone\r\ntenure_version:%s\r\ntcp_port:%s\r\n"+
		"uptime_in_seconds:%d\r\nuptime_in_days:%d\r\n", redisVersion, c.cfg.Version, port(c.net.LocalAddr()), up,
		up/(24*60*60))
}

// replicationFields says what the node is. The role of Redis' is "master" on every node, also in HELLO: a client takes
// it for the question where it may write, and StackExchange.Redis sends no write to a server that says "slave". Every
// node takes writes. ROLE and tenure_role tell which one is the master.
func (c *conn) replicationFields() string {
	s := c.to.Status()
	n := nodesOf(s, c.cfg.Advertised)
	text := fmt.Sprintf("role:master\r\ntenure_role:%s\r\ntenure_node:%d\r\n", s.Role, s.Node)
	if m, known := n.theMaster(); known {
		text += "tenure_master:" + m.address() + "\r\n"
	}
	return text
}

// usedMemory returns the bytes that the node's process has from the system, as its runtime knows them.
func usedMemory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
