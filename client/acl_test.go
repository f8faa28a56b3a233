package client_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
	"tenure/server"
)

// bootstrapped starts a node that wants tokens, and returns a client that may everything.
func bootstrapped(t *testing.T) (*clienttest.Cluster, *client.Client, client.Token) {
	t.Helper()
	cluster := protected(t)
	first := clientOf(t, client.Config{Endpoints: cluster.Endpoints()})
	root, err := first.ACL().Bootstrap(t.Context(), "", client.WriteOptions{})
	if err != nil || len(root.SecretID) != 36 || root.AccessorID == "" ||
		root.Policies[0].Name != api.ManagementPolicyName {
		t.Fatalf("%+v, %v", root, err)
	}
	if _, err := first.ACL().Bootstrap(t.Context(), "", client.WriteOptions{}); !errors.Is(err, client.ErrDenied) {
		t.Errorf("a second time: %v", err)
	}
	return cluster, clientOf(t, client.Config{Endpoints: cluster.Endpoints(), Token: root.SecretID}), root
}

func TestTokensAndPolicies(t *testing.T) {
	cluster, c, _ := bootstrapped(t)
	tokensAndPolicies(t, c, cluster.Endpoints())
}

// The same of real nodes, where it is a node and not the test that knows what a token may do.
func TestTokensAndPoliciesOfRealNodes(t *testing.T) {
	first, _ := realClusterOf(t, 3, func(c *server.Config) { c.ACL = true })
	const secret = "3d8ab4a1-7c1c-4c58-9c52-f0a4c8ab6ac7"
	root, err := first.ACL().Bootstrap(t.Context(), secret, client.WriteOptions{})
	for errors.Is(err, client.ErrFeatureLevel) { // of a cluster that was formed this moment
		time.Sleep(10 * time.Millisecond)
		root, err = first.ACL().Bootstrap(t.Context(), secret, client.WriteOptions{})
	}
	if err != nil || root.SecretID != secret {
		t.Fatalf("%+v, %v", root, err)
	}
	if _, err := first.ACL().Bootstrap(t.Context(), "", client.WriteOptions{}); !errors.Is(err, client.ErrDenied) {
		t.Errorf("a second time: %v", err)
	}
	if _, err := first.Set(t.Context(), "a", nil, client.WriteOptions{}); !errors.Is(err, client.ErrDenied) ||
		!strings.Contains(err.Error(), `'key:write' on "a"`) {
		t.Errorf("without a token: %v", err)
	}
	all := clientOf(t, client.Config{Endpoints: first.Endpoints(), Token: secret})
	tokensAndPolicies(t, all, first.Endpoints())
	if err := all.Sessions().Destroy(t.Context(), "0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c11", client.WriteOptions{}); err != nil {
		t.Errorf("a session that there is not: %v", err)
	}
}

