package named

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

// crowded is name i; few names have a place of their own, so that they stand in each other's way, also across the end
// of the slots.
func crowded(i int) (n Name) {
	binary.BigEndian.PutUint64(n[:], uint64(i%5)-2)
	n[8] = byte(i)
	n[9] = byte(i >> 8)
	return n
}

// The index agrees with a map, whatever is added and removed, and gives space back.
func TestIndexAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, s := newIndex(rapid.SampledFrom([]int{1, 3 * partNames}).Draw(t, "most")), slab{free: none}
		known := map[int]uint32{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			i := rapid.IntRange(0, 120).Draw(t, "name")
			if at, ok := known[i]; ok {
				x.remove(&s, at)
				s.give(at)
				delete(known, i)
			} else {
				at := s.alloc()
				s.at(at).name = crowded(i)
				x.add(&s, at)
				known[i] = at
			}
			for j := range 121 {
				want, ok := known[j]
				if !ok {
					want = none
				}
				if got := x.find(&s, crowded(j)); got != want {
					t.Fatalf("name %d is record %d, found as %d", j, want, got)
				}
			}
		}
		for _, at := range known {
			x.remove(&s, at)
		}
		for p := range x.parts {
			if n := len(x.parts[p].slots); n > leastSlots || x.parts[p].used != 0 {
				t.Fatalf("part %d keeps %d slots for %d names", p, n, x.parts[p].used)
			}
		}
	})
}

func TestIndexHasAPartForAShareOfTheNames(t *testing.T) {
	for most, want := range map[int]int{1: 1, partNames: 1, partNames + 1: 2, 1 << 20: 1024, LargestTable: maxParts} {
		if got := len(newIndex(most).parts); got != want {
			t.Errorf("%d names: %d parts, want %d", most, got, want)
		}
	}
}
