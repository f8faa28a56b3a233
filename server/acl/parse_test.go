package acl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
)

func TestParse(t *testing.T) {
	write, read := Rule{Kind: Key, Name: "a", Access: Write}, Rule{Kind: Key, Prefix: true, Name: "a/", Access: Read}
	for name, c := range map[string]struct {
		rules string
		want  []Rule
	}{
		"nothing":       {"", nil},
		"only comments": {"# one\n// two\n/* three\n*/", nil},
		"blocks": {
			"key \"a\" {\n  policy = \"write\"\n}\nkey_prefix \"a/\" { policy = \"read\" }", []Rule{write, read},
		},
		"lines that end in CRLF":    {"key \"a\" {\r\n policy = \"write\"\r\n}\r\n", []Rule{write}},
		"quoted words":              {`"key" "a" { "policy" = "write" }`, []Rule{write}},
		"names without quotes":      {`key a { policy = "write" }`, []Rule{write}},
		"objects instead of blocks": {`key = { "a" = { policy = "write" } }`, []Rule{write}},
		"a list of objects": {
			`key = [{ "a" = { policy = "write" } }, { "b" = { policy = "deny" } }]`, []Rule{write, {Kind: Key,
				Name: "b", Access: Deny}},
		},
		"nested blocks": {`key { "a" { policy = "write" } }`, []Rule{write}},
		"kinds without names": {
			"operator = \"read\"\nacl = \"write\"", []Rule{{Kind: Operator, Access: Read}, {Kind: ACL, Access: Write}},
		},
		"sessions and leases": {`session "n" { policy = "write" } session_prefix "" { policy = "read" }
			lease "l" { policy = "write" } lease_prefix "x" { policy = "deny" }`, []Rule{
			{Kind: Session, Name: "n", Access: Write}, {Kind: Session, Prefix: true, Access: Read},
			{Kind: Lease, Name: "l", Access: Write}, {Kind: Lease, Prefix: true, Name: "x", Access: Deny},
		}},
		"list of keys": {
			`key_prefix "" { policy = "list" }`, []Rule{{Kind: Key, Prefix: true, Access: List}},
		},
		"escapes": {
			`key "a\"\\\u00e9" { policy = "read" }`, []Rule{{Kind: Key, Name: "a\"\\é", Access: Read}},
		},
		"dollars are only dollars": {
			`key "${a}$" { policy = "read" }`, []Rule{{Kind: Key, Name: "${a}$", Access: Read}},
		},
		"names are not cleaned": {
			`key "/a//../b%2F" { policy = "read" }`, []Rule{{Kind: Key, Name: "/a//../b%2F", Access: Read}},
		},
		"a key and a prefix of the same name": {
			`key "a" { policy = "read" } key_prefix "a" { policy = "deny" }`, []Rule{{Kind: Key, Name: "a",
				Access: Read}, {Kind: Key, Prefix: true, Name: "a", Access: Deny}},
		},
		"JSON": {
			"\n {\"key\": {\"a\": {\"policy\": \"write\"}},\n\"key_prefix\": {\"a/\": {\"policy\": \"read\"}}}",
			[]Rule{write, read},
		},
		"JSON with lists, as Terraform has it": {
			`{"key": [{"a": [{"policy": "write"}]}], "operator": "read"}`, []Rule{write, {Kind: Operator,
				Access: Read}},
		},
		"escapes of JSON": {
			`{"key": {"\ud83d\ude00\/": {"policy": "read"}}}`, []Rule{{Kind: Key, Name: "😀/", Access: Read}},
		},
		"what is everything": {
			ManagementRules, []Rule{{Kind: ACL, Access: Write}, {Kind: Operator, Access: Write}, {Kind: Key,
				Prefix: true, Access: Write}, {Kind: Session, Prefix: true, Access: Write}, {Kind: Lease,
				Prefix: true, Access: Write}, {Kind: Agent, Prefix: true, Access: Write}},
		},
		"words that mean nothing here": {`node "n" { policy = "write" }
			service "s" { policy = "read" intentions = "read" } event "" { policy = "deny" }
			query_prefix "" { policy = "read" }
			keyring = "read" mesh = "write" peering = "read" identity "i" { policy = "read" }`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, p.Rules); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		rules, text string
		line        int
	}{
		"a misspelt word":        {"\nkey_perfix \"a\" { policy = \"read\" }", "did you mean key_prefix?", 2},
		"a word of another case": {"Key \"a\" { policy = \"read\" }", "did you mean key?", 1},
		"a misspelt access":      {"key \"a\" {\n\n policy = \"reed\" }", "key has read, list, write and deny", 1},
		"list of sessions": {
			`session_prefix "" { policy = "list" }`, "session_prefix has read, write and deny", 1,
		},
		"list of the operator": {`operator = "list"`, "operator has read, write and deny", 1},
		"no quotes":            {`operator = read`, "read must stand in quotes", 1},
		"no policy":            {`key "a" { }`, "has no policy", 1},
		"another member": {
			"key \"a\" {\n policy = \"read\"\n sentinel { code = \"\" }\n}", "a policy and nothing else", 3,
		},
		"two policies in a rule": {"key \"a\" {\n policy = \"read\"\n policy = \"write\"\n}", "", 0},
		"the same, spelt otherwise": {
			"key \"a\" {\n policy = \"read\"\n \"policy\" = \"write\"\n}", "a second policy", 3,
		},
		"two rules for a key": {
			"key \"a\" { policy = \"read\" }\nkey \"a\" { policy = \"read\" }", "has a rule already, in line 1", 2,
		},
		"operator twice, in JSON":   {`{"operator": "read", "operator": "write"}`, "has a rule already", 1},
		"a name without a block":    {`key "a" = "read"`, "", 1},
		"a key without a name":      {`key { policy = "read" }`, "needs a block", 1},
		"a key with an access only": {`key = "read"`, "needs a name and a block", 1},
		"a number":                  {`key "a" { policy = 1 }`, "nothing that rules have", 1},
		"true":                      {`key "a" { policy = true }`, "policy must be a text", 1},
		"a heredoc":                 {"key \"a\" { policy = <<E\nread\nE\n}", "nothing that rules have", 1},
		"a long heredoc":            {"a = <<" + strings.Repeat("é", api.MaxRulesBytes/2-10) + "\nx\n", "heredoc not terminated", 3},
		"many heredocs":             {strings.Repeat("a = <<E\nE\n", 3000), "nothing that rules have", 1},
		"an open block":             {"key \"a\" {\n policy = \"read\"", "", 2},
		"an open text":              {"\nkey \"a { policy }", "", 2},
		"an open comment":           {"/* \n", "comment not terminated", 2},
		"too many braces":           {"key \"a\" { policy = \"read\" }\n}", "", 2},
		"deep nesting":              {strings.Repeat("a {\n", 100), "nested too deeply", 9},
		"deep lists":                {"key = " + strings.Repeat("[", 20_000), "nested too deeply", 1},
		"deep nesting in JSON":      {strings.Repeat("{\"a\":\n", 100), "nested too deeply", 9},
		"a zero byte":               {"key \"a\" { policy = \"read\" }\n\x00operator = \"write\"", "null character", 2},
		"bytes":                     {"key \"\xff\" { policy = \"read\" }", "not UTF-8", 0},
		"escaped bytes":             {`key "\xff" { policy = "read" }`, "is not UTF-8", 1},
		"bad escapes":               {`key "\q" { policy = "read" }`, "illegal char escape", 1},
		"an escape beyond Unicode":  {`key "\UFFFFFFFF" { policy = "read" }`, "is not UTF-8", 1},
		"a word without a value":    {`key "a" { policy = "read" deny }`, "", 1},
		"a value without a word":    {`key "a" { policy = "read" = "deny" }`, "", 1},
		"a long key": {
			`key "` + strings.Repeat("x", api.MaxKeyBytes+1) + `" { policy = "read" }`, "1025 bytes", 1,
		},
		"much": {strings.Repeat(" ", api.MaxRulesBytes+1), "make several policies of them", 0},
		"namespaces": {
			"namespace \"a\" {\n key \"b\" { policy = \"read\" } }", "no namespaces and partitions", 1,
		},
		"broken JSON":             {"{\"key\":\n {\"a\" {}}}", "this is no JSON", 2},
		"JSON that ends":          {"{\"key\":\n {", "ends too early", 2},
		"JSON and more":           {"{}\n {}", "after the end", 2},
		"JSON null":               {`{"key": null}`, "needs a name and a block", 1},
		"a misspelt word in JSON": {"{\n\"keys\": {}}", "no such rule", 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.rules)
			var e *RulesError
			if !errors.As(err, &e) {
				t.Fatalf("the error is %v", err)
			}
			if e.Line != c.line || !strings.Contains(e.Text, c.text) {
				t.Errorf("line %d: %s; want line %d and %q", e.Line, e.Text, c.line, c.text)
			}
			if len(e.Error()) > 500 {
				t.Errorf("an error of %d bytes", len(e.Error()))
			}
		})
	}
}

