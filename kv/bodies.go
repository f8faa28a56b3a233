package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrBody is wrapped by errors about a Result.Body that cannot be read: the other node has another version.
var ErrBody = errors.New("malformed body of a result")

// stepBytes bounds what a step's result takes beside its body.
const stepBytes = 1 + 2*binary.MaxVarintLen64

// appendStep appends the result of a part to those that Result.Body has: its code, its count as a uvarint and its body as
// a piece.
func appendStep(b []byte, r *Result) []byte {
	b = append(b, byte(r.Code))
	b = binary.AppendUvarint(b, r.Count)
	return appendPiece(b, r.Body)
}

// Steps reads the results of the parts of a transaction or sequence, one after the other. The zero Steps has none.
type Steps struct{ rest string }

// StepsOf returns the results in r: of a transaction, or of a sequence that was done.
func StepsOf(r *Result) Steps { return Steps{rest: r.Body} }

// Next returns the next result; its Revision is 0. Its Body is a part of the whole. An error wraps ErrBody: there
// is none, or it is not of a known form.
func (s *Steps) Next() (Result, error) {
	if len(s.rest) == 0 {
		return Result{}, fmt.Errorf("%w: it has fewer results than parts", ErrBody)
	}
	code := Code(s.rest[0])
	count, rest, okCount := cutUvarint(s.rest[1:])
	size, rest, okBody := cutUvarint(rest)
	if !okCount || !okBody || size > uint64(len(rest)) || code == 0 || code > maxCode {
		s.rest = ""
		return Result{}, fmt.Errorf("%w: the results of parts", ErrBody)
	}
	s.rest = rest[size:]
	return Result{Code: code, Count: count, Body: rest[:size]}, nil
}

// doneSteps returns how many steps of a sequence were done, by its result.
func doneSteps(r *Result) (n uint64) {
	steps := StepsOf(r)
	for {
		step, err := steps.Next()
		if err != nil { // there is no other
			return n
		}
		if step.Code == CodeDone {
			n++
		}
	}
}

// cutUvarint splits a uvarint off s.
func cutUvarint(s string) (n uint64, rest string, ok bool) {
	var shift uint
	for i := 0; i < len(s) && i < binary.MaxVarintLen64; i++ {
		b := s[i]
		if i == binary.MaxVarintLen64-1 && b > 1 {
			break
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n, s[i+1:], true
		}
		shift += 7
	}
	return 0, s, false
}

// EncodeEntries returns entries as Result.Body.
func EncodeEntries(entries ...Entry) string {
	var b []byte
	for i := range entries {
		b = appendNamed(b, &entries[i])
	}
	return string(b)
}

// DecodeEntries reads what EncodeEntries wrote. Values are parts of one copy of body. Errors wrap ErrBody.
func DecodeEntries(body string) ([]Entry, error) {
	var entries []Entry
	for r := (reader{b: []byte(body)}); len(r.b) > 0; {
		e := r.named()
		if r.bad || len(entries) == MaxListed {
			return nil, fmt.Errorf("%w: a list of entries", ErrBody)
		}
		entries = append(entries, *e)
	}
	return entries, nil
}

// appendNamed writes an entry with its key: both as pieces, the entry as it is in the state database.
func appendNamed(b []byte, e *Entry) []byte {
	b = appendPiece(b, e.Key)
	space := make([]byte, 0, entryHeaderBytes+len(e.Value))
	return AppendBatch(b, appendEntry(space, e))
}

func (r *reader) named() *Entry {
	key := r.piece()
	e, ok := parseEntry(string(key), r.piece())
	r.bad = r.bad || !ok
	return &e
}

// piece reads a length and returns so many bytes.
func (r *reader) piece() []byte {
	p, rest, ok := cutPiece(r.b)
	if r.bad || !ok {
		r.bad, r.b = true, nil
		return nil
	}
	r.b = rest
	return p
}
