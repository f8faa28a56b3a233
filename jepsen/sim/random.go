package sim

import (
	"math/bits"
	"time"
)

// random is a splitmix64 generator. It is written out here because a trace must not depend on a later standard
// library's use of a seed. No draw uses floating point, whose results differ between machines.
type random struct{ state uint64 }

// stream returns generator number n of a seed.
func stream(seed, n uint64) random {
	r := random{state: seed}
	r.state = r.next() ^ n*0xd1342543de82ef95
	return random{state: r.next()}
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number from 0 to n-1; 0 for n ≤ 1.
func (r *random) below(n int) int {
	if n <= 1 {
		return 0
	}
	hi, _ := bits.Mul64(r.next(), uint64(n))
	return int(hi)
}

// chance returns true in perMille of 1000 draws.
func (r *random) chance(perMille int) bool { return perMille > 0 && r.below(1000) < perMille }

// between returns a duration from least to most, both possible.
func (r *random) between(least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.below(int(most-least)+1))
}

// skewed returns a duration from least to most too, but each doubling of the length is about as likely as the next.
func (r *random) skewed(least, most time.Duration) time.Duration {
	doublings := 0
	for d := max(least, 1); d < most; d *= 2 {
		doublings++
	}
	top := max(least, 1) << r.below(doublings+1)
	return r.between(max(least, top/2), min(most, top))
}

// pick returns one of list.
func pick[T any](r *random, list ...T) T { return list[r.below(len(list))] }
