package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// withToken runs a command line with that secret in the environment, or none.
func withToken(t *testing.T, c *clienttest.Cluster, secret, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
	if secret != "" {
		environ = append(environ, "CONSUL_HTTP_TOKEN="+secret)
	}
	code := run(context.Background(), args, environ, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

// rooted starts a node that wants tokens, and returns the secret of the first one.
func rooted(t *testing.T) (*clienttest.Cluster, string) {
	t.Helper()
	c := start(t, 1)
	c.RequireTokens()
	got := withToken(t, c, "", "", "acl", "bootstrap", "--json")
	root := decode[api.Token](t, got.out)
	if got.code != exitDone || len(root.SecretID) != 36 {
		t.Fatal(got)
	}
	return c, root.SecretID
}

// labelled returns what follows the label in a line of the output.
func labelled(t *testing.T, out, label string) string {
	t.Helper()
	for l := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(l, label+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("no %s in %q", label, out)
	return ""
}

func TestACLCommands(t *testing.T) {
	c, root := rooted(t)
	do := func(args ...string) string {
		t.Helper()
		got := withToken(t, c, root, "", append([]string{"acl"}, args...)...)
		if got.code != exitDone {
			t.Fatalf("%q: %+v", args, got)
		}
		return got.out
	}
	rules := filepath.Join(t.TempDir(), "rules.hcl")
	text := "key_prefix \"app/\" {\n  policy = \"write\"\n}\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	id := labelled(t, do("policy", "create", "-name", "app", "-rules", "@"+rules, "-description=the app"), "ID")
	for _, which := range [][]string{{"app"}, {id}, {"-name", "app"}, {"--id", id}} {
		if out := do(append([]string{"policy", "read"}, which...)...); !strings.HasSuffix(out, "Rules:\n"+text) {
			t.Errorf("%q: %q", which, out)
		}
	}
	do("policy", "update", "app", "--description", "new")
	if out := do("policy", "update", "-id", id, "-name", "app2"); labelled(t, out, "Name") != "app2" || labelled(t, out,
		"Description") != "new" {
		t.Errorf("%q", out)
	}
	do("policy", "create", "--name", "other", "--rules", `key "a" { policy = "read" }`)

	made := do("token", "create", "-description", "web", "-policy-name", "app2", "-policy-name=other", "-expires-ttl",
		"24h", "--certificate", "tenure://prod/client/web")
	accessor, secret := labelled(t, made, "AccessorID"), labelled(t, made, "SecretID")
	if len(secret) != 36 || !strings.Contains(made, id+" - app2") || !strings.Contains(made, "Expiration Time:") ||
		labelled(t, made, "Certificate") != "tenure://prod/client/web" {
		t.Errorf("%q", made)
	}
	if out := do("token", "read", "-accessor-id", accessor, "-expanded"); labelled(t, out,
		"SecretID") != api.HiddenSecret ||
		!strings.Contains(out, "Rules of app2:\nkey_prefix") {
		t.Errorf("%q", out)
	}
	if got := withToken(t, c, secret, "", "acl", "token", "self"); labelled(t, got.out, "AccessorID") != accessor {
		t.Errorf("%+v", got)
	}
	if out := do("token", "update", accessor, "--append-policy-id", api.ManagementPolicyID); strings.Count(out,
		" - ") != 3 {
		t.Errorf("%q", out)
	}
	if out := do("token", "update", accessor, "--policy-name", "other"); strings.Count(out, " - ") != 1 || labelled(t,
		out, "Description") != "web" {
		t.Errorf("%q", out)
	}
	if out := do("token", "update", accessor, "--no-policies"); strings.Contains(out, "Policies") {
		t.Errorf("%q", out)
	}
	twin := do("token", "clone", "-id", accessor)
	if labelled(t, twin, "AccessorID") == accessor || labelled(t, twin, "SecretID") == secret || labelled(t, twin,
		"Description") != "web" {
		t.Errorf("%q", twin)
	}
	if labelled(t, twin, "Expiration Time") != labelled(t, made, "Expiration Time") || strings.Contains(twin, "Certificate:") {
		t.Errorf("%q, of %q", twin, made)
	}
	if list := decode[[]api.TokenListEntry](t, do("token", "list", "-format=json")); len(list) != 4 {
		t.Errorf("%+v", list)
	}
	if out := do("token", "list"); !strings.HasPrefix(out, "ACCESSOR") || strings.Contains(out, secret) {
		t.Errorf("%q", out)
	}
	if out := do("policy", "list"); strings.Count(out, "\n") != 4 {
		t.Errorf("%q", out)
	}
	do("token", "delete", accessor)
	if got := withToken(t, c, root, "", "acl", "token", "delete", accessor); got.code != exitFailed ||
		!strings.Contains(got.errOut, accessor) {
		t.Errorf("a token that there is not was deleted: %+v", got)
	}
	do("policy", "delete", "other")
	if got := withToken(t, c, secret, "", "get", "a"); got.code != exitFailed || !strings.Contains(got.errOut,
		"ACL not found") {
		t.Errorf("%+v", got)
	}
}

// The secret of the first token may be given, from a file or standard input.
func TestBootstrapWithAGivenSecret(t *testing.T) {
	const secret = "0ae0b3f4-6f0d-4c9b-b6a9-0c1d4f9f3a52"
	c := start(t, 1)
	c.RequireTokens()
	if got := withToken(t, c, "", "no uuid\n", "acl", "bootstrap", "-"); got.code != exitUsage {
		t.Errorf("%+v", got)
	}
	got := withToken(t, c, "", secret+"\n", "acl", "bootstrap", "-")
	if labelled(t, got.out, "SecretID") != secret {
		t.Errorf("%+v", got)
	}
	if again := withToken(t, c, "", "", "acl", "bootstrap"); again.code != exitFailed ||
		!strings.Contains(again.errOut, "Permission denied") {
		t.Errorf("%+v", again)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--token", secret}, {"--token-file", file}, {"acl", "-token", secret}} {
		if !strings.Contains(args[0], "acl") {
			args = append(args, "acl")
		}
		if got := withToken(t, c, "", "", append(args, "token", "self")...); got.code != exitDone {
			t.Errorf("%q: %+v", args, got)
		}
	}
}

// meanwhile has theirs called before requests of that method and path, the first times of them.
func meanwhile(c *clienttest.Cluster, method, path string, times int, theirs func(n int)) {
	var n atomic.Int64
	var inside atomic.Bool
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if r.Method == method && strings.HasPrefix(r.Path, path) && inside.CompareAndSwap(false, true) {
			if i := int(n.Add(1)); i <= times {
				theirs(i)
			}
			inside.Store(false)
		}
		return clienttest.None
	})
}

// What somebody else writes between the reading and the writing of kvctl is kept. If it is of the same field, nothing
// is changed, and people are told.
func TestACLChangesOverwriteNothing(t *testing.T) {
	c, root := rooted(t)
	others, err := client.New(client.Config{Endpoints: c.Endpoints(), Token: root})
	if err != nil {
		t.Fatal(err)
	}
	defer others.Close()
	ctx, acl, o := t.Context(), others.ACL(), client.WriteOptions{}
	p, err1 := acl.CreatePolicy(ctx, client.PolicySpec{Name: "app", Rules: `key "a" { policy = "read" }`}, o)
	q, err2 := acl.CreatePolicy(ctx, client.PolicySpec{Name: "more"}, o)
	token, err3 := acl.CreateToken(ctx, client.TokenSpec{Name: "n"}, o)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	theirRules := func(n int) {
		if _, err := acl.UpdatePolicy(ctx, p.ID, client.PolicySpec{Name: "app", Rules: fmt.Sprint("# ", n)}, o); err != nil {
			t.Error(err)
		}
	}
	theirDescription := func(int) {
		if _, err := acl.UpdatePolicy(ctx, p.ID, client.PolicySpec{Name: "app", Description: "theirs"}, o); err != nil {
			t.Error(err)
		}
	}
	theirPolicies := func(n int) {
		spec := client.TokenSpec{AccessorID: token.AccessorID, Name: fmt.Sprint("n", n),
			Policies: []client.PolicyLink{{ID: p.ID}}}
		if _, err := acl.UpdateToken(ctx, spec, o); err != nil {
			t.Error(err)
		}
	}
	policies, tokens := api.PathACLPolicies, api.PathACLTokens
	for _, x := range []struct {
		method, path string
		times        int
		theirs       func(int)
		line         string
		code         int
		text         string // on standard output, or of an error
	}{
		{"PUT", policies, 2, theirRules, "policy update app --description mine", 0, "mine\nRules:\n# 2\n"},
		{"PUT", policies, 1, theirRules, "policy update app --rules key_prefix\"\"{policy=\"read\"}", 1,
			"condition failed: somebody else has changed its rules meanwhile, and nothing was changed here: see kvctl " +
				"acl policy read app, and give the command again"},
		{"PUT", policies, 1, theirDescription, "policy update " + p.ID + " --description mine", 1, "changed its description"},
		{"PUT", policies, 9, theirRules, "policy update more --description mine", 0, "mine\nRules:\n"},
		{"PUT", policies, 9, theirRules, "policy update app --new-name app", 1, "others keep changing it"},
		{"PUT", tokens, 1, theirPolicies,
			"token update " + token.AccessorID + " --description mine --append-policy-name more", 0,
			p.ID + " - app\n   " + q.ID + " - more\n"},
		{"PUT", tokens, 1, theirPolicies, "token update " + token.AccessorID + " --policy-name more", 1,
			"changed its policies"},
		{"PUT", tokens, 0, theirPolicies, "token update " + token.AccessorID + " --policy-name more", 0, q.ID + " - more"},
		{"PUT", tokens, 1, theirPolicies, "token update " + token.AccessorID + " --no-policies --description mine", 1,
			"kvctl acl token read " + token.AccessorID},
		{"PUT", tokens, 2, theirPolicies, "token update " + token.AccessorID + " --name mine", 1, "changed its name"},
		{"DELETE", policies, 2, theirRules, "policy delete app", 0, "policy app deleted"},
	} {
		meanwhile(c, x.method, x.path, x.times, x.theirs)
		got := withToken(t, c, root, "", append([]string{"acl"}, strings.Fields(x.line)...)...)
		if got.code != x.code || !strings.Contains(got.out+got.errOut, x.text) {
			t.Errorf("%s: %+v", x.line, got)
		}
	}
}

// A policy that is renamed before it is deleted by its name is not deleted.
func TestADeletionByNameIsOfThatName(t *testing.T) {
	c, root := rooted(t)
	others, err := client.New(client.Config{Endpoints: c.Endpoints(), Token: root})
	if err != nil {
		t.Fatal(err)
	}
	defer others.Close()
	p, err := others.ACL().CreatePolicy(t.Context(), client.PolicySpec{Name: "app"}, client.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	meanwhile(c, "DELETE", api.PathACLPolicies, 1, func(int) {
		_, err := others.ACL().UpdatePolicy(t.Context(), p.ID, client.PolicySpec{Name: "kept"}, client.WriteOptions{})
		if err != nil {
			t.Error(err)
		}
	})
	got := withToken(t, c, root, "", "acl", "policy", "delete", "app")
	if _, _, err := others.ACL().Policy(t.Context(), p.ID, client.ReadOptions{}); err != nil ||
		got.code != exitFailed || !strings.Contains(got.errOut, `"app": not found`) {
		t.Errorf("%v, %+v", err, got)
	}
}

// With --cas a change or deletion is of what was seen, or is not done.
func TestACLChangesWithAnIndex(t *testing.T) {
	c, root := rooted(t)
	do := func(want int, text string, args ...string) outcome {
		t.Helper()
		got := withToken(t, c, root, "", append([]string{"acl"}, args...)...)
		if got.code != want || !strings.Contains(got.out+got.errOut, text) {
			t.Errorf("%q: %+v", args, got)
		}
		return got
	}
	p := decode[api.Policy](t, do(0, "", "policy", "create", "--name", "app", "--json").out)
	token := decode[api.Token](t, do(0, "", "token", "create", "--json").out)
	for _, x := range []struct {
		what, id string
		index    uint64
	}{{"policy", "app", p.ModifyIndex}, {"token", token.AccessorID, token.ModifyIndex}} {
		seen := fmt.Sprint("--cas=", x.index)
		do(2, "nothing has that index", x.what, "update", x.id, "--cas=0")
		do(2, "nothing has that index", x.what, "delete", x.id, "--cas=0")
		do(0, "", x.what, "update", x.id, "--description", "a", seen)
		no := fmt.Sprintf("it is not at index %d, and nothing was changed here: see kvctl acl %s read %s,", x.index,
			x.what, x.id)
		do(1, no, x.what, "update", x.id, "--description", "b", seen)
		do(1, no, x.what, "delete", x.id, seen)
		now := decode[struct{ ModifyIndex uint64 }](t, do(0, `"Description":"a"`, x.what, "read", x.id, "--json").out)
		do(0, "deleted", x.what, "delete", x.id, fmt.Sprint("--cas=", now.ModifyIndex))
	}
}

func TestWrongACLCommands(t *testing.T) {
	c, root := rooted(t)
	file := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wide := filepath.Join(t.TempDir(), "wide")
	if err := os.WriteFile(wide, []byte("k\x00e\x00y\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args string
		code int
		text string
	}{
		{"acl", exitUsage, "bootstrap, token, policy"},
		{"acl toke", exitUsage, "did you mean token?"},
		{"acl token read", exitUsage, "say which token"},
		{"acl token read a --id b", exitUsage, "say which token"},
		{"acl policy read a b", exitUsage, "wrong number of arguments"},
		{"acl policy read a --name b", exitUsage, "say which policy"},
		{"acl policy create", exitUsage, "--name NAME"},
		{"acl policy create --name a --rules @", exitUsage, "the name of the file is missing"},
		{"acl policy create --name a --rules /no/such/file", exitFailed, "no such file"},
		{"acl policy create --name a --rules @" + wide, exitUsage, "it is UTF-16"},
		{"acl policy create --nmae a", exitUsage, "did you mean --name?"},
		{"acl token create --expires-ttl -1s", exitUsage, "must not be negative"},
		{"acl token list --format=xml", exitUsage, "must be json or pretty"},
		{"acl token read a/b", exitUsage, "this is no ID"},
		{"acl token read 0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c11", exitFailed, "not found"},
		{"get a --token x --token-file y", exitUsage, "contradict each other"},
		{"get a --token-file /no/such/file", exitUsage, "no such file"},
		{"get a --token-file " + file, exitUsage, "is empty"},
	} {
		got := withToken(t, c, root, "", strings.Fields(x.args)...)
		if got.code != x.code || !strings.Contains(got.errOut, x.text) {
			t.Errorf("%s: %+v", x.args, got)
		}
	}
}

// A flag behind one dash is one of kvctl acl only.
func TestOneDash(t *testing.T) {
	for line, want := range map[string]string{
		"acl token create -policy-name a -description -x": "acl token create --policy-name a --description -x",
		"--json acl policy read -name=a":                  "--json acl policy read --name=a",
		"acl policy create -name a -rules - -- -name":     "acl policy create --name a --rules - -- -name",
		"acl token list -h":                               "acl token list -h",
		"set acl -name":                                   "set acl -name",
		"lock acl -- acl -name":                           "lock acl -- acl -name",
	} {
		root := newRoot(newApp(nil, nil, nil, nil))
		if got := strings.Join(doubleDashes(root, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// The load of bench carries the token too.
func TestBenchCarriesTheToken(t *testing.T) {
	c, root := rooted(t)
	c.AcceptPlain()
	args := []string{"bench", "put", "--duration", "100ms", "--warmup", "0s", "--clients", "1", "--keys", "1", "--json"}
	if got := withToken(t, c, root, "", args...); got.code != exitDone || strings.Contains(got.out, root) {
		t.Errorf("%+v", got)
	}
	if _, ok := c.Value("bench/00000000"); !ok {
		t.Error("nothing was written")
	}
	if got := withToken(t, c, "", "", args...); got.code == exitDone {
		t.Errorf("without a token: %+v", got)
	}
}