// tokensAndPolicies makes, shows, changes and deletes some with c, which may do everything.
func tokensAndPolicies(t *testing.T, c *client.Client, endpoints []string) {
	t.Helper()
	ctx, acl, o, r := t.Context(), c.ACL(), client.WriteOptions{}, client.ReadOptions{}
	p, err := acl.CreatePolicy(ctx, client.PolicySpec{Name: "app", Rules: `key "a" { policy = "read" }`}, o)
	if err != nil || p.ID == "" || p.Rules == "" {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := acl.CreatePolicy(ctx, client.PolicySpec{Name: "app"}, o); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a second policy of the name: %v", err)
	}
	if q, _, err := acl.PolicyByName(ctx, "app", r); err != nil || q.ID != p.ID {
		t.Errorf("by name: %+v, %v", q, err)
	}
	made, err := acl.CreateToken(ctx, client.TokenSpec{Name: "reader", Policies: []client.PolicyLink{{Name: "app"}},
		TTL: time.Hour}, o)
	if err != nil || made.SecretID == "" || made.SecretID == api.HiddenSecret || made.Policies[0].ID != p.ID ||
		made.ExpirationTime == nil {
		t.Fatalf("%+v, %v", made, err)
	}
	if x, _, err := acl.Token(ctx, made.AccessorID, r); err != nil || x.SecretID != api.HiddenSecret ||
		x.Name != "reader" {
		t.Errorf("%+v, %v", x, err)
	}
	if x, _, err := acl.TokenExpanded(ctx, made.AccessorID, r); err != nil || len(x.ExpandedPolicies) != 1 ||
		x.ExpandedPolicies[0].Rules != p.Rules {
		t.Errorf("%+v, %v", x, err)
	}
	holder := clientOf(t, client.Config{Endpoints: endpoints, Token: made.SecretID})
	if x, _, err := holder.ACL().Self(ctx, r); err != nil || x.AccessorID != made.AccessorID {
		t.Errorf("%+v, %v", x, err)
	}
	may, err := holder.ACL().Authorize(ctx, []client.ACLQuestion{{Resource: "key", Access: "read", Segment: "a"},
		{Resource: "key", Access: "write", Segment: "a"}})
	if err != nil || !may[0].Allow || may[1].Allow {
		t.Errorf("what its holder may: %+v, %v", may, err)
	}
	if _, err := holder.Revision(ctx); err != nil {
		t.Errorf("its holder may read one key and asks how far the store has come: %v", err)
	}
	if _, _, err := holder.ACL().Tokens(ctx, "", r); !errors.Is(err, client.ErrDenied) {
		t.Errorf("its holder lists tokens: %v", err)
	}
	clone, err := acl.CloneToken(ctx, made.AccessorID, "twin", o)
	if err != nil || clone.SecretID == made.SecretID || clone.Description != "twin" || clone.Policies[0].ID != p.ID {
		t.Errorf("%+v, %v", clone, err)
	}
	updated, err := acl.UpdateToken(ctx, client.TokenSpec{AccessorID: clone.AccessorID, Description: "bare"}, o)
	if err != nil || len(updated.Policies) != 0 || updated.SecretID != api.HiddenSecret {
		t.Errorf("%+v, %v", updated, err)
	}
	if list, _, err := acl.Tokens(ctx, p.ID, r); err != nil || len(list) != 1 || list[0].AccessorID != made.AccessorID {
		t.Errorf("%+v, %v", list, err)
	}
	if q, err := acl.UpdatePolicy(ctx, p.ID, client.PolicySpec{Name: "app", Rules: ""}, o); err != nil ||
		q.Rules != "" {
		t.Errorf("%+v, %v", q, err)
	}
	if list, _, err := acl.Policies(ctx, r); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	for what, err := range map[string]error{
		"token": acl.DeleteToken(ctx, made.AccessorID, o), "policy": acl.DeletePolicy(ctx, p.ID, o),
	} {
		if err != nil {
			t.Errorf("delete %s: %v", what, err)
		}
	}
	if _, _, err := holder.Get(ctx, "a", r); !errors.Is(err, client.ErrUnknownToken) {
		t.Errorf("a token that was deleted: %v", err)
	}
	if _, _, err := acl.Policy(ctx, p.ID, r); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("a policy that was deleted: %v", err)
	}
	if err := acl.DeleteToken(ctx, made.AccessorID, o); err != nil {
		t.Errorf("deleted twice: %v", err)
	}
	if list, _, err := acl.Tokens(ctx, "", r); err != nil || len(list) != 3 { // the anonymous one, the first, the clone
		t.Errorf("%+v, %v", list, err)
	}
}

// However the answer that makes a token is lost, one is made, and its secret is known.
func TestALostAnswerDoesNotMakeTwoTokens(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.UnknownApplied, clienttest.DropApplied, clienttest.Drop,
		clienttest.Busy} {
		cluster, c, _ := bootstrapped(t)
		var failed atomic.Bool
		cluster.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathACLToken && failed.CompareAndSwap(false, true) {
				return f
			}
			return clienttest.None
		})
		made, err := c.ACL().CreateToken(t.Context(), client.TokenSpec{Name: "reader"}, client.WriteOptions{})
		if err != nil {
			t.Fatalf("fault %d: %v", f, err)
		}
		holder := clientOf(t, client.Config{Endpoints: cluster.Endpoints(), Token: made.SecretID})
		if x, _, err := holder.ACL().Self(t.Context(), client.ReadOptions{}); err != nil ||
			x.AccessorID != made.AccessorID {
			t.Errorf("fault %d: %+v, %v", f, x, err)
		}
		if list, _, err := c.ACL().Tokens(t.Context(), "", client.ReadOptions{}); err != nil || len(list) != 3 {
			t.Errorf("fault %d: %d tokens, %v", f, len(list), err)
		}
	}
}

