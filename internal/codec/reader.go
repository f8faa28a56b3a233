package codec

import "math"

// Reader reads msgpack piece by piece. After the first piece of another kind than the one asked for, it returns zeros
// only, and End returns an error, so that callers check once. It allocates nothing.
type Reader struct {
	rest []byte
	err  error
}

// NewReader returns a Reader of data.
func NewReader(data []byte) Reader { return Reader{rest: data} }

// End returns the error of any piece read, or an error if something follows the last one.
func (r *Reader) End() error {
	if r.err == nil && len(r.rest) > 0 {
		r.err = ErrMalformed
	}
	return r.err
}

// Failed reports whether a piece was not what was asked for.
func (r *Reader) Failed() bool { return r.err != nil }

func (r *Reader) fail() { r.err, r.rest = ErrMalformed, nil }

// take returns the next n bytes.
func (r *Reader) take(n int) []byte {
	if r.err != nil || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

// number returns the next n bytes as a number.
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

// Array returns the length of an array, 0 for nil. It never exceeds the bytes that are left.
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

// Int returns a number that fits an int64; nil is 0.
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

// Uint returns a number from 0 to limit; nil is 0.
func (r *Reader) Uint(limit uint64) uint64 {
	if len(r.rest) > 0 && r.rest[0] == 0xcf {
		r.rest = r.rest[1:]
		if u := r.number(8); u <= limit {
			return u
		}
	} else if i := r.Int(); i >= 0 && uint64(i) <= limit {
		return uint64(i)
	}
	r.fail()
	return 0
}

// Bool returns a truth value; nil is false.
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

// Bytes returns a string or bytes, of which nothing is copied; nil is empty.
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

// Skip skips one value of any kind: a field that a newer version has added.
func (r *Reader) Skip() { r.skip(0, math.MaxUint64) }

// SkipShort is Skip for a value in which no list may have more than longest elements. Looking at a message in this way
// bounds what Unmarshal allocates for elements of which each takes more memory than bytes.
func (r *Reader) SkipShort(longest uint64) { r.skip(0, longest) }

func (r *Reader) skip(depth int, longest uint64) {
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
	if elements > longest {
		r.fail()
	}
	for ; elements > 0 && r.err == nil; elements-- {
		r.skip(depth+1, longest)
	}
}
