package kv

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// layered has keys and tombstones in all three layers: what is in the state database is deleted in frozen or active,
// deleted keys come back, and neighbours of every kind lie side by side.
func layered(t *testing.T) *machine {
	m := newMachine(t, DefaultLimits)
	m.do(set("a", "image"), set("b", "image"), set("c", "image"), set("d/1", "image"), set("d/2", "image"),
		set("z", "image"))
	m.takeCheckpoint()
	m.do(del("a"), set("b", "frozen"), del("d/1"), set("e", "frozen"), set("f", "frozen"), del("z"))
	if m.Freeze() == nil {
		t.Fatal("nothing to freeze")
	}
	m.do(set("a", "active"), del("b"), del("e"), set("d/3", "active"), set("d/3/x", "active"), del("never"),
		set("g", "active"))
	return m
}

// Heads are of the names that Keys lists, from all layers, without values.
func TestHeadsAreOfTheNamesOfKeys(t *testing.T) {
	m := layered(t)
	v, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, separator := range []string{"", "/"} {
		var got []string
		err := v.Heads(Range{}, separator, func(h Head) bool {
			got = append(got, h.Key)
			if h.Value != nil || h.OfSeveral != strings.HasSuffix(h.Key, "/") {
				t.Errorf("%+v", h)
			}
			if e, found, err := v.Get(h.Key); !h.OfSeveral && (err != nil || !found || h.Size != len(e.Value) ||
				h.ModifyIndex != e.ModifyIndex || h.Size == 0) {
				t.Errorf("%+v, the entry is %+v, %v, %v", h, e, found, err)
			}
			return true
		})
		if want := names(t, v, Range{}, separator); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: heads of %q, want %s, %v", separator, got, want, err)
		}
	}
}

