package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// jsonRoom is what JSON adds to the values in a body: names, numbers, and keys with every byte escaped.
const jsonRoom = 16 << 10

// base64Bytes bounds what n bytes take as base64.
func base64Bytes(n int) int { return (n+2)/3*4 + 2 }

// readJSON decodes the body into v, which stays as it is without one. strict refuses members that v does not have:
// Consul's formats ignore them, since its clients send more than is meant for us. The names of members have no case.
func (s *Server) readJSON(x *exchange, limit int, strict bool, v any) error {
	p := bodies.Get().(*[]byte)
	defer putBody(p)
	body, err := s.readBody(x, p, limit)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if strict {
		d.DisallowUnknownFields()
	}
	if err = d.Decode(v); err == io.EOF {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
		return badRequest("Request decode failed: %v: nothing was changed", err)
	}
	return nil
}

// marshal is v as JSON, which our own plain types always are.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
