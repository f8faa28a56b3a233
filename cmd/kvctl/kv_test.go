package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
)

// step is a command line, its exit code and what it writes: words separated by spaces, where _ is an empty word, ␠ a
// space and ⏎ a line end.
type step struct {
	line  string
	stdin string
	code  int
	out   string
	err   string // a part of standard error; "" is none
}

func (s step) play(t *testing.T, c *clienttest.Cluster) {
	t.Helper()
	args := strings.Fields(s.line)
	for i, a := range args {
		args[i] = strings.NewReplacer("_", "", "␠", " ", "⏎", "\n").Replace(a)
	}
	o := kvctl(t, c, s.stdin, args...)
	if o.code != s.code || o.out != s.out || !strings.Contains(o.errOut, s.err) || (s.err == "") != (o.errOut == "") {
		t.Errorf("kvctl %s: exit %d, %q, %q; want exit %d, %q, %q", s.line, o.code, o.out, o.errOut, s.code, s.out,
			s.err)
	}
}

const someSession = "00000000-0000-4000-8000-000000000001"

func TestCommandVerbs(t *testing.T) {
	c := start(t, 2)
	for _, s := range []step{
		{"set n 40", "", 0, "revision 2\n", ""},
		{"add n 2", "", 0, "42\n", ""},
		{"add --json -- n -3", "", 0, `{"key":"n","value":39,"revision":4}` + "\n", ""},
		{"add none 1", "", 1, "", "not found"},
		{"add n x", "", 2, "", "NUMBER"},
		{"set a x", "", 0, "revision 5\n", ""},
		{"add a 1", "", 1, "", "not a number"},
		{"test-and-set a x y", "", 0, "revision 6\n", ""},
		{"test-and-set a x z", "", 1, "", "another value: y; nothing"},
		{"test-and-set a x z --json", "", 1, "", `"outcome":"condition failed"`},
		{"test-and-set a y -", "piped", 0, "revision 7\n", ""},
		{"rename a b", "", 0, "revision 8\n", ""},
		{"rename a b", "", 1, "", "not found"},
		{"rename b _", "", 2, "", "empty"},
		{"remove b", "", 0, "piped", ""},
		{"remove b", "", 1, "", "not found"},
		{"remove n --json", "", 0,
			`{"key":"n","value":"Mzk=","flags":0,"create_index":2,"modify_index":4,"lock_index":0}` + "\n", ""},
		{"set e v --ttl 1h", "", 0, "revision 11\n", ""},
		{"expire e never", "", 0, "revision 12\n", ""},
		{"get e --json", "", 0,
			`{"key":"e","value":"dg==","flags":0,"create_index":11,"modify_index":12,"lock_index":0}` + "\n", ""},
		{"expire e 30s", "", 0, "revision 13\n", ""},
		{"expire e soon", "", 2, "", "never"},
		{"expire none 1s", "", 1, "", "not found"},
		{"get e --index 4", "", 0, "v", "index 13"},
		{"get e --index 13 --wait 10ms", "", 0, "v", "index 13"},
		{"get e --index 99 --wait 20s", "", 0, "v", "kvctl: index 99 is of another store: this one is at revision 13\n"},
		{"list e --index 99 --wait 20s --json", "", 0, `["e"]` + "\n", `{"index":13}` + "\n"},
		{"get none --index 0", "", 1, "", "index 13"},
		{"list e --index 0 --json", "", 0, `["e"]` + "\n", `{"index":13}`},
		{"get e --wait 1s", "", 2, "", "--index"},
		{"get e --index 2 --wait 0s", "", 2, "", "--wait"},
		{"set e v --fence kv", "", 2, "", "kv/KEY:TOKEN"},
		{"set e v --fence kv/e:0", "", 2, "", "from 1"},
		{"session create --name me --ttl 20s", "", 0, someSession + "\n", ""},
		{"session create --ttl 1s", "", 2, "", "Invalid Session TTL"},
		{"session list --node other", "", 0, "", "no session was found"},
		{"set l mine --acquire " + someSession, "", 0, "revision 15\n", ""},
		{"set l mine --acquire x", "", 1, "", "no such session"},
		{"set l mine --acquire x --release y", "", 2, "", "contradict"},
		{"rename l m", "", 1, "", "locked"},
		{"set l mine --release " + someSession, "", 0, "revision 16\n", ""},
		{"set l mine --release " + someSession, "", 1, "", "condition failed"},
		{"session renew --json " + someSession, "", 0,
			`[{"id":"` + someSession +
				`","name":"me","node":"node-1","ttl_ms":20000,"lock_delay_ms":15000,"behavior":"release",` +
				`"create_index":14,"modify_index":14}]` + "\n", ""},
		{"session destroy " + someSession, "", 0, "session " + someSession + " destroyed\n", ""},
		{"session renew " + someSession, "", 1, "", "no such session"},
		{"session info " + someSession, "", 1, "", "no such session"},
		{"session", "", 2, "", "create, list, info, renew, destroy"},
		{"watch", "", 2, "", "--prefix"},
		{"watch a --prefix b", "", 2, "", "--prefix"},
		{"watch a --stale", "", 2, "", "--stale"},
	} {
		s.play(t, c)
	}
}

