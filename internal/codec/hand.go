package codec

import (
	"encoding/binary"
	"math"
)

// The functions below write and read msgpack piece by piece, for the few messages whose number makes reflection show in
// a profile. They write what Append writes, and read what Unmarshal reads.

// AppendArray begins an array of n elements, which follow.
func AppendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

// AppendUint writes u in its shortest form.
func AppendUint(b []byte, u uint64) []byte {
	switch {
	case u <= 0x7f:
		return append(b, byte(u))
	case u <= math.MaxUint8:
		return append(b, 0xcc, byte(u))
	case u <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(u))
	case u <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(u))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xcf), u)
}

// AppendInt writes i, negative numbers in 8 bytes.
func AppendInt(b []byte, i int64) []byte {
	if i >= 0 {
		return AppendUint(b, uint64(i))
	}
	return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(i))
}

// AppendBool writes v.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

// AppendNil writes nil: no bytes, no elements.
func AppendNil(b []byte) []byte { return append(b, 0xc0) }

// AppendString writes s.
func AppendString(b []byte, s string) []byte {
	n := len(s)
	switch {
	case n < 32:
		b = append(b, 0xa0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xd9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xda), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
	}
	return append(b, s...)
}

// AppendBytes writes p, which is not nil.
func AppendBytes(b, p []byte) []byte {
	n := len(p)
	switch {
	case n <= math.MaxUint8:
		b = append(b, 0xc4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xc5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xc6), uint32(n))
	}
	return append(b, p...)
}

// Reader takes msgpack apart. After the first piece that is not what was asked for, everything it gives is zero and Err
// is set, so that callers check once. It allocates nothing.
type Reader struct {
	rest []byte
	err  error
}

// NewReader reads data, which it does not keep longer than itself.
func NewReader(data []byte) Reader { return Reader{rest: data} }

// End is the error of any piece read, or says that something follows the last one.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = ErrMalformed
	}
	return r.err
}

// Failed tells whether a piece was not what was asked for.
func (r *Reader) Failed() bool { return r.err != nil }

func (r *Reader) fail() { r.err, r.rest = ErrMalformed, nil }

// take is the next n bytes.
func (r *Reader) take(n int) []byte {
	if r.err != nil || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// number is the next n bytes as a number.
func (r *Reader) number(n int) (u uint64) {
	for _, b := range r.take(n) {
		u = u<<8 | uint64(b)
	}
	return u
}

func (r *Reader) tag() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0xc1 // never used
}

// Array is the length of an array, 0 for nil. It never exceeds the bytes that are left.
func (r *Reader) Array() int {
	var n uint64
	switch t := r.tag(); {
	case t&0xf0 == 0x90:
		n = uint64(t & 0x0f)
	case t == 0xc0:
	case t == 0xdc:
		n = r.number(2)
	case t == 0xdd:
		n = r.number(4)
	default:
		r.fail()
	}
	if n > uint64(len(r.rest)) {
		r.fail()
		return 0
	}
	return int(n)
}

// Int is a number that fits an int64; nil is 0.
func (r *Reader) Int() int64 {
	switch t := r.tag(); {
	case t <= 0x7f:
		return int64(t)
	case t >= 0xe0:
		return int64(int8(t))
	case t == 0xc0:
		return 0
	case t == 0xcc:
		return int64(r.number(1))
	case t == 0xcd:
		return int64(r.number(2))
	case t == 0xce:
		return int64(r.number(4))
	case t == 0xcf:
		if u := r.number(8); u <= math.MaxInt64 {
			return int64(u)
		}
	case t == 0xd0:
		return int64(int8(r.number(1)))
	case t == 0xd1:
		return int64(int16(r.number(2)))
	case t == 0xd2:
		return int64(int32(r.number(4)))
	case t == 0xd3:
		return int64(r.number(8))
	}
	r.fail()
	return 0
}

// Uint is a number from 0 up, at most most; nil is 0.
func (r *Reader) Uint(most uint64) uint64 {
	if len(r.rest) > 0 && r.rest[0] == 0xcf {
		r.rest = r.rest[1:]
		if u := r.number(8); u <= most {
			return u
		}
	} else if i := r.Int(); i >= 0 && uint64(i) <= most {
		return uint64(i)
	}
	r.fail()
	return 0
}

