// Package utf8text takes the text of files that people have written: it must be UTF-8. Editors and shells of Windows
// write UTF-16, or put a byte order mark before UTF-8.
package utf8text

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrUTF16 is the error for a text in UTF-16.
var ErrUTF16 = errors.New("it is UTF-16")

var (
	markUTF8 = []byte("\xef\xbb\xbf")
	markLE   = []byte("\xff\xfe")
	markBE   = []byte("\xfe\xff")
)

// HeadBytes is how many bytes of a text Head needs, if it has as many.
const HeadBytes = 4

// Of returns text without a byte order mark, or an ErrUTF16 that says how to convert it.
func Of(text []byte) ([]byte, error) {
	mark, err := Head(text)
	if err != nil {
		return nil, err
	}
	return text[mark:], nil
}

// Head looks at the first HeadBytes of a text. It returns the number of bytes of its byte order mark, 0 if it has none,
// or an ErrUTF16.
func Head(first []byte) (mark int, err error) {
	switch name := encoding(first); {
	case name != "":
		return 0, fmt.Errorf("%w, as editors and PowerShell on Windows write it, and must be UTF-8: save it so, or convert "+
			"it with iconv -f %s -t UTF-8", ErrUTF16, name)
	case bytes.HasPrefix(first, markUTF8):
		return len(markUTF8), nil
	}
	return 0, nil
}

// encoding returns iconv's name of the encoding if it is UTF-16, and else "". Without a mark, a NUL beside each of the
// first characters tells: text that people write begins with ASCII.
func encoding(first []byte) string {
	ascii := func(i int) bool { return first[i] > 0 && first[i] < 0x80 }
	long := len(first) >= HeadBytes
	switch {
	case bytes.HasPrefix(first, markLE), bytes.HasPrefix(first, markBE):
		return "UTF-16"
	case long && ascii(0) && first[1] == 0 && ascii(2) && first[3] == 0:
		return "UTF-16LE"
	case long && first[0] == 0 && ascii(1) && first[2] == 0 && ascii(3):
		return "UTF-16BE"
	}
	return ""
}
