package proto

import (
	"bytes"
	"strings"

	"tenure/internal/wrongport"
)

// inline reads a command that is a line of words, as people type it into telnet. Words may be quoted as in Redis:
// "\x0a\n" with escapes, 'as it is' but for \'.
func (r *Reader) inline() error {
	b := r.in.unread()
	if p := wrongport.Of(b); !r.begun && (p == wrongport.TLS || p == wrongport.Frames) { // they may send no end of a line
		return &Error{Text: "Protocol error: this is " + string(p), Speaks: p}
	}
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) > maxLineBytes {
			return broken("too big inline request")
		}
		return errMore
	}
	line := bytes.TrimSuffix(b[:end], []byte("\r"))
	if !r.begun && isRequest(line) {
		return &Error{Text: "Protocol error: this is HTTP", Speaks: wrongport.HTTP}
	}
	if tricked(line) {
		return &Error{Text: "Protocol error: this is HTTP", Silent: true}
	}
	texts, spans, ok := words(line, r.spans[:0])
	switch {
	case !ok:
		return broken("unbalanced quotes in request")
	case len(spans) > r.limits.Args:
		return broken("invalid multibulk length")
	case len(spans) == 0:
		r.in.drop(end + 1)
		return nil
	}
	r.texts, r.spans, r.at, r.whole = texts, spans, end+1, true
	return nil
}

// isRequest reports whether line begins a request of HTTP: "GET / HTTP/1.1" has a word too many for Redis.
func isRequest(line []byte) bool {
	words := bytes.Fields(line)
	return wrongport.Of(line) == wrongport.HTTP && len(words) == 3 && bytes.HasPrefix(words[2], []byte("HTTP/"))
}

// tricked reports whether line is of an HTTP request: a browser can be made to send one anywhere, with commands in its
// body.
func tricked(line []byte) bool {
	word, _, _ := strings.Cut(string(line[:min(len(line), len("host: "))]), " ")
	return strings.EqualFold(word, "post") || strings.EqualFold(word, "host:")
}

// words splits line. The texts of the words are one behind the other in texts, which is never nil.
func words(line []byte, spans []span) (texts []byte, _ []span, ok bool) {
	texts = make([]byte, 0, len(line)+1)
	for {
		line = bytes.TrimLeft(line, space)
		if len(line) == 0 {
			return texts, spans, true
		}
		from := len(texts)
		if texts, line, ok = word(texts, line); !ok {
			return texts, spans, false
		}
		spans = append(spans, span{from, len(texts)})
	}
}

const space = " \t\n\v\f\r"

// word moves the first word of line behind texts. A quote that is closed must end the word.
func word(texts, line []byte) (_, rest []byte, ok bool) {
	for len(line) > 0 && !strings.ContainsRune(space, rune(line[0])) {
		if c := line[0]; c != '"' && c != '\'' {
			texts, line = append(texts, c), line[1:]
			continue
		}
		if texts, line, ok = quoted(texts, line); !ok {
			return texts, line, false
		}
		return texts, line, len(line) == 0 || strings.ContainsRune(space, rune(line[0]))
	}
	return texts, line, true
}

// quoted moves what is quoted at the beginning of line behind texts.
func quoted(texts, line []byte) (_, rest []byte, ok bool) {
	quote := line[0]
	for line = line[1:]; len(line) > 0; {
		switch c := line[0]; {
		case c == quote:
			return texts, line[1:], true
		case c == '\\' && quote == '\'' && len(line) > 1 && line[1] == '\'':
			texts, line = append(texts, '\''), line[2:]
		case c == '\\' && quote == '"' && len(line) > 1:
			texts, line = escaped(texts, line)
		default:
			texts, line = append(texts, c), line[1:]
		}
	}
	return texts, line, false
}

// escaped moves the escape at the beginning of line, which has at least two bytes, behind texts.
func escaped(texts, line []byte) (_, rest []byte) {
	if line[1] == 'x' && len(line) > 3 {
		if high, low := hex(line[2]), hex(line[3]); high >= 0 && low >= 0 {
			return append(texts, byte(high<<4|low)), line[4:]
		}
	}
	c := line[1]
	if i := strings.IndexByte("nrtba", c); i >= 0 {
		c = "\n\r\t\b\a"[i]
	}
	return append(texts, c), line[2:]
}

// hex returns the value of a hexadecimal digit, or -1.
func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
