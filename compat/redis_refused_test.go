package compat

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// refusing starts nodes that refuse what one client asks beyond a rate, and puts 100 into the key balance.
func refusing(t *testing.T) (address string) {
	t.Helper()
	_, addresses := startRedisWith(t, "--limit-loopback", "--request-rate-mode", "enforcing", "--request-rate", "500",
		"--request-burst", "40")
	setup := redisClient(t, addresses[0])
	waitFor(t, func() bool { return setup.Set(t.Context(), "balance", "100", 0).Err() == nil })
	return addresses[0]
}

// refusedFor is how long clients ask for more than they may.
const refusedFor = 4 * time.Second

// The pools of client libraries give the connection of a refused transaction to the next caller, who must not be told
// what is not so.
func TestRefusedTransactionsOfGoRedis(t *testing.T) {
	r := redis.NewClient(&redis.Options{Addr: refusing(t), MaxRetries: -1, PoolSize: 12, ReadTimeout: soon})
	defer r.Close()
	ctx := within(t, time.Minute)
	big := strings.Repeat("x", 60<<10)
	var done, refused atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(refusedFor)
	work := func(w int) error {
		for i := 0; time.Now().Before(end); i++ {
			name := fmt.Sprintf("go/%d/%d", w, i)
			replies, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, name, big, 0)
				p.Incr(ctx, name+"/n")
				return nil
			})
			switch {
			case err != nil:
				refused.Add(1)
			case replies[1].(*redis.IntCmd).Val() != 1:
				return fmt.Errorf("a transaction: %v", replies)
			default:
				done.Add(1)
			}
			err = r.Watch(ctx, func(tx *redis.Tx) error {
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Incr(ctx, "go/watched").Err() })
				return err
			}, "go/watched")
			if err != nil {
				refused.Add(1)
			}
			if v, err := r.Get(ctx, "balance").Result(); err == nil && v != "100" {
				return fmt.Errorf("GET balance: %q", v)
			}
			if said, err := r.Set(ctx, "go/order", "1", 0).Result(); err == nil && said != "OK" {
				return fmt.Errorf("SET: %q", said)
			}
		}
		return nil
	}
	for w := range 12 {
		wg.Go(func() {
			if err := work(w); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	enough(t, int(done.Load()), int(refused.Load()))
}

// enough fails a test in which too little was done or refused.
func enough(t *testing.T, done, refused int) {
	t.Helper()
	t.Logf("%d transactions done, %d calls refused", done, refused)
	if done < 10 || refused < 10 {
		t.Error("that is too few of either")
	}
}

func TestRefusedTransactionsOfRedisPy(t *testing.T) {
	if exec.Command("/usr/bin/python3", "-c", "import redis").Run() != nil {
		t.Skip("not installed: apt-get install python3-redis")
	}
	refusedScript(t, "/usr/bin/python3", "clients/python/refused.py")
}

func TestRefusedTransactionsOfIoredis(t *testing.T) {
	refusedScript(t, "node", filepath.Join(npmPackages(t, "clients/ioredis"), "refused.js"))
}

// refusedScript runs a script against refusing nodes.
func refusedScript(t *testing.T, argv ...string) {
	t.Helper()
	_, port, _ := strings.Cut(refusing(t), ":")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], append(argv[1:], port, fmt.Sprint(refusedFor.Seconds()))...).CombinedOutput()
	said := regexp.MustCompile(`ok (\d+) done, (\d+) refused`).FindStringSubmatch(string(out))
	if err != nil || said == nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	var done, refused int
	_, _ = fmt.Sscan(said[1]+" "+said[2], &done, &refused)
	enough(t, done, refused)
}
