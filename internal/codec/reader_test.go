package codec

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// known is what this version reads by hand; newer and older are what others write.
type (
	known struct {
		A    uint64
		In   part
		Yes  bool
		Wait time.Duration
	}
	part  struct{ X uint64 }
	newer struct {
		A    uint64
		In   struct{ X, Y uint64 }
		Yes  bool
		Wait time.Duration
		More []map[string]any
		Text string
		F    float64
		B    []byte
	}
	older struct {
		A uint64
	}
)

func readKnown(data []byte) (known, error) {
	r := NewReader(data)
	f := r.Struct()
	k := known{A: f.Uint()}
	in := f.Struct()
	k.In.X = in.Uint()
	in.End()
	k.Yes, k.Wait = f.Bool(), time.Duration(f.Int())
	f.End()
	return k, r.End()
}

func TestReaderPassesOverWhatANewerVersionAdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newer{A: rapid.Uint64().Draw(t, "a"), Yes: rapid.Bool().Draw(t, "yes"),
			Wait: time.Duration(rapid.Int64().Draw(t, "wait")),
			Text: rapid.String().Draw(t, "text"), F: rapid.Float64().Draw(t, "f"),
			B: rapid.SliceOf(rapid.Byte()).Draw(t, "b")}
		n.In.X, n.In.Y = rapid.Uint64().Draw(t, "x"), rapid.Uint64().Draw(t, "y")
		for range rapid.IntRange(0, 20).Draw(t, "more") {
			n.More = append(n.More, map[string]any{"k": rapid.Int64().Draw(t, "v"), "n": nil, "l": []any{1.5, true}})
		}
		got, err := readKnown(Marshal(&n))
		if want := (known{n.A, part{n.In.X}, n.Yes, n.Wait}); err != nil || got != want {
			t.Fatalf("%+v %v, want %+v", got, err, want)
		}
	})
}

func TestReaderTakesWhatAnOlderVersionLeftOut(t *testing.T) {
	if got, err := readKnown(Marshal(older{9})); err != nil || got != (known{A: 9}) {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestNumbersByHandAreTheLibrarys(t *testing.T) {
	type both struct {
		U uint64
		I int64
	}
	values := []uint64{0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63,
		math.MaxUint64}
	for _, u := range values {
		for _, i := range []int64{int64(u), -int64(u), -33, -32, -129, math.MinInt64} {
			b := AppendInt(AppendUint(AppendArray(nil, 2), u), i)
			var got both
			if err := Unmarshal(b, &got); err != nil || got != (both{u, i}) {
				t.Errorf("%d, %d: the library reads %+v %v", u, i, got, err)
			}
			r := NewReader(Marshal(both{u, i}))
			f := r.Struct()
			if got := (both{f.Uint(), f.Int()}); r.End() != nil || got != (both{u, i}) {
				t.Errorf("%d, %d: read by hand %+v %v", u, i, got, r.End())
			}
		}
	}
	for _, n := range []int{0, 15, 16, 65535, 65536} {
		list := make([]bool, n)
		b := AppendArray(nil, n)
		for range list {
			b = AppendBool(b, false)
		}
		if string(b) != string(Marshal(list)) {
			t.Errorf("an array of %d is not as the library writes it", n)
		}
	}
}

func TestTextByHandIsTheLibrarys(t *testing.T) {
	type both struct {
		S string
		B []byte
	}
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		x := both{string(make([]byte, n)), make([]byte, n)}
		b := AppendBytes(AppendString(AppendArray(nil, 2), x.S), x.B)
		if string(b) != string(Marshal(x)) {
			t.Errorf("%d bytes are not as the library writes them", n)
		}
		r := NewReader(b)
		f := r.Struct()
		if s, p := f.Bytes(), f.Bytes(); r.End() != nil || len(s) != n || len(p) != n {
			t.Errorf("%d bytes come back as %d and %d, %v", n, len(s), len(p), r.End())
		}
		r = NewReader(b[:len(b)-1])
		f = r.Struct()
		f.Bytes()
		f.Bytes()
		if r.End() == nil {
			t.Errorf("%d bytes pass although one is missing", n)
		}
	}
	r := NewReader([]byte{0x92, 0xc0, 0x01})
	f := r.Struct()
	if p := f.Bytes(); len(p) != 0 || r.Failed() {
		t.Errorf("nil is %q", p)
	}
	if f.Bytes(); r.End() == nil {
		t.Error("a number passes for text")
	}
}

func TestReaderRefuses(t *testing.T) {
	whole := Marshal(known{A: 300, Yes: true, Wait: -1})
	for i := range whole {
		if _, err := readKnown(whole[:i]); err == nil {
			t.Errorf("%d of %d bytes pass", i, len(whole))
		}
	}
	if _, err := readKnown(append(whole, 0)); err == nil {
		t.Error("a byte too many passes")
	}
	for name, data := range map[string][]byte{
		"negative":          AppendInt(AppendArray(nil, 1), -1),
		"array too long":    {0xdd, 0x7f, 0xff, 0xff, 0xff},
		"no array":          {0x01},
		"text for a number": Marshal([]any{"x"}),
		"number for a bool": Marshal([]any{1, []any{2}, 3}),
	} {
		if k, err := readKnown(data); err == nil {
			t.Errorf("%s: %+v", name, k)
		}
	}
	r := NewReader(AppendUint(nil, 256))
	if u := r.Uint(255); u != 0 || r.End() == nil {
		t.Errorf("%d passes for at most 255", u)
	}
	deep := make([]byte, 100)
	for i := range deep {
		deep[i] = 0x91
	}
	r = NewReader(deep)
	if r.Skip(); r.End() == nil {
		t.Error("nesting without end passes")
	}
}

func FuzzReader(f *testing.F) {
	f.Add(Marshal(newer{Text: "x", More: []map[string]any{{"a": 1}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		hand, err := readKnown(data)
		var lib known
		if Unmarshal(data, &lib) == nil && err == nil && hand != lib {
			t.Fatalf("by hand %+v, by the library %+v", hand, lib)
		}
	})
}

func TestSkipShortRefusesLongLists(t *testing.T) {
	for name, b := range map[string][]byte{
		"array":  {0x92, 1, 0x93, 1, 2, 3},
		"map":    {0x92, 1, 0x82, 1, 2, 3, 4},
		"nested": {0x92, 1, 0x91, 0x91, 0x93, 1, 2, 3},
	} {
		for longest, want := range map[uint64]bool{4: false, 2: true} {
			r := NewReader(b)
			if r.SkipShort(longest); r.Failed() != want {
				t.Errorf("%s: at most %d elements: failed is %v", name, longest, r.Failed())
			}
		}
	}
}
