// Package shown makes text of others fit to be shown: keys, values, names, owners, and errors that have them. Such text
// may have escape sequences for a terminal, line ends, characters that change the direction of the text around them,
// and characters that nobody sees. None of these is shown as it is.
package shown

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain reports whether s is valid UTF-8, prints on one line, and has no character that is invisible or changes how
// others are shown.
func Plain(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	if unicode.Is(unicode.M, first) { // it would be put on top of what stands before s
		return false
	}
	for i, r := range s {
		if !plain(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// plain reports whether r is visible and changes nothing around it.
func plain(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r <= '~'
	}
	return unicode.IsPrint(r) && r != blankBraille &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// blankBraille is the one symbol without ink.
const blankBraille = '\u2800'

// Line returns s if it is Plain and cannot be taken for a quoted text, and otherwise s in quotes with what is not plain
// escaped as in Go. Different texts have different lines.
func Line(s string) string {
	if Plain(s) && !strings.HasPrefix(s, `"`) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case i == 0 && unicode.Is(unicode.M, r):
			b.WriteString(escaped(r))
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}

// escaped returns r as Go escapes it in a string.
func escaped(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Text returns s with its line ends and tabs, and everything else that is not plain escaped as in Go. It is for
// sentences and for texts of several lines.
func Text(s string) string {
	var b strings.Builder
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n' || r == '\t' || plain(r):
			b.WriteRune(r)
		default:
			b.WriteString(escaped(r))
		}
	}
	return b.String()
}

// JSON returns a JSON text in which everything that is not plain, except line ends and tabs, is escaped. It says the
// same; bytes that are not UTF-8 become U+FFFD. The text is as encoders write it, without other control characters
// between its parts.
func JSON(text []byte) []byte {
	if bytes.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r > '~' }) < 0 {
		return text
	}
	var out []byte
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case r == '\n' || r == '\t' || plain(r):
			out = append(out, text[i:i+size]...)
		case r > 0xffff:
			high, low := surrogates(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// surrogates returns the two halves of r, which is above 0xffff, in UTF-16.
func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}

// Word returns s as one word of a shell's command line, for a command that somebody may type or copy. What is not plain
// is written as bash, zsh and ksh take it within $' '.
func Word(s string) string {
	switch {
	case s != "" && s[0] != '=' && strings.IndexFunc(s, needsQuotes) < 0: // zsh looks for commands behind = in front
		return s
	case Plain(s):
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return "$'" + b.String() + "'"
}

// needsQuotes reports whether r may mean something to some shell, somewhere in a word.
func needsQuotes(r rune) bool {
	return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/_.,:@%+=-", r)
}
