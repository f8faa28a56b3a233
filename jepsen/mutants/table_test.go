package mutants

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMutantsTable checks mutants.toml as far as that is possible without building anything. Every patch applies to the
// present code and gives Go, every killer exists, and no rule of the design is missing. Whether the mutants die is seen
// by `go run ./jepsen mutants`.
func TestMutantsTable(t *testing.T) {
	root := moduleRoot(t)
	ms, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	used, names := map[string]bool{}, map[string]bool{}
	for _, m := range ms {
		names[m.Name] = true
		for _, p := range m.Patches {
			used[p] = true
		}
		ps, err := m.patches(root)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if _, err := applyAll(root, ps); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		for _, k := range m.Killers {
			if !slices.ContainsFunc(testsOf(t, root, k.Package), regexp.MustCompile(k.Run).MatchString) {
				t.Errorf("%s: no test of %s matches %s", m.Name, k.Package, k.Run)
			}
		}
	}
	for _, name := range required {
		if !names[name] {
			t.Errorf("the design asks for %s", name)
		}
	}
	files, err := patchFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f] {
			t.Errorf("no mutant uses patches/%s.patch", f)
		}
	}
}

// All mutants that share a program compile in it; otherwise each would be built by itself, which takes hours.
func TestTheJointProgramCompiles(t *testing.T) {
	root := moduleRoot(t)
	ms, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	j, err := join(root, t.TempDir(), ms)
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]bool{}
	for i := range ms {
		changed, err := ms[i].changed(root)
		if err != nil {
			t.Fatal(err)
		}
		for file := range changed {
			packages["./"+filepath.Dir(file)] = true
		}
	}
	args := append([]string{"build", "-overlay", j.overlay}, slices.Sorted(maps.Keys(packages))...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheTableIsUpToDate(t *testing.T) {
	root := moduleRoot(t)
	ms, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tableText(root, ms)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(tablePath(root)); err != nil || string(got) != want {
		t.Errorf("TABLE.md does not show mutants.toml and results.toml: go run ./jepsen mutants --update (%v)", err)
	}
	if strings.Contains(want, "not run yet") {
		t.Error("some killers have never been run: go run ./jepsen mutants --update")
	}
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := Root("")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

var parsed = map[string][]string{}

// testsOf are the names of the tests of a package, by its text.
func testsOf(t *testing.T, root, pkg string) []string {
	t.Helper()
	if names, ok := parsed[pkg]; ok {
		return names
	}
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				names = append(names, fn.Name.Name)
			}
		}
	}
	parsed[pkg] = names
	return names
}

// Of searches that differ in their bounds only, the one that goes farthest is run without a mutant, and before shorter ones.
func TestUncovered(t *testing.T) {
	k := func(run string, args ...string) Killer { return Killer{Package: "./p", Run: run, Args: args} }
	ms := []Mutant{
		{Killers: []Killer{k("A"), k("S", "-config=a", "-states=100"), k("S", "-seeds=5", "-members")}},
		{Killers: []Killer{k("A"), k("S", "-config=a", "-states=300"), k("S", "-seeds=50"), k("S", "-config=b", "-states=90")}},
		{Killers: []Killer{k("B"), k("S", "-config=a", "-states=200"), k("S", "-first=3", "-seeds=50"), k("S", "-steps=7")}},
		{Killers: []Killer{k("S", "-states=5"), k("S", "-steps=9")}},
	}
	var got []string
	for _, k := range uncovered(ms) {
		got = append(got, strings.Join(append([]string{k.Run}, k.Args...), " "))
	}
	want := []string{"S -config=a -states=300", "S -config=b -states=90", "S -seeds=50", "S -first=3 -seeds=50",
		"S -seeds=5 -members", "S -states=5", "A", "B", "S -steps=7", "S -steps=9"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