func names(t *testing.T, v *Snapshot, r Range, separator string) string {
	t.Helper()
	var keys []string
	if err := v.Keys(r, separator, func(k string) bool { keys = append(keys, k); return true }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(keys, " ")
}

func TestListingsMergeAllLayers(t *testing.T) {
	v, err := layered(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, c := range []struct {
		r         Range
		separator string
		want      string
	}{
		{Range{}, "", "a c d/2 d/3 d/3/x f g"},
		{Range{Reverse: true}, "", "g f d/3/x d/3 d/2 c a"},
		{Range{Limit: 2}, "", "a c"},
		{Range{Limit: 2, Reverse: true}, "", "g f"},
		{Range{Prefix: "d/"}, "", "d/2 d/3 d/3/x"},
		{Range{Prefix: "d/", Reverse: true}, "", "d/3/x d/3 d/2"},
		{Range{Prefix: "z"}, "", ""},
		{Range{Prefix: "b", Reverse: true}, "", ""},
		{Range{Start: "c"}, "", "c d/2 d/3 d/3/x f g"},
		{Range{Start: "c", After: true}, "", "d/2 d/3 d/3/x f g"},
		{Range{Start: "b"}, "", "c d/2 d/3 d/3/x f g"},
		{Range{Start: "c", Reverse: true}, "", "c a"},
		{Range{Start: "c", Reverse: true, After: true}, "", "a"},
		{Range{Start: "zz", Reverse: true, Limit: 1}, "", "g"},
		{Range{Prefix: "d/", Start: "a"}, "", "d/2 d/3 d/3/x"},
		{Range{Prefix: "d/", Start: "x"}, "", ""},
		{Range{Prefix: "d/", Start: "x", Reverse: true}, "", "d/3/x d/3 d/2"},
		{Range{Prefix: "d/", Start: "a", Reverse: true}, "", ""},
		{Range{}, "/", "a c d/ f g"},
		{Range{Reverse: true}, "/", "g f d/ c a"},
		{Range{Limit: 3}, "/", "a c d/"},
		{Range{Prefix: "d/"}, "/", "d/2 d/3 d/3/"},
		{Range{Prefix: "d"}, "/", "d/"},
		{Range{Start: "d/"}, "/", "d/ f g"},
		{Range{Start: "d/", After: true}, "/", "f g"},
		{Range{Start: "d/", After: true, Reverse: true}, "/", "c a"},
		{Range{Start: "d/", Reverse: true}, "/", "d/ c a"},
	} {
		if got := names(t, v, c.r, c.separator); got != c.want {
			t.Errorf("%+v by %q: %q, want %q", c.r, c.separator, got, c.want)
		}
		if c.separator == "" {
			n, err := v.Count(c.r)
			if want := len(strings.Fields(c.want)); err != nil || n != want {
				t.Errorf("count %+v: %d, want %d, %v", c.r, n, want, err)
			}
		}
	}
}

func TestPagesJoinToTheWhole(t *testing.T) {
	v, err := layered(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, separator := range []string{"", "/"} {
		for _, reverse := range []bool{false, true} {
			whole := names(t, v, Range{Reverse: reverse}, separator)
			var pages []string
			r := Range{Reverse: reverse, Limit: 1}
			for {
				page := names(t, v, r, separator)
				if page == "" {
					break
				}
				pages = append(pages, page)
				r.Start, r.After = page, true
			}
			if got := strings.Join(pages, " "); got != whole {
				t.Errorf("separator %q, reverse %v: pages %q, whole %q", separator, reverse, got, whole)
			}
		}
	}
}

func TestWalkStopsWhenToldAndGivesEntriesThatLast(t *testing.T) {
	v, err := layered(t).Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var got []Entry
	if err := v.Walk(Range{}, func(e Entry) bool { got = append(got, e); return len(got) < 3 }); err != nil {
		t.Fatal(err)
	}
	v.Close()
	v.Close()
	values := []string{string(got[0].Value), string(got[1].Value), string(got[2].Value)}
	if !slices.Equal(values, []string{"active", "image", "image"}) {
		t.Fatalf("%q", values)
	}
}

func TestListingsCanBeCancelled(t *testing.T) {
	m := newMachine(t, DefaultLimits)
	for i := range 3 * cancelEvery {
		m.do(set(string(rune('a'+i)), "x"))
	}
	v, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	gone := errors.New("client gone")
	r := Range{Cancel: func() error { return gone }}
	n := 0
	if err := v.Walk(r, func(Entry) bool { n++; return true }); err != gone || n >= cancelEvery {
		t.Fatalf("walked %d, %v", n, err)
	}
	if err := v.Keys(r, "/", func(string) bool { return true }); err != gone {
		t.Fatal(err)
	}
	if n, err := v.Count(r); err != gone || n >= cancelEvery {
		t.Fatalf("counted %d, %v", n, err)
	}
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{"": "", "a": "b", "a/": "a0", "a\xff": "b", "\xff\xff": "", "é": "ê"} {
		if got := prefixEnd(prefix); got != want {
			t.Errorf("end of %q: %q, want %q", prefix, got, want)
		}
	}
}

// A key that is not kept is listed nowhere: not alone, not as a group, and no limit counts it.
func TestKeysThatAreNotKept(t *testing.T) {
	m := newMachine(t, small)
	m.do(set("a/1", ""), set("a/b/1", ""), set("a/b/2", ""), set("a/c/1", ""), set("a/d", ""))
	m.takeCheckpoint()
	m.do(set("a/b/3", ""), set("a/e", ""))
	v, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	hidden := map[string]bool{"a/1": true, "a/b/1": true, "a/b/3": true, "a/c/1": true}
	keep := func(key string) bool { return !hidden[key] }
	for want, r := range map[string]struct {
		r         Range
		separator string
	}{
		"a/b/2 a/d a/e": {Range{Prefix: "a/", Keep: keep}, ""},
		"a/b/ a/d a/e":  {Range{Prefix: "a/", Keep: keep}, "/"},
		"a/e a/d a/b/":  {Range{Prefix: "a/", Keep: keep, Reverse: true}, "/"},
		"a/b/ a/d":      {Range{Prefix: "a/", Keep: keep, Limit: 2}, "/"},
	} {
		var got []string
		if err := v.Keys(r.r, r.separator, func(key string) bool { got = append(got, key); return true }); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %s", got, want)
		}
	}
	n, err := v.Count(Range{Keep: keep})
	entries := 0
	if err == nil {
		err = v.Walk(Range{Keep: keep}, func(Entry) bool { entries++; return true })
	}
	if err != nil || n != 3 || entries != 3 {
		t.Errorf("%d and %d of 3, %v", n, entries, err)
	}
}
