package kv

import (
	"bytes"
	"unicode/utf8"

	"tenure/internal/codec"
)

// A plain put is an OpSet whose Command has nothing but Key and Value. Most commands are plain puts. To apply one as
// any other command takes a third more time: most of that goes into the fields that a plain put does not have.

// plainPut is how the header of a plain put begins: an array of two, the Op and the Key.
var plainPut = codec.AppendUint(codec.AppendArray(nil, 2), uint64(OpSet))

// cutPlainPut takes a valid plain put apart. Key and value alias b. If ok is false, b is another command or is not
// valid: decodeCommand decides which.
func cutPlainPut(b []byte) (key, value []byte, ok bool) {
	header, value, ok := cutPiece(b)
	if !ok || !bytes.HasPrefix(header, plainPut) {
		return nil, nil, false
	}
	r := codec.NewReader(header[len(plainPut):])
	key = r.Bytes()
	ok = r.End() == nil && 0 < len(key) && len(key) <= MaxKeyBytes && utf8.Valid(key) &&
		len(value) <= MaxValueBytes && len(b) <= MaxCommandBytes
	return key, value, ok
}

// applyPlainPut applies cmd as applyCommand does, if it is a plain put, no quota counts its key and the state is below
// revision limit. Otherwise done is false and nothing has happened. A plain put needs no feature level and has no
// idempotency key, fence or decision, so the rules about those let it pass.
func (s *State) applyPlainPut(cmd []byte, limit uint64) (r Result, done bool, err error) {
	k, v, ok := cutPlainPut(cmd)
	if !ok || s.exec.revision >= limit {
		return Result{}, false, nil
	}
	x := &s.exec
	key := string(k)
	if x.reg.quotas.cover(key) {
		return Result{}, false, nil
	}
	x.stamped = false
	if r, err = x.overwrite(key, owned(v), 0); err != nil {
		return Result{}, false, err
	}
	s.dedup.forget(x.revision)
	x.notes.tell()
	return r, true, nil
}
