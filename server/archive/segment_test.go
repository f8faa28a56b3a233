package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/frames"
	"tenure/internal/ident"
)

var (
	cluster = ident.ClusterID{7}
	base    = time.UnixMilli(1_790_000_000_000).UTC()
)

// valueOf is what was chosen in a slot, in every log of these tests.
func valueOf(slot uint64) []byte { return bytes.Repeat([]byte{byte(slot)}, int(slot%5)) }

// chainAt returns the chain after slot of a log that begins at slot 1.
func chainAt(slot uint64) Chain {
	c := BeginChain(cluster, 1)
	for s := uint64(1); s <= slot; s++ {
		c = c.Next(s, valueOf(s))
	}
	return c
}

// segment returns the segment of the slots first to last. Slot s is applied s seconds after base, and has revision
// 10·s.
func segment(t testing.TB, first, last uint64) (Segment, []byte) {
	t.Helper()
	var m Moments
	b := NewBuilder(cluster, first, chainAt(first-1))
	for s := first; s <= last; s++ {
		m.Add(s, 10*s, base.Add(time.Duration(s)*time.Second))
		b.Add(s, valueOf(s), 0)
	}
	name, bytes, ok := b.Encode(&m)
	if !ok {
		t.Fatal("not known when")
	}
	return name, bytes
}

func TestASegmentIsReadAsItWasBuilt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(1, 50).Draw(t, "first")
		var values [][]byte
		var m Moments
		b := NewBuilder(cluster, first, chainAt(first-1))
		for i := range rapid.IntRange(1, 20).Draw(t, "slots") {
			v := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value")
			values = append(values, v)
			if rapid.Bool().Draw(t, "moment") {
				m.Add(b.Next(), uint64(i), base.Add(time.Duration(rapid.IntRange(-5, 5).Draw(t, "clock"))*time.Second))
			}
			b.Add(b.Next(), v, 0)
		}
		m.Add(b.Next()+uint64(rapid.IntRange(0, 3).Draw(t, "beyond")), 99, base.Add(time.Minute))
		name, bytes, ok := b.Encode(&m)
		if !ok {
			t.Fatal("not known when, though a later slot is")
		}
		c, err := ReadSegment(cluster, name, bytes)
		if err != nil {
			t.Fatal(err)
		}
		if c.First != first || c.After != b.After() || fmt.Sprint(c.Values) != fmt.Sprint(values) {
			t.Fatalf("%+v", c)
		}
		if err := c.Follows(first-1, chainAt(first-1)); err != nil {
			t.Fatal(err)
		}
		if other := chainAt(first); c.Before != BeginChain(cluster, first) && c.Follows(first-1, other) == nil {
			t.Fatal("it follows another log")
		}
	})
}

// TestEveryBitCounts flips every bit, and cuts the segment off before every byte.
func TestEveryBitCounts(t *testing.T) {
	name, all := segment(t, 3, 8)
	for i := range all {
		for bit := range 8 {
			damaged := bytes.Clone(all)
			damaged[i] ^= 1 << bit
			if _, err := ReadSegment(cluster, name, damaged); !errors.Is(err, ErrDamaged) ||
				!strings.Contains(err.Error(), "at byte ") {
				t.Fatalf("bit %d of byte %d of %d flipped: %v", bit, i, len(all), err)
			}
		}
		if _, err := ReadSegment(cluster, name, all[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut off before byte %d: %v", i, err)
		}
	}
	if _, err := ReadSegment(cluster, name, append(bytes.Clone(all), 0)); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
}

func TestASegmentUnderAnothersNameIsNoticed(t *testing.T) {
	name, _ := segment(t, 3, 8)
	_, other := segment(t, 3, 9)
	if _, err := ReadSegment(cluster, name, other); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if _, err := ReadSegment(ident.ClusterID{8}, name, nil); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	_, same := segment(t, 3, 8)
	if _, err := ReadSegment(ident.ClusterID{8}, name, same); !errors.Is(err, ErrDamaged) {
		t.Error("a segment of another cluster was taken")
	}
}

// TestFollows cuts one log in two ways, and changes what was chosen in one slot.
func TestFollows(t *testing.T) {
	name, b := segment(t, 5, 12)
	c, err := ReadSegment(cluster, name, b)
	if err != nil {
		t.Fatal(err)
	}
	for end := uint64(4); end < 12; end++ {
		if err := c.Follows(end, chainAt(end)); err != nil {
			t.Errorf("after slot %d: %v", end, err)
		}
		if err := c.Follows(end, chainAt(end).Next(end, nil)); !errors.Is(err, ErrDamaged) {
			t.Errorf("after another slot %d: %v", end, err)
		}
	}
	anew := NewBuilder(cluster, 5, BeginChain(cluster, 5))
	anew.Add(5, valueOf(5), 0)
	var m Moments
	m.Add(5, 0, base)
	name, b, _ = anew.Encode(&m)
	if c, err = ReadSegment(cluster, name, b); err != nil || c.Follows(4, chainAt(4)) != nil {
		t.Errorf("a new chain does not follow: %v", err)
	}
}

func TestASegmentIsDue(t *testing.T) {
	b := NewBuilder(cluster, 1, BeginChain(cluster, 1))
	if b.Due(time.Hour) {
		t.Error("an empty one is due")
	}
	b.Add(1, nil, time.Minute)
	if b.Due(time.Minute+SegmentFor-1) || !b.Due(time.Minute+SegmentFor) {
		t.Error("not due when its first slot has waited")
	}
	b.Add(2, make([]byte, FullSegmentBytes), time.Minute)
	if !b.Due(time.Minute) || !b.Full() {
		t.Error("not due when it is full")
	}
	var m Moments
	m.Add(1, 1, base)
	if _, _, ok := b.Encode(&m); ok {
		t.Error("encoded before it is known when its last slot was applied")
	}
}

func FuzzReadSegment(f *testing.F) {
	name, all := segment(f, 3, 8)
	f.Add(all)
	f.Add(all[:len(all)/2])
	f.Add([]byte(format.Magic + "\x00\x00\x00\x01\x01\xff\xff\xff\xff"))
	resealed := frames.Append(format.Begin(), frames.PreludeBytes, kindHeader, []byte{0x95, 0xc4, 0x10})
	f.Add(resealed)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ReadSegment(cluster, name, b)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
		if err == nil && !bytes.Equal(b, all) {
			t.Errorf("another segment passes for it: %+v", c)
		}
		// As if the checksums were right, to reach what they guard.
		sealed := bytes.Clone(b)
		for at := frames.PreludeBytes; at+frames.HeadBytes+frames.SumBytes <= len(sealed); {
			end := at + frames.HeadBytes + int(binary.BigEndian.Uint32(sealed[at+1:]))
			if end < at || end+frames.SumBytes > len(sealed) {
				break
			}
			binary.BigEndian.PutUint32(sealed[end:], frames.Sum(uint64(at), sealed[at:end]))
			at = end + frames.SumBytes
		}
		if _, err := readSegment(sealed); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v", err)
		}
	})
}
