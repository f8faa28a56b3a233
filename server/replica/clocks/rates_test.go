package clocks

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// ratePair is two nodes that exchange stamps every 500 ms, over a network that delays, overtakes and loses them.
type ratePair struct {
	random *rand.Rand
	rates  [2]rates
	errs   [2]int64 // of the clocks, in ppm
	base   [2]time.Duration
	delay  [2]time.Duration // the longest in each direction
	lost   int              // of 100 stamps
	now    time.Duration
	mail   []clockMail
}

func drawRatePair(t *rapid.T, most time.Duration) *ratePair {
	delay := func(label string) time.Duration {
		return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, label))
	}
	p := &ratePair{
		random: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		delay:  [2]time.Duration{delay("to second"), delay("to first")},
		base:   [2]time.Duration{time.Hour, time.Second}, lost: rapid.IntRange(0, 50).Draw(t, "lost of 100"),
	}
	for i := range p.rates {
		p.rates[i].limitPPM = 5_000
	}
	return p
}

func (p *ratePair) reading(i int) time.Duration {
	return p.base[i] + p.now + time.Duration(int64(p.now)/1_000_000*p.errs[i])
}

// restart starts node i anew. Both nodes forget what they know of the other, and stamps in flight are lost with the
// connection. After a boot the clock of the machine starts from another reading.
func (p *ratePair) restart(i int, booted bool) {
	if booted {
		p.base[i] = time.Duration(p.random.Int64N(int64(time.Hour)))
	}
	p.rates[0].forget(2)
	p.rates[1].forget(1)
	p.mail = nil
}

// setRate changes the rate of the clock of node i, whose reading stays.
func (p *ratePair) setRate(i int, ppm int64) {
	before := p.reading(i)
	p.errs[i] = ppm
	p.base[i] += before - p.reading(i)
}

// run lets d pass. held reports whether node i is paused now: what comes for it waits.
func (p *ratePair) run(d time.Duration, held func(i int) bool) {
	const step = 5 * time.Millisecond
	for end := p.now + d; p.now < end; p.now += step {
		left := p.mail[:0]
		for _, m := range p.mail {
			if m.due > p.now || held(m.to) {
				left = append(left, m)
				continue
			}
			p.rates[m.to].hear(p.reading(m.to), ballot.NodeID(m.from+1), m.stamp)
		}
		p.mail = left
		if p.now%(500*time.Millisecond) != 0 {
			continue
		}
		for i := range p.rates {
			if held(i) || p.random.IntN(100) < p.lost {
				continue
			}
			due := p.now + time.Duration(p.random.Int64N(int64(p.delay[i])+1))
			s := p.rates[i].stamp(p.reading(i), ballot.NodeID(2-i))
			p.mail = append(p.mail, clockMail{due, i, 1 - i, s})
		}
	}
}

// accused returns whom node i takes for one whose clock differs.
func (p *ratePair) accused(i int) []RateDiffers { return p.rates[i].differing(quorum.Of(1, 2)) }

// TestNoClockWithinHalfOfTheDriftIsAccused: whatever the delays, pauses, losses and restarts are.
func TestNoClockWithinHalfOfTheDriftIsAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRatePair(t, 5*time.Second)
		first := rapid.Int64Range(-10_000, 10_000).Draw(t, "rate of the first")
		// The ratio of the rates is what the two see of each other: a little less than the difference, or more.
		apart := rapid.SampledFrom([]int64{-4_900, 4_900, 0, 1_000}).Draw(t, "apart")
		p.errs = [2]int64{first, first + apart}
		for range rapid.IntRange(1, 12).Draw(t, "turns") {
			held := rapid.IntRange(-4, 1).Draw(t, "paused")
			switch rapid.IntRange(0, 5).Draw(t, "restarted") {
			case 0:
				p.restart(0, p.random.IntN(2) == 0)
			case 1:
				p.restart(1, p.random.IntN(2) == 0)
			}
			p.run(time.Duration(rapid.IntRange(1, 40).Draw(t, "half seconds"))*500*time.Millisecond,
				func(i int) bool { return i == held })
			for i := range p.rates {
				if a := p.accused(i); a != nil {
					t.Fatalf("at %v node %d accuses %+v, whose clock differs by %d ppm", p.now, i+1, a, apart)
				}
			}
		}
	})
}

// TestAClockBeyondTheDriftIsAccusedInTime: both accuse each other within the time that Watch states, also if the
// rate changes when they have agreed for long, and go on to do so while it errs. Lost stamps delay this only until the
// next ones come.
func TestAClockBeyondTheDriftIsAccusedInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRatePair(t, 100*time.Millisecond)
		never := func(int) bool { return false }
		p.run(time.Duration(rapid.IntRange(0, 600).Draw(t, "half seconds before"))*500*time.Millisecond, never)
		rate := rapid.SampledFrom([]int64{10_200, -10_200, 50_000, -300_000, 2_000_000}).Draw(t, "rate")
		if rate < 0 {
			p.setRate(0, rate)
		} else {
			p.setRate(1, rate)
		}
		const lostStamps = 10 * time.Second // no more than twenty of them in a row
		slowest := 1_000_000 + min(rate, 0) // the window is one of the own clock, and that may be the slow one
		within := time.Duration(int64(rateWindow+2*rateBucket) / slowest * 1_000_000)
		within += 2*max(p.delay[0], p.delay[1])*1_000_000/5_000 + lostStamps
		began := p.now
		p.run(within.Truncate(500*time.Millisecond), never)
		for p.now < began+within+2*rateWindow {
			for i := range p.rates {
				if a := p.accused(i); len(a) != 1 {
					t.Fatalf("%v after its rate became %d ppm node %d accuses %+v", p.now-began, rate, i+1, a)
				}
			}
			p.run(500*time.Millisecond, never)
		}
	})
}

// Bounds that become tighter with each stamp do not move the beginning of their window. So the rate is still measured
// anew, and the result of an earlier window does not stand for ever.
func TestARateIsMeasuredAnewWhileBoundsTighten(t *testing.T) {
	for _, ppm := range []int64{-300, 0, 300} { // of the peer, once this clock is right again
		var here, there rates
		here.limitPPM, there.limitPPM = 5000, 5000
		at := func(now time.Duration, fast int64) time.Duration { return now + time.Duration(int64(now)/1e6*fast) }
		const turn = 15 * time.Second
		for now := time.Second; now < turn+2*rateWindow+4*rateBucket; now += 500 * time.Millisecond {
			mine, theirs := at(now, 12_000), time.Hour+now
			if now > turn {
				mine, theirs = at(turn, 12_000)+now-turn, time.Hour+turn+at(now-turn, ppm)
			}
			there.hear(theirs, 1, here.stamp(mine, 2))
			here.hear(mine, 2, there.stamp(theirs, 1))
		}
		if len(here.differing(quorum.Of(1, 2))) > 0 || len(here.agreeing(quorum.Of(1, 2))) != 1 {
			t.Errorf("a peer that is faster by %d ppm: %+v", ppm, here.peer(2).bounds())
		}
	}
}
