package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Outcomes is the result of a transaction, in the order of the parts: the results of all parts if it was done, else the
// errors of the parts that failed.
type Outcomes struct {
	Results []Outcome
	Errors  []PartError
}

// Outcome is what a part answers: the gets and OpAdd an entry, a whole tree of them one each; a set, rename or check
// the entry without its value; deletions and OpCheckNotExists nothing.
type Outcome struct {
	Part  int    // its place in Command.Parts
	Entry *Entry // never nil; of OpGetOrEmpty and an absent key all but its Key is zero
}

// PartError is why a part failed.
type PartError struct {
	Part int
	What string // for people
}

// ErrBody is wrapped by errors about a Result.Body that cannot be read: the other node has another version.
var ErrBody = errors.New("malformed body of a result")

// EncodeOutcomes returns o as Result.Body: the number of results, each with its part and entry; then the errors.
func EncodeOutcomes(o Outcomes) string {
	b := binary.AppendUvarint(nil, uint64(len(o.Results)))
	for i := range o.Results {
		b = binary.AppendUvarint(b, uint64(o.Results[i].Part))
		b = appendNamed(b, o.Results[i].Entry)
	}
	for _, e := range o.Errors {
		b = binary.AppendUvarint(b, uint64(e.Part))
		b = AppendBatch(b, []byte(e.What))
	}
	return string(b)
}

// DecodeOutcomes reads what EncodeOutcomes wrote. Values alias nothing. Errors wrap ErrBody.
func DecodeOutcomes(body string) (Outcomes, error) {
	var o Outcomes
	r := reader{b: []byte(body)}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		part := r.part()
		o.Results = append(o.Results, Outcome{Part: part, Entry: r.named()})
		r.bad = r.bad || len(o.Results) > MaxOutcomes
	}
	for len(r.b) > 0 && !r.bad {
		o.Errors = append(o.Errors, PartError{Part: r.part(), What: string(r.piece())})
	}
	if r.bad {
		return Outcomes{}, fmt.Errorf("%w: the outcome of a transaction", ErrBody)
	}
	return o, nil
}

// EncodeEntries returns entries as Result.Body.
func EncodeEntries(entries ...Entry) string {
	var b []byte
	for i := range entries {
		b = appendNamed(b, &entries[i])
	}
	return string(b)
}

// DecodeEntries reads what EncodeEntries wrote. Values alias nothing. Errors wrap ErrBody.
func DecodeEntries(body string) ([]Entry, error) {
	var entries []Entry
	for r := (reader{b: []byte(body)}); len(r.b) > 0; {
		e := r.named()
		if r.bad || len(entries) == MaxOutcomes {
			return nil, fmt.Errorf("%w: a list of entries", ErrBody)
		}
		entries = append(entries, *e)
	}
	return entries, nil
}

// appendNamed writes an entry with its key: both as pieces, the entry as it is in the state database.
func appendNamed(b []byte, e *Entry) []byte {
	b = AppendBatch(b, []byte(e.Key))
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

// part reads the place of a part.
func (r *reader) part() int {
	n := r.uvarint()
	r.bad = r.bad || n > math.MaxInt32
	return int(n & math.MaxInt32)
}
