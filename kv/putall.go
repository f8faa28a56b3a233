package kv

import (
	"encoding/binary"
	"fmt"
)

// AppendPair appends a key and its value to the Value of an OpPutAll.
func AppendPair(b []byte, key string, value []byte) []byte {
	b = appendPiece(b, key)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// EachPair calls fn with each key and value of an OpPutAll, in order, until it returns false. The values are parts of
// c.Value. An error wraps ErrCommand: c.Value is not what AppendPair makes, or has no pair.
func (c *Command) EachPair(fn func(key string, value []byte) bool) error {
	if len(c.Value) == 0 {
		return errPairs
	}
	for rest := c.Value; len(rest) > 0; {
		key, behind, ok := cutPiece(rest)
		if !ok {
			return errPairs
		}
		value, behind, ok := cutPiece(behind)
		if !ok {
			return errPairs
		}
		if !fn(string(key), value) {
			return nil
		}
		rest = behind
	}
	return nil
}

var errPairs = fmt.Errorf("%w: the pairs of key and value cannot be read, or there are none", ErrCommand)

// validatePairs checks the keys of an OpPutAll, and how many they are.
func (c *Command) validatePairs() error {
	var n int
	var bad error
	err := c.EachPair(func(key string, _ []byte) bool {
		n++
		bad = ValidateKey(key)
		return bad == nil && n <= MaxSteps
	})
	switch {
	case err != nil:
		return err
	case bad != nil:
		return bad
	case n > MaxSteps:
		return fmt.Errorf("%w: more than %d keys at once", ErrCommand, MaxSteps)
	}
	return nil
}

// putAll carries out OpPutAll. It checks the condition on the state before the command, so a key may come twice: its
// last value stays.
func (x *executor) putAll(c *Command) (Result, error) {
	if c.Mode != 0 {
		if holds, err := c.holdsForAll(&x.entries); err != nil || !holds {
			return x.unchanged(CodeCondition), err
		}
	}
	if c.TTL == 0 && x.reg.quotas.byPrefix.Len() == 0 {
		return x.putEach(c) // nothing can refuse a key
	}
	before := x.save()
	r, err := x.putEach(c)
	if err != nil || r.Code == CodeDone {
		return r, err
	}
	x.restore(before)
	r.Revision = x.revision
	return r, nil
}

// holdsForAll reports whether the condition of c holds for all of its keys.
func (c *Command) holdsForAll(s *entries) (bool, error) {
	holds, err := true, error(nil)
	_ = c.EachPair(func(key string, _ []byte) bool { // c is valid
		var old *Entry
		if old, err = s.entry(key); err == nil {
			holds = c.meets(old, old != nil)
		}
		return err == nil && holds
	})
	return holds, err
}

// putEach writes the pairs of c until one is refused, and returns what that came to.
func (x *executor) putEach(c *Command) (Result, error) {
	r, err := x.unchanged(CodeDone), error(nil)
	_ = c.EachPair(func(key string, value []byte) bool { // c is valid
		r, err = x.set(&Command{Op: OpSet, Key: key, Value: owned(value), TTL: c.TTL})
		return err == nil && r.Code == CodeDone
	})
	return r, err
}