// A call that makes a token and ends in doubt returns what it has drawn. With that it can be repeated, and without it is
// refused: it would make another token.
func TestACallThatMakesATokenIsRepeated(t *testing.T) {
	for _, f := range []clienttest.Fault{clienttest.DropApplied, clienttest.Drop} {
		cluster, c, _ := bootstrapped(t)
		var lose atomic.Bool
		lose.Store(true)
		cluster.Inject(func(r clienttest.Request) clienttest.Fault {
			if r.Path == api.PathACLToken && lose.Load() {
				return f
			}
			return clienttest.None
		})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		spec := client.TokenSpec{Name: "reader", TTL: time.Hour}
		drawn, err := c.ACL().CreateToken(ctx, spec, client.WriteOptions{})
		var failed *client.Error
		if !errors.Is(err, client.ErrUnknown) || !errors.As(err, &failed) || drawn.AccessorID == "" || drawn.SecretID == "" {
			t.Fatalf("fault %d: %+v, %v", f, drawn, err)
		}
		lose.Store(false)
		again := client.WriteOptions{Once: failed.Once}
		if _, err := c.ACL().CreateToken(t.Context(), spec, again); !errors.Is(err, client.ErrUnknown) ||
			!strings.Contains(err.Error(), "SecretID") {
			t.Errorf("fault %d, repeated without the IDs: %v", f, err)
		}
		if _, err := c.ACL().Bootstrap(t.Context(), "", again); !errors.Is(err, client.ErrUnknown) {
			t.Errorf("fault %d, a bootstrap repeated without its secret: %v", f, err)
		}
		spec.AccessorID, spec.SecretID = drawn.AccessorID, drawn.SecretID
		made, err := c.ACL().CreateToken(t.Context(), spec, again)
		if err != nil || made.AccessorID != drawn.AccessorID || made.SecretID != drawn.SecretID {
			t.Errorf("fault %d: %+v, %v", f, made, err)
		}
		if list, _, err := c.ACL().Tokens(t.Context(), "", client.ReadOptions{}); err != nil || len(list) != 3 {
			t.Errorf("fault %d: %d tokens, %v", f, len(list), err)
		}
	}
}

