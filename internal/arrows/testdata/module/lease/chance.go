package lease

import (
	"math/rand/v2"
	. "time"
)

const tick = 10 * Millisecond

func drawn(r *rand.Rand) Duration {
	return Duration(r.Int64N(int64(tick)))
}

func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, seed))
}

func global() int {
	return rand.IntN(3) // want "global generator"
}

func clocks() (Time, Duration) {
	t := Now()         // want "time.Now"
	f := Since         // want "time.Since"
	Sleep(tick)        // want "time.Sleep"
	_ = After(tick)    // want "channel"
	_ = AfterFunc      // want "time.AfterFunc"
	_ = NewTimer(tick) // want "time.NewTimer"
	return t, f(t)
}
