package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenure/internal/arrows"
)

func page(t *testing.T, name string) *Page {
	t.Helper()
	for _, p := range load(t) {
		if p.Path == name {
			return p
		}
	}
	t.Fatalf("there is no page %s", name)
	return nil
}

var direct = regexp.MustCompile(`(?m)^\t([^\s/]+\.[^\s]+) v[^\s]+$`)

// TestDependenciesAreTheDirectOnes holds docs/dependencies.md to what go.mod requires without "// indirect".
func TestDependenciesAreTheDirectOnes(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, m := range direct.FindAllStringSubmatch(string(mod), -1) {
		want = append(want, m[1])
	}
	if len(want) < 10 {
		t.Fatalf("go.mod requires %d modules only", len(want))
	}
	var got []string
	p := page(t, "docs/dependencies.md")
	for _, heading := range []string{"In the programs", "In tests and the harness only"} {
		for _, row := range p.Table(heading) {
			got = append(got, row[0])
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("docs/dependencies.md lists\n%s\nand go.mod requires\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestEveryPackageIsInTheOverview holds the table of packages in docs/design.md to the one of internal/arrows.
func TestEveryPackageIsInTheOverview(t *testing.T) {
	var named []string
	for _, row := range page(t, "docs/design.md").Table("Packages") {
		named = append(named, Spans(row[0])...)
	}
	for _, p := range arrows.Layout.Packages {
		if path := strings.TrimSuffix(p.Path, "/..."); !slices.Contains(named, path) && !strings.HasPrefix(path, "jepsen/") {
			t.Errorf("docs/design.md does not name package %s", path)
		}
	}
	for _, n := range named {
		if !exists(strings.TrimSuffix(n, "/…")) {
			t.Errorf("docs/design.md names package %s, which is not there", n)
		}
	}
}
