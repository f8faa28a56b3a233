package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"tenure/api"
	"tenure/client"
	"tenure/client/clienttest"
	"tenure/cmd/kvctl/internal/child"
	"tenure/internal/buildinfo"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == child.GuardCommand {
		os.Exit(child.Guard(os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == child.LaunchCommand {
		os.Exit(child.Launch(os.Args[2:]))
	}
	if os.Getenv(testMainVariable) != "" {
		main()
	}
	if os.Getenv(testNodeVariable) != "" {
		os.Exit(testNode(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// outcome is the result of a command line.
type outcome struct {
	code        int
	out, errOut string
}

// kvctl runs a command line in this process. $URL1, $URL2 … are the nodes, which --endpoints lists already.
func kvctl(t *testing.T, c *clienttest.Cluster, stdin string, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	environ := []string{endpointsVariable + "=" + strings.Join(c.Endpoints(), ",")}
	code := run(context.Background(), args, environ, strings.NewReader(stdin), &out, &errOut)
	return outcome{code, out.String(), errOut.String()}
}

func start(t *testing.T, nodes int) *clienttest.Cluster {
	t.Helper()
	c := clienttest.Start(nodes)
	t.Cleanup(c.Close)
	return c
}

// decode reads one JSON object or array.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// always injects one fault into all writes, or all requests.
func always(c *clienttest.Cluster, f clienttest.Fault, writesOnly bool) {
	c.Inject(func(r clienttest.Request) clienttest.Fault {
		if writesOnly && !r.IsWrite() {
			return clienttest.None
		}
		return f
	})
}

// TestVerbs runs commands one after the other on one cluster; each line has a command, its exit code and what it
// writes.
func TestVerbs(t *testing.T) {
	c := start(t, 3)
	for _, x := range []struct {
		line  string // words separated by spaces; _ is an empty word, ␠ a space, ⏎ a line end, £ the byte ff
		stdin string
		code  int
		out   string
		err   string // a part of standard error
	}{
		{"get hello", "", 1, "", `get "hello": not found`},
		{"set hello world", "", 0, "revision 2\n", ""},
		{"get hello", "", 0, "world", ""},
		{"get hello --consistent", "", 0, "world", ""},
		{"--stale get hello", "", 0, "world", ""},
		{"get hello --json", "", 0,
			`{"key":"hello","value":"d29ybGQ=","flags":0,"create_index":2,"modify_index":2,"lock_index":0}` + "\n", ""},
		{"set hello - --flags 7", "a\x00\xff\n", 0, "revision 3\n", ""},
		{"get hello", "", 0, "a\x00\xff\n", ""},
		{"set n -5", "", 0, "revision 4\n", ""},
		{"get n", "", 0, "-5", ""},
		{"set empty _ --json", "", 0, `{"key":"empty","revision":5}` + "\n", ""},
		{"get empty", "", 0, "", ""},
		{"cas n 0 x", "", 1, "", "condition failed"},
		{"cas n 4 x", "", 0, "revision 6\n", ""},
		{"cas n 4 y --json", "", 1, "", `"outcome":"condition failed"`},
		{"cas new 0 -", "piped", 0, "revision 7\n", ""},
		{"get new", "", 0, "piped", ""},
		{"delete n --cas 4", "", 1, "", "condition failed"},
		{"delete n --cas 6", "", 0, "revision 8\n", ""},
		{"delete n", "", 0, "revision 8\n", ""},
		{"set d/1 one", "", 0, "revision 9\n", ""},
		{"set d/2 t⏎wo", "", 0, "revision 10\n", ""},
		{"set d/e/3 three", "", 0, "revision 11\n", ""},
		{"set d/a␠b%2F.. odd", "", 0, "revision 12\n", ""},
		{"list", "", 0, "d/1\nd/2\nd/a b%2F..\nd/e/3\nempty\nhello\nnew\n", ""},
		{"list d/ --separator / --reverse", "", 0, "d/e/\nd/a b%2F..\nd/2\nd/1\n", ""},
		{"list d/ --start d/2 --limit 2", "", 0, "d/2\nd/a b%2F..\n", ""},
		{"list d/ --values --limit 2", "", 0, "d/1\tone\nd/2\t\"t\\nwo\"\n", ""},
		{"list d/ --limit 2 --json", "", 0, `["d/1","d/2"]` + "\n", ""},
		{"list none --json", "", 0, "[]\n", ""},
		{"list none", "", 0, "", ""},
		{"count", "", 0, "7\n", ""},
		{"count d/ --json", "", 0, `{"prefix":"d/","count":4}` + "\n", ""},
		{"count none", "", 0, "0\n", ""},
		{"prune d/", "", 0, "deleted 4 keys\n", ""},
		{"prune d/", "", 0, "deleted 0 keys\n", ""},
		{"prune hell --json", "", 0, `{"prefix":"hell","deleted":1,"revision":14}` + "\n", ""},
		{"prune _", "", 2, "", "--all"},
		{"prune _ --all", "", 0, "deleted 2 keys\n", ""},
		{"count", "", 0, "0\n", ""},
		{"version", "", 0, "kvctl ", ""},
		{"version --json", "", 0, `{"version":"`, ""},
		{"--version", "", 0, buildinfo.Read().Line("kvctl") + "\n", ""},

		{"nonsense", "", 2, "", `kvctl has no command "nonsense"; there are acl, add, backup, bench`},
		{"kv get x", "", 2, "", `kvctl has no command "kv"; did you mean get, set, delete or list?`},
		{"snapshot save x", "", 2, "", `kvctl has no command "snapshot"; did you mean backup?`},
		{"get x --recurse", "", 2, "", "unknown flag: --recurse; did you mean --prefix?"},
		{"statsu", "", 2, "", `kvctl has no command "statsu"; did you mean status?`},
		{"lease aquire x", "", 2, "", `kvctl lease has no command "aquire"; did you mean acquire?`},
		{"dev kil 1", "", 2, "", `kvctl dev has no command "kil"; did you mean kill?`},
		{"get --timout 1s x", "", 2, "", "unknown flag: --timout; did you mean --timeout?"},
		{"get x --prefx", "", 2, "", "--prefx; did you mean --prefix?"},
		{"get x --timeout 5", "", 2, "", `--timeout "5": must be a time with its unit`},
		{"list --limit x", "", 2, "", `--limit "x": must be a whole number`},
		{"set k", "", 2, "", "wrong number of arguments (1); write it as kvctl set KEY VALUE|@FILE|-\n"},
		{"status now", "", 2, "", `kvctl status takes no arguments, and "now" is one`},
		{"get", "", 2, "", "arg"},
		{"get a b", "", 2, "", "arg"},
		{"get _", "", 2, "", "empty"},
		{"get a£", "", 2, "", "UTF-8"},
		{"get a --bad", "", 2, "", "--bad"},
		{"get a --stale --consistent", "", 2, "", "contradict"},
		{"set k -p", "", 2, "", "in -p; an argument that begins with a dash goes behind --, as in kvctl set -- KEY VALUE|@FILE|-\n"},
		{"set k --nothing-like-it", "", 2, "", "goes behind --, as in kvctl set -- KEY"},
		{"status -5", "", 2, "", "in -5\n"},
		{"set a b --stale", "", 2, "", "--stale"},
		{"set a b --idempotency-key x", "", 2, "", "go together"},
		{"cas a b c", "", 2, "", "INDEX"},
		{"list --limit -1", "", 2, "", "--limit"},
		{"list --values --separator /", "", 2, "", "contradict"},
		{"get a --timeout 0s", "", 2, "", "--timeout"},
		{"get a --endpoints ftp://x", "", 2, "", "endpoint"},
		{"get a --json --bad", "", 2, "", `"outcome":"usage"`},
		{"master", "", 2, "", "show, transfer"},
		{"master steal", "", 2, "", "steal"},
		{"master transfer --to 0", "", 2, "", "node 0"},
		{"status --watch --interval 1ms", "", 2, "", "--interval"},
	} {
		args := strings.Fields(x.line)
		for i, a := range args {
			args[i] = strings.NewReplacer("_", "", "␠", " ", "⏎", "\n", "£", "\xff").Replace(a)
		}
		o := kvctl(t, c, x.stdin, args...)
		exact := !strings.HasPrefix(x.line, "version")
		if o.code != x.code || exact && o.out != x.out || !strings.HasPrefix(o.out, x.out) {
			t.Errorf("kvctl %s: exit %d, %q, %q; want exit %d, %q", x.line, o.code, o.out, o.errOut, x.code, x.out)
		}
		if !strings.Contains(o.errOut, x.err) || (x.err == "") != (o.errOut == "") {
			t.Errorf("kvctl %s: says %q, want %q in it", x.line, o.errOut, x.err)
		}
	}
}

// TestExitCodesUnderFaults has a fault in every request or write, and what a script sees of it.
func TestExitCodesUnderFaults(t *testing.T) {
	for _, x := range []struct {
		name   string
		fault  clienttest.Fault
		line   string
		code   int
		says   string
		onceIn bool
	}{
		{"no master", clienttest.BusyLater, "set k v", 1, "not applied", false},
		{"no master", clienttest.Busy, "get k", 1, "unavailable", false},
		{"replies lost", clienttest.DropApplied, "set k v", 3, "outcome unknown", true},
		{"requests lost", clienttest.Drop, "delete k", 3, "outcome unknown", true},
		{"504", clienttest.Unknown, "cas k 0 v", 3, "outcome unknown", true},
		{"504", clienttest.UnknownApplied, "prune k", 3, "outcome unknown", true},
		{"silence", clienttest.Hang, "set k v", 3, "outcome unknown", true},
		{"a session that may be there", clienttest.Hang, "session create", 3, "outcome unknown", true},
		{"lock has no such flag", clienttest.Hang, "lock k -- true", 3, "outcome unknown", false},
		{"no space", clienttest.NoSpace, "set k v", 1, "no space", false},
		{"too large", clienttest.TooLarge, "set k v", 1, "too large", false},
	} {
		c := start(t, 3)
		always(c, x.fault, x.line != "get k")
		args := append([]string{"--timeout", "150ms"}, strings.Fields(x.line)...)
		o := kvctl(t, c, "", args...)
		if o.code != x.code || o.out != "" || !strings.Contains(o.errOut, x.says) ||
			strings.Contains(o.errOut, "--idempotency-key") != x.onceIn {
			t.Errorf("%s: kvctl %s: exit %d, %q, %q; want exit %d, %q", x.name, x.line, o.code, o.out, o.errOut, x.code,
				x.says)
		}
	}
}

// A fault that ends within the time limit is not reported.
func TestFaultsThatPass(t *testing.T) {
	for _, f := range []clienttest.Fault{
		clienttest.Busy, clienttest.Unknown, clienttest.UnknownApplied, clienttest.Drop, clienttest.DropApplied,
	} {
		c := start(t, 3)
		tries := make(chan struct{}, 100)
		c.Inject(func(r clienttest.Request) clienttest.Fault {
			if tries <- struct{}{}; r.IsWrite() && len(tries) < 6 {
				return f
			}
			return clienttest.None
		})
		if o := kvctl(t, c, "", "cas", "k", "0", "v"); o.code != 0 || o.out != "revision 2\n" || c.Applied() != 1 {
			t.Errorf("fault %d: exit %d, %q %q, applied %d", f, o.code, o.out, o.errOut, c.Applied())
		}
	}
}

// The command that was printed tells later what happened to the write.
func TestUnknownIsSettledLater(t *testing.T) {
	c := start(t, 2)
	always(c, clienttest.DropApplied, true)
	o := kvctl(t, c, "", "cas", "k", "0", "v", "--timeout", "100ms", "--json")
	told := decode[struct {
		Outcome string `json:"outcome"`
		Key     string `json:"idempotency_key"`
		Base    uint64 `json:"base"`
	}](t, o.errOut)
	if o.code != 3 || told.Outcome != "unknown" || told.Key == "" {
		t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
	always(c, clienttest.None, true)
	o = kvctl(t, c, "", "cas", "k", "0", "v", "--idempotency-key", told.Key, "--base", "0")
	if o.code != 0 || o.out != "revision 2\n" || c.Applied() != 1 {
		t.Fatalf("exit %d, %q %q, applied %d times", o.code, o.out, o.errOut, c.Applied())
	}
	if o := kvctl(t, c, "", "set", "k", "other", "--idempotency-key", told.Key, "--base", "0"); o.code != 3 ||
		c.Applied() != 1 {
		t.Fatalf("another command under the key: exit %d, %q, applied %d times", o.code, o.errOut, c.Applied())
	}
}

func TestNodesDown(t *testing.T) {
	c := start(t, 3)
	c.Node(1).Stop()
	c.Node(2).Stop()
	if o := kvctl(t, c, "", "set", "k", "v"); o.code != 0 {
		t.Fatalf("one node left: exit %d, %q", o.code, o.errOut)
	}
	c.Node(3).Stop()
	if o := kvctl(t, c, "", "set", "k", "v", "--timeout", "100ms"); o.code != 1 ||
		!strings.Contains(o.errOut, "connection refused") {
		t.Fatalf("no node left: exit %d, %q", o.code, o.errOut)
	}
}

func TestStaleTellsItsAge(t *testing.T) {
	c := start(t, 1)
	c.Set("k", "v")
	c.SetMaster(0)
	o := kvctl(t, c, "", "get", "k", "--stale")
	if o.code != 0 || o.out != "v" || !strings.Contains(o.errOut, "has heard from no master for 70 ms") {
		t.Fatalf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
}

func TestCompletion(t *testing.T) {
	c := start(t, 1)
	for _, k := range []string{"app/one", "app/two/x", "app/two/y", "other"} {
		c.Set(k, "v")
	}
	o := kvctl(t, c, "", "__complete", "get", "app/")
	if o.code != 0 || !strings.HasPrefix(o.out, "app/one\napp/two/\n:") {
		t.Fatalf("exit %d, %q, %q", o.code, o.out, o.errOut)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if o := kvctl(t, c, "", "completion", shell); o.code != 0 || !strings.Contains(o.out, "kvctl") {
			t.Fatalf("%s: exit %d, %q", shell, o.code, o.errOut)
		}
	}
	if o := kvctl(t, c, "", "completion", "powershell"); o.code != 2 {
		t.Fatalf("an unknown shell: exit %d, %q", o.code, o.errOut)
	}
}

func TestStdinTooLarge(t *testing.T) {
	c := start(t, 1)
	if o := kvctl(t, c, strings.Repeat("x", api.MaxValueBytes+1), "set", "k", "-"); o.code != 2 || c.Applied() != 0 {
		t.Fatalf("exit %d, %q", o.code, o.errOut)
	}
}

// A VALUE of @FILE is the content of the file, whatever it is; --literal stores what is written.
func TestValueFromFile(t *testing.T) {
	c := start(t, 1)
	dir := t.TempDir()
	binary := "\x00\xff@\r\n"
	for name, text := range map[string]string{"f": binary, "empty": "", "large": strings.Repeat("x", api.MaxValueBytes+1)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		line, want string
		code       int
	}{
		{"set k @DIR/f", binary, 0},
		{"set k @DIR/empty", "", 0},
		{"cas k 3 @DIR/f", binary, 0},
		{"set k @", binary, exitUsage},
		{"set k @DIR/missing", binary, exitUsage},
		{"set k @DIR", binary, exitFailed},
		{"set k @DIR/large", binary, exitUsage},
		{"set k --literal @DIR/f", "@DIR/f", 0},
		{"set --literal k -", "-", 0},
		{"test-and-set k - @DIR/f", binary, 0},
		{"test-and-set --literal k @DIR/f v", binary, exitFailed},
		{`set k \@x`, `\@x`, 0},
		{"test-and-set --literal k \\@x @DIR/f", "@DIR/f", 0},
		{"test-and-set k @DIR/f v", "v", 0},
		{"set k v@DIR/f", "v@DIR/f", 0},
	} {
		in := strings.NewReplacer("DIR", dir)
		o := kvctl(t, c, "input", strings.Fields(in.Replace(s.line))...)
		if v, _ := c.Value("k"); o.code != s.code || v != in.Replace(s.want) {
			t.Errorf("%s: exit %d, %q, and the value is %q", s.line, o.code, o.errOut, v)
		}
		if o.code == exitUsage && !strings.Contains(s.line, "large") && !strings.Contains(o.errOut, "--literal") {
			t.Errorf("%s: %q", s.line, o.errOut)
		}
	}
}

// A command to which the general --timeout does not apply shows what holds instead.
func TestTimeoutInHelp(t *testing.T) {
	c := start(t, 1)
	for line, want := range map[string]string{
		"get":         "time limit of the whole command (default 10s)",
		"watch":       "time limit (default: none)",
		"status":      "time limit (default 10s; with --watch, none)",
		"elect":       "time limit of acquiring the lease",
		"lock":        "time limit of locking",
		"lease run":   "time limit of acquiring the lease",
		"bench put":   "time limit of one request (default 10s)",
		"dev restart": "time limit for each node (default 10s)",
	} {
		o := kvctl(t, c, "", append(strings.Fields(line), "--help")...)
		if o.code != 0 || strings.Count(o.out, "--timeout duration") != 1 || !strings.Contains(o.out, want) {
			t.Errorf("kvctl %s --help has not once --timeout with %q:\n%s", line, want, o.out)
		}
	}
	if o := kvctl(t, c, "", "--timeout", "80ms", "watch", "k"); o.code != 0 || o.out != "" || o.errOut != "" {
		t.Errorf("a watch with a time limit before its name: %+v", o)
	}
}

// Endpoints whose names do not exist are said to be so, whatever the command. The survey of commands that ask all nodes
// tells it apart, too.
func TestNoSuchHost(t *testing.T) {
	missing := fmt.Errorf("get: %w", &net.DNSError{Err: "no such host", IsNotFound: true})
	failing := fmt.Errorf("get: %w", &net.DNSError{Err: "server misbehaving", IsTemporary: true})
	refused := fmt.Errorf("get: %w", syscall.ECONNREFUSED)
	for _, x := range []struct {
		errs []error
		want error
	}{
		{[]error{missing, missing}, client.ErrNoSuchHost},
		{[]error{refused, refused}, client.ErrRefused},
		{[]error{missing, refused}, nil}, {[]error{missing, failing}, nil}, {[]error{missing, nil}, nil}, {nil, nil},
	} {
		var s survey
		for _, err := range x.errs {
			s = append(s, nodeView{err: err})
		}
		if got := s.unreachable(); got != x.want {
			t.Errorf("%v: %v, want %v", x.errs, got, x.want)
		}
	}
	var errOut bytes.Buffer
	a := newApp(nil, nil, io.Discard, &errOut)
	a.endpoints = []string{"one", "two"}
	a.complain(fmt.Errorf("get: %w", client.ErrNoSuchHost))
	if !strings.Contains(errOut.String(), "none of these hosts exists: one, two; give the addresses") {
		t.Errorf("%q", errOut.String())
	}
}

// The word of --json says the same as the exit code: an error of exit code 3 is called by what makes it one.
func TestTheWordOfAnUnknownOutcome(t *testing.T) {
	kinds := map[string]error{"unknown": client.ErrUnknown, "result lost": client.ErrDropped, "done": errDoneUnseen}
	for want, kind := range kinds {
		for _, o := range outcomes {
			if exitCode(o.kind) == exitUnknown {
				continue
			}
			if err := fmt.Errorf("%w: %w", kind, o.kind); outcomeWord(err) != want || exitCode(err) != exitUnknown {
				t.Errorf("%v: %q, exit %d", err, outcomeWord(err), exitCode(err))
			}
		}
	}
}

// What stands for a command of another store is a command here.
func TestElsewhere(t *testing.T) {
	root := newRoot(newApp(nil, nil, nil, nil))
	for theirs, ours := range elsewhere {
		for _, line := range regexp.MustCompile(", | or ").Split(ours, -1) {
			words := strings.Fields(line)
			if c, rest, err := root.Find(words); err != nil || len(rest) > 0 || c.Name() != words[len(words)-1] {
				t.Errorf("%s: kvctl has no %s", theirs, line)
			}
		}
	}
}
