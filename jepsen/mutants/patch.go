package mutants

import (
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A patch file is a unified diff that finds its place by text and not by line number, so that it survives changes
// elsewhere in the file:
//
//	What is broken, in a sentence or two.
//	--- lease/acceptor.go
//	@@
//	 	a line that stays
//	-	a line that goes
//	+	a line that comes
//
// A hunk's old lines (kept and removed ones) must stand in the file together exactly once. Whatever follows "@@" on
// its line is for the reader. An empty line in a hunk is an empty line that stays.

// patch is one file of patches/.
type patch struct {
	name  string
	says  string
	hunks []hunk
}

// hunk replaces the lines old of a file by new.
type hunk struct {
	file string // relative to the module's root
	old  []string
	new  []string
}

// readPatch reads patches/name.patch.
func readPatch(dir, name string) (patch, error) {
	b, err := os.ReadFile(filepath.Join(dir, "patches", name+".patch"))
	if err != nil {
		return patch{}, err
	}
	p, err := parsePatch(string(b))
	p.name = name
	if err != nil {
		return p, fmt.Errorf("patch %s: %w", name, err)
	}
	return p, nil
}

func parsePatch(text string) (patch, error) {
	var p patch
	file, inHunk := "", false
	for n, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "--- "):
			file, inHunk = strings.TrimSpace(line[4:]), false
		case file == "":
			p.says = strings.TrimSpace(p.says + " " + line)
		case strings.HasPrefix(line, "@@"):
			inHunk = true
			p.hunks = append(p.hunks, hunk{file: file})
		case !inHunk:
			return p, fmt.Errorf("line %d is outside any hunk: %q", n+1, line)
		default:
			h := &p.hunks[len(p.hunks)-1]
			mark, rest := " ", ""
			if line != "" {
				mark, rest = line[:1], line[1:]
			}
			switch mark {
			case " ":
				h.old, h.new = append(h.old, rest), append(h.new, rest)
			case "-":
				h.old = append(h.old, rest)
			case "+":
				h.new = append(h.new, rest)
			default:
				return p, fmt.Errorf("line %d starts with none of ' ', '-', '+': %q", n+1, line)
			}
		}
	}
	if len(p.hunks) == 0 || p.says == "" {
		return p, fmt.Errorf("it has no hunk, or no sentence that says what it breaks")
	}
	return p, nil
}

// apply changes text by one hunk.
func (h hunk) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	if len(h.old) == 0 {
		return "", fmt.Errorf("%s: a hunk without a line that stays or goes has no place", h.file)
	}
	at, found := 0, 0
	for i := 0; i+len(h.old) <= len(lines); i++ {
		if equal(lines[i:i+len(h.old)], h.old) {
			at = i
			found++
		}
	}
	if found != 1 {
		return "", fmt.Errorf("%s: these lines are there %d times, not once:\n\t%s",
			h.file, found, strings.Join(h.old, "\n\t"))
	}
	if equal(h.old, h.new) {
		return "", fmt.Errorf("%s: a hunk that changes nothing: %q", h.file, h.old)
	}
	out := append(append(append([]string(nil), lines[:at]...), h.new...), lines[at+len(h.old):]...)
	return strings.Join(out, "\n"), nil
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// applyAll applies patches in order to the files under root and returns the changed files' texts by path. Every
// result must be Go that gofmt would leave alone or only move, that is, it must parse.
func applyAll(root string, ps []patch) (map[string]string, error) {
	changed := map[string]string{}
	for _, p := range ps {
		for _, h := range p.hunks {
			text, ok := changed[h.file]
			if !ok {
				b, err := os.ReadFile(filepath.Join(root, h.file))
				if err != nil {
					return nil, fmt.Errorf("patch %s no longer applies: %w", p.name, err)
				}
				text = string(b)
			}
			text, err := h.apply(text)
			if err != nil {
				return nil, fmt.Errorf("patch %s no longer applies: %w", p.name, err)
			}
			changed[h.file] = text
		}
	}
	for file, text := range changed {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
			return nil, fmt.Errorf("the mutant is no Go: %w", err)
		}
		if _, err := format.Source([]byte(text)); err != nil {
			return nil, fmt.Errorf("the mutant is no Go: %s: %w", file, err)
		}
	}
	return changed, nil
}
