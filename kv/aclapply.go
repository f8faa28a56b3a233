package kv

import (
	"fmt"
	"time"
)

// mayGoOn reports whether a command that was allowed under revision decided is still allowed for all this state knows:
// no change has taken a permission away since. 0 stands for commands that need no permission.
func (a *ACL) mayGoOn(decided uint64) bool { return decided == 0 || decided >= a.narrowed }

// aclChange is one command on tokens or policies, and what it makes of them.
type aclChange struct {
	*ledger
	acl     *ACL // replaced by a change
	changes *changes
	limits  *Limits
}

// execute runs the command.
func (x *aclChange) execute(c *Command) Result {
	switch c.Op {
	case OpPutPolicy:
		return x.putPolicy(c)
	case OpDropPolicy:
		return x.dropPolicy(c)
	case OpPutToken:
		return x.putToken(c)
	case OpDropToken, OpEndToken:
		return x.dropToken(c)
	case OpBootstrap:
		return x.bootstrapACL(c)
	}
	panic(fmt.Sprintf("kv: operation %d passed validation", c.Op))
}

// changeACL returns tokens and policies that the command may change, at the command's revision. narrows tells that
// somebody may lose a permission by it.
func (x *aclChange) changeACL(narrows bool) *ACL {
	next := x.acl.clone()
	next.revision = x.stamp()
	if narrows {
		next.narrowed = next.revision
	}
	x.acl = next
	x.notes.acl(next.revision)
	return next
}

// creates reports whether a put of a policy or token makes a new one.
func (c *Command) creates() bool { return c.HasIndex && c.Index == 0 }

// finds reports whether a put or drop of a policy or token that has that ModifyIndex meets its condition.
func (c *Command) finds(modified uint64) bool { return !c.HasIndex || c.Index == modified }

// putPolicy carries out OpPutPolicy.
func (x *aclChange) putPolicy(c *Command) Result {
	p, _ := decodePolicyValue(c.Value)
	a := x.acl
	old, exists := a.policies.Get(p.ID)
	named, taken := a.PolicyByName(p.Name)
	switch {
	case c.creates() && exists:
		return x.because(CodeExists, "policy %s", p.ID)
	case !c.creates() && !exists:
		return x.because(CodeMissing, "policy %s", p.ID)
	case exists && !c.finds(old.ModifyIndex):
		return x.unchanged(CodeCondition)
	case taken && named.ID != p.ID:
		return x.because(CodeExists, "a policy named %q", p.Name)
	case !exists && a.policies.Len() >= x.limits.Policies:
		return x.unchanged(CodeFull)
	}
	next := x.changeACL(exists || a.linked(p.ID)) // of a policy that was deleted: its rules may deny
	p.CreateIndex, p.ModifyIndex = x.revision, x.revision
	if exists {
		p.CreateIndex = old.CreateIndex
	}
	next.putPolicy(p)
	x.changes.set(KindPolicy, p.ID, appendPolicy(nil, p))
	return Result{Code: CodeDone, Revision: x.revision}
}

// dropPolicy carries out OpDropPolicy.
func (x *aclChange) dropPolicy(c *Command) Result {
	id := string(c.Value)
	p, exists := x.acl.policies.Get(id)
	switch {
	case !exists:
		return x.because(CodeMissing, "policy %s", id)
	case !c.finds(p.ModifyIndex):
		return x.unchanged(CodeCondition)
	}
	next := x.changeACL(true)
	next.policies.Delete(id)
	next.names.Delete(p.Name)
	x.changes.set(KindPolicy, id, nil)
	return Result{Code: CodeDone, Revision: x.revision}
}

// putToken carries out OpPutToken. An update keeps the secret and the times.
func (x *aclChange) putToken(c *Command) Result {
	t, _ := decodeTokenValue(c.Value)
	if missing := x.acl.link(t); missing != "" {
		return x.because(CodeMissing, "policy %s", missing)
	}
	if c.creates() {
		return x.createToken(t)
	}
	old, exists := x.acl.Token(t.Accessor)
	if !exists {
		return x.because(CodeMissing, "token %s", t.Accessor)
	}
	if !c.finds(old.ModifyIndex) {
		return x.unchanged(CodeCondition)
	}
	if other, taken := x.acl.TokenOfCertificate(t.Certificate); taken && other.Accessor != t.Accessor {
		return x.because(CodeExists, "a token of certificate %q", t.Certificate)
	}
	t.Secret, t.Created, t.Expires, t.TTL = old.Secret, old.Created, old.Expires, old.TTL
	t.CreateIndex = old.CreateIndex
	x.placeToken(t, true)
	return Result{Code: CodeDone, Revision: x.revision}
}

