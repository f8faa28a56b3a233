package arrows

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T, root string) *Tree {
	t.Helper()
	tree, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestArrows(t *testing.T) {
	for _, f := range load(t, "../..").Imports(Layout) {
		t.Error(f)
	}
}

// TestEveryArrowIsUsed keeps the table free of arrows that nothing needs.
func TestEveryArrowIsUsed(t *testing.T) {
	for _, unused := range load(t, "../..").Unused(Layout) {
		t.Error(unused)
	}
	planted := load(t, "testdata/module").Unused(Rules{
		Packages: []Package{
			{Path: "server/replica", May: []string{"kv", "client", "lease"}},
			{Path: "multipaxos", May: []string{"kv"}}, // a test imports it
		},
		Only: map[string][]string{"go.etcd.io/bbolt": {"storage", "kv"}},
	})
	for i, want := range []string{"server/replica may import client and", "multipaxos may import kv and",
		"kv may import go.etcd.io/bbolt and"} {
		if len(planted) != 3 || !strings.HasPrefix(planted[i], want) {
			t.Fatalf("found %q", planted)
		}
	}
}

func TestPurePackages(t *testing.T) {
	tree := load(t, "../..")
	found, looked, err := tree.Purity(Layout)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
	if got := strings.Join(looked, " "); got != "lease lease/named multipaxos kv storage/journal server/members server/acl "+
		"server/replica/effect server/replica/clocks server/replica/snapshots server/replica/leases "+
		"server/replica/elector server/replica server/wire server/history server/archive server/recovery/merge "+
		"jepsen/compare/flease jepsen/compare/majority" {
		t.Errorf("looked into %s only", got)
	}
}

// TestEveryPackageIsThere keeps the table free of packages that were moved or renamed: their rules would guard nothing.
func TestEveryPackageIsThere(t *testing.T) {
	tree := load(t, "../..")
	for _, r := range Layout.Packages {
		if !slices.ContainsFunc(tree.sorted(), func(p *pkg) bool {
			return matches(r.Path, p.path) &&
				tree.Has(p.path)
		}) {
			t.Errorf("package %s has no Go files", r.Path)
		}
	}
	for _, l := range Layout.Leaves {
		if !tree.Has(l.Path) {
			t.Errorf("leaf %s has no Go files", l.Path)
		}
	}
}

var want = regexp.MustCompile(`// want "([^"]*)"`)

// wanted maps "file:line" to what a comment in the planted module says must be found there.
func wanted(t *testing.T, tree *Tree) map[string]string {
	t.Helper()
	m := map[string]string{}
	for _, p := range tree.sorted() {
		for _, f := range p.files {
			name := tree.fset.Position(f.ast.Pos()).Filename
			src, err := os.ReadFile(tree.root + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(src), "\n") {
				if w := want.FindStringSubmatch(line); w != nil {
					m[fmt.Sprintf("%s:%d", name, i+1)] = w[1]
				}
			}
		}
	}
	m["kv/fast.s:0"] = "Go files only"
	m["server/replica:0"] = "cannot be checked"
	return m
}

// TestPlantedBreachesAreFound runs the same checks, with the same table, on a module full of breaches.
func TestPlantedBreachesAreFound(t *testing.T) {
	tree := load(t, "testdata/module")
	pure, looked, err := tree.Purity(Layout)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(looked, " "); got != "lease multipaxos kv server/replica" {
		t.Fatalf("looked into %s", got)
	}
	unseen := wanted(t, tree)
	for _, f := range append(tree.Imports(Layout), pure...) {
		at := fmt.Sprintf("%s:%d", f.Pos.Filename, f.Pos.Line)
		msg, ok := unseen[at]
		if !ok || !strings.Contains(f.Msg, msg) {
			t.Errorf("not planted: %v", f)
			continue
		}
		delete(unseen, at)
	}
	for at, msg := range unseen {
		t.Errorf("%s: %q was not found", at, msg)
	}
}