// A clone has what the other token has, but for its certificate, and expires when that does.
func TestACloneExpiresWithItsToken(t *testing.T) {
	_, c, _ := bootstrapped(t)
	acl, ctx := c.ACL(), t.Context()
	for _, ttl := range []time.Duration{0, time.Hour} {
		spec := client.TokenSpec{Name: "n", Description: "d", Local: true, TTL: ttl, Certificate: "c" + ttl.String()}
		made, err := acl.CreateToken(ctx, spec, client.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		clone, err := acl.CloneToken(ctx, made.AccessorID, "", client.WriteOptions{})
		if err != nil || clone.Name != "n" || clone.Description != "d" || !clone.Local || clone.Certificate != "" ||
			(clone.ExpirationTime == nil) != (ttl == 0) || ttl != 0 && !clone.ExpirationTime.Equal(*made.ExpirationTime) {
			t.Errorf("%+v, %v, of %+v", clone, err, made)
		}
	}
}

// An id that would change the path is refused before anything is sent.
func TestIDsThatAreNone(t *testing.T) {
	c := clientOf(t, client.Config{Endpoints: []string{"127.0.0.1:1"}})
	ctx, acl, o, r := t.Context(), c.ACL(), client.WriteOptions{}, client.ReadOptions{}
	for _, id := range []string{"", "a/b", "../policy", "a b", "ä", strings.Repeat("x", 200)} {
		_, _, token := acl.Token(ctx, id, r)
		_, _, expanded := acl.TokenExpanded(ctx, id, r)
		_, clone := acl.CloneToken(ctx, id, "", o)
		_, update := acl.UpdateToken(ctx, client.TokenSpec{AccessorID: id}, o)
		_, _, policy := acl.Policy(ctx, id, r)
		_, _, byName := acl.PolicyByName(ctx, id, r)
		_, change := acl.UpdatePolicy(ctx, id, client.PolicySpec{}, o)
		for _, err := range []error{
			token, expanded, clone, update, policy, byName, change, acl.DeleteToken(ctx, id, o), acl.DeletePolicy(ctx,
				id, o),
		} {
			if !errors.Is(err, client.ErrInvalid) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if _, err := acl.UpdateToken(ctx, client.TokenSpec{AccessorID: "a", TTL: 1}, o); !errors.Is(err,
		client.ErrInvalid) {
		t.Errorf("another expiry: %v", err)
	}
}

// An update or deletion with the index that was read is done only if nobody has changed the policy or token since.
func TestPoliciesAndTokensAreChangedAsTheyWereRead(t *testing.T) {
	_, c, _ := bootstrapped(t)
	acl, ctx := c.ACL(), t.Context()
	p, err1 := acl.CreatePolicy(ctx, client.PolicySpec{Name: "app"}, client.WriteOptions{})
	made, err2 := acl.CreateToken(ctx, client.TokenSpec{Name: "reader"}, client.WriteOptions{})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	at := func(index uint64) client.WriteOptions { return client.WriteOptions{IfIndex: index} }
	theirs := client.PolicySpec{Name: "app", Description: "theirs"}
	changed, err := acl.UpdatePolicy(ctx, p.ID, theirs, at(p.ModifyIndex))
	if err != nil || changed.Description != "theirs" {
		t.Fatalf("%+v, %v", changed, err)
	}
	spec := client.TokenSpec{AccessorID: made.AccessorID, Name: "theirs"}
	token, err := acl.UpdateToken(ctx, spec, at(made.ModifyIndex))
	if err != nil || token.Name != "theirs" {
		t.Fatalf("%+v, %v", token, err)
	}
	_, policyErr := acl.UpdatePolicy(ctx, p.ID, client.PolicySpec{Name: "mine"}, at(p.ModifyIndex))
	_, tokenErr := acl.UpdateToken(ctx, client.TokenSpec{AccessorID: made.AccessorID}, at(made.ModifyIndex))
	for what, err := range map[string]error{"update policy": policyErr, "update token": tokenErr,
		"delete policy": acl.DeletePolicy(ctx, p.ID, at(p.ModifyIndex)),
		"delete token":  acl.DeleteToken(ctx, made.AccessorID, at(made.ModifyIndex))} {
		if !errors.Is(err, client.ErrCondition) || !strings.Contains(err.Error(), "somebody has changed it") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if x, _, err := acl.Policy(ctx, p.ID, client.ReadOptions{}); err != nil || x.ModifyIndex != changed.ModifyIndex {
		t.Errorf("%+v, %v", x, err)
	}
	now, _, err := acl.Token(ctx, made.AccessorID, client.ReadOptions{})
	if err != nil || now.ModifyIndex != token.ModifyIndex {
		t.Errorf("%+v, %v", now, err)
	}
	if err := acl.DeletePolicy(ctx, p.ID, at(changed.ModifyIndex)); err != nil {
		t.Error(err)
	}
	if err := acl.DeleteToken(ctx, made.AccessorID, at(token.ModifyIndex)); err != nil {
		t.Error(err)
	}
}

// A write that cannot have the condition is refused rather than done without it.
func TestOtherWritesTakeNoIfIndex(t *testing.T) {
	_, c, root := bootstrapped(t)
	ctx, acl, o := t.Context(), c.ACL(), client.WriteOptions{IfIndex: 1}
	_, set := c.Set(ctx, "k", nil, o)
	_, deleted := c.Delete(ctx, "k", o)
	_, _, pruned := c.Prune(ctx, "k", o)
	_, _, added := c.Add(ctx, "k", 1, o)
	_, txn := c.Txn(ctx, []client.TxnOp{{Verb: client.TxnDelete, Key: "k"}}, o)
	_, policy := acl.CreatePolicy(ctx, client.PolicySpec{Name: "p"}, o)
	_, token := acl.CreateToken(ctx, client.TokenSpec{}, o)
	_, clone := acl.CloneToken(ctx, root.AccessorID, "", o)
	_, bootstrap := acl.Bootstrap(ctx, root.SecretID, o)
	for what, err := range map[string]error{"set": set, "delete": deleted, "prune": pruned, "add": added, "txn": txn,
		"create policy": policy, "create token": token, "clone token": clone, "bootstrap": bootstrap,
		"drop fence": c.Fences().Drop(ctx, "kv/k", o), "delete quota": c.Quotas().Delete(ctx, "p", o),
		"set quota":       c.Quotas().Set(ctx, "p", client.QuotaLimits{Keys: 1}, o),
		"destroy session": c.Sessions().Destroy(ctx, "0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c11", o)} {
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "takes no IfIndex") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
