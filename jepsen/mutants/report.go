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

// update writes results.toml and TABLE.md. The rows that ran replace their old results; the table shows all mutants.
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
	return writeTable(root, all)
}

// tableText is TABLE.md, the table for people.
func tableText(root string, all []Mutant) (string, error) {
	known, err := readResults(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Table of mutants\n\n"+
		"%d mutants. `go run ./jepsen mutants --update` writes this page; [README.md](README.md) explains the columns.\n\n"+
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

func tablePath(root string) string { return filepath.Join(home(root), "TABLE.md") }

func writeTable(root string, all []Mutant) error {
	text, err := tableText(root, all)
	if err != nil {
		return err
	}
	return os.WriteFile(tablePath(root), []byte(text), 0o644)
}
