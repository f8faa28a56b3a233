package watch

import (
	"iter"
	"math/bits"

	"tenure/kv"
)

// lengths is the set of lengths that waited-for prefixes have: a changed key is looked up once for each of them, not
// once for each prefix. No prefix is longer than a key may be.
type lengths struct {
	count [kv.MaxKeyBytes + 1]int32 // prefixes of each length
	set   [(kv.MaxKeyBytes + 64) / 64]uint64
}

func (l *lengths) add(n int) {
	l.count[n]++
	l.set[n/64] |= 1 << (n % 64)
}

func (l *lengths) drop(n int) {
	if l.count[n]--; l.count[n] == 0 {
		l.set[n/64] &^= 1 << (n % 64)
	}
}

// upTo is the lengths in the set that are not above most. The set may lose the one that was given.
func (l *lengths) upTo(most int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i <= most/64; i++ {
			for rest := l.set[i]; rest != 0; rest &= rest - 1 {
				if n := i*64 + bits.TrailingZeros64(rest); n > most || !yield(n) {
					return
				}
			}
		}
	}
}
