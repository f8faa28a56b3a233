package mutants

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tenure/internal/docs"
)

var leaseRule = regexp.MustCompile(`^([PALTMN][1-9]|stamp|settled)$`)

// TestLeaseDesignNamesTheMutants holds the tables of lease/DESIGN.md to mutants.toml: each rule names the mutants that
// break it, and no others. A mutant of several rules stands with each of them, in one of the two tables.
func TestLeaseDesignNamesTheMutants(t *testing.T) {
	root := moduleRoot(t)
	pages, err := docs.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(pages, func(p *docs.Page) bool { return p.Path == "lease/DESIGN.md" })
	var rows [][]string
	for _, heading := range []string{"Rules of the master's lease", "Rules of named leases"} {
		table := pages[i].Table(heading)
		if len(table) < 10 {
			t.Fatalf("%s: %d rules only", heading, len(table))
		}
		rows = append(rows, table...)
	}

	type pair struct{ rule, mutant string }
	named, broken := map[pair]bool{}, map[pair]bool{}
	rules := map[string]bool{}
	for _, row := range rows {
		for _, rule := range strings.Split(row[0], ", ") {
			rules[rule] = true
			for _, m := range strings.FieldsFunc(row[3], func(r rune) bool { return r == ',' || r == ' ' }) {
				named[pair{rule, m}] = true
			}
		}
	}
	for _, m := range ms {
		for _, rule := range strings.Split(m.Rule, ", ") {
			if !leaseRule.MatchString(rule) {
				continue
			}
			p := pair{rule, m.Name}
			broken[p] = true
			if !rules[rule] {
				t.Errorf("mutant %s breaks %s, which has no row", m.Name, rule)
			} else if !named[p] {
				t.Errorf("the row of %s lacks the mutant %s", rule, m.Name)
			}
		}
	}
	for p := range named {
		if !broken[p] {
			t.Errorf("the row of %s names %s, which mutants.toml does not know as a mutant of that rule", p.rule, p.mutant)
		}
	}
}
