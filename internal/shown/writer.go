package shown

import (
	"io"
	"unicode/utf8"
)

// Writer returns a writer that writes Text of what it is given to w. A character may be split between writes. Errors are
// those of w.
func Writer(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w    io.Writer
	left []byte // the beginning of a character
}

func (x *writer) Write(p []byte) (int, error) {
	text := append(x.left, p...)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				end = start
			}
			break
		}
	}
	if _, err := io.WriteString(x.w, Text(string(text[:end]))); err != nil {
		return 0, err
	}
	x.left = append([]byte(nil), text[end:]...)
	return len(p), nil
}
