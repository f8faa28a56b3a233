package oneline

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// little is a module with functions of every shape that the overlay must cope with, and tests that see some changes.
var little = map[string]string{
	"go.mod": "module little\n\ngo 1.26\n",
	"rule/rule.go": `package rule

import "strings"

const limit = 3

// Most returns the larger number.
func Most(a, b int) int {
	if a > b {
		return a
	}
	return b
}

// Unseen is called by no test.
func Unseen(a int) int { return a + 1 }

type set[T comparable] struct{ m map[T]bool }

func (s *set[T]) add(_ string, xs ...T) (n int) {
	for _, x := range xs {
		s.m[x] = true
		n++
	}
	return n
}

func has[T comparable](s *set[T], x T) bool { return s.m[x] && len(s.m) <= limit }

func (set[T]) nothing(int, ...string) {}

// Count loops for ever if i does not rise.
func Count(text string) (n int) {
	for i := 0; i < len(text); i++ {
		if strings.ToLower(text[i:i+1]) == "a" {
			n++
		}
	}
	return n
}
`,
	"rule/rule_test.go": `package rule

import "testing"

func TestMost(t *testing.T) {
	if Most(2, 1) != 2 || Most(1, 2) != 2 {
		t.Error("Most")
	}
}

func TestSet(t *testing.T) {
	s := &set[int]{map[int]bool{}}
	s.nothing(1)
	if s.add("", 1, 2) != 2 || !has(s, 1) || has(s, 3) || s.add("", 3, 4) != 2 || has(s, 1) {
		t.Error("set")
	}
}

func TestCount(t *testing.T) {
	if Count("xAa") != 2 {
		t.Error("Count")
	}
}

func TestBroken(t *testing.T) { t.Error("always") }
`,
}

func inLittle(t *testing.T) (root, results string) {
	t.Helper()
	old, oldHang := suites, hangAfter
	suites, hangAfter = map[string][]string{"rule": {"rule"}}, 2*time.Second
	t.Cleanup(func() { suites, hangAfter = old, oldHang })
	root = t.TempDir()
	for name, text := range little {
		write(t, root, name, text)
	}
	return root, filepath.Join(t.TempDir(), "results")
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runIn(t *testing.T, root string, o Options) string {
	t.Helper()
	var out bytes.Buffer
	o.Out = &out
	if err := Run(t.Context(), root, o); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String()
}

func TestHunt(t *testing.T) {
	root, results := inLittle(t)
	o := Options{Files: []string{"rule/rule.go"}, Results: results}
	out := runIn(t, root, o)
	if !strings.Contains(out, "[TestBroken]") {
		t.Errorf("the test that always fails is not left out:\n%s", out)
	}
	r, err := openResults(results)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Verdict{}
	for _, x := range r.old {
		got[x.Old+" => "+x.New] = x.Verdict
	}
	for change, want := range map[string]Verdict{
		"if a > b { => if a < b {":                                          "", // not generated: its negation is
		"if a > b { => if a <= b {":                                         Killed,
		"if a > b { => if a >= b {":                                         Survived, // equal numbers
		"if a > b { => if (a > b) && false {":                               Killed,
		"const limit = 3 => const limit = 4":                                Killed, // built by itself
		"const limit = 3 => const limit = 2":                                Survived,
		"s.m[x] = true => s.m[x] = false":                                   Killed, // a method of a generic type
		"s.m[x] = true => ":                                                 NotCompiled,
		"for i := 0; i < len(text); i++ { => for i := 0; i < len(text);  {": TookLong,
		"func Unseen(a int) int { return a + 1 } => func Unseen(a int) int { return a - 1 }": Survived,
	} {
		if got[change] != want {
			t.Errorf("%s: %q, want %q", change, got[change], want)
		}
	}
	if again := runIn(t, root, o); !strings.Contains(again, "0 of them have no result yet") {
		t.Errorf("it does not go on where it was:\n%s", again)
	}
}

// Survivors are tried again with the present tests, except those argued away.
func TestSurvivorsAreTriedAgain(t *testing.T) {
	root, results := inLittle(t)
	o := Options{Files: []string{"rule/rule.go"}, Results: results, Match: regexp.MustCompile(`Most|Unseen`)}
	runIn(t, root, o)
	write(t, root, "rule/more_test.go", "package rule\n\nimport \"testing\"\n\nfunc TestUnseen(t *testing.T) {\n\tif Unseen(4) != 5 {\n\t\tt.Error(\"Unseen\")\n\t}\n}\n")
	write(t, root, "jepsen/mutants/oneline/equal.toml", "[[equal]]\nfile = \"rule/rule.go\"\nfunc = \"Most\"\nold = \"if a > b {\"\nnew = \"if a >= b {\"\nwhy = \"equal numbers are the same\"\n")
	out := runIn(t, root, Options{Results: results, Again: true})
	if strings.Contains(out, string(Survived)) || !strings.Contains(out, "TestUnseen") {
		t.Errorf("%s", out)
	}
	o.Report = true
	out = runIn(t, root, o)
	if m := regexp.MustCompile(`generated (\d+), .* equal 1, survivors 0, not yet run 0`).FindStringSubmatch(out); m == nil {
		t.Errorf("%s", out)
	}
}

// A seed draws the same mutants each time, and another one others.
func TestDraw(t *testing.T) {
	root, _ := inLittle(t)
	list := func(seed uint64) string { return runIn(t, root, Options{Seed: seed, Count: 5, List: true}) }
	if a, b := list(1), list(1); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if list(1) == list(2) {
		t.Error("another seed draws the same")
	}
}

// TestEveryEqualIsStillAMutant: an entry of equal.toml whose line has changed excuses nothing any more.
func TestEveryEqualIsStillAMutant(t *testing.T) {
	if testing.Short() {
		t.Skip("it type-checks a dozen packages")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	equal, err := loadEquals(root)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := load(root, slices.Sorted(maps.Keys(suites)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ps {
		for _, m := range p.mutants() {
			delete(equal, m.equalKey())
		}
	}
	for key := range equal {
		t.Errorf("no mutant any more:\n%s", key)
	}
}
