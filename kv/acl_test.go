package kv

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
)

// tokenOf is a token that can be created; n tells its accessor and secret.
func tokenOf(n int, policies ...string) Token {
	return Token{Accessor: sessionID(n), Secret: HashSecret(fmt.Sprint("secret", n)), Policies: policies}
}

func policyOf(n int, name string) Policy {
	return Policy{ID: sessionID(n), Name: name, Rules: "rules of " + name}
}

// under is c as it was allowed under an ACL revision.
func (c Command) decided(revision uint64) Command {
	c.Decided = revision
	return c
}

// rights returns the accessor and the policies behind a secret, as text.
func (m *machine) rights(secret string) string {
	t, found := m.ACL().TokenOfSecret(HashSecret(secret))
	if !found {
		return "-"
	}
	text := t.Accessor[:1]
	for _, p := range m.ACL().PoliciesOf(t) {
		text += " " + p.Name
	}
	return text
}

func TestTokensAndPolicies(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.want(PutPolicy(policyOf(1, "p"), true), Result{Code: CodeDone, Revision: 2})
	m.want(PutPolicy(policyOf(2, "q"), true), Result{Code: CodeDone, Revision: 3})
	m.want(PutToken(tokenOf(1, "q", sessionID(1), "p"), true), Result{Code: CodeDone, Revision: 4})
	if got := m.rights("secret1"); got != "1 q p" {
		t.Fatal(got)
	}
	m.want(PutPolicy(policyOf(1, "other"), false), Result{Code: CodeDone, Revision: 5})
	m.want(PutPolicy(policyOf(3, "p"), true), Result{Code: CodeDone, Revision: 6}) // the name is free again
	if got := m.rights("secret1"); got != "1 q other" {
		t.Fatal(got)
	}
	update := tokenOf(1, "p")
	update.Secret, update.Description = SecretHash{}, "changed"
	m.want(PutToken(update, false), Result{Code: CodeDone, Revision: 7})
	if got, _ := m.ACL().Token(sessionID(1)); m.rights("secret1") != "1 p" || got.CreateIndex != 4 ||
		got.ModifyIndex != 7 || got.Description != "changed" {
		t.Fatalf("%+v", got)
	}
	m.want(DropPolicy(sessionID(3)), Result{Code: CodeDone, Revision: 8})
	if got := m.rights("secret1"); got != "1" {
		t.Fatal(got)
	}
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != before || m.rights("secret1") != "1" || m.ACL().Revision() != 8 || m.ACL().Narrowed() != 8 {
		t.Errorf("after a restart: %s at %d", m.rights("secret1"), m.ACL().Revision())
	}
	m.want(DropToken(sessionID(1)), Result{Code: CodeDone, Revision: 9})
	m.takeCheckpoint()
	m.reopen()
	if got := m.rights("secret1"); got != "-" {
		t.Fatal(got)
	}
}

// An update with an index replaces what has that ModifyIndex. Else it changes nothing.
func TestUpdatesOfTokensAndPoliciesWithAnIndex(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(PutPolicy(policyOf(1, "p"), true), PutToken(tokenOf(1, "p"), true), PutPolicy(policyOf(1, "q"), false)) // 2 to 4
	token := tokenOf(1)
	token.Secret = SecretHash{}
	stale := Result{Code: CodeCondition, Revision: 4}
	for _, index := range []uint64{1, 2, 3, 5} {
		m.want(IfAt(PutPolicy(policyOf(1, "r"), false), index), stale)
	}
	m.want(IfAt(PutToken(token, false), 4), stale)
	m.want(IfAt(PutPolicy(policyOf(2, "r"), false), 4), Result{Code: CodeMissing, Revision: 4, Body: "policy " + sessionID(2)})
	if p, _ := m.ACL().Policy(sessionID(1)); m.ACL().Revision() != 4 || p.Name != "q" || m.rights("secret1") != "1 q" {
		t.Errorf("a refused update has changed something: %+v, %s", p, m.rights("secret1"))
	}
	m.want(IfAt(PutPolicy(policyOf(1, "r"), false), 4), Result{Code: CodeDone, Revision: 5})
	m.want(IfAt(PutToken(token, false), 3), Result{Code: CodeDone, Revision: 6})
	if p, _ := m.ACL().Policy(sessionID(1)); p.Name != "r" || p.ModifyIndex != 5 || p.CreateIndex != 2 {
		t.Errorf("%+v", p)
	}
	anyone := Token{Accessor: AnonymousToken, Policies: []string{"r"}}
	m.want(IfAt(PutToken(anyone, false), 2), Result{Code: CodeCondition, Revision: 6})
	m.want(IfAt(PutToken(anyone, false), FirstRevision), Result{Code: CodeDone, Revision: 7})
	made := IfAt(PutToken(tokenOf(2), true), 7)
	if err := made.Validate(); err == nil {
		t.Error("an update may give a secret")
	}
}

