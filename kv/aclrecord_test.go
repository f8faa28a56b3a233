package kv

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

func aaa(n int) string { return strings.Repeat("a", n) }

func TestCommandsAboutTokensAreChecked(t *testing.T) {
	policy := func(change func(*Policy)) Command {
		p := policyOf(1, "p")
		change(&p)
		return PutPolicy(p, true)
	}
	token := func(change func(*Token)) Command {
		x := tokenOf(1)
		change(&x)
		return PutToken(x, true)
	}
	keyed := PutToken(tokenOf(1), true)
	keyed.Key = "k"
	indexed := PutToken(tokenOf(1), true)
	indexed.Index = 3
	for name, c := range map[string]Command{
		"the built-in policy":        policy(func(p *Policy) { p.ID = ManagementPolicy }),
		"its name":                   policy(func(p *Policy) { p.Name = api.ManagementPolicyName }),
		"delete it":                  DropPolicy(ManagementPolicy),
		"no ID":                      policy(func(p *Policy) { p.ID = "" }),
		"an ID that is no UUID":      policy(func(p *Policy) { p.ID = strings.ToUpper(sessionID(1))[:35] + "F" }),
		"no name":                    policy(func(p *Policy) { p.Name = "" }),
		"a name with a space":        policy(func(p *Policy) { p.Name = "a b" }),
		"a long name":                policy(func(p *Policy) { p.Name = aaa(api.MaxPolicyNameBytes + 1) }),
		"long rules":                 policy(func(p *Policy) { p.Rules = aaa(api.MaxRulesBytes + 1) }),
		"rules that are not UTF-8":   policy(func(p *Policy) { p.Rules = "\xff" }),
		"a long description":         policy(func(p *Policy) { p.Description = aaa(api.MaxACLDescriptionBytes + 1) }),
		"no secret":                  token(func(x *Token) { x.Secret = SecretHash{} }),
		"a secret in an update":      PutToken(tokenOf(1), false),
		"no accessor":                token(func(x *Token) { x.Accessor = "" }),
		"too many policies":          token(func(x *Token) { x.Policies = make([]string, api.MaxTokenPolicies+1) }),
		"a TTL alone":                token(func(x *Token) { x.TTL = time.Hour }),
		"a negative TTL":             token(func(x *Token) { x.TTL, x.Expires = -1, 1 }),
		"a time in an update":        PutToken(Token{Accessor: sessionID(1), Created: 1}, false),
		"a long certificate":         token(func(x *Token) { x.Certificate = aaa(api.MaxCertificateNameBytes + 1) }),
		"delete the anonymous token": DropToken(AnonymousToken),
		"delete nothing":             DropToken(""),
		"bootstrap with policies":    Bootstrap(tokenOf(1, "p"), 0),
		"bootstrap without a secret": Bootstrap(Token{Accessor: sessionID(1)}, 0),
		"a key":                      keyed,
		"an index":                   indexed,
		"rubbish":                    {Op: OpPutToken, Value: []byte("\xff")},
		"a part":                     transaction(DropToken(sessionID(1))),
		"a decided part":             transaction(set("a", "1").decided(1)),
		"a decided expiry":           {Op: OpEndToken, Value: []byte(sessionID(1)), Decided: 1},
	} {
		if err := c.Validate(); !errors.Is(err, ErrCommand) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := DecodeCommand(EncodeCommand(&c)); !errors.Is(err, ErrCommand) {
			t.Errorf("%s: decoded with %v", name, err)
		}
	}
	for name, c := range map[string]Command{
		"policy": policy(func(p *Policy) { p.Rules = aaa(api.MaxRulesBytes) }),
		"token":  token(func(x *Token) { x.TTL, x.Expires = time.Hour, 1 }), "bootstrap": Bootstrap(tokenOf(1), 7),
		"anonymous": PutToken(Token{Accessor: AnonymousToken}, false), "decided": set("a", "1").decided(1 << 60),
	} {
		if _, err := DecodeCommand(EncodeCommand(&c)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedTokensAreNoticed(t *testing.T) {
	p, x := policyOf(1, "p"), tokenOf(1)
	p.CreateIndex, p.ModifyIndex, x.CreateIndex, x.ModifyIndex = 2, 2, 2, 2
	certified := x
	record := func(x Token) []byte { return appendToken(nil, &x) }
	certified.Certificate = "c"
	for name, load := range map[string]func(*ACL) error{
		"policy of another ID": func(a *ACL) error { return a.loadPolicy(sessionID(2), appendPolicy(nil, &p)) },
		"token of another":     func(a *ACL) error { return a.loadToken(sessionID(2), record(x)) },
		"unknown layout":       func(a *ACL) error { return a.loadToken(x.Accessor, []byte("\x09\x02\x02")) },
		"no bytes":             func(a *ACL) error { return a.loadToken(x.Accessor, nil) },
		"cut short":            func(a *ACL) error { return a.loadPolicy(p.ID, appendPolicy(nil, &p)[:9]) },
		"newer than the state": func(a *ACL) error { a.revision = 1; return a.loadToken(x.Accessor, record(x)) },
		"a name twice": func(a *ACL) error {
			q := p
			q.ID = sessionID(2)
			return errors.Join(a.loadPolicy(p.ID, appendPolicy(nil, &p)), a.loadPolicy(q.ID, appendPolicy(nil, &q)))
		},
		"a secret twice": func(a *ACL) error {
			y := x
			y.Accessor = sessionID(2)
			return errors.Join(a.loadToken(x.Accessor, record(x)), a.loadToken(y.Accessor, record(y)))
		},
		"a certificate twice": func(a *ACL) error {
			y := certified
			y.Accessor, y.Secret = sessionID(2), HashSecret("other")
			return errors.Join(a.loadToken(x.Accessor, record(certified)),
				a.loadToken(y.Accessor, record(y)))
		},
	} {
		a := newACL()
		a.revision = 5
		if err := load(a); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := newACL()
	a.revision = 5
	changed := Token{Accessor: AnonymousToken, Secret: HashSecret("anonymous"), CreateIndex: 1, ModifyIndex: 3}
	if err := errors.Join(a.loadPolicy(p.ID, appendPolicy(nil, &p)), a.loadToken(x.Accessor, record(certified)),
		a.loadToken(AnonymousToken, record(changed))); err != nil {
		t.Error(err)
	}
	m := meta{Slot: 1, Format: metaFormat, Level: 1, Revision: 5, ACLRevision: 6}
	if CheckMeta(1, m.encode()) == nil {
		t.Error("tokens newer than the state pass")
	}
}
