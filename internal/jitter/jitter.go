// Package jitter draws waits at random. The waits depend on the seed alone, so pure packages use it.
package jitter

import "time"

// Source is a generator of pseudo-random numbers (xorshift). The zero value is not usable: see New.
type Source uint64

// New returns the source of a seed. Two seeds that differ in the lowest bit only have the same numbers.
func New(seed uint64) Source { return Source(seed | 1) }

// Next draws a number.
func (s *Source) Next() uint64 {
	*s ^= *s << 13
	*s ^= *s >> 7
	*s ^= *s << 17
	return uint64(*s)
}

// Below draws a duration from 0 up to, but not including, d. It is 0 if d is not positive.
func (s *Source) Below(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(s.Next() % uint64(d))
}
