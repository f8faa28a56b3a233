package records

import (
	"bufio"
	"fmt"
	"io"

	"tenure/internal/utf8text"
)

// Reader reads records, and checks each. Used by one goroutine at a time.
type Reader struct{ next func() (Record, error) }

// NewReader returns a Reader of r. Auto takes the format from the first character.
func NewReader(r io.Reader, format Format) (*Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	first, err := firstCharacter(b)
	if err != nil {
		return nil, err
	}
	if format == Auto {
		switch first {
		case '{', 0:
			format = NDJSON
		case '[':
			format = Consul
		default:
			return nil, fmt.Errorf("it begins with %q: neither with {, as NDJSON, nor with [, as the array of consul "+
				"kv export", first)
		}
	}
	if format == Consul {
		return &Reader{newArray(b).next}, nil
	}
	return &Reader{(&lines{r: b}).next}, nil
}

// Next returns the next record, or io.EOF. Any other error says where it is.
func (r *Reader) Next() (Record, error) { return r.next() }

// firstCharacter returns the first byte that is no space, and 0 if there is none. It takes only the byte order mark.
func firstCharacter(b *bufio.Reader) (byte, error) {
	first, _ := b.Peek(utf8text.HeadBytes) // an error comes again below
	mark, err := utf8text.Head(first)
	if err != nil {
		return 0, err
	}
	_, _ = b.Discard(mark)
	for n := 1; n <= b.Size(); n++ {
		p, err := b.Peek(n)
		if err == io.EOF {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if c := p[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, nil
		}
	}
	return 0, fmt.Errorf("it begins with %d spaces", b.Size())
}
