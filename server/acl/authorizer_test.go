package acl

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// compile makes an authorizer of policies, written as rules.
func compile(t *testing.T, policies ...string) *Authorizer {
	t.Helper()
	var parsed []*Policy
	for _, rules := range policies {
		p, err := Parse(rules)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, p)
	}
	return Compile(parsed...)
}

func TestWhichRuleGoverns(t *testing.T) {
	for name, c := range map[string]struct {
		policies []string
		allowed  []Permission
		denied   []Permission
	}{
		"no policy": {nil, nil, []Permission{
			KeyRead("a"), KeyRead(""), KeyList(""), KeyReadPrefix("a"), KeyWritePrefix(""), SessionRead("n"),
			LeaseRead("l"), OperatorRead(), ACLRead(),
		}},
		"everything": {[]string{ManagementRules}, []Permission{
			KeyWrite("a"), KeyWrite(""), KeyWritePrefix(""), KeyList(""), SessionWrite("n"), LeaseWrite("l"),
			OperatorWrite(), ACLWrite(),
		}, nil},
		"an exact rule is for one name": {
			[]string{`key "a" { policy = "write" }`},
			[]Permission{KeyRead("a"), KeyWrite("a")},
			[]Permission{KeyRead("ab"), KeyRead("A"), KeyRead(""), KeyList("a"), KeyReadPrefix("a"),
				KeyWritePrefix("a")},
		},
		"an exact rule goes before a prefix that grants more": {
			[]string{`key_prefix "" { policy = "write" } key "a" { policy = "read" }`},
			[]Permission{KeyRead("a"), KeyWrite("ab"), KeyReadPrefix("a")},
			[]Permission{KeyWrite("a"), KeyWritePrefix(""), KeyWritePrefix("a")},
		},
		"an exact rule goes before a prefix that denies": {
			[]string{`key_prefix "a" { policy = "deny" } key "a" { policy = "write" }`},
			[]Permission{KeyWrite("a")}, []Permission{KeyRead("aa"), KeyReadPrefix("a")},
		},
		"the longest prefix, though it grants more": {
			[]string{`key_prefix "" { policy = "deny" } key_prefix "a/" { policy = "read" }
				key_prefix "a/b/" { policy = "write" }`},
			[]Permission{KeyRead("a/x"), KeyWrite("a/b/"), KeyWritePrefix("a/b/c")},
			[]Permission{KeyRead("a"), KeyWrite("a/b"), KeyWritePrefix("a/"), KeyReadPrefix("")},
		},
		"the longest prefix, though it denies": {
			[]string{`key_prefix "" { policy = "write" }`, `key_prefix "a/" { policy = "deny" }`},
			[]Permission{KeyWrite("a"), KeyWrite("b"), KeyWritePrefix("b"), KeyList("")},
			[]Permission{KeyRead("a/"), KeyRead("a/b"), KeyWritePrefix("a"), KeyReadPrefix(""), KeyList("a/b")},
		},
		"a prefix between others that do not hold": {
			[]string{`key_prefix "a" { policy = "read" } key_prefix "ab/c" { policy = "deny" }
				key_prefix "ab/d" { policy = "deny" }`},
			[]Permission{KeyRead("ab/e"), KeyRead("ab/"), KeyRead("abz")},
			[]Permission{KeyRead("ab/c"), KeyRead("ab/dx"), KeyRead("b")},
		},
		"of equal rules, deny before write": {
			[]string{`key_prefix "a" { policy = "write" } operator = "write"`,
				`key_prefix "a" { policy = "deny" } operator = "deny"`},
			nil, []Permission{KeyRead("a"), OperatorRead()},
		},
		"of equal rules, write before list": {
			[]string{`key "a" { policy = "list" }`, `key "a" { policy = "write" }`, `key "a" { policy = "read" }`},
			[]Permission{KeyWrite("a")}, nil,
		},
		"of equal rules, list before read": {
			[]string{`key_prefix "a" { policy = "read" }`, `key_prefix "a" { policy = "list" }`},
			[]Permission{KeyList("a"), KeyRead("a")}, []Permission{KeyWrite("a"), KeyList("")},
		},
		"read is not list": {
			[]string{`key_prefix "" { policy = "read" }`}, []Permission{KeyRead("a"), KeyReadPrefix("a")},
			[]Permission{KeyList("a")},
		},
		"list says nothing of what is below": {
			[]string{`key_prefix "" { policy = "list" } key_prefix "a" { policy = "deny" }`},
			[]Permission{KeyList("")}, []Permission{KeyReadPrefix(""), KeyRead("a")},
		},
		"a session is not a lease is not a key": {
			[]string{`session "a" { policy = "write" }`, `lease_prefix "b" { policy = "write" }`},
			[]Permission{SessionWrite("a"), LeaseWrite("bb")},
			[]Permission{KeyRead("a"), LeaseRead("a"), SessionRead("bb"), KeyRead("bb"), ACLRead(), OperatorRead()},
		},
		"read is not write": {
			[]string{`operator = "read" acl = "read" session_prefix "" { policy = "read" }
				lease "l" { policy = "read" }`},
			[]Permission{OperatorRead(), ACLRead(), SessionRead("n"), LeaseRead("l")},
			[]Permission{OperatorWrite(), ACLWrite(), SessionWrite("n"), LeaseWrite("l")},
		},
		"names are not cleaned": {
			[]string{`key_prefix "a/" { policy = "write" } key_prefix "a/../" { policy = "deny" }`},
			[]Permission{KeyWrite("a//b"), KeyWrite("a/./../x")}, []Permission{KeyRead("a/../a/x"), KeyRead("/a/"),
				KeyRead("a%2Fb")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := compile(t, c.policies...)
			for _, p := range c.allowed {
				if err := a.Check(p); err != nil {
					t.Error(err)
				}
			}
			for _, p := range c.denied {
				if a.Allows(p) {
					t.Errorf("%s is allowed", p)
				}
			}
		})
	}
}

