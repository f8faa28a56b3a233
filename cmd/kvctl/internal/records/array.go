package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// array reads Consul's array, and the answer of GET /v1/kv/PREFIX?recurse, which has more fields.
type array struct {
	limit *limited
	d     *json.Decoder
	begun bool
	ended bool
	count int
}

func newArray(r io.Reader) *array {
	l := &limited{r: r, left: maxBytes}
	return &array{limit: l, d: json.NewDecoder(l)}
}

func (a *array) next() (Record, error) {
	if a.ended {
		return Record{}, io.EOF
	}
	if !a.begun {
		if t, err := a.d.Token(); err != nil || t != json.Delim('[') {
			return Record{}, a.wrong(errors.Join(errors.New("it does not begin with ["), err))
		}
		a.begun = true
	}
	a.limit.left = maxBytes
	if !a.d.More() {
		return Record{}, a.end()
	}
	a.count++
	var raw json.RawMessage
	if err := a.d.Decode(&raw); err != nil {
		return Record{}, a.wrong(err)
	}
	r, err := parseElement(raw)
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		return Record{}, a.wrong(err)
	}
	return r, nil
}

// end reads what closes the array.
func (a *array) end() error {
	if _, err := a.d.Token(); err != nil {
		return a.wrong(err)
	}
	if _, err := a.d.Token(); err != io.EOF {
		return fmt.Errorf("something follows the array, of %d elements", a.count)
	}
	a.ended = true
	return io.EOF
}

// wrong says where an error is. An end in the middle is not io.EOF.
func (a *array) wrong(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("element %d, at about byte %d: %w", max(a.count, 1), a.d.InputOffset(), err)
}

func parseElement(raw []byte) (Record, error) {
	if !utf8.Valid(raw) {
		return Record{}, errors.New("it is not UTF-8")
	}
	var in element
	if err := json.Unmarshal(raw, &in); err != nil {
		return Record{}, err
	}
	for _, name := range [...]string{in.Namespace, in.Partition} {
		if name != "" && name != "default" {
			return Record{}, fmt.Errorf("key %.40q is of the namespace or partition %q, and there are none here: "+
				"export each by itself, and import it with a --prefix", in.Key, name)
		}
	}
	return Record{Key: in.Key, Value: in.Value, Flags: in.Flags}, nil
}

// limited bounds what is read for one element.
type limited struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("an element has more than %d bytes: none has", maxBytes)
	}
	n, err := l.r.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
