package compat

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"tenure/internal/freeport"
	"tenure/jepsen/cluster"
)

// startRedis runs three nodes that speak the Redis protocol, and returns their addresses of it in the order of the nodes.
func startRedis(t *testing.T) (*cluster.Cluster, []string) {
	t.Helper()
	c, addresses := startRedisWith(t)
	must(t, c.WaitLevel(within(t, startFor))) // a new cluster raises its level soon
	return c, addresses
}

// startRedisWith is startRedis with these further flags. It does not wait for the level.
func startRedisWith(t *testing.T, flags ...string) (*cluster.Cluster, []string) {
	t.Helper()
	base, err := freeport.Run(3)
	must(t, err)
	var addresses []string
	c := prepare(t, cluster.Config{Flags: flags})
	for i, n := range c.Nodes() {
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", base+i))
		n.Args = append(n.Args, "--redis", addresses[i])
	}
	must(t, c.Start(within(t, startFor)))
	return c, addresses
}

// redisClient is a go-redis client of one node. It repeats nothing by itself.
func redisClient(t *testing.T, address string) *redis.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, ReadTimeout: soon})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestGoRedis(t *testing.T) {
	c, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	one, other := redisClient(t, addresses[0]), redisClient(t, addresses[1])
	must(t, one.Set(ctx, "k", "v", 0).Err())
	if got, err := other.Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Errorf("through another node: %q, %v", got, err)
	}
	pair, _, err := dial(t, c.Node(3)).KV().Get("k", nil)
	if err != nil || pair == nil || string(pair.Value) != "v" {
		t.Errorf("over HTTP: %+v, %v", pair, err)
	}
	if err := one.Get(ctx, "none").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("of a key that is absent: %v", err)
	}
	replies, err := one.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1000 {
			p.Incr(ctx, "n")
			p.Set(ctx, "pipe/"+strconv.Itoa(i), i, time.Hour)
		}
		p.MGet(ctx, "pipe/0", "pipe/999", "none")
		return nil
	})
	must(t, err)
	if got := replies[1998].(*redis.IntCmd).Val(); got != 1000 {
		t.Errorf("the last increment of a pipeline: %d", got)
	}
	if got := replies[2000].(*redis.SliceCmd).Val(); !slices.Equal(got, []any{"0", "999", nil}) {
		t.Errorf("the read behind a pipeline's writes: %v", got)
	}
	var found []string
	for iter := one.Scan(ctx, 0, "pipe/*", 100).Iterator(); iter.Next(ctx); {
		found = append(found, iter.Val())
	}
	if len(found) != 1000 {
		t.Errorf("a scan has found %d keys", len(found))
	}
	if left := other.TTL(ctx, "pipe/5").Val(); left < 59*time.Minute || left > time.Hour {
		t.Errorf("a time to live of an hour: %v", left)
	}
}

// Counters by WATCH and MULTI through all nodes at a time lose nothing.
func TestGoRedisWatch(t *testing.T) {
	_, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	const each = 30
	var clients sync.WaitGroup
	for _, a := range addresses {
		r := redisClient(t, a)
		clients.Go(func() {
			for done := 0; done < each && ctx.Err() == nil; {
				err := r.Watch(ctx, func(tx *redis.Tx) error {
					n, err := tx.Get(ctx, "count").Int()
					if err != nil && !errors.Is(err, redis.Nil) {
						return err
					}
					_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
						p.Set(ctx, "count", n+1, 0)
						return nil
					})
					return err
				}, "count")
				switch {
				case err == nil:
					done++
				case !errors.Is(err, redis.TxFailedErr):
					t.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
	if n := redisClient(t, addresses[0]).Get(ctx, "count").Val(); n != strconv.Itoa(len(addresses)*each) {
		t.Errorf("the count is %s", n)
	}
}

// An increment that is acknowledged counts once, and one that is refused does not, while the master is killed. go-redis
// is told not to repeat.
func TestGoRedisOutlivesTheMaster(t *testing.T) {
	c, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	master, others := roles(t, c)
	through := redisClient(t, addresses[others[0].ID-1])
	var acked, doubtful atomic.Int64
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch err := through.Incr(ctx, "n").Err(); {
				case err == nil:
					acked.Add(1)
				case !strings.HasPrefix(err.Error(), "CLUSTERDOWN") && !strings.HasPrefix(err.Error(), "TRYAGAIN"):
					doubtful.Add(1)
				}
			}
		})
	}
	waitFor(t, func() bool { return acked.Load() > 100 })
	before := acked.Load()
	must(t, master.Kill())
	waitFor(t, func() bool { return acked.Load() > before+500 })
	close(stop)
	clients.Wait()
	n, err := through.Get(ctx, "n").Int64()
	if err != nil || n < acked.Load() || n > acked.Load()+doubtful.Load() {
		t.Errorf("n is %d, %v, after %d acknowledged and %d doubtful increments", n, err, acked.Load(), doubtful.Load())
	}
	t.Logf("%d acknowledged, %d doubtful", acked.Load(), doubtful.Load())
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(startFor); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

