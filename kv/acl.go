package kv

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"time"

	"github.com/tidwall/btree"

	"tenure/api"
)

// SecretHash is the SHA-256 of the secret of a token. The secret itself is nowhere in the state.
type SecretHash [sha256.Size]byte

// HashSecret returns the hash of a secret.
func HashSecret(secret string) SecretHash { return sha256.Sum256([]byte(secret)) }

// Policy is a named set of rules. This package keeps the text of the rules and does not know what it says: nodes check
// it before they send OpPutPolicy.
type Policy struct {
	ID          string // a UUID in lower case
	Name        string // unique
	Description string
	Rules       string
	CreateIndex uint64 // a revision, as ModifyIndex
	ModifyIndex uint64
}

// Token is what a client may do, by policies. It never changes once it is in a table.
type Token struct {
	Accessor    string // a UUID in lower case, which is no secret
	Secret      SecretHash
	Name        string
	Description string
	Policies    []string // IDs, also of policies that were deleted since: see ACL.PoliciesOf
	Local       bool     // means nothing: there is one data centre
	// Certificate is the name of a client certificate that stands for this token: unique, "" for none.
	Certificate string
	Created     int64 // wall clock of the node that made it, in Unix nanoseconds
	// Expires is when the token ends, in Unix nanoseconds; 0: never. Nodes refuse it from then on by their own wall
	// clock, whether it is still in the table or not.
	Expires int64
	// TTL is how long after its creation that was: the master deletes the token when so much has passed on its clock.
	TTL         time.Duration
	CreateIndex uint64 // a revision, as ModifyIndex
	ModifyIndex uint64
}

// The policy and the token that every state has. They are in no table, except for an anonymous token that was changed.
// The rules of the policy are not here: the nodes that decide know its ID.
const (
	ManagementPolicy = api.ManagementPolicyID
	AnonymousToken   = api.AnonymousAccessor

	anonymousSecret = "anonymous"
)

var management = Policy{
	ID: ManagementPolicy, Name: api.ManagementPolicyName,
	Description: "Allows everything", CreateIndex: FirstRevision, ModifyIndex: FirstRevision,
}

var anonymous = &Token{
	Accessor: AnonymousToken, Secret: HashSecret(anonymousSecret), Description: "Stands for requests without a token",
	CreateIndex: FirstRevision, ModifyIndex: FirstRevision,
}

// ACL is the tokens and policies after one command. It never changes, and may be read by any number of goroutines
// while the State that it came from moves on.
type ACL struct {
	policies *btree.Map[string, *Policy] // by ID
	names    *btree.Map[string, string]  // name → ID of a policy
	tokens   *btree.Map[string, *Token]  // by accessor
	secrets  *btree.Map[hashText, *Token]
	certs    *btree.Map[string, *Token] // by name of certificate

	revision  uint64
	narrowed  uint64
	bootstrap uint64
}

// hashText is a SecretHash as an ordered key.
type hashText string

func newACL() *ACL {
	a := &ACL{
		policies: btree.NewMap[string, *Policy](0), names: btree.NewMap[string, string](0),
		tokens: btree.NewMap[string, *Token](0), secrets: btree.NewMap[hashText, *Token](0),
		certs: btree.NewMap[string, *Token](0), revision: FirstRevision, narrowed: FirstRevision,
	}
	a.index(anonymous)
	return a
}

// clone returns a copy that can be changed. Copying a table writes nothing that readers of the original look at.
func (a *ACL) clone() *ACL {
	c := *a
	c.policies, c.names, c.tokens = a.policies.Copy(), a.names.Copy(), a.tokens.Copy()
	c.secrets, c.certs = a.secrets.Copy(), a.certs.Copy()
	return &c
}

// Revision returns the revision of the newest change of a token or policy, at least 1. A decision made with a is made
// under this revision (Command.Decided).
func (a *ACL) Revision() uint64 { return a.revision }

// Narrowed returns the revision of the newest change that may have taken a permission away from somebody. A request
// allowed under that revision or a later one is still allowed.
func (a *ACL) Narrowed() uint64 { return a.narrowed }