// A deletion with an index ends what has that ModifyIndex. Else it changes nothing.
func TestDeletionsOfTokensAndPoliciesWithAnIndex(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(PutPolicy(policyOf(1, "p"), true), PutToken(tokenOf(1, "p"), true), PutPolicy(policyOf(1, "q"), false)) // 2 to 4
	stale := Result{Code: CodeCondition, Revision: 4}
	for _, index := range []uint64{0, 1, 2, 5} {
		m.want(IfAt(DropPolicy(sessionID(1)), index), stale)
		m.want(IfAt(DropToken(sessionID(1)), index), stale)
	}
	if m.ACL().Revision() != 4 || m.rights("secret1") != "1 q" {
		t.Errorf("a refused deletion has changed something: %s", m.rights("secret1"))
	}
	m.want(IfAt(DropPolicy(sessionID(2)), 4), Result{Code: CodeMissing, Revision: 4, Body: "policy " + sessionID(2)})
	m.want(IfAt(DropPolicy(sessionID(1)), 4), Result{Code: CodeDone, Revision: 5})
	m.want(IfAt(DropToken(sessionID(1)), 3), Result{Code: CodeDone, Revision: 6})
	if got := m.rights("secret1"); got != "-" {
		t.Errorf("a token that was deleted: %s", got)
	}
	ended := IfAt(Command{Op: OpEndToken, Value: []byte(sessionID(1)), Arm: 3}, 3)
	if err := ended.Validate(); err == nil {
		t.Error("the end of a token takes an index")
	}
}

func TestWhatIsRefusedOfTokensAndPolicies(t *testing.T) {
	m := newMachine(t, small).atLevel()
	certified := func(n int, cert string) Token {
		x := tokenOf(n)
		x.Certificate = cert
		return x
	}
	sameSecret := tokenOf(3)
	sameSecret.Secret = HashSecret("secret1")
	likeAnonymous := Token{Accessor: sessionID(3), Secret: HashSecret("anonymous")}
	moved := certified(2, "tenure://c/client/a")
	moved.Secret = SecretHash{}
	m.do(PutPolicy(policyOf(1, "p"), true), PutPolicy(policyOf(2, "q"), true),
		PutToken(certified(1, "tenure://c/client/a"), true), PutToken(tokenOf(2), true))
	before := m.digest()
	for name, c := range map[string]struct {
		command Command
		code    Code
		says    string
	}{
		"policy twice":           {PutPolicy(policyOf(1, "r"), true), CodeExists, sessionID(1)},
		"name twice":             {PutPolicy(policyOf(3, "p"), true), CodeExists, `"p"`},
		"renamed to another's":   {PutPolicy(policyOf(1, "q"), false), CodeExists, `"q"`},
		"no such policy":         {PutPolicy(policyOf(3, "r"), false), CodeMissing, sessionID(3)},
		"delete no policy":       {DropPolicy(sessionID(3)), CodeMissing, sessionID(3)},
		"token twice":            {PutToken(tokenOf(1), true), CodeExists, sessionID(1)},
		"secret twice":           {PutToken(sameSecret, true), CodeExists, "secret"},
		"the anonymous secret":   {PutToken(likeAnonymous, true), CodeExists, "secret"},
		"certificate twice":      {PutToken(certified(3, "tenure://c/client/a"), true), CodeExists, "certificate"},
		"certificate of another": {PutToken(moved, false), CodeExists, "certificate"},
		"policy that is not":     {PutToken(tokenOf(3, "nobody"), true), CodeMissing, "nobody"},
		"no such token":          {PutToken(Token{Accessor: sessionID(3)}, false), CodeMissing, sessionID(3)},
		"delete no token":        {DropToken(sessionID(3)), CodeMissing, sessionID(3)},
	} {
		r := m.do(c.command)[0]
		if r.Code != c.code || !strings.Contains(r.Body, c.says) || r.Revision != m.Revision() {
			t.Errorf("%s: %+v", name, r)
		}
	}
	twin := newMachine(t, small).atLevel()
	twin.do(PutPolicy(policyOf(1, "p"), true), PutPolicy(policyOf(2, "q"), true),
		PutToken(certified(1, "tenure://c/client/a"), true), PutToken(tokenOf(2), true))
	for twin.Applied() < m.Applied() {
		twin.do()
	}
	if before == m.digest() || twin.digest() != m.digest() {
		t.Error("what was refused changed the state")
	}
	m.do(PutPolicy(policyOf(3, "r"), true), PutToken(tokenOf(3), true), PutToken(tokenOf(4), true))
	m.want(PutPolicy(policyOf(4, "s"), true), Result{Code: CodeFull, Revision: m.Revision()})
	m.want(PutToken(tokenOf(5), true), Result{Code: CodeFull, Revision: m.Revision()})
}