// A rule of every kind with names may name as much as the store has.
func TestNamesOfEveryKind(t *testing.T) {
	for k, most := range map[Kind]int{Key: api.MaxKeyBytes, Session: api.MaxSessionNameBytes,
		Lease: api.MaxLeaseNameBytes, Agent: api.MaxSessionNameBytes} {
		for _, prefix := range []bool{false, true} {
			word := k.String()
			if prefix {
				word += "_prefix"
			}
			name := strings.Repeat("x", most)
			p, err := Parse(word + ` "` + name + `" { policy = "read" }`)
			if err != nil || len(p.Rules) != 1 || p.Rules[0] != (Rule{Kind: k, Prefix: prefix, Name: name, Access: Read}) {
				t.Errorf("%s: %v", word, err)
			}
			if _, err := Parse(word + ` "` + name + `x" { policy = "read" }`); err == nil {
				t.Errorf("%s takes a name that is too long", word)
			}
		}
	}
	for k := range kinds {
		if k.named() != (maxNameBytes[k] > 0) {
			t.Errorf("names of %s have up to %d bytes", k, maxNameBytes[k])
		}
	}
}

// TestPublishedPolicies reads the policies that the manuals of programs for Consul tell people to use.
func TestPublishedPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/published/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(string(text))
		if err != nil {
			t.Errorf("%s: %v", f, err)
		} else if len(p.Rules) == 0 {
			t.Errorf("%s has no rule that means anything here", f)
		}
	}
}

// FuzzParse looks for bytes that hang or crash, and that an authorizer cannot be made of.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		ManagementRules, `key "a" { policy = "write" }`, `{"key": {"a": {"policy": "write"}}, "operator": "read"}`,
		"key = [{a = {policy = \"deny\"}}, ] # x\n// y\n/* z */", "a = <<E\nx\nE\n", "a = 0x1 1.5e3 -2",
		`key "${"}"}\u00e9" {}`, "{\"key\":[[",
	} {
		f.Add(s)
	}
	files, _ := filepath.Glob("testdata/published/*")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, rules string) {
		p, err := Parse(rules)
		if err != nil {
			if !errors.As(err, new(*RulesError)) {
				t.Fatalf("%T", err)
			}
			return
		}
		a := Compile(p)
		for _, r := range p.Rules {
			want := Permission{Kind: r.Kind, Access: Read, Name: r.Name}
			if !r.Prefix && a.Allows(want) != (r.Access != Deny) {
				t.Fatalf("%+v is not what governs %s", r, want)
			}
		}
	})
}
