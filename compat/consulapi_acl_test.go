package compat

import (
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"
)

// withToken is a client of hashicorp/consul/api with a token, of a node's address.
func withToken(t *testing.T, address, secret string) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: address, Token: secret})
	must(t, err)
	return client
}

// What one node has made or taken away holds on the next one, through Consul's own library.
func TestConsulAPITokens(t *testing.T) {
	c := start(t, "--acl")
	address := func(i int) string { return c.Nodes()[i%3].Client }
	var root *api.ACLToken
	waitFor(t, func() (done bool) { // a new cluster raises its feature level soon
		var err error
		root, _, err = withToken(t, address(0), "").ACL().Bootstrap()
		return err == nil
	})
	if _, _, err := withToken(t, address(1), "").ACL().Bootstrap(); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a second bootstrap: %v", err)
	}

	policy, _, err := withToken(t, address(1), root.SecretID).ACL().PolicyCreate(&api.ACLPolicy{
		Name: "app", Rules: `key_prefix "app/" { policy = "write" } session_prefix "" { policy = "write" }`}, nil)
	must(t, err)
	if p, _, err := withToken(t, address(2), root.SecretID).ACL().PolicyReadByName("app", nil); err != nil || p.ID != policy.ID {
		t.Errorf("the policy by its name: %+v, %v", p, err)
	}
	for i := range 6 {
		admin := withToken(t, address(i), root.SecretID).ACL()
		token, _, err := admin.TokenCreate(&api.ACLToken{Description: "app", Policies: []*api.ACLLink{{Name: "app"}}}, nil)
		must(t, err)
		app := withToken(t, address(i+1), token.SecretID)
		if self, _, err := app.ACL().TokenReadSelf(nil); err != nil || self.AccessorID != token.AccessorID {
			t.Errorf("self: %+v, %v", self, err)
		}
		_, err = app.KV().Put(&api.KVPair{Key: "app/k", Value: []byte("v")}, nil)
		must(t, err)
		if _, err := app.KV().Put(&api.KVPair{Key: "other", Value: []byte("v")}, nil); !denied(err) {
			t.Errorf("a key of others: %v", err)
		}
		deniedParts(t, app)
		lock, err := app.LockKey("app/lock")
		must(t, err)
		_, err = lock.Lock(nil)
		must(t, err)
		must(t, lock.Unlock())

		clone, _, err := withToken(t, address(i+2), root.SecretID).ACL().TokenClone(token.AccessorID, "clone", nil)
		must(t, err)
		_, err = admin.TokenDelete(token.AccessorID, nil)
		must(t, err)
		if _, _, err := app.KV().Get("app/k", nil); !denied(err) {
			t.Errorf("after its deletion: %v", err)
		}
		if _, _, err := withToken(t, address(i), clone.SecretID).KV().Get("app/k", nil); err != nil {
			t.Errorf("its clone: %v", err)
		}
	}
	tokens, _, err := withToken(t, address(0), root.SecretID).ACL().TokenList(nil)
	if err != nil || len(tokens) != 8 { // root, anonymous and the clones
		t.Errorf("%d tokens, %v", len(tokens), err)
	}
	policy.Rules = `key_prefix "app/" { policy = "read" }`
	_, _, err = withToken(t, address(2), root.SecretID).ACL().PolicyUpdate(policy, nil)
	must(t, err)
	_, err = withToken(t, address(0), root.SecretID).ACL().PolicyDelete(policy.ID, nil)
	must(t, err)
	if _, _, err := withToken(t, address(1), root.SecretID).ACL().PolicyRead(policy.ID, nil); err == nil {
		t.Error("the policy is still there")
	}
}

// deniedParts runs a transaction of which one operation is not allowed: the library says which.
func deniedParts(t *testing.T, app *api.Client) {
	t.Helper()
	done, rsp, _, err := app.Txn().Txn(api.TxnOps{
		{KV: &api.KVTxnOp{Verb: api.KVSet, Key: "app/of-a-transaction", Value: []byte("v")}},
		{KV: &api.KVTxnOp{Verb: api.KVSet, Key: "other", Value: []byte("v")}},
	}, nil)
	if err != nil || done || len(rsp.Results) != 0 || len(rsp.Errors) != 1 || rsp.Errors[0].OpIndex != 1 ||
		!strings.HasPrefix(rsp.Errors[0].What, "Permission denied") {
		t.Errorf("a transaction with a key of others: %v, %+v, %v", done, rsp, err)
	}
	if p, _, err := app.KV().Get("app/of-a-transaction", nil); p != nil || err != nil {
		t.Errorf("a transaction that was denied wrote %+v, %v", p, err)
	}
}

// denied reports whether a node has refused a request for want of a permission.
func denied(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "Permission denied") || strings.Contains(err.Error(), "ACL not found"))
}