// A command allowed before a permission was taken away is refused, and leaves neither a fence nor an idempotency key. A
// change that takes no permission away refuses no command.
func TestAnOldDecisionIsRefused(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(PutPolicy(policyOf(1, "p"), true), PutToken(tokenOf(1, "p"), true))
	m.want(set("a", "1").decided(1), Result{Code: CodeDone, Revision: 4}) // nobody has lost anything
	m.do(DropToken(sessionID(1)))                                         // revision 5
	for _, c := range []Command{set("a", "2"), set("a", "2").keyed("w", 4).under("kv/a", 9), transaction(set("a", "2")),
		create(Session{ID: one}), PutToken(tokenOf(2), true), stage(uploadA, 0, []byte("x"))} {
		for _, old := range []uint64{1, 4} {
			m.want(c.decided(old), Result{Code: CodeDecideAgain, Revision: 5, Count: 5})
		}
	}
	once := set("a", "2").keyed("w", 4).under("kv/a", 3)
	m.want(once.decided(5), Result{Code: CodeDone, Revision: 6})
	m.want(once.decided(6), Result{Code: CodeDone, Revision: 6}) // a retry
	m.want(set("a", "3"), Result{Code: CodeDone, Revision: 7})   // nobody had to decide
}

// A copy with an old decision is refused in other words if an earlier copy was applied, or may have been, and nothing of
// the result of that one is told. Without such a copy none is ever applied.
func TestAnOldDecisionTellsOfAnEarlierCopy(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.do(set("a", "old"), PutPolicy(policyOf(1, "p"), true), PutToken(tokenOf(1, "p"), true)) // revision 4
	applied := Command{Op: OpDelete, Mode: ModeEntry, Key: "a"}.keyed("w", 2).decided(4)
	m.do(applied)                 // revision 5
	m.do(DropToken(sessionID(1))) // revision 6
	inDoubt := Result{Code: CodeDecideInDoubt, Revision: 6, Count: 6}
	refused := Result{Code: CodeDecideAgain, Revision: 6, Count: 6}
	m.want(applied, inDoubt)
	m.want(set("a", "new").keyed("w", 2).decided(4), refused) // another command, which never had the key
	never := set("b", "1").keyed("v", 2).decided(4)
	m.want(never, refused)
	for i := range small.DedupEntries {
		m.do(set("x", "1").keyed(fmt.Sprint("n", i), 1))
	}
	inDoubt.Revision, refused.Revision = m.Revision(), m.Revision()
	m.want(applied, inDoubt) // forgotten
	m.want(never, inDoubt)
	m.want(set("b", "1").keyed("v", m.Revision()).decided(4), refused)
	m.want(set("b", "1").decided(4), refused) // nobody can find copies without a key
	if m.get("b") != "-" {
		t.Error("a copy was applied:", m.get("b"))
	}
}

