package records

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"tenure/internal/days"
)

// lines reads NDJSON.
type lines struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

func (l *lines) next() (Record, error) {
	for {
		text, err := l.read()
		if err != nil {
			return Record{}, err
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		r, err := parseLine(text)
		if err == nil {
			err = r.Validate()
		}
		if err != nil {
			return Record{}, fmt.Errorf("line %d: %w", l.line, err)
		}
		return r, nil
	}
}

// read returns the next line, valid until the next call, or io.EOF.
func (l *lines) read() ([]byte, error) {
	l.buf = l.buf[:0]
	l.line++
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > maxBytes:
			return nil, fmt.Errorf("line %d has more than %d bytes: no record has", l.line, maxBytes)
		case err == bufio.ErrBufferFull:
		case err == io.EOF && len(l.buf) > 0:
			return l.buf, nil
		default:
			return l.buf, err
		}
	}
}

func parseLine(text []byte) (Record, error) {
	if !utf8.Valid(text) {
		return Record{}, errors.New("it is not UTF-8; a value that is not goes into \"value\", as base64")
	}
	var in line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Record{}, err
	}
	if _, err := d.Token(); err != io.EOF {
		return Record{}, errors.New("something follows the object; each has a line of its own")
	}
	r := Record{Key: in.Key, Flags: in.Flags}
	switch {
	case in.Value != nil && in.Text != nil:
		return Record{}, fmt.Errorf("key %.40q has both \"value\" and \"text\"", in.Key)
	case in.Text != nil:
		r.Value = []byte(*in.Text)
	case in.Value != nil:
		r.Value = *in.Value
	default:
		return Record{}, fmt.Errorf("key %.40q has neither \"value\" nor \"text\"", in.Key)
	}
	if in.TTL != "" {
		ttl, err := days.Parse(in.TTL)
		if err != nil || ttl <= 0 {
			return Record{}, fmt.Errorf("key %.40q: \"ttl\" is %q: write a time like 30s", in.Key, in.TTL)
		}
		r.TTL = ttl
	}
	return r, nil
}
