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

// AppendSigned writes i as Append writes a signed number.
func AppendSigned(b []byte, i int64) []byte {
	switch {
	case -32 <= i && i <= math.MaxInt8:
		return append(b, byte(i))
	case math.MinInt8 <= i && i <= math.MaxInt8:
		return append(b, 0xd0, byte(i))
	case math.MinInt16 <= i && i <= math.MaxInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(i))
	case math.MinInt32 <= i && i <= math.MaxInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(i))
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
