package mutants

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// several is a module whose functions are of every shape that a version may have.
var several = map[string]string{
	"go.mod": "module several\n\ngo 1.26\n",
	"rule/rule.go": `package rule

const limit = 3

// Table has methods and types.
type Table[K comparable] struct{ seen map[K]int }

// Add counts a key.
func (t *Table[K]) Add(k K, _ ...int) (n int, err error) {
	if t.seen == nil {
		t.seen = map[K]int{}
	}
	t.seen[k]++
	return t.seen[k], nil
}

// First is the first of some.
func First[T any](xs []T, or T) T {
	if len(xs) == 0 {
		return or
	}
	return xs[0]
}

var last int

// Note has no result, and a parameter without a name.
func Note(n int, _ string) { last = n }

// Few reports whether n is within the limit.
func Few(n int) bool { return n <= limit }

var (
	least       = 1
	steps       = []func(int) int{double, next} // in their order
	wide  int64 = 1 << 40
)

func double(n int) int { return 2 * n }
func next(n int) int   { return n + 1 }

// Go takes the steps.
func Go(n int) int {
	for _, s := range steps {
		n = s(n)
	}
	return max(n, least)
}
`,
	"rule/rule_test.go": `package rule

import "testing"

func TestRule(t *testing.T) {
	var x Table[string]
	x.Add("a", 1, 2)
	if n, err := x.Add("a"); n != 2 || err != nil {
		t.Error("add", n, err)
	}
	if First(nil, 7) != 7 || First([]int{1}, 7) != 1 {
		t.Error("first")
	}
	if Note(5, ""); last != 5 {
		t.Error("note", last)
	}
	if !Few(3) || Few(4) {
		t.Error("few")
	}
	if n := Go(3); n != 7 {
		t.Error("go", n)
	}
	if Go(-9) != 1 {
		t.Error("least")
	}
	if wide != 1<<40 {
		t.Error("wide", wide)
	}
}
`,
	"jepsen/mutants/patches/Add.patch":   "x.\n--- rule/rule.go\n@@\n-\tt.seen[k]++\n",
	"jepsen/mutants/patches/First.patch": "x.\n--- rule/rule.go\n@@\n-\t\treturn or\n+\t\treturn *new(T)\n",
	"jepsen/mutants/patches/Note.patch":  "x.\n--- rule/rule.go\n@@\n-func Note(n int, _ string) { last = n }\n+func Note(n int, _ string) { last = n - 1 }\n",
	"jepsen/mutants/patches/Few.patch":   "x.\n--- rule/rule.go\n@@\n-func Few(n int) bool { return n <= limit }\n+func Few(n int) bool { return n < limit }\n",
	"jepsen/mutants/patches/Many.patch":  "x.\n--- rule/rule.go\n@@\n-func Few(n int) bool { return n <= limit }\n+func Few(n int) bool { return true }\n",
	"jepsen/mutants/patches/All.patch":   "x.\n--- rule/rule.go\n@@\n-func Few(n int) bool { return n <= limit }\n+func Few(int) bool { return true }\n",
	"jepsen/mutants/patches/Steps.patch": "x.\n--- rule/rule.go\n@@\n-\tsteps       = []func(int) int{double, next} // in their order\n+\tsteps       = []func(int) int{next, double} // in their order\n",
	"jepsen/mutants/patches/Wide.patch":  "x.\n--- rule/rule.go\n@@\n-\twide  int64 = 1 << 40\n+\twide  int64 = 7\n",
	"jepsen/mutants/patches/Limit.patch": "x.\n--- rule/rule.go\n@@\n-const limit = 3\n+const limit = 2\n",
}

// Each mutant of a joint program breaks its own function and nothing else; one that changes more than bodies of
// functions is not in it.
func TestJointProgram(t *testing.T) {
	shows := map[string]string{"Add": "add 0", "First": "first", "Note": "note 4", "Few": "few", "Many": "few", "Limit": "few",
		"All": "few", "Steps": "go 8", "Wide": "wide 7"}
	table := ""
	for _, name := range slices.Sorted(maps.Keys(shows)) {
		table += fmt.Sprintf("[[mutant]]\nname = %q\nrule = \"x\"\nkiller = [{ how = \"rule\", package = \"./rule\", run = \"TestRule\", shows = %q }]\n",
			name, "rule_test.go:[0-9]+: "+shows[name]+"[^\n]*\n--- FAIL")
	}
	root := t.TempDir()
	write(t, root, several)
	write(t, root, map[string]string{"jepsen/mutants/mutants.toml": table})
	ms, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSuite(t.Context(), root, ms, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if b := s.bins["./rule"]; b.bin == "" {
		t.Fatal(b.output)
	}
	if bad, err := s.clean(t.Context()); err != nil || len(bad.bad()) != 0 {
		t.Errorf("without a mutant: %v, %v", bad, err)
	}
	for _, m := range ms {
		if _, joint := s.joint.number[m.Name]; joint == (m.Name == "Limit") {
			t.Errorf("%s: in the joint program: %v", m.Name, joint)
		}
		if fs, err := s.try(t.Context(), m); err != nil || fs[0].verdict != Killed {
			t.Errorf("%s: %+v, %v", m.Name, fs, err)
		}
	}
}