func TestDeniedSaysWhatIsMissing(t *testing.T) {
	a := compile(t, `key_prefix "a/" { policy = "read" }`)
	for _, c := range []struct {
		needed []Permission
		want   string
	}{
		{nil, ""},
		{[]Permission{KeyRead("a/b"), KeyReadPrefix("a/")}, ""},
		{[]Permission{KeyRead("a/b"), KeyWrite("a/b"), OperatorRead()}, `lacks permission 'key:write' on "a/b"`},
		{[]Permission{KeyWritePrefix("a/\n")}, `lacks permission 'key:write' on everything that begins with "a/\n"`},
		{[]Permission{KeyReadPrefix("")}, "lacks permission 'key:read' on every key"},
		{[]Permission{SessionWrite("")}, `lacks permission 'session:write' on ""`},
		{[]Permission{OperatorWrite()}, "lacks permission 'operator:write'"},
		{[]Permission{ACLRead()}, "lacks permission 'acl:read'"},
	} {
		err := a.Check(c.needed...)
		if (err == nil) != (c.want == "") || err != nil && (err.Error() != c.want || !errors.As(err,
			new(*DeniedError))) {
			t.Errorf("%v: %v, want %q", c.needed, err, c.want)
		}
	}
	if (*Authorizer)(nil).Allows(KeyRead("a")) || new(Authorizer).Check(ACLRead()) == nil {
		t.Error("no rules allow something")
	}
}

// slow decides as the documents say, rule by rule.
func slow(policies []*Policy, p Permission) bool {
	granted := func(is func(Rule) bool) (best Access) {
		for _, policy := range policies {
			for _, r := range policy.Rules {
				if r.Kind == p.Kind && is(r) {
					best = max(best, r.Access)
				}
			}
		}
		return best
	}
	may := func(a Access) bool {
		switch a {
		case Write:
			return true
		case List:
			return p.Access != Write
		case Read:
			return p.Access == Read
		}
		return false
	}
	governing := Access(0)
	for n := range len(p.Name) + 1 {
		if a := granted(func(r Rule) bool { return r.Prefix && r.Name == p.Name[:n] }); a != 0 {
			governing = a
		}
	}
	if exact := granted(func(r Rule) bool { return !r.Prefix && r.Name == p.Name }); exact != 0 && !p.Prefix {
		governing = exact
	}
	if !p.Kind.named() {
		governing = granted(func(Rule) bool { return true })
	}
	if !may(governing) || !p.Prefix || p.Access == List {
		return may(governing)
	}
	for _, policy := range policies {
		for _, below := range policy.Rules {
			same := func(r Rule) bool { return r.Prefix == below.Prefix && r.Name == below.Name }
			if below.Kind == p.Kind && strings.HasPrefix(below.Name, p.Name) && !may(granted(same)) {
				return false
			}
		}
	}
	return true
}

