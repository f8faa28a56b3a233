package txnfile

import (
	"fmt"
	"strings"
)

// word is one word of a statement.
type word struct {
	text string
	file bool // it began with an @ outside of quotes: text is the name of a file
}

// statement has the words of one line, or of several if a quoted word contains line ends.
type statement struct {
	line  int // of the first word, from 1
	words []word
}

// lexer splits a text into statements and words as a shell does, without variables and substitutions.
type lexer struct {
	text string
	pos  int
	line int
}

// split returns the statements of a text. A # at the start of a word begins a comment up to the end of the line.
func split(text string) ([]statement, error) {
	l := lexer{text: text, line: 1}
	var out []statement
	var s statement
	end := func() {
		if len(s.words) > 0 {
			out = append(out, s)
		}
		s = statement{}
	}
	for l.pos < len(l.text) {
		switch c := l.text[l.pos]; {
		case c == '\n':
			end()
			l.pos++
			l.line++
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case strings.HasPrefix(l.text[l.pos:], "\\\n"):
			l.pos += 2
			l.line++
		case c == '#':
			n := strings.IndexByte(l.text[l.pos:], '\n')
			if n < 0 {
				n = len(l.text) - l.pos
			}
			l.pos += n
		default:
			if len(s.words) == 0 {
				s.line = l.line
			}
			w, err := l.word()
			if err != nil {
				return nil, err
			}
			s.words = append(s.words, w)
		}
	}
	end()
	return out, nil
}

// word reads one word, of quoted and bare pieces.
func (l *lexer) word() (word, error) {
	var w word
	if l.text[l.pos] == '@' {
		w.file = true
		l.pos++
	}
	var b strings.Builder
	for l.pos < len(l.text) {
		c := l.text[l.pos]
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			w.text = b.String()
			return w, nil
		case c == '\'' || c == '"':
			if err := l.quoted(c, &b); err != nil {
				return w, err
			}
			continue
		case c == '\\' && l.pos+1 < len(l.text):
			l.pos++
			if c = l.text[l.pos]; c == '\n' {
				l.line++
			} else {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
		}
		l.pos++
	}
	w.text = b.String()
	return w, nil
}

// quoted reads a piece between quotes. Within double quotes a backslash escapes " and \ and joins lines; elsewhere it
// is a backslash.
func (l *lexer) quoted(quote byte, b *strings.Builder) error {
	began := l.line
	for l.pos++; l.pos < len(l.text); l.pos++ {
		c := l.text[l.pos]
		switch {
		case c == quote:
			l.pos++
			return nil
		case c == '\\' && quote == '"' && l.pos+1 < len(l.text) && strings.IndexByte("\"\\\n", l.text[l.pos+1]) >= 0:
			l.pos++
			if c = l.text[l.pos]; c == '\n' {
				l.line++
				continue
			}
		case c == '\n':
			l.line++
		}
		b.WriteByte(c)
	}
	return LineError{began, fmt.Errorf("the quote %c is not closed", quote)}
}

// LineError tells what is wrong with a line of the input. Lines count from 1.
type LineError struct {
	Line int
	Err  error
}

// Error names the line.
func (e LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e LineError) Unwrap() error { return e.Err }
