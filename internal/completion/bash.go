package completion

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenure/internal/shown"
)

// quote is how the text at the end of a line of bash is quoted.
type quote byte

const (
	unquoted quote = 0
	single   quote = '\''
	double   quote = '"'
)

// line is what stands before the cursor in a line of bash.
type line struct {
	words   []string // the whole words, as bash would pass them on, but with $NAME and ~ as they are
	raw     string   // the word at the cursor as it is typed; "" behind a space
	current string   // that word as bash would pass it on
	quote   quote    // which is open at the cursor
	bare    bool     // raw has something outside of quotes that bash would replace
}

// readLine reads what is typed as bash would, without evaluating any of it. It reports false if it has something whose
// value only bash can know, or if it is no simple command.
func readLine(text string) (line, bool) {
	var l line
	var word strings.Builder
	start, inWord := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !inWord && !isSpace(c) {
			start, inWord, l.bare = i, true, false
			word.Reset()
		}
		switch {
		case c == '`', c == '$' && l.quote != single && i+1 < len(text) && strings.IndexByte("('\"", text[i+1]) >= 0:
			if l.quote != single {
				return line{}, false
			}
			word.WriteByte(c)
		case l.quote == unquoted && isSpace(c):
			if inWord {
				l.words, inWord = append(l.words, word.String()), false
			}
		case l.quote == unquoted && strings.IndexByte("|&;<>()\n\r", c) >= 0:
			return line{}, false
		case c == byte(single) || c == byte(double):
			switch l.quote {
			case unquoted:
				l.quote = quote(c)
			case quote(c):
				l.quote = unquoted
			default:
				word.WriteByte(c)
			}
		case c == '\\' && l.quote != single:
			i++
			if i < len(text) {
				if l.quote == double && strings.IndexByte("$`\"\\", text[i]) < 0 {
					word.WriteByte(c)
				}
				word.WriteByte(text[i])
			}
		default:
			l.bare = l.bare || l.quote == unquoted && strings.IndexByte("$*?[{~!^#", c) >= 0 || l.quote == double && c == '$'
			word.WriteByte(c)
		}
	}
	if inWord {
		l.raw, l.current = text[start:], word.String()
	}
	return l, true
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// forBash returns the candidates in the form in which readline may put them into the line: typed is the end of the line
// that it replaces. Names for which it cannot be done are left out.
func (l *line) forBash(found []Candidate, typed string) (out []string) {
	head, ok := strings.CutSuffix(l.raw, typed)
	if !ok {
		return nil
	}
	kept, ok := readLine(head)
	if !ok || len(kept.words) > 0 || kept.bare || strings.HasSuffix(head, `\`) {
		return nil
	}
	var rests []string
	for _, c := range found {
		rest, ok := strings.CutPrefix(c.Name, kept.current)
		if !ok || !strings.HasPrefix(c.Name, l.current) {
			continue
		}
		text := kept.quote.encode(rest)
		// Readline joins a quote at the beginning with the one that is open.
		if kept.quote != unquoted && text[0] == byte(kept.quote) {
			continue
		}
		rests, out = append(rests, rest), append(out, text)
	}
	if kept.quote == unquoted {
		partAtSyntax(rests, out)
	}
	return out
}

// partAtSyntax keeps the backslash of different characters from being common to all texts: readline inserts what is
// common, and the line would end with half of an escape. rests are the names that texts encode.
func partAtSyntax(rests, texts []string) {
	if len(rests) < 2 {
		return
	}
	n := len(rests[0])
	for _, r := range rests[1:] {
		n = min(n, len(r))
		for i := range n {
			if r[i] != rests[0][i] {
				n = i
				break
			}
		}
	}
	if slices.ContainsFunc(rests, func(r string) bool { return len(r) == n || !isSyntax(r[n]) }) {
		return
	}
	for i, r := range rests {
		if r[n] != byte(single) {
			texts[i] = unquoted.encode(r[:n]) + "'" + r[n:n+1] + "'" + unquoted.encode(r[n+1:])
			return
		}
	}
}

// encode returns text that continues a word in which q is open, so that bash passes s on, and closes q.
func (q quote) encode(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case q == single && c == '\'':
			b.WriteString(`'\''`)
		case q == double && c == '!': // within double quotes nothing hides it from the history
			b.WriteString(`"'!'"`)
		case q == double && strings.IndexByte("$`\"\\", c) >= 0, q == unquoted && isSyntax(c):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	if q != unquoted {
		b.WriteByte(byte(q))
	}
	return b.String()
}

// isSyntax reports whether c may mean something to bash outside of quotes.
func isSyntax(c byte) bool {
	return c < utf8.RuneSelf && !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') &&
		strings.IndexByte("/_.,:@%+-", c) < 0
}

// Widths of the list of candidates that bash shows.
const (
	nameWidth  = 40
	aboutRunes = 80
)

// listed returns candidates as readline lists them: nothing of it is put into the line.
func listed(found []Candidate) []string {
	width := 0
	for _, c := range found {
		width = max(width, min(utf8.RuneCountInString(c.Name), nameWidth))
	}
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.Name
		if c.About != "" {
			about := []rune(shown.Line(c.About))
			out[i] = fmt.Sprintf("%-*s  (%s)", width, c.Name, string(about[:min(len(about), aboutRunes)]))
		}
	}
	return out
}
