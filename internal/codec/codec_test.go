package codec

import (
	"errors"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	A uint64
	B []byte
}
type outer struct {
	N     int64
	Store [16]byte
	Name  string
	List  []inner
	Yes   bool
	One   inner
}

func sample() outer {
	return outer{N: -5, Store: [16]byte{1, 2, 255}, Name: "k\x00", List: []inner{{1, []byte("x")}, {2, nil}},
		Yes: true, One: inner{3, []byte{0}}}
}

func TestRoundTrip(t *testing.T) {
	in := sample()
	var out outer
	if err := Unmarshal(Marshal(&in), &out); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(in, out); d != "" {
		t.Fatal(d)
	}
}

func TestOlderShorterStructDecodes(t *testing.T) {
	type older struct{ A uint64 }
	var out inner
	if err := Unmarshal(Marshal(older{9}), &out); err != nil || out.A != 9 || out.B != nil {
		t.Fatalf("%v %v", out, err)
	}
	var back older
	if err := Unmarshal(Marshal(inner{7, []byte("new")}), &back); err != nil || back.A != 7 {
		t.Fatalf("%v %v", back, err)
	}
}

func TestTrailingAndTruncatedBytesAreRefused(t *testing.T) {
	b := Marshal(sample())
	var out outer
	if err := Unmarshal(append(b, 0), &out); !errors.Is(err, ErrMalformed) {
		t.Fatalf("trailing byte: %v", err)
	}
	for i := range b {
		if err := Unmarshal(b[:i], &out); !errors.Is(err, ErrMalformed) {
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

func TestDeclaredLengthsAllocateLittle(t *testing.T) {
	for name, b := range map[string][]byte{
		"bytes":  {0x92, 0x01, 0xc6, 0xff, 0xff, 0xff, 0xf0},
		"array":  {0x96, 0x01, 0xc0, 0xc0, 0xdd, 0x7f, 0xff, 0xff, 0xff},
		"string": {0x93, 0x01, 0xc0, 0xdb, 0x7f, 0xff, 0xff, 0xff},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var i inner
		var o outer
		e1, e2 := Unmarshal(b, &i), Unmarshal(b, &o)
		runtime.ReadMemStats(&after)
		if e1 == nil && e2 == nil {
			t.Errorf("%s: accepted", name)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: allocated %d bytes for %d", name, got, len(b))
		}
	}
}

// A long byte string must not cost time in the square of its length.
func TestLongByteStringsCopyLittle(t *testing.T) {
	in := inner{A: 1, B: make([]byte, 4<<20)}
	data := Marshal(in)
	var out inner
	got := testing.AllocsPerRun(1, func() {
		out = inner{}
		if err := Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
	})
	if len(out.B) != len(in.B) || got > 40 {
		t.Fatalf("%d bytes came back after %v allocations", len(out.B), got)
	}
}

func TestDecodedBytesAreCopies(t *testing.T) {
	data := Marshal(inner{B: []byte("abc")})
	var out inner
	if err := Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	clear(data)
	if string(out.B) != "abc" {
		t.Fatalf("%q changed with the input", out.B)
	}
}

func FuzzUnmarshal(f *testing.F) {
	f.Add(Marshal(sample()))
	f.Fuzz(func(t *testing.T, b []byte) {
		var o outer
		if err := Unmarshal(b, &o); err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	})
}

func BenchmarkMarshal(b *testing.B) {
	v := sample()
	b.ReportAllocs()
	for b.Loop() {
		Marshal(&v)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	data := Marshal(sample())
	b.ReportAllocs()
	for b.Loop() {
		var o outer
		if err := Unmarshal(data, &o); err != nil {
			b.Fatal(err)
		}
	}
}
