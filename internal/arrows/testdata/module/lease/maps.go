package lease

import (
	"maps"
	"slices"
)

type votes map[int]bool

func unordered(v votes) (ks []int) {
	for k := range v { // want "range over a map"
		ks = append(ks, k)
	}
	//unordered:
	for k := range v { // want "range over a map"
		ks = append(ks, k)
	}
	for k := range maps.Keys(v) { // want "maps.Keys"
		ks = append(ks, k)
	}
	return slices.Collect(maps.Keys(v)) // want "maps.Keys"
}

func generic[M ~map[int]bool](m M) (n int) {
	for k := range m { // want "range over a map"
		n = k
	}
	return n
}

func count(v votes) (n int) {
	//unordered: only counts
	for _, yes := range v {
		if yes {
			n++
		}
	}
	for range v { // unordered: only counts
		n++
	}
	return n
}

func sorted(v votes) []int {
	for i := range []int{1, 2} {
		_ = i
	}
	return slices.Sorted(maps.Keys(v))
}
