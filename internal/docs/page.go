package docs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// Page is one document.
type Page struct {
	Path  string // relative to the module, with slashes
	lines []string
	code  []bool // of each line: it stands in a code block
}

// Text is a piece of a page and where it begins.
type Text struct {
	Page string
	Line int
	Text string
}

// At returns the place of the text as compilers write it.
func (t Text) At() string { return t.Page + ":" + strconv.Itoa(t.Line) }

// Load reads all pages below root. It skips hidden directories, testdata, and what other programs put there.
func Load(root string) ([]*Page, error) {
	var pages []*Page
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pages = append(pages, newPage(filepath.ToSlash(rel), string(text)))
		return nil
	})
	return pages, err
}

func newPage(name, text string) *Page {
	p := &Page{Path: name, lines: strings.Split(text, "\n")}
	p.code = make([]bool, len(p.lines))
	fenced, before := false, true // before: the line above is blank or indented code
	for i, line := range p.lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced, p.code[i] = !fenced, true
			continue
		}
		indented := before && strings.HasPrefix(line, "    ")
		p.code[i] = fenced || indented
		before = indented || strings.TrimSpace(line) == ""
	}
	return p
}

// prose returns the text outside of code blocks, paragraph by paragraph, so that what is wrapped is in one piece. A row
// of a table is a paragraph.
func (p *Page) prose() []Text {
	var out []Text
	open := false
	for i, line := range p.lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case p.code[i] || trimmed == "":
			open = false
		case strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#"):
			out = append(out, Text{p.Path, i + 1, trimmed})
			open = false
		case open:
			out[len(out)-1].Text += " " + trimmed
		default:
			out = append(out, Text{p.Path, i + 1, trimmed})
			open = true
		}
	}
	return out
}

var (
	span = regexp.MustCompile("(`+)(.+?[^`])(`+)|`([^`])`")
	link = regexp.MustCompile(`\]\(([^()\s]+)\)`)
)

// Code returns what stands in backticks.
func (p *Page) Code() []Text {
	var out []Text
	for _, t := range p.prose() {
		for _, s := range Spans(t.Text) {
			out = append(out, Text{t.Page, t.Line, s})
		}
	}
	return out
}

// Spans returns what stands in backticks in the text.
func Spans(text string) []string {
	var out []string
	for _, m := range span.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(m[2]+m[4], `\|`, "|"))
	}
	return out
}

// Blocks returns the lines of code blocks.
func (p *Page) Blocks() []Text {
	var out []Text
	for i, line := range p.lines {
		if p.code[i] && !strings.HasPrefix(strings.TrimSpace(line), "```") {
			out = append(out, Text{p.Path, i + 1, line})
		}
	}
	return out
}

// Links returns the targets of links and pictures.
func (p *Page) Links() []Text {
	var out []Text
	for _, t := range p.prose() {
		for _, m := range link.FindAllStringSubmatch(span.ReplaceAllString(t.Text, "code"), -1) {
			out = append(out, Text{t.Page, t.Line, m[1]})
		}
	}
	return out
}

// Anchors returns the anchors that GitHub gives the page's headings.
func (p *Page) Anchors() map[string]bool {
	out := map[string]bool{}
	for i, line := range p.lines {
		title := strings.TrimLeft(line, "#")
		if p.code[i] || len(title) == len(line) || !strings.HasPrefix(title, " ") {
			continue
		}
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(title)) {
			switch {
			case r == ' ' || r == '-':
				b.WriteRune('-')
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		name := b.String()
		for n := 1; out[name]; n++ {
			name = b.String() + "-" + strconv.Itoa(n)
		}
		out[name] = true
	}
	return out
}

// Table returns the rows of the table below the heading, cell by cell, without its first two lines.
func (p *Page) Table(heading string) [][]string {
	var rows [][]string
	inside, seen := false, 0
	for i, line := range p.lines {
		if p.code[i] {
			continue
		}
		if strings.HasPrefix(line, "#") {
			if inside && seen > 0 {
				break
			}
			inside = strings.TrimSpace(strings.TrimLeft(line, "#")) == heading
			continue
		}
		if !inside || !strings.HasPrefix(line, "|") {
			if inside && seen > 0 {
				break
			}
			continue
		}
		if seen++; seen <= 2 {
			continue
		}
		cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, "\x00"), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		rows = append(rows, cells)
	}
	return rows
}
