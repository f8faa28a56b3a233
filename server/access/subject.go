package access

import (
	"maps"
	"sync"

	"tenure/kv"
	"tenure/server/acl"
)

// subject is a token and what its policies allow. It never changes, but for its last use.
type subject struct {
	token *kv.Token
	may   *acl.Authorizer
	used  *lastUse
}

// maxSubjects bounds the cached subjects. One more empties the cache: making a subject anew takes microseconds.
const maxSubjects = 4096

// subjects keeps the subjects of one state of tokens and policies. Its methods are safe for concurrent use.
type subjects struct {
	mu       sync.Mutex
	made     map[*kv.Token]*subject
	policies map[*kv.Policy]*acl.Policy // parsed
	uses     *uses
}

// of returns the subject of t, which is a token of a.
func (s *subjects) of(a *kv.ACL, t *kv.Token) *subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.made[t]; x != nil {
		return x
	}
	var rules []*acl.Policy
	for _, p := range a.PoliciesOf(t) {
		rules = append(rules, s.parsed(p))
	}
	if s.made == nil || len(s.made) >= maxSubjects {
		s.made = make(map[*kv.Token]*subject)
	}
	x := &subject{token: t, may: acl.Compile(rules...), used: s.uses.of(t.Accessor, a)}
	s.made[t] = x
	return x
}

// denyAll are rules that leave nothing to any other policy of the token.
var denyAll = mustParse(`acl = "deny"
operator = "deny"
agent_prefix "" { policy = "deny" }
key_prefix "" { policy = "deny" }
session_prefix "" { policy = "deny" }
lease_prefix "" { policy = "deny" }
`)

func mustParse(rules string) *acl.Policy {
	p, err := acl.Parse(rules)
	if err != nil {
		panic(err)
	}
	return p
}

// parsed returns the rules of p. Nodes check rules before they store them. Rules that this release cannot read may deny
// something, so a token with such a policy gets no permission at all.
func (s *subjects) parsed(p *kv.Policy) *acl.Policy {
	if rules := s.policies[p]; rules != nil {
		return rules
	}
	rules, err := acl.Parse(Rules(p))
	if err != nil {
		rules = denyAll
	}
	if s.policies == nil {
		s.policies = make(map[*kv.Policy]*acl.Policy)
	}
	s.policies[p] = rules
	return rules
}

// policiesThatRemain returns the parsed policies that are in next as well.
func (s *subjects) policiesThatRemain(next *kv.ACL) map[*kv.Policy]*acl.Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := maps.Clone(s.policies)
	maps.DeleteFunc(kept, func(p *kv.Policy, _ *acl.Policy) bool {
		now, there := next.Policy(p.ID)
		return !there || now != p
	})
	return kept
}

// Rules returns the text of the rules of p.
func Rules(p *kv.Policy) string {
	if p.ID == kv.ManagementPolicy {
		return acl.ManagementRules
	}
	return p.Rules
}
