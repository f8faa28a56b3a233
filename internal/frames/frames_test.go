package frames

import (
	"bytes"
	"errors"
	"testing"
)

var errDamaged = errors.New("damaged")

var format = Format{Magic: "TESTFILE", Version: 3, Name: "a test file", Damaged: errDamaged,
	Limits: map[byte]int{1: 4, 2: 300}}

// TestBytes holds the bytes of a file in place, which are on disks.
func TestBytes(t *testing.T) {
	b := format.Begin()
	b = Append(b, uint64(len(b)), 1, []byte("head"))
	b = Append(b, uint64(len(b)), 2, nil)
	want := "TESTFILE\x00\x00\x00\x03" + "\x01\x00\x00\x00\x04head\t:\x89\xb7" + "\x02\x00\x00\x00\x00\x83C9\x84"
	if string(b) != want {
		t.Errorf("%q", b)
	}
}

func TestPrelude(t *testing.T) {
	good := format.Begin()
	if err := format.CheckPrelude(append(good, "more"...)); err != nil {
		t.Error(err)
	}
	other := bytes.Clone(good)
	other[PreludeBytes-1] = 4
	for want, b := range map[string][]byte{
		"damaged at byte 0: it does not begin as a test file does":                 good[:PreludeBytes-1],
		"damaged at byte 8: version 4 of the format; this program reads version 3": other,
	} {
		if err := format.CheckPrelude(b); !errors.Is(err, errDamaged) || err.Error() != want {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// Every flipped bit of a frame is seen, and a frame at another place.
func TestFrame(t *testing.T) {
	const at = 70
	read := func(at uint64, b []byte) ([]byte, error) {
		kind, n, err := format.CheckHead(at, b[:HeadBytes])
		if err != nil {
			return nil, err
		}
		if n > len(b)-HeadBytes-SumBytes || kind != 2 {
			return nil, errDamaged
		}
		body := b[HeadBytes : HeadBytes+n]
		return body, format.CheckSum(at, b[:HeadBytes], body, b[HeadBytes+n:])
	}
	good := Append(nil, at, 2, []byte("a body"))
	if body, err := read(at, good); err != nil || string(body) != "a body" {
		t.Errorf("%q, %v", body, err)
	}
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if _, err := read(at, bad); !errors.Is(err, errDamaged) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	if _, err := read(at+1, good); !errors.Is(err, errDamaged) {
		t.Errorf("at another place: %v", err)
	}
	for _, head := range []string{"\x01\x00\x00\x00\x05", "\x03\x00\x00\x00\x01", "\x02\xff\xff\xff\xff"} {
		if _, _, err := format.CheckHead(at, []byte(head)); !errors.Is(err, errDamaged) {
			t.Errorf("%q: %v", head, err)
		}
	}
}
