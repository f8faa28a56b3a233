package acl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// readJSON reads rules in JSON. The library for HCL reads JSON too, but takes the escapes of Go for those of JSON.
func readJSON(src []byte) (value, error) {
	r := jsonReader{src: src, dec: json.NewDecoder(bytes.NewReader(src))}
	v, err := r.value(0)
	if err != nil {
		return value{}, err
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return value{}, wrong(r.line(), "something stands after the end of the object")
	}
	return v, nil
}

type jsonReader struct {
	src  []byte
	dec  *json.Decoder
	seen int // how much of src was counted
	at   int // in which line that ends, from 0
}

// line returns the line where the decoder is.
func (r *jsonReader) line() int {
	here := min(int(r.dec.InputOffset()), len(r.src))
	r.at += bytes.Count(r.src[r.seen:here], []byte("\n"))
	r.seen = here
	return r.at + 1
}

func (r *jsonReader) token() (json.Token, error) {
	t, err := r.dec.Token()
	if err == nil {
		return t, nil
	}
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, wrong(r.line(), "the JSON ends too early")
	}
	return nil, wrong(r.line(), "this is no JSON: %v", err)
}

func (r *jsonReader) value(depth int) (value, error) {
	t, err := r.token()
	if err != nil {
		return value{}, err
	}
	v := value{line: r.line()}
	switch t := t.(type) {
	case string:
		v.text = t
		return v, nil
	case json.Delim:
		if depth == maxDepth {
			return value{}, wrong(v.line, "objects and lists are nested too deeply")
		}
		if t == '{' {
			v.shape = isObject
		} else {
			v.shape = isList
		}
	default:
		v.shape = isOther
		return v, nil
	}
	for r.dec.More() {
		if err := r.element(&v, depth+1); err != nil {
			return value{}, err
		}
	}
	_, err = r.token() // the end
	return v, err
}

// element reads the next member or item of v.
func (r *jsonReader) element(v *value, depth int) error {
	if v.shape == isList {
		e, err := r.value(depth)
		v.items = append(v.items, e)
		return err
	}
	t, err := r.token()
	if err != nil {
		return err
	}
	name, ok := t.(string)
	if !ok {
		return wrong(r.line(), "a name must be a text")
	}
	m := member{line: r.line(), name: name}
	m.value, err = r.value(depth)
	v.members = append(v.members, m)
	return err
}