func TestTxnVerb(t *testing.T) {
	c := start(t, 2)
	c.Set("door", "closed")
	c.Set("opened", "1")
	for _, s := range []step{
		{"txn -", "check-value door closed\nset door open\nadd opened 1\nget door # look\n", 0,
			"door\t2\t\ndoor\t4\t\nopened\t4\t2\ndoor\t4\topen\nrevision 4\n", ""},
		{"txn -", "\n# twice\ncheck-value door closed\nset door open\nget none\n", 1, "",
			"kvctl: -: line 3: failed value check"},
		{"txn - --json", "get none", 1, "", `"failed":[{"op":0,"line":1,"what":"key \"none\" doesn't exist"}]`},
		{"txn - --json", `[{"KV":{"Verb":"get","Key":"opened"}}]`, 0,
			`{"entries":[{"key":"opened","value":"Mg==","flags":0,"create_index":3,"modify_index":4,"lock_index":0}],` +
				`"revision":4}` + "\n", ""},
		{"txn -", "", 2, "", "no operation"},
		{"txn -", "set k 'v", 2, "", "line 1: the quote ' is not closed"},
		{"txn -", strings.Repeat("get k\n", 129), 2, "", "line 129"},
		{"txn /does/not/exist", "", 2, "", "no such file"},
	} {
		s.play(t, c)
	}
	if c.Applied() != 3 {
		t.Errorf("%d writes applied", c.Applied())
	}
}

// --timeout bounds a command that waits, too: it ends in time, as at the end of a shorter wait.
func TestTimeoutBoundsTheWait(t *testing.T) {
	c := start(t, 1)
	c.Set("a", "1")
	for _, s := range []step{
		{"get a --index 2 --wait 1m --timeout 400ms", "", 0, "1", "index 2"},
		{"get --prefix a --index 2 --wait 1m --timeout 400ms", "", 0, "a\t1\n", "index 2"},
		{"list a --index 2 --wait 1m --timeout 400ms", "", 0, "a\n", "index 2"},
		{"get a --index 2 --timeout 0s", "", 2, "", "--timeout 0s"},
	} {
		began := time.Now()
		s.play(t, c)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: took %v", s.line, took)
		}
	}
	grant := kvctl(t, c, "", "lease", "acquire", "l", "--ttl", "1m")
	began := time.Now()
	o := kvctl(t, c, "", "lease", "acquire", "l", "--owner", "other", "--wait", "40s", "--timeout", "400ms")
	took := time.Since(began)
	if grant.code != 0 || o.code != 1 || !strings.Contains(o.errOut, "busy") || took > 30*time.Second {
		t.Errorf("lease acquire: %+v after %v", o, took)
	}
}

func TestWatchWaits(t *testing.T) {
	other := &client.StatusError{Status: 421, Code: api.CodeOtherCluster, Message: "it is for another"}
	for want, err := range map[string]error{"goes on after 12s\n": nil, "goes on trying: it is gone\n": errors.New("it is gone"),
		"If that is gone, start kvctl watch again\n": fmt.Errorf("n1: %w", other)} {
		var out strings.Builder
		if (&printer{stderr: &out}).noteWatchWaits(12*time.Second+1, err); !strings.HasPrefix(out.String(), "kvctl: the watch ") ||
			!strings.HasSuffix(out.String(), want) || !strings.Contains(out.String(), " 12s") {
			t.Errorf("%v: %q", err, out.String())
		}
	}
}

