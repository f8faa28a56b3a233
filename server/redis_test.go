package server

import (
	"bufio"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

// redisClient is a client of the Redis protocol of a node.
type redisClient struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dialRedis(t *testing.T, h *host) *redisClient {
	t.Helper()
	return dialRedisAt(t, h.cfg.RedisAddr)
}

func dialRedisAt(t *testing.T, addr string) *redisClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return &redisClient{t, nc, bufio.NewReader(nc)}
}

// do sends a line and returns the first line of the reply. It may be called by any goroutine.
func (c *redisClient) do(line string) string {
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		c.t.Errorf("%s: %v", line, err)
		return ""
	}
	reply, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Errorf("%s: %v", line, err)
	}
	return strings.TrimSuffix(reply, "\r\n")
}

// The Redis protocol of every node accepts a token as soon as one node has created it. Once a token is deleted, no node
// accepts it any more, not even on open connections.
func TestTokensHoldOnEveryNodeForRedis(t *testing.T) {
	hosts := startCluster(t, 3, func(c *Config) { c.ACL, c.RedisAddr = true, freeAddr(t) })
	for end := time.Now().Add(10 * time.Second); hosts[0].status(t).FeatureLevel < kv.NewestLevel; {
		if time.Now().After(end) {
			t.Fatal("a new cluster does not raise its feature level")
		}
	}
	if got := dialRedis(t, hosts[1]).do("SET k v"); !strings.HasPrefix(got, "-NOAUTH ") {
		t.Fatalf("without a token: %s", got)
	}
	root := made[api.Token](t, hosts[0], "", "/v1/acl/bootstrap", "").SecretID
	made[api.Policy](t, hosts[1], root, "/v1/acl/policy", `{"Name":"app","Rules":"key_prefix \"app/\" { policy = \"write\" }"}`)
	for i := range 10 {
		by := hosts[i%3]
		token := made[api.Token](t, by, root, "/v1/acl/token", `{"Policies":[{"Name":"app"}]}`)
		var acknowledged atomic.Bool
		var writers, began sync.WaitGroup
		for _, h := range hosts {
			c := dialRedis(t, h)
			if got := c.do("AUTH " + token.SecretID); got != "+OK" {
				t.Fatalf("a new token on another node: %s", got)
			}
			began.Add(1)
			writers.Go(func() {
				first := sync.OnceFunc(began.Done)
				defer first()
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
					after := acknowledged.Load()
					switch got := c.do("SET app/k v"); {
					case got == "+OK" && after:
						t.Error("a write under a token that was deleted")
					case got == "+OK":
						first()
					case strings.HasPrefix(got, "-NOAUTH "):
						return
					default:
						t.Errorf("%s", got)
						return
					}
				}
				t.Error("the token goes on")
			})
		}
		began.Wait()
		if status, text := by.with(root, "DELETE", "/v1/acl/token/"+token.AccessorID, ""); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		acknowledged.Store(true)
		writers.Wait()
	}
	if got := dialRedis(t, hosts[2]).do("AUTH " + root); got != "+OK" {
		t.Error(got)
	}
}
