package kv

import (
	"unicode/utf8"

	"tenure/internal/codec"
)

// Nearly every step of a pipeline of writes is a plain put: OpPut with a key, a value and nothing else, which is what
// SET is. Such a step is recognized by its bytes and not decoded into a Command. A Command is large, copies key and
// value before it is known whether they are kept, and is validated field by field.

// step is a step or check of a sequence, as it is decoded to be applied.
type step struct {
	// plain: the step is a plain put of key and value, which are parts of the encoded sequence. Otherwise it is the next
	// one of Command.Parts.
	plain      bool
	key, value []byte
}

// plainEnd ends the header of every plain put: no flags or mode, no condition, index 0, no idempotency key, base 0.
var plainEnd = string(func() []byte {
	b := codec.AppendUint(nil, 0)
	b = codec.AppendUint(codec.AppendBool(b, false), 0)
	return codec.AppendUint(codec.AppendString(b, ""), 0)
}())

// plainFields is how many fields the header of a plain put has.
const plainFields = 7

// cutPlainPut returns key and value of an encoded step, both parts of b, if it is a plain put as EncodeCommand writes
// it, and valid. For every other step, a wrong one included, ok is false, and decodePart says what it is.
func cutPlainPut(b []byte) (key, value []byte, ok bool) {
	header, value, ok := cutPiece(b)
	if !ok || len(header) < 2+1+1+len(plainEnd) || header[0] != 0x90|plainFields || header[1] != byte(OpPut) {
		return nil, nil, false
	}
	end := len(header) - len(plainEnd)
	if string(header[end:]) != plainEnd {
		return nil, nil, false
	}
	key, size := header[3:end], 0
	switch tag := header[2]; {
	case tag&0xe0 == 0xa0: // a string of up to 31 bytes
		size = int(tag & 0x1f)
	case tag == 0xd9: // of up to 255
		size, key = int(key[0]), key[1:]
	}
	if size == 0 || size != len(key) || len(value) > MaxValueBytes || !utf8.Valid(key) {
		return nil, nil, false
	}
	return key, value, true
}

// putPlain carries out a plain put of key and value, which it copies.
func (x *executor) putPlain(key, value []byte) (Result, error) {
	name := string(key)
	if x.reg.quotas.cover(name) {
		return x.step(&Command{Op: OpPut, Key: name, Value: append([]byte(nil), value...)})
	}
	return x.overwrite(name, append([]byte(nil), value...), 0)
}
