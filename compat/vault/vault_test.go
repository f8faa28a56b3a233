package vault

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	log "github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/physical/consul"
	"github.com/hashicorp/vault/sdk/physical"

	"tenure/client"
	"tenure/jepsen/cluster"
)

const soon = 30 * time.Second

// rules are what Vault's manual asks for, but for the catalog, which is not here.
const rules = `key_prefix "vault/" { policy = "write" }
session_prefix "" { policy = "write" }
agent_prefix "" { policy = "read" }`

// bed is a cluster of three with certificates and tokens, and a token for Vault.
type bed struct {
	*cluster.Cluster
	t               *testing.T
	token, accessor string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "kvnode"), "./cmd/kvnode")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, err := cluster.New(cluster.Config{Binaries: cluster.Binaries{Kvnode: filepath.Join(dir, "kvnode")}, Dir: dir,
		Nodes: 3, TLS: true, ACL: true, Flags: []string{"--log-level", "warn"}})
	must(t, err)
	t.Cleanup(func() { c.Stop(soon) })
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	must(t, c.Start(ctx))
	admin, err := client.New(client.Config{Endpoints: c.Endpoints(), TLS: c.TLS(), Token: c.Root()})
	must(t, err)
	defer admin.Close()
	_, err = admin.ACL().CreatePolicy(ctx, client.PolicySpec{Name: "vault", Rules: rules}, client.WriteOptions{})
	must(t, err)
	token, err := admin.ACL().CreateToken(ctx, client.TokenSpec{Policies: []client.PolicyLink{{Name: "vault"}}}, client.WriteOptions{})
	must(t, err)
	return &bed{c, t, token.SecretID, token.AccessorID}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// storage is Vault's storage as its server makes it of the stanza `storage "consul"`, through node n.
func (b *bed) storage(n int, path, secret string) physical.Backend {
	b.t.Helper()
	tls := b.TLS()
	s, err := consul.NewConsulBackend(map[string]string{"address": "https://" + b.Node(n).Client, "path": path,
		"token": secret, "tls_ca_file": tls.CAFile, "tls_cert_file": tls.CertFile, "tls_key_file": tls.KeyFile,
		"session_ttl": "10s", "lock_wait_time": "2s"}, log.NewNullLogger())
	must(b.t, err)
	return s
}

// The tests that Vault has for every storage: keys, lists, transactions, and the lock of the active node.
func TestStorage(t *testing.T) {
	b := newBed(t)
	t.Run("keys", func(t *testing.T) { physical.ExerciseBackend(t, b.storage(1, "vault/keys/", b.token)) })
	t.Run("lists", func(t *testing.T) { physical.ExerciseBackend_ListPrefix(t, b.storage(2, "vault/lists/", b.token)) })
	t.Run("transactions", func(t *testing.T) {
		s := b.storage(3, "vault/transactions/", b.token)
		if !s.(*consul.ConsulBackend).ExpandedCapabilitiesAvailable(t.Context()) {
			t.Error("Vault finds that transactions of 128 operations are not to be had")
		}
		physical.ExerciseTransactionalBackend(t, s)
	})
	t.Run("a value that is too large", func(t *testing.T) {
		err := b.storage(3, "vault/large/", b.token).Put(t.Context(), &physical.Entry{Key: "k", Value: make([]byte, 600_000)})
		if err == nil || !strings.Contains(err.Error(), physical.ErrValueTooLarge) {
			t.Errorf("Vault does not find out why: %v", err)
		}
	})
	t.Run("the active node", func(t *testing.T) {
		one, two := b.storage(1, "vault/ha/", b.token), b.storage(2, "vault/ha/", b.token)
		physical.ExerciseHABackend(t, one.(physical.HABackend), two.(physical.HABackend))
	})
}

// The active node keeps its lock while Tenure's master dies, and what its token does not allow is refused.
func TestTheActiveNode(t *testing.T) {
	b := newBed(t)
	master, _, err := b.Master(t.Context())
	must(t, err)
	through := master.ID%3 + 1
	s := b.storage(through, "vault/", b.token)
	lock, err := s.(physical.HABackend).LockWith("core/lock", "node one")
	must(t, err)
	lost, err := lock.Lock(make(chan struct{}))
	must(t, err)
	must(t, master.Kill())
	write := func(key string) error {
		return s.Put(context.Background(), &physical.Entry{Key: key, Value: []byte("v")})
	}
	for end := time.Now().Add(soon); write("core/a") != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no write is done without the master")
		}
	}
	select {
	case <-lost:
		t.Fatal("the active node lost its lock with Tenure's master")
	case <-time.After(time.Second):
	}
	must(t, master.Start())
	held, value, err := lock.Value()
	if err != nil || !held || value != "node one" {
		t.Errorf("the lock: %v %q %v", held, value, err)
	}
	elsewhere := b.storage(through, "other/", b.token)
	if err := elsewhere.Put(t.Context(), &physical.Entry{Key: "k", Value: []byte("v")}); !denied(err) {
		t.Errorf("a write outside of what the token allows: %v", err)
	}
	if _, err := b.storage(through, "vault/", "").Get(t.Context(), "core/a"); !denied(err) {
		t.Errorf("a read without a token: %v", err)
	}
	must(t, lock.Unlock())
}

// A write of a node that has lost its lock is refused by the session that it checks, and the node steps down.
func TestANodeThatLostItsLockWritesNothing(t *testing.T) {
	b := newBed(t)
	s := b.storage(1, "vault/", b.token)
	lock, err := s.(physical.HABackend).LockWith("core/lock", "node one")
	must(t, err)
	lost, err := lock.Lock(make(chan struct{}))
	must(t, err)
	must(t, s.(physical.FencingHABackend).RegisterActiveNodeLock(lock))
	must(t, s.Put(t.Context(), &physical.Entry{Key: "core/before", Value: []byte("v")}))
	admin, err := client.New(client.Config{Endpoints: b.Endpoints(), TLS: b.TLS(), Token: b.Root()})
	must(t, err)
	defer admin.Close()
	_, err = admin.Delete(t.Context(), "vault/core/lock", client.WriteOptions{})
	must(t, err)
	if err := s.Put(t.Context(), &physical.Entry{Key: "core/a", Value: []byte("v")}); err == nil {
		t.Error("it wrote without its lock")
	}
	select {
	case <-lost:
	case <-time.After(soon):
		t.Error("it goes on as the active node")
	}
	if _, _, err := admin.Get(t.Context(), "vault/core/a", client.ReadOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("what it wrote: %v", err)
	}
}

func denied(err error) bool { return err != nil && strings.Contains(err.Error(), "Permission denied") }
