package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tenure/api"
	"tenure/internal/shown"
)

// named is a node that has the keys it is told to have, whatever their names.
type named struct {
	*httptest.Server
	mu   sync.Mutex
	keys []string
	// other has answers to other paths.
	other map[string]string
}

func newNamed(t *testing.T) *named {
	n := &named{}
	n.Server = httptest.NewServer(n)
	t.Cleanup(n.Close)
	return n
}

func (n *named) set(keys ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.keys = keys
}

func (n *named) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range []string{api.HeaderIndex, api.HeaderRevision} {
		w.Header().Set(name, "7")
	}
	if body, ok := n.other[r.URL.Path]; ok {
		_, _ = io.WriteString(w, body)
		return
	}
	prefix, ok := strings.CutPrefix(r.URL.Path, api.PathKV)
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	found := []string{}
	for _, k := range n.keys {
		if strings.HasPrefix(k, prefix) {
			found = append(found, k)
		}
	}
	slices.Sort(found)
	_ = json.NewEncoder(w).Encode(found)
}

// shell is an interactive shell with the completion of kvctl. The kvctl that it finds is a stub: it notes its arguments
// instead of doing anything, and has this process answer what the completion asks.
type shell struct {
	*terminal
	name, dir string
	from      int // in the output: what comes before belongs to earlier commands
	noted     int
}

const stub = `#!/bin/sh
case $1 in
__*|completion)
	printf '%s\0' "$@" >"$HOME/ask"
	cat "$HOME/answer"
	exit;;
esac
printf '%s\0' "$#" "$@" >>"$HOME/noted"
echo DONE
`

// prompt ends what a shell writes before it reads a line.
const prompt = "READY> "

// shells are the shells with their options and what makes them ready.
var shells = []struct {
	name string
	args []string
	init string
}{
	{"bash", []string{"--norc", "--noprofile", "-i"}, "source <(kvctl completion bash); PS1='" + prompt + "'"},
	{"zsh", []string{"-f", "-i"}, "unsetopt prompt_sp; autoload -U compinit; compinit -D; source <(kvctl completion zsh); " +
		"PROMPT='" + prompt + "'"},
	{"fish", []string{"--no-config", "-i"}, "kvctl completion fish | source; function fish_prompt; echo -n '" + prompt + "'; end"},
}

// inShells runs f in each shell that is installed.
func inShells(t *testing.T, f func(*testing.T, *shell, *named)) {
	for _, x := range shells {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(x.name)
			if err != nil {
				t.Skip("not installed: ", x.name)
			}
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			if err := os.Mkdir(bin, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bin, "kvctl"), []byte(stub), 0o700); err != nil {
				t.Fatal(err)
			}
			n := newNamed(t)
			answerStub(t, dir, []string{endpointsVariable + "=" + n.URL})
			cmd := exec.Command(path, x.args...)
			cmd.Dir = dir
			cmd.Env = []string{"HOME=" + dir, "PATH=" + bin + ":/usr/bin:/bin", "TERM=xterm", "LC_ALL=C.UTF-8", "INPUTRC=/dev/null"}
			s := &shell{terminal: onTerminal(t, cmd), name: x.name, dir: dir}
			s.typed(x.init + "; echo BEG''IN\r")
			s.from = s.await(s.await(0, "BEGIN"), prompt)
			f(t, s, n)
		})
	}
}

