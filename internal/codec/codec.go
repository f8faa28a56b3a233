// Package codec is the one encoding of frames and records: msgpack, structs as arrays, from and to byte slices only.
//
// Decoding is bounded by its input: a declared length never allocates more than a small multiple of the bytes that
// are there. Adding a field at the end of a struct keeps old bytes readable; fields are never reordered or removed.
// All functions are safe for concurrent use.
package codec

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

const (
	maxInitElems = 64 // elements allocated on a declared length alone
	maxDepth     = 16 // nesting of containers
)

// ErrMalformed is wrapped by every error of Unmarshal.
var ErrMalformed = errors.New("malformed msgpack")

var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.StructToArray = true
	h.MaxInitLen = maxInitElems
	h.MaxDepth = maxDepth
	h.MapType = reflect.TypeFor[map[string]any]()
	return h
}()

var encoders = sync.Pool{New: func() any { return codec.NewEncoderBytes(nil, handle) }}
var decoders = sync.Pool{New: func() any { return codec.NewDecoderBytes(nil, handle) }}

// Marshal is the encoding of v, a struct or a pointer to one. It panics if v's type cannot be encoded, which is a
// mistake in this program and not in its input.
func Marshal(v any) []byte { return Append(nil, v) }

// Append writes the encoding of v behind buf's bytes and returns the longer slice.
func Append(buf []byte, v any) []byte {
	e := encoders.Get().(*codec.Encoder)
	var out []byte
	e.ResetBytes(&out)
	err := e.Encode(v)
	e.ResetBytes(new([]byte))
	encoders.Put(e)
	if err != nil {
		panic(fmt.Sprintf("codec: encode %T: %v", v, err))
	}
	if buf == nil {
		return out
	}
	return append(buf, out...)
}

// Unmarshal decodes one value that fills data into v, a pointer. Trailing bytes are an error. Byte slices in v are
// copies and do not keep data alive.
func Unmarshal(data []byte, v any) (err error) {
	d := decoders.Get().(*codec.Decoder)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrMalformed, r)
		}
	}()
	d.ResetBytes(data)
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %v", ErrMalformed, err)
	}
	if n := d.NumBytesRead(); n != len(data) {
		return fmt.Errorf("%w: %d bytes after the value", ErrMalformed, len(data)-n)
	}
	d.ResetBytes(nil)
	decoders.Put(d)
	return nil
}
