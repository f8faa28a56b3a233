package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// result is what results.toml keeps of one killer on one mutant.
type result struct {
	Mutant  string
	Killer  string // Killer.String: another killer makes the result void
	Seconds float64
	Figure  string `toml:",omitempty"`
}

type results struct {
	Results []result `toml:"result"`
}

func resultsPath(root string) string { return filepath.Join(home(root), "results.toml") }

// readResults is what the tool wrote last, by mutant and killer.
func readResults(root string) (map[string]result, error) {
	var rs results
	_, err := toml.DecodeFile(resultsPath(root), &rs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	out := map[string]result{}
	for _, r := range rs.Results {
		out[r.Mutant+" "+r.Killer] = r
	}
	return out, nil
}

// update writes the results: the rows that ran replace their old results, and the table is made of all.
func update(root string, all []Mutant, rows []row) error {
	known, err := readResults(root)
	if err != nil {
		return err
	}
	for _, r := range rows {
		for i, f := range r.fs {
			k := r.m.Killers[i].String()
			known[r.m.Name+" "+k] = result{r.m.Name, k, float64(f.took.Milliseconds()/10) / 100, f.figure}
		}
	}
	var keep results
	for _, m := range all {
		for _, k := range m.Killers {
			if r, ok := known[m.Name+" "+k.String()]; ok {
				keep.Results = append(keep.Results, r)
			}
		}
	}
	var buf bytes.Buffer
	buf.WriteString("# Written by `go run ./jepsen mutants --update`.\n\n")
	if err := toml.NewEncoder(&buf).Encode(keep); err != nil {
		return err
	}
	if err := os.WriteFile(resultsPath(root), buf.Bytes(), 0o644); err != nil {
		return err
	}
	return writeReadme(root, all)
}

// The marks between which the table stands in README.md.
const (
	tableBegin = "<!-- mutants: written by `go run ./jepsen mutants --update` -->"
	tableEnd   = "<!-- /mutants -->"
)

// tableText is the table for people.
func tableText(root string, all []Mutant) (string, error) {
	known, err := readResults(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d mutants.\n\n"+
		"| mutant | rule | what is broken | killed by | how | after |\n|---|---|---|---|---|---|\n", len(all))
	for _, m := range all {
		says, err := m.says(root)
		if err != nil {
			return "", err
		}
		name, rule := m.Name, m.Rule
		for _, k := range m.Killers {
			after := "not run yet"
			if r, ok := known[m.Name+" "+k.String()]; ok {
				after = fmt.Sprintf("%.1f s", r.Seconds)
				if r.Figure != "" {
					after = r.Figure + ", " + after
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s | `%s` `%s` | %s | %s |\n", name, rule, says, strings.TrimPrefix(k.Package, "./"),
				strings.ReplaceAll(strings.Join(append([]string{k.Run}, k.Args...), " "), "|", `\|`), k.How, after)
			name, rule, says = "", "", "" // the mutant's further killers
		}
	}
	return b.String(), nil
}

// splitReadme is README.md before the table, the table, and what follows.
func splitReadme(root string) (before, middle, after string, err error) {
	path := filepath.Join(home(root), "README.md")
	b, err := os.ReadFile(path)
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(b), tableBegin+"\n")
	middle, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("%s lacks the marks %q and %q", path, tableBegin, tableEnd)
	}
	return before, middle, after, nil
}

func writeReadme(root string, all []Mutant) error {
	before, _, after, err := splitReadme(root)
	if err != nil {
		return err
	}
	text, err := tableText(root, all)
	if err != nil {
		return err
	}
	path := filepath.Join(home(root), "README.md")
	return os.WriteFile(path, []byte(before+tableBegin+"\n"+text+tableEnd+after), 0o644)
}
