package docs

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is what the module's Go files hold: the names in them, and the words in their string literals. The names of
// mutants are among the latter.
type source struct {
	idents, words map[string]bool
}

func readSource(t *testing.T) source {
	t.Helper()
	s := source{map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(name) != ".go" || strings.HasPrefix(name, filepath.Join(root, "internal", "docs")) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s.add(text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(root, "jepsen", "mutants", "mutants.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutantName.FindAllSubmatch(table, -1) {
		s.words[string(m[1])] = true
	}
	return s
}

var mutantName = regexp.MustCompile(`(?m)^name = "(\w+)"$`)

var word = regexp.MustCompile(`[A-Za-z_][\w-]*`)

func (s source) add(text []byte) {
	var sc scanner.Scanner
	fset := token.NewFileSet()
	sc.Init(fset.AddFile("", fset.Base(), len(text)), text, nil, 0)
	for {
		_, tok, lit := sc.Scan()
		switch tok {
		case token.EOF:
			return
		case token.IDENT:
			s.idents[lit] = true
		case token.STRING:
			if v, err := strconv.Unquote(lit); err == nil {
				for _, w := range word.FindAllString(v, -1) {
					s.words[w] = true
				}
			}
		}
	}
}

var (
	goName = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(…|\(\))?$`)
	camel  = regexp.MustCompile(`[a-z0-9][A-Z]`)
)

// foreignNames are names in backticks that are of other programs.
var foreignNames = []string{
	"TestAPI_Client…", "ClientTxn", "ClientTxnWrite", "SessionNodeChecks", "SessionServiceChecks", // tests of consul/api
	"ifGenerationMatch",             // Google's object store
	"KeepAliveOnce",                 // etcd's client
	"NoSync",                        // bbolt
	"enableServiceLinks", "subPath", // Kubernetes
}

func TestNamesOfGoExist(t *testing.T) {
	src := readSource(t)
	looked := 0
	for _, p := range load(t) {
		for _, c := range p.Code() {
			if !goName.MatchString(c.Text) || slices.Contains(foreignNames, c.Text) {
				continue
			}
			name, prefix := strings.CutSuffix(strings.TrimSuffix(c.Text, "()"), "…")
			for _, part := range strings.Split(name, ".") {
				if !camel.MatchString(part) {
					continue
				}
				looked++
				if !src.has(part, prefix) {
					t.Errorf("%s: nothing is called %s", c.At(), part)
				}
			}
		}
	}
	if looked < 200 {
		t.Errorf("looked at %d names only", looked)
	}
}

// has reports whether there is such a name, or one that begins so. The pages leave out what names of benchmarks begin with.
func (s source) has(name string, prefix bool) bool {
	if !prefix {
		return s.idents[name] || s.words[name] || s.idents["Benchmark"+name]
	}
	for id := range s.idents {
		if strings.HasPrefix(id, name) {
			return true
		}
	}
	return false
}

var (
	testName = regexp.MustCompile(`^Test[A-Z]\w*$`)
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t \*testing\.T\)`)
)

// TestTestsThatAreNamedExist: the pages name tests that exist.
func TestTestsThatAreNamedExist(t *testing.T) {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			tests[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	looked := map[string]int{} // by page
	for _, p := range load(t) {
		for _, c := range p.Code() {
			if name, _, _ := strings.Cut(c.Text, "/"); testName.MatchString(name) && name != "TestAndSet" { // a command on a key
				looked[p.Path]++
				if !tests[name] {
					t.Errorf("%s: there is no test %s", c.At(), name)
				}
			}
		}
	}
	if looked["docs/security.md"] < 25 {
		t.Errorf("docs/security.md names %d tests", looked["docs/security.md"])
	}
}

var metric = regexp.MustCompile(`\btenure_[a-z_]+[a-z]`)

func TestMetricsThatAreNamedExist(t *testing.T) {
	src := readSource(t)
	for _, p := range load(t) {
		for _, c := range append(p.Code(), p.Blocks()...) {
			for _, m := range metric.FindAllString(c.Text, -1) {
				name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m, "_bucket"), "_count"), "_sum")
				if !src.words[name] && !src.words[strings.TrimPrefix(name, "tenure_")] {
					t.Errorf("%s: there is no metric %s", c.At(), m)
				}
			}
		}
	}
}

var flagName = regexp.MustCompile(`(?:^|[\s'"(\[])--([a-z][a-z0-9-]+)`)

// otherFlags are flags of every command, and of other programs: curl, docker, kubectl, etcd, chrt, apt, dpkg.
var otherFlags = []string{"help", "version", "url-query", "init", "heartbeat-interval", "election-timeout", "rr",
	"detach", "from-file", "from-literal", "no-install-recommends", "force-confold"}

// TestFlagsThatAreNamedExist looks at all flags, also those that stand alone. That a command has them is for the tests of
// cmd/kvnode, cmd/kvctl and jepsen.
func TestFlagsThatAreNamedExist(t *testing.T) {
	src := readSource(t)
	looked := 0
	for _, p := range load(t) {
		for _, c := range append(p.Code(), p.Blocks()...) {
			for _, m := range flagName.FindAllStringSubmatch(c.Text, -1) {
				looked++
				if !src.words[m[1]] && !slices.Contains(otherFlags, m[1]) {
					t.Errorf("%s: no program has a flag --%s", c.At(), m[1])
				}
			}
		}
	}
	if looked < 100 {
		t.Errorf("looked at %d flags only", looked)
	}
}
