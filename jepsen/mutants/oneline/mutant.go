package oneline

import (
	"fmt"
	"strings"
)

// Mutant is one change of one place in a file.
type Mutant struct {
	File     string `json:"file"`           // relative to the module's root
	Func     string `json:"func,omitempty"` // like "forwards.add"; empty outside functions
	Line     int    `json:"line"`
	Operator string `json:"operator"`
	Old      string `json:"old"` // the changed lines without their indentation
	New      string `json:"new"`
	Nth      int    `json:"nth,omitempty"` // tells apart changes of one function that read alike; from 0

	pkg      *pkg
	from, to int    // the bytes of the file that are replaced
	text     string // what they are replaced by
	id       int    // in the overlay; 0: not in it
}

// Key names the mutant across runs, also when lines were added elsewhere in the file.
func (m *Mutant) Key() string {
	return fmt.Sprintf("%s %s %s: %s => %s #%d", m.File, m.Func, m.Operator, m.Old, m.New, m.Nth)
}

// Diff shows the change to people.
func (m *Mutant) Diff() string {
	return fmt.Sprintf("%s:%d %s (%s)\n\t- %s\n\t+ %s", m.File, m.Line, m.Func, m.Operator,
		strings.ReplaceAll(m.Old, "\n", "\n\t  "), strings.ReplaceAll(m.New, "\n", "\n\t  "))
}

// apply returns the text of the mutant's file with the change.
func (m *Mutant) apply(src []byte) []byte {
	out := make([]byte, 0, len(src)+len(m.text))
	out = append(out, src[:m.from]...)
	out = append(out, m.text...)
	return append(out, src[m.to:]...)
}

// show fills Line, Old and New from the file's text.
func (m *Mutant) show(src []byte) {
	begin := strings.LastIndexByte(string(src[:m.from]), '\n') + 1
	end := m.to
	if i := strings.IndexByte(string(src[m.to:]), '\n'); i >= 0 {
		end += i
	} else {
		end = len(src)
	}
	m.Line = strings.Count(string(src[:m.from]), "\n") + 1
	m.Old = trimLines(string(src[begin:end]))
	m.New = trimLines(string(src[begin:m.from]) + m.text + string(src[m.to:end]))
}

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