func TestWatchVerb(t *testing.T) {
	c := start(t, 3)
	c.Set("a", "1")
	c.Set("ab", "two\nlines")
	c.Delete("a")
	for _, s := range []step{
		{"watch --prefix _ --index 0 --limit 4", "", 0,
			"2\tset\ta\t1\n3\tset\tab\t\"two\\nlines\"\n4\tdelete\ta\n4\tdelete\tab\n", ""},
		{"watch a --index 0 --limit 2", "", 0, "2\tset\ta\t1\n4\tdelete\ta\n", ""},
		{"watch a --index 2 --limit 1 --json", "", 0, `{"event":"delete","index":4,"resume":3,"key":"a"}` + "\n", ""},
		{"watch a --index 4 --timeout 50ms", "", 0, "", ""},
		{"watch a --index 99 --limit 1", "", 0, "4\tcompacted\n", ""},
	} {
		s.play(t, c)
	}
	o := kvctl(t, c, "", "watch", "--prefix", "a", "--index", "0", "--limit", "2", "--exec",
		`echo "$TENURE_EVENT $TENURE_INDEX $TENURE_KEY <$(cat)>"; test "$TENURE_KEY" = a`)
	if want := "2\tset\ta\t1\nset 2 a <1>\n3\tset\tab\t\"two\\nlines\"\nset 3 ab <two\nlines>\n"; o.code != 0 ||
		o.out != want || !strings.Contains(o.errOut, "index 3: exit status 1") {
		t.Errorf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
	o = kvctl(t, c, "", "watch", "--prefix", "a", "--index", "99", "--limit", "1", "--exec", `echo "$TENURE_EVENT $TENURE_INDEX"`)
	if o.code != 0 || o.out != "4\tcompacted\ncompacted 4\n" {
		t.Errorf("a command for compacted: exit %d, %q, %q", o.code, o.out, o.errOut)
	}
	c.Compact()
	if o := kvctl(t, c, "", "watch", "--prefix", "a", "--index", "1", "--limit", "1"); o.code != 0 ||
		o.out != "4\tcompacted\n" {
		t.Errorf("compacted: exit %d, %q, %q", o.code, o.out, o.errOut)
	}
	time.AfterFunc(50*time.Millisecond, func() { c.Set("later", "x") })
	if o := kvctl(t, c, "", "watch", "later", "--limit", "1"); o.code != 0 || o.out != "5\tset\tlater\tx\n" {
		t.Errorf("from now on: exit %d, %q, %q", o.code, o.out, o.errOut)
	}
}

func TestSessionCompletion(t *testing.T) {
	c := start(t, 1)
	if o := kvctl(t, c, "", "session", "create", "--name", "me"); o.code != 0 {
		t.Fatal(o.errOut)
	}
	if o := kvctl(t, c, "", "__complete", "session", "renew", ""); !strings.HasPrefix(o.out, someSession+"\n:") {
		t.Errorf("%q", o.out)
	}
	c.Node(1).Stop()
	for _, line := range []string{"__complete get a", "__complete session renew a"} {
		if o := kvctl(t, c, "", strings.Fields(line)...); o.code != 0 || !strings.HasPrefix(o.out, ":") {
			t.Errorf("nobody there, %s: exit %d, %q, %q", line, o.code, o.out, o.errOut)
		}
	}
}

// Nodes are completed by name, also as the value of a flag.
func TestMemberCompletion(t *testing.T) {
	c := start(t, 3)
	for _, line := range []string{"drain", "member remove", "member update", "master transfer --to",
		"status --wait-safe-to-restart"} {
		o := kvctl(t, c, "", append(append([]string{"__complete"}, strings.Fields(line)...), "")...)
		if !strings.HasPrefix(o.out, "node-1\nnode-2\nnode-3\n:") {
			t.Errorf("%s: %q %q", line, o.out, o.errOut)
		}
	}
}

// TestSessionList shows what sessions hold and how long they have.
func TestSessionList(t *testing.T) {
	c := start(t, 1)
	ids := []string{}
	for _, args := range [][]string{{"--name", "me", "--ttl", "20s"}, {"--name", "idle"}} {
		ids = append(ids, strings.TrimSpace(kvctl(t, c, "", append([]string{"session", "create"}, args...)...).out))
	}
	for _, key := range []string{"a b", "d", "c", "e"} {
		if o := kvctl(t, c, "", "set", key, "v", "--acquire", ids[0]); o.code != 0 {
			t.Fatal(o)
		}
	}
	o := kvctl(t, c, "", "session", "list")
	for _, want := range []string{
		`(?m)^ID +NAME +NODE +TTL +LEFT +LOCK-DELAY +BEHAVIOR +KEYS$`,
		`(?m)^` + ids[0] + ` +me +node-1 +20s +(1[0-9]\.\d|20\.0) s +15s +release +4: a b c d …$`,
		`(?m)^` + ids[1] + ` +idle +node-1 +- +- +15s +release +-$`,
	} {
		if !regexp.MustCompile(want).MatchString(o.out) {
			t.Errorf("%s is not in:\n%s", want, o.out)
		}
	}
	o = kvctl(t, c, "", "session", "info", ids[0], "--json")
	details := regexp.MustCompile(`"modify_index":2,"left_ms":(1\d{4}|20000),"held":4,"keys":\["a b","c","d",` +
		`"e"\]}\]\n$`)
	if !details.MatchString(o.out) {
		t.Error(o.out)
	}
	if o := kvctl(t, c, "", "session", "ls", "--node", ""); o.code != 2 || !strings.Contains(o.errOut, "--node") {
		t.Error(o)
	}
}

// The words that people bring from elsewhere; rm deletes and never removes.
func TestOtherWords(t *testing.T) {
	c := start(t, 1)
	for _, x := range []struct {
		line, out string
	}{
		{"put d/a 1", "revision 2\n"},
		{"put d/b 2", "revision 3\n"},
		{"ls d/", "d/a\nd/b\n"},
		{"get --prefix d/", "d/a\t1\nd/b\t2\n"},
		{"get --prefix d/a --json",
			`[{"key":"d/a","value":"MQ==","flags":0,"create_index":2,"modify_index":2,"lock_index":0}]` + "\n"},
		{"get --prefix none", ""},
		{"del d/a", "revision 4\n"},
		{"rm d/b", "revision 5\n"},
		{"rm d/b", "revision 5\n"},
		{"count", "0\n"},
	} {
		if o := kvctl(t, c, "", strings.Fields(x.line)...); o.code != 0 || o.out != x.out {
			t.Errorf("kvctl %s: exit %d, %q, %q", x.line, o.code, o.out, o.errOut)
		}
	}
	if o := kvctl(t, c, "", "remove", "--help"); strings.Contains(o.out, "rm") {
		t.Error(o.out)
	}
}

// On a terminal the prompt after a value begins on a line of its own; elsewhere not a byte is added.
func TestValueOnATerminal(t *testing.T) {
	for value, want := range map[string]string{"": "", "v": "v\n", "v\n": "v\n", "a\nb": "a\nb\n", "\x1b[2J\u202e\xff": `\x1b[2J\u202e\xff` + "\n",
		"a\tb": "a\tb\n"} {
		for _, terminal := range []bool{true, false} {
			b := &strings.Builder{}
			a := newApp(nil, nil, b, io.Discard)
			a.onTerminal = func(io.Writer) bool { return terminal }
			if !terminal {
				want = value
			}
			if err := a.printValue([]byte(value)); err != nil || b.String() != want {
				t.Errorf("%q, on a terminal %v: %q, %v", value, terminal, b.String(), err)
			}
		}
	}
}

// An operation that answers no value shows none, and not an empty one.
func TestTxnJSONLeavesOut(t *testing.T) {
	c := start(t, 1)
	c.Set("empty", "")
	c.Set("t/1", "")
	c.Set("t/2", "x")
	text := "get-tree t/\nset t/3 v\nget empty\ncheck-index empty 2\nget-or-empty none\nset n 1\nadd n 1\ndelete " +
		"t/1\nget-tree t/\nrename n t/m"
	o := kvctl(t, c, text, "txn", "-", "--json")
	out := decode[struct{ Entries []map[string]any }](t, o.out)
	var got []string
	for _, e := range out.Entries {
		v, valued := e["value"]
		got = append(got, fmt.Sprint(e["key"], " ", valued, " ", v))
	}
	want := []string{"t/1 true ", "t/2 true eA==", "t/3 false <nil>", "empty true ", "empty false <nil>",
		"none false <nil>", "n false <nil>", "n true Mg==",
		"t/2 true eA==", "t/3 true dg==", "t/m false <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\n%s%s", got, o.out, o.errOut)
	}
	if _, there := out.Entries[5]["modify_index"]; there {
		t.Error("an absent key has a modify index")
	}
}