// Each change that may take a permission away counts, and none that cannot.
func TestWhichChangesNarrow(t *testing.T) {
	certified := tokenOf(3)
	certified.Certificate = "c"
	expires := tokenOf(4)
	expires.TTL, expires.Expires = time.Hour, 1
	l := small
	l.Tokens = 9
	m := newMachine(t, l).atLevel()
	m.do(PutPolicy(policyOf(1, "p"), true))
	m.do(expiresAt(expires))
	for _, c := range []struct {
		name    string
		command Command
		narrows bool
	}{
		{"a new policy", PutPolicy(policyOf(2, "q"), true), false},
		{"a new token", PutToken(tokenOf(1, "p"), true), false},
		{"the first token", Bootstrap(tokenOf(2), 0), false},
		{"a certificate begins to stand for a token", PutToken(certified, true), true},
		{"other rules", PutPolicy(policyOf(1, "p"), false), true},
		{"other policies of a token", PutToken(Token{Accessor: sessionID(1)}, false), true},
		{"other policies of the anonymous token", PutToken(Token{Accessor: AnonymousToken}, false), true},
		{"a token with a policy", PutToken(tokenOf(5, "q"), true), false},
		{"the end of a policy", DropPolicy(sessionID(1)), true},
		{"the end of a policy that a token has", DropPolicy(sessionID(2)), true},
		{"a policy of an ID that no token names", PutPolicy(policyOf(1, "p"), true), false},
		{"a policy of an ID that a token still names", PutPolicy(policyOf(2, "q"), true), true},
		{"the end of a token", DropToken(sessionID(1)), true},
		{"the time of a token is over", Command{Op: OpEndToken, Value: []byte(sessionID(4)), Arm: 3}, true},
	} {
		before := m.ACL()
		r := m.do(c.command)[0]
		now := m.ACL()
		if r.Code != CodeDone || now.Revision() != r.Revision || now.Revision() == before.Revision() ||
			(now.Narrowed() == r.Revision) != c.narrows {
			t.Errorf("%s: %+v, revision %d, narrowed at %d", c.name, r, now.Revision(), now.Narrowed())
		}
	}
}

func expiresAt(x Token) Command { return PutToken(x, true) }

func TestBootstrapIsDoneOnce(t *testing.T) {
	m := newMachine(t, small).atLevel()
	m.want(Bootstrap(tokenOf(1), 7), Result{Code: CodeDone, Revision: 2}) // a reset that is not needed
	if got := m.rights("secret1"); got != "1 "+api.ManagementPolicyName || m.ACL().Bootstrap() != 2 {
		t.Fatalf("%s, bootstrapped at %d", got, m.ACL().Bootstrap())
	}
	again := Result{Code: CodeBootstrapped, Revision: 2, Count: 2}
	m.want(Bootstrap(tokenOf(2), 0), again)
	m.want(Bootstrap(tokenOf(2), 1), again)
	m.do(DropToken(sessionID(1)))
	m.takeCheckpoint()
	m.reopen()
	m.want(Bootstrap(tokenOf(2), 0), Result{Code: CodeBootstrapped, Revision: 3, Count: 2})
	m.want(Bootstrap(tokenOf(2), 2), Result{Code: CodeDone, Revision: 4})
	m.want(Bootstrap(tokenOf(3), 2), Result{Code: CodeBootstrapped, Revision: 4, Count: 4})
}

// Anybody may ask for a bootstrap, so a refused one pushes no idempotency key out of the table, and takes none.
func TestARefusedBootstrapIsNotRemembered(t *testing.T) {
	m := newMachine(t, small.with(4, 100, 10)).atLevel()
	m.do(Bootstrap(tokenOf(1), 0))
	first := m.do(set("a", "1").keyed("w", 2))[0]
	for i := range 4 {
		b := Bootstrap(tokenOf(2), 0)
		m.want(b.keyed(fmt.Sprint("b", i), 2), Result{Code: CodeBootstrapped, Revision: 3, Count: 2})
	}
	m.want(set("a", "1").keyed("w", 2), first)
	m.want(set("b", "1").keyed("b0", 2), Result{Code: CodeDone, Revision: 4})
}

func TestTheAnonymousTokenIsAlwaysThere(t *testing.T) {
	m := newMachine(t, small).atLevel()
	shows := func() (list []string) {
		m.ACL().Tokens(func(x *Token) bool { list = append(list, x.Accessor[35:]+x.Description); return true })
		return list
	}
	if got := shows(); len(got) != 1 || !strings.HasPrefix(got[0], "2Stands") || m.rights("anonymous") != "0" {
		t.Fatalf("%q, %s", got, m.rights("anonymous"))
	}
	m.do(PutPolicy(policyOf(1, "p"), true),
		PutToken(Token{Accessor: AnonymousToken, Description: "d", Policies: []string{"p"}}, false))
	m.takeCheckpoint()
	m.reopen()
	if got := shows(); len(got) != 1 || got[0] != "2d" || m.rights("anonymous") != "0 p" {
		t.Fatalf("%q, %s", got, m.rights("anonymous"))
	}
}

