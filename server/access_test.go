package server

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/kv"
)

// with makes the calls of h with the token of a secret, in the query.
func (h *host) with(secret, method, path, body string) (int, string) {
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	status, text, _ := h.call(method, path+sep+"token="+secret, body)
	return status, text
}

// made asks for a token or policy, and returns the answer.
func made[T any](t *testing.T, h *host, secret, path, body string) (out T) {
	t.Helper()
	status, text := h.with(secret, "PUT", path, body)
	if status != 200 {
		t.Fatalf("%s: %d %s", path, status, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every node accepts a token as soon as one node has created it. Once a token is deleted, no node accepts it any more.
func TestTokensHoldOnEveryNode(t *testing.T) {
	hosts := startCluster(t, 3, func(c *Config) { c.ACL = true })
	for end := time.Now().Add(10 * time.Second); hosts[0].status(t).FeatureLevel < kv.NewestLevel; {
		if time.Now().After(end) {
			t.Fatal("a new cluster does not raise its feature level")
		}
	}
	if status, text, _ := hosts[1].call("PUT", "/v1/kv/k", "v"); status != 403 || !strings.HasPrefix(text, api.TextDenied) {
		t.Fatalf("without a token: %d %s", status, text)
	}
	if !hosts[0].status(t).ACL {
		t.Error("the status does not say that there are tokens")
	}
	root := made[api.Token](t, hosts[0], "", "/v1/acl/bootstrap", "").SecretID
	if status, text, _ := hosts[2].call("PUT", "/v1/acl/bootstrap", ""); status != 403 {
		t.Errorf("a second bootstrap: %d %s", status, text)
	}
	made[api.Policy](t, hosts[1], root, "/v1/acl/policy", `{"Name":"app","Rules":"key_prefix \"app/\" { policy = \"write\" }"}`)
	for i := range 20 {
		by, other := hosts[i%3], hosts[(i+1)%3]
		token := made[api.Token](t, by, root, "/v1/acl/token", `{"Policies":[{"Name":"app"}]}`)
		if status, text := other.with(token.SecretID, "PUT", "/v1/kv/app/k", "v"); status != 200 {
			t.Fatalf("a new token on another node: %d %s", status, text)
		}
		var acknowledged atomic.Bool
		var writers sync.WaitGroup
		for _, h := range hosts {
			writers.Go(func() {
				for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
					after := acknowledged.Load()
					status, text := h.with(token.SecretID, "PUT", "/v1/kv/app/k", "v")
					if status == 200 && after {
						t.Error("a write under a token that was deleted")
					}
					if status == 403 {
						return
					}
					if status != 200 {
						t.Errorf("%d %s", status, text)
						return
					}
				}
				t.Error("the token goes on")
			})
		}
		if status, text := by.with(root, "DELETE", "/v1/acl/token/"+token.AccessorID, ""); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		acknowledged.Store(true)
		writers.Wait()
	}
	// Tokens are part of the state that a restart finds.
	for _, h := range hosts {
		h.stop(t)
	}
	for _, h := range hosts {
		h.start(t)
	}
	for _, h := range hosts {
		h.awaitReady(t)
	}
	if status, text := hosts[2].with(root, "PUT", "/v1/kv/k", "v"); status != 200 {
		t.Errorf("after a restart: %d %s", status, text)
	}
}

// endsFor returns the error with which the node ends.
func (h *host) endsFor(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.done:
		h.done = nil
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("node %d goes on", h.cfg.Node)
		return nil
	}
}

// A node without --acl would open a cluster with tokens to everybody. It ends when the first token is applied, does not
// start again, and joins no cluster with tokens.
func TestANodeWithoutACLDoesNotServeAClusterWithTokens(t *testing.T) {
	hosts := startCluster(t, 3, func(c *Config) { c.ACL = c.Node != 3 })
	open := hosts[2]
	if status, text, _ := open.call("PUT", "/v1/kv/k", "v"); status != 200 {
		t.Fatalf("before there are tokens: %d %s", status, text)
	}
	for end := time.Now().Add(10 * time.Second); hosts[0].status(t).FeatureLevel < kv.NewestLevel; {
		if time.Now().After(end) {
			t.Fatal("a new cluster does not raise its feature level")
		}
	}
	root := made[api.Token](t, hosts[0], "", "/v1/acl/bootstrap", "").SecretID
	if err := open.endsFor(t); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "start it with --acl") {
		t.Fatalf("with the first token it ends with %v", err)
	}
	open.start(t)
	if err := open.endsFor(t); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "start it with --acl") {
		t.Fatalf("once there are tokens it starts: %v", err)
	}
	late := &host{cfg: open.cfg}
	late.cfg.Node, late.cfg.Cluster, late.cfg.Data = 0, nil, t.TempDir()
	late.cfg.Join, late.cfg.PeerAddr, late.cfg.ClientAddr = hosts[0].cfg.PeerAddr, freeAddr(t), freeAddr(t)
	late.start(t)
	if err := late.endsFor(t); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "start it with --acl") {
		t.Fatalf("it joins: %v", err)
	}
	open.cfg.ACL = true
	open.start(t)
	open.awaitReady(t)
	if status, text := open.with(root, "PUT", "/v1/kv/k", "v"); status != 200 {
		t.Errorf("with --acl: %d %s", status, text)
	}
}

// A checkpoint may hold the first token, so that nothing of it is applied any more.
func TestANodeWithoutACLStartsWithNoStateThatHasTokens(t *testing.T) {
	state, err := kv.Open(kv.NewMemStateDB(), kv.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode(Config{}, nil)
	if err := n.followACL(state); err != nil {
		t.Fatalf("without tokens: %v", err)
	}
	token := kv.Token{Accessor: "00000001-0000-4000-8000-000000000000", Secret: kv.HashSecret("s")}
	for _, c := range []kv.Command{{Op: kv.OpLevel, Num: kv.NewestLevel}, kv.Bootstrap(token, 0)} {
		r, err := state.Apply(state.Applied()+1, kv.AppendBatch(nil, kv.EncodeCommand(&c)))
		if err != nil || r[0].Code != kv.CodeDone {
			t.Fatalf("%+v %v", r, err)
		}
	}
	if err := newNode(Config{}, nil).followACL(state); !errors.Is(err, ErrConfig) {
		t.Errorf("with tokens: %v", err)
	}
}
