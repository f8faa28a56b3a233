package compat

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// A client of Sentinel goes to the master, and to the next one by itself when that is killed.
func TestGoRedisSentinel(t *testing.T) {
	c, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	master, others := roles(t, c)
	s := redis.NewSentinelClient(&redis.Options{Addr: addresses[others[0].ID-1]})
	t.Cleanup(func() { _ = s.Close() })
	if got, err := s.GetMasterAddrByName(ctx, "any").Result(); err != nil ||
		strings.Join(got, ":") != addresses[master.ID-1] {
		t.Fatalf("the master is at %q, %v; want %s", got, err, addresses[master.ID-1])
	}
	told := s.Subscribe(ctx, "+switch-master")
	t.Cleanup(func() { _ = told.Close() })
	if _, err := told.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	r := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "any", SentinelAddrs: addresses})
	t.Cleanup(func() { _ = r.Close() })
	must(t, r.Set(ctx, "k", "1", 0).Err())
	if role, err := r.Do(ctx, "ROLE").Slice(); err != nil || role[0] != "master" {
		t.Errorf("it has gone to %v, %v", role, err)
	}
	must(t, master.Kill())
	waitFor(t, func() bool {
		role, err := r.Do(ctx, "ROLE").Slice()
		return err == nil && role[0] == "master" && r.Set(ctx, "k", "2", 0).Err() == nil
	})
	for m := range told.Channel() {
		if words := strings.Fields(m.Payload); words[0] == "any" {
			if strings.Join(words[1:3], ":") != addresses[master.ID-1] || words[4] == words[2] {
				t.Errorf("told: %s", m.Payload)
			}
			break
		}
	}
}

// The same with redis-py, which knows no other name than those that are listed.
func TestRedisPySentinel(t *testing.T) {
	if exec.Command("/usr/bin/python3", "-c", "import redis").Run() != nil {
		t.Skip("not installed: apt-get install python3-redis")
	}
	c, addresses := startRedis(t)
	master, _ := roles(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), startFor)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/usr/bin/python3", append([]string{"-c", `
import redis, sys, time
from redis.sentinel import Sentinel
s = Sentinel([a.split(":") for a in sys.argv[1:]], socket_timeout=1)
r = s.master_for("mymaster")
first = s.discover_master("mymaster")
r.set("k", "1")
assert len(s.discover_slaves("mymaster")) == 2
print("ready", flush=True)
sys.stdin.readline()
while True:
    try:
        r.set("k", "2")
        if s.discover_master("mymaster") != first:
            break
    except redis.exceptions.RedisError:
        pass
    time.sleep(0.05)
assert r.get("k") == b"2"
`}, addresses...)...)
	in, err := cmd.StdinPipe()
	must(t, err)
	var out strings.Builder
	cmd.Stderr = &out
	lines, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if _, err := lines.Read(make([]byte, 16)); err != nil {
		t.Error(err)
	}
	must(t, master.Kill())
	must(t, in.Close())
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}
