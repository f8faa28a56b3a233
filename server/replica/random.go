package replica

import "time"

// xorshift is a generator of pseudo-random numbers. Its seed must not be 0.
type xorshift uint64

func (x *xorshift) next() uint64 {
	*x ^= *x << 13
	*x ^= *x >> 7
	*x ^= *x << 17
	return uint64(*x)
}

// draw is a duration below d.
func (x *xorshift) draw(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(x.next() % uint64(d))
}
