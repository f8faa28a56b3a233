package kv

import (
	"bytes"
	"encoding/binary"
)

// The operations that only read: parts of transactions, and steps and checks of sequences.

// look carries out OpGet, which gets CodeMissing if there is no such key, and OpGetOrEmpty.
func (x *executor) look(c *Command) (Result, error) {
	e, err := x.entries.entry(c.Key)
	if err != nil {
		return Result{}, err
	}
	r := x.unchanged(CodeDone)
	switch {
	case e != nil:
		r.Body = EncodeEntries(*e)
	case c.Op == OpGet:
		r.Code = CodeMissing
	}
	return r, nil
}

// tree returns all entries that start with c's key, or CodeTooLarge.
func (x *executor) tree(c *Command) (Result, error) {
	r := x.unchanged(CodeDone)
	var body []byte
	var broken error
	err := x.entries.scan(span{lo: c.Key, hi: prefixEnd(c.Key)}, func(h *hit) bool {
		var e Entry
		if e, broken = h.load(); broken != nil {
			return false
		}
		body = appendNamed(body, &e)
		r.Count++
		return len(body) <= MaxBodyBytes && r.Count <= MaxListed
	})
	if err == nil {
		err = broken
	}
	if len(body) > MaxBodyBytes || r.Count > MaxListed {
		return x.unchanged(CodeTooLarge), err
	}
	r.Body = string(body)
	return r, err
}

// measure carries out OpFetch and OpMeasure.
func (x *executor) measure(c *Command) (Result, error) {
	e, err := x.entries.entry(c.Key)
	r := x.unchanged(CodeDone)
	if err != nil || e == nil {
		return r, err
	}
	r.Count = 1 + uint64(len(e.Value))
	switch {
	case c.Op == OpFetch:
		r.Body = string(e.Value)
	case e.TTL > 0:
		r.Body = string(binary.AppendUvarint(nil, uint64(e.TTL)))
	}
	return r, nil
}

// check returns CodeDone if what c says of its key holds. Otherwise it is CodeMissing or CodeExists, or CodeCondition
// for a key that is there and is not as c says.
func (x *executor) check(c *Command) (Result, error) {
	e, err := x.entries.entry(c.Key)
	if err != nil {
		return Result{}, err
	}
	code := CodeDone
	switch holds := x.holds(c, e); {
	case holds:
	case c.Op == OpCheckNotExists:
		code = CodeExists
	case e == nil:
		code = CodeMissing
	default:
		code = CodeCondition
	}
	return x.unchanged(code), nil
}

// holds reports whether what c says of its key holds for the entry e, nil if there is none.
func (x *executor) holds(c *Command, e *Entry) bool {
	switch c.Op {
	case OpCheckNotExists:
		return e == nil
	case OpCheckUnchanged:
		if e == nil { // it may have been written and deleted
			return x.reg.tombstones.of(c.Key) <= c.Index
		}
		return e.ModifyIndex <= c.Index
	case OpCheckIndex:
		return e != nil && e.ModifyIndex == c.Index
	case OpCheckSession:
		return e != nil && e.Session == c.Session.ID
	}
	return e != nil && bytes.Equal(e.Value, c.Value)
}
