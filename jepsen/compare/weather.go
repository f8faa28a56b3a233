package compare

import (
	"time"

	"tenure/internal/ballot"
)

// stir returns a hash of a few numbers.
func stir(xs ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, x := range xs {
		h += x + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

// The kinds of events that a hash decides, so that no two of them share one.
const (
	askWeather uint64 = iota + 1
	askBackoff
	askRenewals
	askOffset
	askRate
	askFault
	askBegin
)

// between draws evenly from least to most by a hash.
func between(h uint64, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(h%uint64(most-least))
}

// chance is true for ppm of a million hashes.
func chance(h uint64, ppm int64) bool { return int64(h%million) < ppm }

// weather is the network's treatment of a message, by its sender, its receiver and the millisecond.
type weather struct {
	seed               uint64
	least, most        time.Duration
	lossPPM, repeatPPM int64
	latePPM            int64 // of messages that take up to `late` longer
	late               time.Duration
}

// fate returns how long the copies of a message take; there are none if it is lost.
func (w *weather) fate(from, to ballot.NodeID, now time.Duration) (delays [2]time.Duration, copies int) {
	h := stir(w.seed, askWeather, uint64(from)<<32|uint64(to), uint64(now/time.Millisecond))
	delays[0] = between(h, w.least, w.most)
	if chance(stir(h, 1), w.lossPPM) {
		return delays, 0
	}
	if chance(stir(h, 2), w.latePPM) {
		delays[0] += between(stir(h, 3), 0, w.late)
	}
	copies = 1
	if chance(stir(h, 4), w.repeatPPM) {
		copies = 2
		delays[1] = delays[0] + between(stir(h, 5), w.least, w.late)
	}
	return delays, copies
}
