// Package codec is the one encoding of frames and records: msgpack, structs as arrays, from and to byte slices only.
//
// Decoding is bounded by its input: a declared length never allocates more than a small multiple of the bytes that
// are there. Where long values travel, they stand raw behind a msgpack header that tells their lengths, so that they
// need not be copied. Adding a field at the end of a struct keeps old bytes readable; fields are never reordered or
// removed. All functions are safe for concurrent use.
package codec

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

const (
	maxDepth   = 16       // nesting of containers
	minInitLen = 64       // elements, or bytes of a string, allocated on a declared length alone, for a small input
	initShare  = 16       // for a larger one: this share of its length, rounded up to a class
	keepBytes  = 64 << 10 // a larger scratch buffer is not kept
)

// ErrMalformed is wrapped by every error of Unmarshal.
var ErrMalformed = errors.New("malformed msgpack")

// class decodes inputs of similar length. The decoder grows a string in steps of a fixed length and copies at each
// step: unless the step grows with the input, the time is quadratic in the input. The decoder also allocates a step's
// worth of elements for a list at once, so the step must not grow faster than the input.
type class struct {
	initLen int
	handle  *codec.MsgpackHandle
	pool    sync.Pool // of *codec.Decoder
}

var classes = func() (out []*class) {
	for n := minInitLen; n <= 4<<20; n *= 4 {
		h := newHandle(n)
		c := &class{initLen: n, handle: h}
		c.pool.New = func() any { return codec.NewDecoderBytes(nil, h) }
		out = append(out, c)
	}
	return out
}()

func classOf(length int) *class {
	for _, c := range classes {
		if length/initShare <= c.initLen {
			return c
		}
	}
	return classes[len(classes)-1]
}

func newHandle(initLen int) *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{WriteExt: true}
	h.StructToArray = true
	h.MaxInitLen = initLen
	h.MaxDepth = maxDepth
	h.MapType = reflect.TypeFor[map[string]any]()
	return h
}

// scratch is an encoder with the buffer that it writes to.
type scratch struct {
	encoder *codec.Encoder
	buf     []byte
}

var encoders = sync.Pool{New: func() any {
	return &scratch{encoder: codec.NewEncoderBytes(new([]byte), classes[0].handle), buf: make([]byte, 0, 256)}
}}

// Marshal returns the encoding of v, a struct or a pointer to one. It panics if v's type cannot be encoded, which is a
// mistake in this program and not in its input.
func Marshal(v any) []byte { return Append(nil, v) }

// Append writes the encoding of v behind buf's bytes and returns the longer slice.
func Append(buf []byte, v any) []byte {
	s := encoders.Get().(*scratch)
	s.encoder.ResetBytes(&s.buf)
	if err := s.encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("codec: encode %T: %v", v, err))
	}
	buf = append(buf, s.buf...)
	if cap(s.buf) <= keepBytes {
		encoders.Put(s)
	}
	return buf
}

// Unmarshal decodes one value that fills data into v, a pointer. Trailing bytes are an error. Byte slices in v are
// copies and do not keep data alive. Long byte strings belong outside: see the package comment.
func Unmarshal(data []byte, v any) (err error) {
	c := classOf(len(data))
	d := c.pool.Get().(*codec.Decoder)
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
	c.pool.Put(d)
	return nil
}
