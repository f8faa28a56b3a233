package mutants

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// little is a module with one rule, a test of it, and mutants of every kind that there can be.
var little = map[string]string{
	"go.mod":       "module little\n\ngo 1.26\n",
	"rule/rule.go": "package rule\n\n// Most is the rule.\nfunc Most(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b\n}\n",
	"rule/rule_test.go": `package rule

import (
	"os"
	"testing"
)

func TestMost(t *testing.T) {
	if got := Most(2, 1); got != 2 {
		t.Errorf("after 17 states: Most is %d", got)
	}
}

func TestOther(t *testing.T) {}

func TestSkipped(t *testing.T) { t.Skip("nothing here") }

func TestExits(t *testing.T) {
	if Most(2, 1) != 2 {
		os.Exit(7)
	}
}

func TestHangs(t *testing.T) {
	for Most(2, 1) != 2 {
	}
}

func TestPanics(t *testing.T) {
	if Most(2, 1) != 2 {
		panic("Most is broken")
	}
}

func TestBroken(t *testing.T) { t.Error("always") }
`,
	"jepsen/mutants/patches/Least.patch":   "Most is the least.\n--- rule/rule.go\n@@ Most\n-\tif a > b {\n+\tif a < b {\n",
	"jepsen/mutants/patches/Stale.patch":   "It was written for other code.\n--- rule/rule.go\n@@\n-\tif a >= b {\n+\tif a < b {\n",
	"jepsen/mutants/patches/Twice.patch":   "Its place is not one place.\n--- rule/rule.go\n@@\n-}\n+}}\n",
	"jepsen/mutants/patches/NoType.patch":  "It does not compile.\n--- rule/rule.go\n@@\n-\tif a > b {\n+\tif a > \"b\" {\n",
	"jepsen/mutants/patches/NoGo.patch":    "It is no Go.\n--- rule/rule.go\n@@\n-\tif a > b {\n+\tif a > b {{\n",
	"jepsen/mutants/patches/Nothing.patch": "It changes nothing.\n--- rule/rule.go\n@@\n-\tif a > b {\n+\tif a > b {\n",
}

const littleTable = `
[[mutant]]
name = "M"
rule = "the rule"
patches = ["PATCH"]
killer = [{ how = "rule", package = "./rule", run = "RUN", shows = "SHOWS", figure = '(\d+ states)', limit_seconds = 1 }]
`

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name, patch, run, shows string
		want                    Verdict
	}{
		{"killed", "Least", "^TestMost$", "Most is 1", Killed},
		{"killed by a panic", "Least", "^TestPanics$", "Most is broken", Killed},
		{"survivor", "Least", "^TestOther$", "", Survived},
		{"stale patch", "Stale", "^TestMost$", "", NotApplied},
		{"patch of two places", "Twice", "^TestMost$", "", NotApplied},
		{"patch of nothing", "Nothing", "^TestMost$", "", NotApplied},
		{"missing patch", "Missing", "^TestMost$", "", NotApplied},
		{"no Go", "NoGo", "^TestMost$", "", NotApplied},
		{"type error", "NoType", "^TestMost$", "", NotBuilt},
		{"no such test", "Least", "^TestNothing$", "", NoTest},
		{"skipped", "Least", "^TestSkipped$", "", Skipped},
		{"hangs", "Least", "^TestHangs$", "", TimedOut},
		{"fails for another reason", "Least", "^TestMost$", "two owners", OtherCause},
		{"exits without a word", "Least", "^TestExits$", "", OtherCause},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			write(t, root, little)
			table := strings.NewReplacer("PATCH", c.patch, "RUN", c.run, "SHOWS", c.shows).Replace(littleTable)
			write(t, root, map[string]string{"jepsen/mutants/mutants.toml": table})
			ms, err := Load(root)
			if err != nil {
				t.Fatal(err)
			}
			fs, err := try(t.Context(), root, ms[0])
			if err != nil {
				t.Fatal(err)
			}
			if len(fs) != 1 || fs[0].verdict != c.want {
				t.Fatalf("%+v", fs)
			}
			if c.run == "^TestMost$" && c.want == Killed && fs[0].figure != "17 states" {
				t.Errorf("figure %q", fs[0].figure)
			}
			s, err := newSuite(t.Context(), root, ms, 1)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			if fs, err = s.try(t.Context(), ms[0]); err != nil || len(fs) != 1 || fs[0].verdict != c.want {
				t.Fatalf("in one program with others: %+v, %v", fs, err)
			}
		})
	}
}

func TestKillerThatFailsAnyway(t *testing.T) {
	root := t.TempDir()
	write(t, root, little)
	table := strings.NewReplacer("PATCH", "Least", "RUN", "^TestBroken$", "SHOWS", "").Replace(littleTable)
	write(t, root, map[string]string{"jepsen/mutants/mutants.toml": table})
	var out bytes.Buffer
	if err := Run(t.Context(), root, Options{Workers: 1, Out: &out}); err == nil || !strings.Contains(out.String(), string(NotClean)) {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestUpdateWritesTheTable(t *testing.T) {
	root := t.TempDir()
	write(t, root, little)
	write(t, root, map[string]string{
		"jepsen/mutants/mutants.toml": strings.NewReplacer("PATCH", "Least", "RUN", "^TestMost$", "SHOWS", "").Replace(littleTable),
		"jepsen/mutants/TABLE.md":     "old\n",
	})
	var out bytes.Buffer
	if err := Run(t.Context(), root, Options{Workers: 1, Out: &out, Update: true}); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text, err := os.ReadFile(filepath.Join(root, "jepsen/mutants/TABLE.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile("(?s)^# Table of mutants\n\n1 mutants\\. .*\n\\| M \\| the rule \\| Most is the least. \\| `rule` `\\^TestMost\\$` \\| rule \\| 17 states, \\d+\\.\\d s \\|\n$")
	if !want.Match(text) {
		t.Errorf("TABLE.md is now\n%s", text)
	}
}

// The time of a mutant ends with the context.
func TestRunEndsWithItsContext(t *testing.T) {
	root := t.TempDir()
	write(t, root, little)
	write(t, root, map[string]string{
		"jepsen/mutants/mutants.toml": strings.NewReplacer("PATCH", "Least", "RUN", "^TestMost$", "SHOWS", "").Replace(littleTable)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, root, Options{Workers: 1, Out: &bytes.Buffer{}}); err == nil {
		t.Error("no error")
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, table := range map[string]string{
		"no killer":    "[[mutant]]\nname = \"M\"\nrule = \"r\"\n",
		"no rule":      "[[mutant]]\nname = \"M\"\nkiller = [{ how = \"rule\", package = \"./rule\", run = \"T\" }]\n",
		"odd how":      "[[mutant]]\nname = \"M\"\nrule = \"r\"\nkiller = [{ how = \"luck\", package = \"./rule\", run = \"T\" }]\n",
		"odd package":  "[[mutant]]\nname = \"M\"\nrule = \"r\"\nkiller = [{ how = \"rule\", package = \"rule\", run = \"T\" }]\n",
		"bad pattern":  "[[mutant]]\nname = \"M\"\nrule = \"r\"\nkiller = [{ how = \"rule\", package = \"./rule\", run = \"(\" }]\n",
		"unknown word": "[[mutant]]\nname = \"M\"\nrule = \"r\"\nkill = 1\nkiller = [{ how = \"rule\", package = \"./rule\", run = \"T\" }]\n",
	} {
		root := t.TempDir()
		write(t, root, map[string]string{"jepsen/mutants/mutants.toml": table})
		if _, err := Load(root); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
