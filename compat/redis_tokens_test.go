package compat

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"github.com/redis/go-redis/v9"
)

// redisTokens is three nodes that ask for tokens, one that may write below app/, and how to delete it.
func redisTokens(t *testing.T) (addresses []string, secret, accessor string, revoke func()) {
	t.Helper()
	c, addresses := startRedisWith(t, "--acl")
	var root *api.ACLToken
	waitFor(t, func() bool { // a new cluster raises its feature level soon
		var err error
		root, _, err = withToken(t, c.Node(1).Client, "").ACL().Bootstrap()
		return err == nil
	})
	admin := withToken(t, c.Node(2).Client, root.SecretID).ACL()
	_, _, err := admin.PolicyCreate(&api.ACLPolicy{Name: "app", Rules: `key_prefix "app/" { policy = "write" }`}, nil)
	must(t, err)
	token, _, err := admin.TokenCreate(&api.ACLToken{Policies: []*api.ACLLink{{Name: "app"}}}, nil)
	must(t, err)
	return addresses, token.SecretID, token.AccessorID, func() {
		_, err := admin.TokenDelete(token.AccessorID, nil)
		must(t, err)
	}
}

// go-redis logs in with HELLO, or with AUTH, and says what a node has denied.
func TestGoRedisTokens(t *testing.T) {
	addresses, secret, accessor, revoke := redisTokens(t)
	ctx := within(t, time.Minute)
	var clients []*redis.Client
	for i, o := range []redis.Options{{Username: "app", Password: secret}, {Password: secret},
		{Password: secret, Protocol: 2}} {
		o.Addr, o.MaxRetries, o.ReadTimeout = addresses[i], -1, soon
		r := redis.NewClient(&o)
		t.Cleanup(func() { _ = r.Close() })
		clients = append(clients, r)
		must(t, r.Set(ctx, "app/k", "v", 0).Err())
		if err := r.Set(ctx, "other", "v", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOPERM ") {
			t.Errorf("a key of others: %v", err)
		}
		if got := r.Do(ctx, "ACL", "WHOAMI").Val(); got != accessor {
			t.Errorf("WHOAMI: %v", got)
		}
		replies, err := r.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "app/p", "1", 0)
			p.Get(ctx, "other")
			p.Incr(ctx, "app/p")
			return nil
		})
		if err == nil || replies[1].Err() == nil || replies[2].(*redis.IntCmd).Val() != 2 {
			t.Errorf("a pipeline: %v, %v", replies, err)
		}
		_, err = r.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "app/p", "7", 0)
			p.Set(ctx, "other", "7", 0)
			return nil
		})
		if err == nil || r.Get(ctx, "app/p").Val() != "2" {
			t.Errorf("a transaction: %v", err)
		}
		if keys := r.Keys(ctx, "*").Val(); strings.Join(keys, " ") != "app/k app/p" {
			t.Errorf("keys: %v", keys)
		}
	}
	told := clients[0].PSubscribe(ctx, "__keyspace@0__:app/*")
	defer told.Close()
	_, err := told.Receive(ctx)
	must(t, err)
	must(t, clients[1].Set(ctx, "app/told", "v", 0).Err())
	if m, err := told.ReceiveMessage(ctx); err != nil || m.Channel != "__keyspace@0__:app/told" {
		t.Errorf("%+v, %v", m, err)
	}
	stranger := redisClient(t, addresses[1])
	if err := stranger.Get(ctx, "app/k").Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH ") {
		t.Errorf("without a token: %v", err)
	}
	wrong := redis.NewClient(&redis.Options{Addr: addresses[1], Password: "wrong", MaxRetries: -1})
	defer wrong.Close()
	if err := wrong.Get(ctx, "app/k").Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS ") {
		t.Errorf("with a wrong one: %v", err)
	}
	revoke()
	for i, r := range clients { // on the connections that are open
		if err := r.Set(ctx, "app/k", "late", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOAUTH ") {
			t.Errorf("client %d after its token was deleted: %v", i, err)
		}
	}
}

// redis-cli is Debian's redis-tools.
func TestRedisCliTokens(t *testing.T) {
	if _, err := exec.LookPath("redis-cli"); err != nil {
		t.Skip("not installed: apt-get install redis-tools")
	}
	addresses, secret, accessor, _ := redisTokens(t)
	_, port, _ := strings.Cut(addresses[1], ":")
	for _, c := range []struct {
		login, command []string
		want           string
	}{
		{[]string{"-a", secret}, []string{"set", "app/k", "v"}, "OK"},
		{[]string{"--user", "app", "--pass", secret, "-3"}, []string{"get", "app/k"}, `"v"`},
		{[]string{"-a", secret}, []string{"acl", "whoami"}, `"` + accessor + `"`},
		{[]string{"-a", secret}, []string{"get", "other"}, "(error) NOPERM this user has no permissions"},
		{nil, []string{"get", "app/k"}, "(error) NOAUTH Authentication required"},
		{[]string{"-a", "wrong"}, []string{"ping"}, "AUTH failed: WRONGPASS"},
	} {
		args := append([]string{"--no-raw", "--no-auth-warning", "-p", port}, append(c.login, c.command...)...)
		cmd := exec.CommandContext(within(t, soon), "redis-cli", args...)
		out, err := cmd.CombinedOutput()
		if err != nil && !strings.HasPrefix(c.want, "AUTH failed") || !strings.HasPrefix(string(out), c.want) {
			t.Errorf("redis-cli %s: %v\n%s, want %s", strings.Join(c.command, " "), err, out, c.want)
		}
	}
}