// Bool is a truth value; nil is false.
func (r *Reader) Bool() bool {
	switch r.tag() {
	case 0xc3:
		return true
	case 0xc2, 0xc0:
		return false
	}
	r.fail()
	return false
}

// Bytes is a string or bytes, of which nothing is copied; nil is empty.
func (r *Reader) Bytes() []byte {
	var n uint64
	switch t := r.tag(); {
	case t&0xe0 == 0xa0:
		n = uint64(t & 0x1f)
	case t == 0xc0:
	case t >= 0xc4 && t <= 0xc6:
		n = r.number(1 << (t - 0xc4))
	case t >= 0xd9 && t <= 0xdb:
		n = r.number(1 << (t - 0xd9))
	default:
		r.fail()
	}
	if n > uint64(len(r.rest)) {
		r.fail()
		return nil
	}
	return r.take(int(n))
}

// Skip passes over one value of any kind: a field that a newer version has added.
func (r *Reader) Skip() { r.skip(0) }

func (r *Reader) skip(depth int) {
	if depth > maxDepth {
		r.fail()
		return
	}
	n, elements := 0, uint64(0)
	switch t := r.tag(); {
	case t <= 0x7f, t >= 0xe0, t == 0xc0, t == 0xc2, t == 0xc3:
	case t&0xf0 == 0x80:
		elements = 2 * uint64(t&0x0f)
	case t&0xf0 == 0x90:
		elements = uint64(t & 0x0f)
	case t&0xe0 == 0xa0:
		n = int(t & 0x1f)
	case t >= 0xc4 && t <= 0xc6: // bytes
		n = int(r.number(1 << (t - 0xc4)))
	case t >= 0xc7 && t <= 0xc9: // extension: its type is one more byte
		n = int(r.number(1<<(t-0xc7))) + 1
	case t == 0xca, t == 0xce, t == 0xd2:
		n = 4
	case t == 0xcb, t == 0xcf, t == 0xd3:
		n = 8
	case t == 0xcc, t == 0xd0:
		n = 1
	case t == 0xcd, t == 0xd1:
		n = 2
	case t >= 0xd4 && t <= 0xd8: // extension of 1, 2, … 16 bytes
		n = 1<<(t-0xd4) + 1
	case t >= 0xd9 && t <= 0xdb: // string
		n = int(r.number(1 << (t - 0xd9)))
	case t == 0xdc:
		elements = r.number(2)
	case t == 0xdd:
		elements = r.number(4)
	case t == 0xde:
		elements = 2 * r.number(2)
	case t == 0xdf:
		elements = 2 * r.number(4)
	default:
		r.fail()
	}
	r.take(n)
	for ; elements > 0 && r.err == nil; elements-- {
		r.skip(depth + 1)
	}
}

// Fields reads the elements of one struct: those that an older version did not write are left zero, and those that a
// newer one has added are passed over.
type Fields struct {
	r    *Reader
	left int
}

// Struct begins to read a struct.
func (r *Reader) Struct() Fields { return Fields{r, r.Array()} }

// Next tells whether there is another field. End comes after the last that is known.
func (f *Fields) Next() bool {
	if f.left == 0 || f.r.err != nil {
		return false
	}
	f.left--
	return true
}

// Uint is the next field, 0 if it is missing.
func (f *Fields) Uint() uint64 { return f.Small(math.MaxUint64) }

// Small is the next field, a number of at most most.
func (f *Fields) Small(most uint64) uint64 {
	if !f.Next() {
		return 0
	}
	return f.r.Uint(most)
}

// Int is the next field.
func (f *Fields) Int() int64 {
	if !f.Next() {
		return 0
	}
	return f.r.Int()
}

// Bool is the next field.
func (f *Fields) Bool() bool { return f.Next() && f.r.Bool() }

// Bytes is the next field, uncopied.
func (f *Fields) Bytes() []byte {
	if !f.Next() {
		return nil
	}
	return f.r.Bytes()
}

// Struct is the next field, one without elements if it is missing.
func (f *Fields) Struct() Fields {
	if !f.Next() {
		return Fields{r: f.r}
	}
	return f.r.Struct()
}

// Skip passes over the next field.
func (f *Fields) Skip() {
	if f.Next() {
		f.r.Skip()
	}
}

// End passes over the fields that this version does not know.
func (f *Fields) End() {
	for f.Next() {
		f.r.Skip()
	}
}