// link replaces the names of policies in t by their IDs, and returns what is neither.
func (a *ACL) link(t *Token) (missing string) {
	ids := make([]string, 0, len(t.Policies))
	seen := map[string]bool{} // never ranged over
	for _, link := range t.Policies {
		p, found := a.Policy(link)
		if !found {
			p, found = a.PolicyByName(link)
		}
		if !found {
			return link
		}
		if !seen[p.ID] {
			ids = append(ids, p.ID)
		}
		seen[p.ID] = true
	}
	t.Policies = ids
	return ""
}

// createToken puts t into the table, unless something of it is in use. No permission is lost, unless a certificate
// begins to stand for the token: until then the certificate stood for the anonymous token.
func (x *aclChange) createToken(t *Token) Result {
	a := x.acl
	if _, exists := a.Token(t.Accessor); exists {
		return x.because(CodeExists, "a token with accessor %s", t.Accessor)
	}
	if _, exists := a.TokenOfSecret(t.Secret); exists {
		return x.because(CodeExists, "a token with this secret")
	}
	if _, exists := a.TokenOfCertificate(t.Certificate); exists {
		return x.because(CodeExists, "a token of certificate %q", t.Certificate)
	}
	if a.tokens.Len() >= x.limits.Tokens {
		return x.unchanged(CodeFull)
	}
	x.placeToken(t, t.Certificate != "")
	x.notes.time(t.timed(t.TTL))
	return Result{Code: CodeDone, Revision: x.revision}
}

// placeToken makes t the token of its accessor, at the command's revision.
func (x *aclChange) placeToken(t *Token, narrows bool) {
	next := x.changeACL(narrows)
	if t.ModifyIndex = x.revision; t.CreateIndex == 0 {
		t.CreateIndex = x.revision
	}
	next.put(t)
	x.changes.set(KindToken, t.Accessor, appendToken(nil, t))
}

// dropToken carries out OpDropToken, and OpEndToken, which has an Arm: only the token that was created at that revision
// ends.
func (x *aclChange) dropToken(c *Command) Result {
	accessor := string(c.Value)
	t, exists := x.acl.tokens.Get(accessor)
	switch {
	case !exists:
		return x.because(CodeMissing, "token %s", accessor)
	case c.Op == OpEndToken && (c.Arm != t.CreateIndex || t.TTL == 0):
		return x.unchanged(CodeCondition)
	case !c.finds(t.ModifyIndex):
		return x.unchanged(CodeCondition)
	}
	x.changeACL(true).unindex(accessor)
	x.changes.set(KindToken, accessor, nil)
	x.notes.time(t.timed(0))
	return Result{Code: CodeDone, Revision: x.revision}
}

// timed returns the timer of t, which goes off after after, or, if after is 0, its end.
func (t *Token) timed(after time.Duration) Timed {
	if t.TTL == 0 {
		return Timed{}
	}
	return Timed{Kind: TimedToken, Name: t.Accessor, Arm: t.CreateIndex, After: after}
}

// bootstrapACL carries out OpBootstrap: it makes the first token, which has the policy that allows everything. It
// succeeds once, and again only for a command that names the revision at which it last succeeded.
func (x *aclChange) bootstrapACL(c *Command) Result {
	if done := x.acl.bootstrap; done != 0 && done != uint64(c.Num) {
		r := x.unchanged(CodeBootstrapped)
		r.Count = done
		return r
	}
	t, _ := decodeTokenValue(c.Value)
	t.Policies = []string{ManagementPolicy}
	r := x.createToken(t)
	if r.Code == CodeDone {
		x.acl.bootstrap = x.revision // createToken has just made this one, which nobody else has seen
	}
	return r
}