// answerStub runs kvctl in this process for the stub in dir, until the end of the test.
func answerStub(t *testing.T, dir string, environ []string) {
	t.Helper()
	ask, answer := filepath.Join(dir, "ask"), filepath.Join(dir, "answer")
	for _, name := range []string{ask, answer} {
		if err := unix.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			b, err := os.ReadFile(ask)
			if err != nil || len(b) == 0 {
				return
			}
			var out bytes.Buffer
			args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
			run(t.Context(), args, environ, strings.NewReader(""), &out, io.Discard)
			if err := os.WriteFile(answer, out.Bytes(), 0); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() {
		for { // once is not enough: the goroutine may be between two questions
			if f, err := os.OpenFile(ask, os.O_RDWR, 0); err == nil { // the end of what may be read
				f.Close()
			}
			select {
			case <-ended:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
}

// run types a line, keys for the completion included, and returns the arguments that kvctl was then run with.
func (s *shell) run(line string) []string {
	s.t.Helper()
	s.typed(line + "\r")
	s.from = s.await(s.await(s.from, "DONE"), prompt)
	b, err := os.ReadFile(filepath.Join(s.dir, "noted"))
	if err != nil {
		s.t.Fatal(err)
	}
	words := strings.Split(strings.TrimSuffix(string(b[s.noted:]), "\x00"), "\x00")
	s.noted = len(b)
	return words[1:]
}

// given types keys, gives the line up, and returns what was written meanwhile.
func (s *shell) given(keys string) string {
	s.t.Helper()
	const killLine = "\x15"
	begin := s.from
	s.typed(keys + killLine + killLine + "echo DO''NE\r")
	s.from = s.await(s.await(s.from, "DONE"), prompt)
	return s.output()[begin:s.from]
}

// nothingRan fails the test if something in a name was carried out.
func (s *shell) nothingRan(what string) {
	s.t.Helper()
	if _, err := os.Stat(filepath.Join(s.dir, "pwned")); err == nil {
		s.t.Errorf("%s: what stands in it was run", what)
		_ = os.Remove(filepath.Join(s.dir, "pwned"))
	}
}

// hostileNames are names that some shell may take for something else.
var hostileNames = []string{
	"plain", "app/one", "`touch pwned`", "$(touch pwned)", "a$(touch pwned)b", "${HOME}", "$HOME", "a b", " a", "a ", "a  b",
	"it's", `say "hi"`, `'"'"`, `back\slash`, `a\`, `\`, "a;touch pwned", "a|touch pwned", "a&touch pwned", "a>pwned", "a<pwned",
	"<(touch pwned)", "(a)", "{a,b}", "a*", "[b]in", "?", "~", "~/a", "~root", "#a", "a#b", "!!", "a!b", "!touch", "^a^b", "=ls", "a=b",
	"a:b", "a:$(touch pwned)", "a=$(touch pwned)", "k=`touch pwned`", "@a", "a@$(touch pwned)", "%1", "%s%n", "a,b", "a\\$(touch pwned)",
	"'$(touch pwned)'", "\"$(touch pwned)\"", "'`touch pwned`", "a'$(touch pwned)", `a"$(touch pwned)`, "Grüße", "日本/語", "🔑", "שלום",
	"$'\\x61'", "a$", "$", "_activeHelp_ x", ":4", "a:4", "nospace", "on\\nline", "$((1))", "a`", "`",
	// These are not offered.
	"a\nb", "nl\n$(touch pwned)", "tab\t$(touch pwned)", "\x1b[2J", "esc\x1b]0;pwned\a", "cr\rx", "rtl/\u202eevil", "zero\u200bwidth", "\x7f",
	"c1\u009b2J", "filler\u3164", "-dash", "--help",
}

// randomNames returns names made of pieces that mean something to shells.
func randomNames(n int) (names []string) {
	r := rand.New(rand.NewPCG(47, 12))
	pieces := []string{"`", "$(touch pwned)", "'", `"`, `\`, "$", " ", "!", "a", "b/", "~", "*", "?", "[", "]", "{", "}", "(", ")", ";", "&", "|",
		"<", ">", "#", "=", ":", "@", "%", "^", "🔑", "é", "-", "touch pwned", "$IFS", "\n", "\x1b", "\u202e"}
	for range n {
		var name strings.Builder
		for range 1 + r.IntN(6) {
			name.WriteString(pieces[r.IntN(len(pieces))])
		}
		names = append(names, name.String())
	}
	return names
}

// A key that is completed and then used is the same key, and nothing in its name is run, whatever it is called. What no
// shell can have in its line, or what would be a flag, is not offered.
func TestCompletionInShells(t *testing.T) {
	inShells(t, func(t *testing.T, s *shell, n *named) {
		for _, name := range slices.Concat(hostileNames, randomNames(40)) {
			n.set(name)
			want := []string{"get", name}
			if !shown.Plain(name) || name[0] == '-' || s.name == "fish" && name[0] == '~' {
				want = want[:1]
			}
			if got := s.run("kvctl get \t\t"); !slices.Equal(got, want) {
				t.Errorf("%q: kvctl %q", name, got)
			}
			s.nothingRan(name)
		}
		for _, name := range []string{"-dash", "--help", "-$(touch pwned)"} {
			n.set(name)
			if got := s.run("kvctl get -- \t\t"); !slices.Equal(got, []string{"get", "--", name}) {
				t.Errorf("%q: kvctl %q", name, got)
			}
			s.nothingRan(name)
		}
	})
}

// The same of names of which a part is typed, in quotes or without.
func TestCompletionOfWhatIsTyped(t *testing.T) {
	inShells(t, func(t *testing.T, s *shell, n *named) {
		for _, x := range []struct{ typed, name string }{
			{"a", "a$(touch pwned)b"}, {`a\$`, "a$(touch pwned)b"}, {`a\ `, "a b c"}, {"'a", "a$(touch pwned)b"}, {"'a ", "a b'c"},
			{`"a `, "a b`touch pwned`"}, {`"a`, `a"b!c`}, {"'a$(", "a$(touch pwned)"}, {`it\'`, "it's `touch pwned`"},
			{"a:", "a:$(touch pwned)"}, {"a=", "a=`touch pwned`"}, {"'a b:", "a b:c d"}, {`a\:`, "a:b c"}, {"'a'b", "ab c"},
			{"app/", "app/x y"}, {"日", "日本 語"}, {"'it", "it's"}, {`"say`, `say "hi"`}, {"a@", "a@b c"},
		} {
			n.set(x.name, "zzz")
			if got := s.run("kvctl get " + x.typed + "\t\t"); !slices.Equal(got, []string{"get", x.name}) {
				t.Errorf("%s of %q: kvctl %q", x.typed, x.name, got)
			}
			s.nothingRan(x.name)
		}
	})
}

// Several names are listed, and completed as far as they agree; nothing of any of them is run.
func TestCompletionOfSeveralNames(t *testing.T) {
	inShells(t, func(t *testing.T, s *shell, n *named) {
		n.set("x$(touch pwned)1", "x$(touch pwned)2", "x`touch pwned`", "y")
		if got := s.run("kvctl get x\\$\t\t2"); s.name != "fish" && !slices.Equal(got, []string{"get", "x$(touch pwned)2"}) {
			t.Errorf("kvctl %q", got)
		}
		s.nothingRan("a list of names")
		n.set("it's", "it b", "it`touch pwned`", "it$(touch pwned)", "it;touch pwned", "it\ntouch pwned")
		if out := s.given("kvctl get it\t\t\t"); !strings.Contains(out, "it;touch") {
			t.Errorf("the names are not listed: %q", out)
		}
		s.nothingRan("a list of names")
	})
}

// Whatever people have set for TAB in bash, nothing of a name is run, and what is inserted is one of the names.
func TestCompletionSettingsOfBash(t *testing.T) {
	inShells(t, func(t *testing.T, s *shell, n *named) {
		if s.name != "bash" {
			t.SkipNow()
		}
		n.set("A$(touch pwned)", "a$(touch pwned)1", "a`touch pwned`", "b c", "b`touch pwned`")
		for _, setting := range []string{"set completion-ignore-case on", "set show-all-if-ambiguous on",
			"set show-all-if-unmodified on", "set menu-complete-display-prefix on", "TAB:menu-complete", "TAB:insert-completions"} {
			s.typed("bind '" + setting + "'; echo DO''NE\r")
			s.from = s.await(s.await(s.from, "DONE"), prompt)
			for _, keys := range []string{"a\t", "a\t\t", "a\t\t\t", "\t\t\t\t", "'b\t\t", "\"b\t"} {
				if quote := keys[0]; quote == '\'' || quote == '"' {
					s.given("kvctl get " + keys)
				} else {
					s.run("kvctl get " + keys)
				}
				s.nothingRan(setting + " " + keys)
			}
		}
	})
}

// What is typed is not run before Enter.
func TestCompletionDoesNotRunTheLine(t *testing.T) {
	inShells(t, func(t *testing.T, s *shell, n *named) {
		n.set("a", "b")
		for _, line := range []string{"kvctl --endpoints $(touch pwned) get ", "kvctl --endpoints \"$(touch pwned)\" get ",
			"kvctl get $(touch pwned) ", "kvctl set 'a$(touch pwned)' ", "kvctl set a\\$\\(touch\\ pwned\\) ", "kvctl get \"$(touch pwned)"} {
			if s.name == "zsh" && strings.HasSuffix(line, ")") {
				continue // zsh itself expands the word at the cursor on TAB
			}
			if s.name != "fish" {
				line = strings.ReplaceAll(line, "$(touch pwned)", "`touch pwned`$(touch pwned)")
			}
			s.given(line + "\t\t")
			s.nothingRan(line)
		}
	})
}

// Descriptions behind names are shown without what a terminal obeys, and names of all kinds are completed the same way.
func TestCompletionOfOtherNames(t *testing.T) {
	const hostile = "$(touch pwned)`touch pwned`\u202e\x1b]0;OWNED\a"
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(body string) string { return strings.ReplaceAll(body, "HOSTILE", string(text)) }
	id := func(i int) string { return fmt.Sprintf("0bd2a6fc-5b6b-4b0c-8c5f-5a4f0a4e6c1%d", i) }
	other := map[string]string{
		api.PathSessionList: fill(`[{"ID":"` + id(1) + `","Name":HOSTILE,"Behavior":"release"},{"ID":"` + id(2) + `","Name":HOSTILE}]`),
		api.PathLeases:      fill(`{"leases":[{"Name":"le $(touch pwned)","Owner":HOSTILE,"Remaining":"5s","Token":1}]}`),
		api.PathQuotas:      `{"quotas":[{"prefix":"q $(touch pwned)/","bytes":1}]}`,
		api.PathACLTokenList: fill(`[{"AccessorID":"` + id(1) + `","Description":HOSTILE},{"AccessorID":"` + id(2) +
			`","Description":HOSTILE}]`),
		api.PathACLPolicyList: fill(`[{"ID":"` + id(1) + `","Name":"p1","Description":HOSTILE},{"ID":"` + id(2) + `","Name":"p2"}]`),
	}
	inShells(t, func(t *testing.T, s *shell, n *named) {
		n.other = other
		for line, want := range map[string][]string{
			"kvctl quota show \t\t":         {"quota", "show", "q $(touch pwned)/"},
			"kvctl lease show \t\t":         {"lease", "show", "le $(touch pwned)"},
			"kvctl session renew \t\t":      nil,
			"kvctl acl token read \t\t":     nil,
			"kvctl acl policy read p\t\t":   nil,
			"kvctl lease sho\t --help":      {"lease", "show", "--help"},
			"kvctl --endpo\t x get":         {"--endpoints", "x", "get"},
			"kvctl completion ba\t --json ": {"completion"},
		} {
			if want == nil {
				s.given(line)
			} else if want[0] != "completion" {
				if got := s.run(line); !slices.Equal(got, want) {
					t.Errorf("%q: kvctl %q, want %q", line, got, want)
				}
			}
			s.nothingRan(line)
		}
		if out := s.output(); strings.Contains(out, "\x1b]0;OWNED") || strings.Contains(out, "\u202e") {
			t.Errorf("a description reaches the terminal as it is: %q", out)
		}
	})
}
