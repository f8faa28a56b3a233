package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func load(t *testing.T) []*Page {
	t.Helper()
	pages, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 15 {
		t.Fatalf("%d pages only", len(pages))
	}
	return pages
}

func exists(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

func TestLinksLeadSomewhere(t *testing.T) {
	pages := load(t)
	anchors := map[string]map[string]bool{}
	for _, p := range pages {
		anchors[p.Path] = p.Anchors()
	}
	for _, p := range pages {
		for _, l := range p.Links() {
			if strings.Contains(l.Text, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(l.Text, "#")
			target := p.Path
			if file != "" {
				target = path.Join(path.Dir(p.Path), file)
			}
			if !exists(target) {
				t.Errorf("%s: there is no %s", l.At(), target)
			} else if anchor != "" && !anchors[target][anchor] {
				t.Errorf("%s: %s has no heading #%s", l.At(), target, anchor)
			}
		}
	}
}

// notHere are paths in backticks that are no files of this module: of another one, or with a placeholder in their names.
var notHere = []string{
	"api/watch", "docs/benchmarks/SERIES.json", "SERIES-throughput.svg", "SERIES-latency.svg",
}

var (
	fileName    = regexp.MustCompile(`^\w[\w.-]*(/[\w.-]+)*/?$`)
	placeholder = regexp.MustCompile(`(^|/)[A-Z]+(/|$)`) // as in lease/NAME
)

// looksLikeFile reports whether a piece of code names a file or directory of this module.
func looksLikeFile(s string) bool {
	if !fileName.MatchString(s) || placeholder.MatchString(s) || slices.Contains(notHere, s) {
		return false
	}
	switch path.Ext(s) {
	case ".go", ".md", ".patch", ".toml", ".svg", ".trace", ".script":
		return true
	}
	first, _, below := strings.Cut(s, "/")
	return below && first != "" && exists(first)
}

func TestFilesThatAreNamedExist(t *testing.T) {
	looked := 0
	for _, p := range load(t) {
		for _, c := range p.Code() {
			if !looksLikeFile(c.Text) {
				continue
			}
			looked++
			dir := path.Dir(p.Path)
			if !exists(c.Text) && !exists(path.Join(dir, c.Text)) {
				t.Errorf("%s: there is no %s", c.At(), c.Text)
			}
		}
	}
	if looked < 50 {
		t.Errorf("looked at %d names only", looked)
	}
}