// slowSome decides whether p is allowed for any name that begins with that of p: itself, one with a rule of its own, or
// one right behind those.
func slowSome(policies []*Policy, p Permission) bool {
	from := []string{p.Name}
	for _, policy := range policies {
		for _, r := range policy.Rules {
			if r.Kind == p.Kind && strings.HasPrefix(r.Name, p.Name) {
				from = append(from, r.Name)
			}
		}
	}
	for _, name := range from {
		for _, name := range []string{name, name + "~"} {
			if slow(policies, Permission{Kind: p.Kind, Access: p.Access, Name: name}) {
				return true
			}
		}
	}
	return false
}

var names = rapid.StringOfN(rapid.RuneFrom([]rune("ab/")), 0, 5, -1)

func drawPolicies(t *rapid.T) []*Policy {
	rule := rapid.Custom(func(t *rapid.T) Rule {
		r := Rule{Kind: rapid.SampledFrom([]Kind{Key, Key, Session, Lease, Agent, Operator, ACL}).Draw(t, "kind"),
			Access: Access(rapid.IntRange(1, 4).Draw(t, "access"))}
		if r.Kind.named() {
			r.Name, r.Prefix = names.Draw(t, "name"), rapid.Bool().Draw(t, "prefix")
		}
		return r
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) *Policy {
		return &Policy{Rules: rapid.SliceOfN(rule, 0, 12).Draw(t, "rules")}
	}), 0, 4).Draw(t, "policies")
}

func TestAuthorizerIsTheSlowOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies := drawPolicies(t)
		a := Compile(policies...)
		for range 20 {
			p := Permission{Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind")),
				Access: Access(rapid.IntRange(1, 3).Draw(t, "access"))}
			if p.Kind.named() {
				p.Name, p.Prefix = names.Draw(t, "name"), rapid.Bool().Draw(t, "prefix")
			}
			if got, want := a.Allows(p), slow(policies, p); got != want {
				t.Fatalf("%s: %v, want %v, with %+v", p, got, want, policies)
			}
			if p.Prefix = false; p.Kind.named() {
				if got, want := a.AllowsSome(p), slowSome(policies, p); got != want {
					t.Fatalf("some of %s: %v, want %v, with %+v", p, got, want, policies)
				}
			}
		}
	})
}

// A permission for a prefix implies the permission for each name that begins with it.
func TestAPrefixPromisesEachName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Compile(drawPolicies(t)...)
		prefix, rest := names.Draw(t, "prefix"), names.Draw(t, "rest")
		for _, want := range []Access{Read, Write} {
			if a.Allows(Permission{Access: want, Name: prefix, Prefix: true}) && !a.Allows(Permission{Access: want,
				Name: prefix + rest}) {
				t.Fatalf("%s of everything below %q, but not of %q", want, prefix, prefix+rest)
			}
		}
	})
}

// The order of policies and of rules means nothing.
func TestOrderMeansNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies := drawPolicies(t)
		var turned []*Policy
		for i := len(policies) - 1; i >= 0; i-- {
			p := &Policy{}
			for j := len(policies[i].Rules) - 1; j >= 0; j-- {
				p.Rules = append(p.Rules, policies[i].Rules[j])
			}
			turned = append(turned, p)
		}
		p := Permission{Access: Access(rapid.IntRange(1, 3).Draw(t, "access")), Name: names.Draw(t, "name"),
			Prefix: rapid.Bool().Draw(t, "prefix")}
		if Compile(policies...).Allows(p) != Compile(turned...).Allows(p) {
			t.Fatal(p)
		}
	})
}

// A decision takes no memory, so that listings can be filtered by it.
func TestDecisionsDoNotAllocate(t *testing.T) {
	a := compile(t,
		`key_prefix "" { policy = "deny" } key_prefix "a/" { policy = "read" } key "a/x" { policy = "write" }`)
	key := "a/b/c"
	if n := testing.AllocsPerRun(100, func() { a.Allows(KeyRead(key)); a.Allows(KeyWrite(key)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
