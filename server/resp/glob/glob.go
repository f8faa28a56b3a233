// Package glob matches keys against the patterns of Redis: * is any text, ? any byte, [a-c] and [^a] a byte of a set, and a
// backslash makes the next byte mean itself.
package glob

import "strings"

// Prefix returns the text with which everything begins that pattern matches.
func Prefix(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[\`); i >= 0 {
		return pattern[:i]
	}
	return pattern
}

// Match reports whether pattern matches all of text. It takes time in proportion to the product of both lengths at most:
// of several stars only the last one is tried again.
func Match(pattern, text string) bool {
	star, again := -1, 0 // behind the last star, and where in text it was tried to end
	p, t := 0, 0
	for t < len(text) || p < len(pattern) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			star, again = p, t
			continue
		}
		if p < len(pattern) && t < len(text) {
			if size, ok := one(pattern[p:], text[t]); ok {
				p, t = p+size, t+1
				continue
			}
		}
		if star < 0 || again >= len(text) {
			return false
		}
		again++
		p, t = star, again
	}
	return true
}

// one reports whether the first element of pattern, which is no star, matches b, and how long it is.
func one(pattern string, b byte) (size int, ok bool) {
	switch c := pattern[0]; {
	case c == '?':
		return 1, true
	case c == '[':
		return set(pattern, b)
	case c == '\\' && len(pattern) > 1:
		return 2, pattern[1] == b
	default:
		return 1, c == b
	}
}

// set is one for a pattern that begins with a set. A set that is not closed ends with the pattern, as in Redis.
func set(pattern string, b byte) (size int, ok bool) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	in := false
	for ; i < len(pattern) && pattern[i] != ']'; i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			i++
			in = in || pattern[i] == b
		case i+2 < len(pattern) && pattern[i+1] == '-':
			from, to := pattern[i], pattern[i+2]
			in = in || min(from, to) <= b && b <= max(from, to)
			i += 2
		default:
			in = in || pattern[i] == b
		}
	}
	return min(i+1, len(pattern)), in != not
}