// The master measures the time of a token, and ends that very token. An update does not start it anew.
func TestTokensEnd(t *testing.T) {
	m := newMachine(t, small).atLevel()
	var told []Timed
	m.Observe(Observer{Timed: func(x Timed) { told = append(told, x) }})
	short := tokenOf(1)
	short.TTL, short.Expires = time.Minute, 99
	m.do(PutToken(short, true), PutToken(tokenOf(2), true))
	timer := Timed{Kind: TimedToken, Name: sessionID(1), Arm: 2, After: time.Minute}
	var runs []Timed
	m.do(PutToken(Token{Accessor: sessionID(1), Description: "d"}, false))
	m.Timed(func(x Timed) { runs = append(runs, x) })
	if !slices.Equal(told, []Timed{timer}) || !slices.Equal(runs, []Timed{timer}) {
		t.Fatalf("told %+v, runs %+v", told, runs)
	}
	if x, _ := m.ACL().Token(sessionID(1)); x.Expires != 99 || x.TTL != time.Minute {
		t.Fatalf("%+v", x)
	}
	end := Command{Op: OpEndToken, Value: []byte(sessionID(1)), Arm: 4}
	m.want(end, Result{Code: CodeCondition, Revision: 4})
	m.want(Command{Op: OpEndToken, Value: []byte(sessionID(2)), Arm: 3}, Result{Code: CodeCondition, Revision: 4})
	end.Arm = 2
	m.want(end, Result{Code: CodeDone, Revision: 5})
	if timer.After = 0; m.rights("secret1") != "-" || told[len(told)-1] != timer {
		t.Fatalf("%s, told %+v", m.rights("secret1"), told)
	}
}

// A view of tokens and policies stays as it is, also beside changes.
func TestViewsOfTokensStayAsTheyAre(t *testing.T) {
	l := small
	l.Tokens = 300
	m := newMachine(t, l).atLevel()
	seen := make(chan *ACL, 200)
	done := make(chan error)
	go func() {
		var err error
		for a := range seen {
			n := 0
			a.Tokens(func(*Token) bool { n++; return true })
			if _, found := a.TokenOfSecret(HashSecret(fmt.Sprint(n - 2))); n > 1 && !found {
				err = fmt.Errorf("of %d tokens the newest is not found", n)
			}
		}
		done <- err
	}()
	for n := range 200 {
		x := Token{Accessor: fmt.Sprintf("%08d-0000-4000-8000-000000000000", n), Secret: HashSecret(fmt.Sprint(n))}
		m.do(PutToken(x, true))
		seen <- m.ACL()
	}
	close(seen)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An upload brings no tokens and takes none away.
func TestAnUploadLeavesTheTokens(t *testing.T) {
	old := newMachine(t, DefaultLimits).atLevel()
	old.do(set("a", "1"), PutPolicy(policyOf(7, "theirs"), true), PutToken(tokenOf(7, "theirs"), true),
		Bootstrap(tokenOf(8), 0))
	pieces := piecesOf(t, old)
	m := newMachine(t, DefaultLimits).atLevel()
	m.do(PutPolicy(policyOf(1, "p"), true), PutToken(tokenOf(1, "p"), true), set("b", "1"))
	stageAll(m, uploadA, pieces)
	if r := m.do(install(uploadA, len(pieces)).decided(3))[0]; r.Code != CodeDone {
		t.Fatalf("%+v", r)
	}
	if m.get("a") == "-" || m.rights("secret1") != "1 p" || m.rights("secret7") != "-" || m.ACL().Bootstrap() != 0 {
		t.Errorf("a is %s, rights %s and %s, bootstrapped at %d", m.get("a"), m.rights("secret1"), m.rights("secret7"),
			m.ACL().Bootstrap())
	}
	before := m.digest()
	m.takeCheckpoint()
	m.reopen()
	if m.digest() != before {
		t.Error("a restart changes the state")
	}
}

// An older release does not know a state of a higher level, so that no upload of one is taken below that level.
func TestAnUploadOfAHigherLevelIsRefused(t *testing.T) {
	newer := newMachine(t, DefaultLimits).atLevel()
	newer.do(set("a", "1"))
	pieces := piecesOf(t, newer)
	var s staged
	if code := s.add(uploadA, pieces[0], NewestLevel-1); code != CodeMalformed {
		t.Errorf("below the level of the upload: %v", code)
	}
	if code := s.add(uploadA, pieces[0], NewestLevel); code != CodeDone {
		t.Errorf("at the level of the upload: %v", code)
	}
}