func TestRedisLocks(t *testing.T) {
	_, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	one, other := redisClient(t, addresses[0]), redisClient(t, addresses[1])

	lock, err := redislock.Obtain(ctx, one, "redislock", time.Minute, nil)
	must(t, err)
	if _, err := redislock.Obtain(ctx, other, "redislock", time.Minute, nil); !errors.Is(err, redislock.ErrNotObtained) {
		t.Errorf("redislock: a second holder: %v", err)
	}
	if left, err := lock.TTL(ctx); err != nil || left < 50*time.Second {
		t.Errorf("redislock: %v are left, %v", left, err)
	}
	must(t, lock.Refresh(ctx, 2*time.Minute, nil))
	must(t, lock.Release(ctx))
	if err := lock.Release(ctx); !errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("redislock: released twice: %v", err)
	}

	mutexOf := func(r *redis.Client) *redsync.Mutex {
		return redsync.New(goredis.NewPool(r)).NewMutex("redsync", redsync.WithTries(1), redsync.WithExpiry(time.Minute))
	}
	mine, theirs := mutexOf(one), mutexOf(other)
	must(t, mine.LockContext(ctx))
	if theirs.LockContext(ctx) == nil {
		t.Error("redsync: a second holder")
	}
	if ok, err := mine.ExtendContext(ctx); err != nil || !ok {
		t.Errorf("redsync: not extended: %v", err)
	}
	if ok, err := theirs.UnlockContext(ctx); ok {
		t.Errorf("redsync: somebody else's lock was released: %v", err)
	}
	if ok, err := mine.UnlockContext(ctx); err != nil || !ok {
		t.Errorf("redsync: not released: %v", err)
	}
}

// redis-benchmark and redis-cli are Debian's redis-tools.
func TestRedisTools(t *testing.T) {
	for _, tool := range []string{"redis-cli", "redis-benchmark"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("not installed: apt-get install redis-tools")
		}
	}
	_, addresses := startRedis(t)
	ctx := within(t, time.Minute)
	_, port, _ := strings.Cut(addresses[1], ":")
	run := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, args[0], append([]string{"-p", port}, args[1:]...)...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var pipe strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&pipe, "*3\r\n$3\r\nSET\r\n$%d\r\nbulk/%d\r\n$5\r\nvalue\r\n", len("bulk/")+len(strconv.Itoa(i)), i)
	}
	if out := run(pipe.String(), "redis-cli", "--pipe"); !strings.Contains(out, "errors: 0, replies: 20000") {
		t.Errorf("redis-cli --pipe: %s", out)
	}
	if out := run("", "redis-cli", "dbsize"); strings.TrimSpace(out) != "20000" {
		t.Errorf("%s keys", out)
	}
	for _, pipeline := range []string{"1", "16"} {
		out := run("", "redis-benchmark", "-n", "5000", "-c", "16", "-P", pipeline, "-r", "1000", "-t", "set,get,incr,mset", "--csv")
		if strings.Count(out, "\n") != 5 {
			t.Errorf("redis-benchmark: %s", out)
		}
	}
}

// The scripts of redis-py's Lock, with the library of Debian's python3-redis.
func TestRedisPy(t *testing.T) {
	if exec.Command("/usr/bin/python3", "-c", "import redis").Run() != nil {
		t.Skip("not installed: apt-get install python3-redis")
	}
	_, addresses := startRedis(t)
	_, port, _ := strings.Cut(addresses[2], ":")
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/usr/bin/python3", "-c", `
import redis, sys
r = redis.Redis(port=int(sys.argv[1]), decode_responses=True)
assert r.set("k", "v", ex=60) and r.get("k") == "v" and 50 < r.ttl("k") <= 60
lock = r.lock("lock", timeout=60)
assert lock.acquire(blocking=False) and not r.lock("lock", timeout=60).acquire(blocking=False)
assert lock.extend(30) and lock.reacquire() and lock.owned()
lock.release()
try:
    lock.release()
    assert False
except redis.exceptions.LockError:
    pass
with r.pipeline() as p:
    p.incr("n").incr("n").get("n")
    assert p.execute() == [1, 2, "2"]
assert sorted(r.scan_iter("*")) == ["k", "n"]
`, port).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