// Bootstrap returns the revision at which the first token was made, or made again after a reset; 0 if it never was.
func (a *ACL) Bootstrap() uint64 { return a.bootstrap }

// Token returns the token with an accessor.
func (a *ACL) Token(accessor string) (*Token, bool) {
	if t, found := a.tokens.Get(accessor); found {
		return t, true
	}
	return anonymous, accessor == AnonymousToken
}

// TokenOfSecret returns the token whose secret has that hash.
func (a *ACL) TokenOfSecret(h SecretHash) (*Token, bool) {
	t, found := a.secrets.Get(hashText(h[:]))
	return t, found && subtle.ConstantTimeCompare(t.Secret[:], h[:]) == 1
}

// TokenOfCertificate returns the token for which a client certificate of that name stands.
func (a *ACL) TokenOfCertificate(name string) (*Token, bool) {
	if name == "" {
		return nil, false
	}
	return a.certs.Get(name)
}

// Policy returns the policy with an ID.
func (a *ACL) Policy(id string) (*Policy, bool) {
	if id == ManagementPolicy {
		return &management, true
	}
	return a.policies.Get(id)
}

// PolicyByName returns the policy with a name.
func (a *ACL) PolicyByName(name string) (*Policy, bool) {
	if name == management.Name {
		return &management, true
	}
	id, found := a.names.Get(name)
	if !found {
		return nil, false
	}
	return a.policies.Get(id)
}

// PoliciesOf returns those policies of t that exist, in the order in which t names them.
func (a *ACL) PoliciesOf(t *Token) []*Policy {
	list := make([]*Policy, 0, len(t.Policies))
	for _, id := range t.Policies {
		if p, found := a.Policy(id); found {
			list = append(list, p)
		}
	}
	return list
}

// linked reports whether a token names the policy of that ID, whether that exists or not.
func (a *ACL) linked(id string) (found bool) {
	a.Tokens(func(t *Token) bool {
		found = slices.Contains(t.Policies, id)
		return !found
	})
	return found
}

// Tokens calls fn with every token in the order of the accessors, until fn returns false.
func (a *ACL) Tokens(fn func(*Token) bool) {
	if _, changed := a.tokens.Get(AnonymousToken); !changed && !fn(anonymous) {
		return // it sorts below the accessors that nodes draw
	}
	a.tokens.Scan(func(_ string, t *Token) bool { return fn(t) })
}

// Policies calls fn with every policy in the order of the IDs, until fn returns false.
func (a *ACL) Policies(fn func(*Policy) bool) {
	if fn(&management) {
		a.policies.Scan(func(_ string, p *Policy) bool { return fn(p) })
	}
}

// index makes t found by its secret and its certificate.
func (a *ACL) index(t *Token) {
	a.secrets.Set(hashText(t.Secret[:]), t)
	if t.Certificate != "" {
		a.certs.Set(t.Certificate, t)
	}
}

// put makes t the token of its accessor.
func (a *ACL) put(t *Token) {
	a.unindex(t.Accessor)
	a.tokens.Set(t.Accessor, t)
	a.index(t)
}

// unindex forgets the token of an accessor, if there is one, with what finds it.
func (a *ACL) unindex(accessor string) {
	t, found := a.Token(accessor)
	if !found {
		return
	}
	a.tokens.Delete(accessor)
	a.secrets.Delete(hashText(t.Secret[:]))
	if t.Certificate != "" {
		a.certs.Delete(t.Certificate)
	}
}

// putPolicy makes p the policy of its ID.
func (a *ACL) putPolicy(p *Policy) {
	if old, found := a.policies.Get(p.ID); found {
		a.names.Delete(old.Name)
	}
	a.policies.Set(p.ID, p)
	a.names.Set(p.Name, p.ID)
}

// ACL returns the tokens and policies as they are now. Like Get, it changes nothing in s.
func (s *State) ACL() *ACL { return s.exec.reg.acl }

// ACL returns the tokens and policies as they were when v was taken.
func (v *Snapshot) ACL() *ACL { return v.acl }
