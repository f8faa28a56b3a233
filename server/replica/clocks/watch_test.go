package clocks

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

const testSilence = 30 * time.Second

// clockNet is nodes with clocks of their own, whose stamps are delayed, lost and held up at random.
type clockNet struct {
	random  *rand.Rand
	watches []*Watch
	voters  quorum.Set
	rates   []int64 // ppm
	mail    []clockMail
	asleep  []time.Duration
	delay   time.Duration // the longest
}

type clockMail struct {
	due      time.Duration
	from, to int
	stamp    Stamp
}

func newClockNet(seed uint64, delay time.Duration, rates ...int64) *clockNet {
	n := &clockNet{random: rand.New(rand.NewPCG(seed, 7)), delay: delay, rates: rates,
		asleep: make([]time.Duration, len(rates))}
	for i := range rates {
		n.watches = append(n.watches, NewWatch(10_000))
		n.voters.Add(ballot.NodeID(i + 1))
	}
	return n
}

func (n *clockNet) reading(i int, now time.Duration) time.Duration {
	return time.Duration(i+1)*time.Hour + now + time.Duration(int64(now)/1_000_000*n.rates[i])
}

// run lets time pass, with a stamp from each to each every 500 ms. Every node is paused for a second now and then.
func (n *clockNet) run(from, to time.Duration) {
	const step = 20 * time.Millisecond
	paused := make([]time.Duration, len(n.rates))
	for now := from; now < to; now += step {
		for i := range n.watches {
			if n.random.IntN(500) == 0 {
				paused[i] = now + time.Second
			}
		}
		kept := n.mail[:0]
		for _, m := range n.mail {
			if m.due > now || paused[m.to] > now {
				kept = append(kept, m)
				continue
			}
			n.watches[m.to].Hear(n.reading(m.to, now), ballot.NodeID(m.from+1), m.stamp)
		}
		n.mail = kept
		for i, w := range n.watches {
			if paused[i] > now || now%(500*time.Millisecond) != 0 {
				continue
			}
			w.Step(n.reading(i, now), n.asleep[i], n.voters)
			for j := range n.watches {
				if j != i && n.random.IntN(10) > 0 {
					due := now + time.Duration(n.random.Int64N(int64(n.delay)+1))
					n.mail = append(n.mail, clockMail{due, i, j, w.Stamp(n.reading(i, now), ballot.NodeID(j+1))})
				}
			}
		}
	}
}

func (n *clockNet) out(i int, now time.Duration) string {
	return n.watches[i].Out(n.reading(i, now), testSilence)
}

// Clocks within half of the drift of one another are never said to err, whatever the delays and pauses are.
func TestClocksWithinTheBoundAreNeverOut(t *testing.T) {
	for seed := range uint64(20) {
		delay := []time.Duration{time.Millisecond, 100 * time.Millisecond, 3 * time.Second}[seed%3]
		n := newClockNet(seed, delay, 0, 4_900, 2_000)
		for now := time.Duration(0); now < 3*time.Minute; now += 10 * time.Second {
			n.run(now, now+10*time.Second)
			for i := range n.watches {
				if why := n.out(i, now+10*time.Second); why != "" {
					t.Fatalf("seed %d, delays to %v: node %d after %v: %s", seed, delay, i+1, now, why)
				}
			}
		}
	}
}

// A node whose clock errs by more goes, and says by how much from whom; the others go on.
func TestAClockBeyondTheBoundIsOut(t *testing.T) {
	for seed, ppm := range []int64{6_000, -6_000, 50_000, -50_000} {
		n := newClockNet(uint64(seed), 10*time.Millisecond, 0, 0, ppm)
		n.run(0, 90*time.Second)
		why := n.out(2, 90*time.Second)
		if !strings.Contains(why, "node 1 (") || !strings.Contains(why, "node 2 (") ||
			strings.Contains(why, "faster") != (ppm > 0) {
			t.Fatalf("%d ppm: it says %q", ppm, why)
		}
		for i := range 2 {
			if why := n.out(i, 90*time.Second); why != "" {
				t.Fatalf("%d ppm: node %d goes too: %s", ppm, i+1, why)
			}
		}
	}
}

// Without a majority that agrees, no node is out: it is not known which clocks err. With such a majority, only nodes
// that differ from all of it are out. A majority stays at any rates.
func TestClocksAreOutvotedByAMajorityThatAgrees(t *testing.T) {
	for _, c := range []struct {
		rates []int64
		out   string // a letter for each node
	}{
		{[]int64{-6_000, 0, 6_000}, "..."},
		{[]int64{-9_900, 0, 9_900}, "..."},
		{[]int64{-3_000, 0, 6_000}, "..o"},
		{[]int64{0, 30_000, -30_000}, "..."},
		{[]int64{0, 0, 0, 8_000, 8_000}, "...oo"},
		{[]int64{0, 1_000, 8_000, 9_000}, "...."},
		{[]int64{0, 4_000, 8_000, 12_000, 16_000}, "....."},
		{[]int64{0, 2_000, 4_000, 12_000, 16_000}, "...oo"},
	} {
		n := newClockNet(1, 10*time.Millisecond, c.rates...)
		for now := time.Duration(0); now < 5*time.Minute; now += 10 * time.Second {
			n.run(now, now+10*time.Second)
			for i := range c.rates {
				why := n.out(i, now+10*time.Second)
				if why != "" && c.out[i] == '.' || why == "" && c.out[i] == 'o' && now > 2*time.Minute {
					t.Fatalf("rates %v: node %d after %v: %q, want %s", c.rates, i+1, now, why, c.out)
				}
			}
		}
	}
}

// A suspended node comes back although its clock differs from the others, as long as no majority agrees that it errs.
func TestASuspendedNodeComesBackThoughNoMajorityAgrees(t *testing.T) {
	n := newClockNet(1, 10*time.Millisecond, -6_000, 0, 6_000)
	n.run(0, 3*time.Minute)
	n.asleep[0] = time.Minute
	end := 3*time.Minute + BackWithin + testSilence
	n.run(3*time.Minute, end)
	if why := n.out(0, end); why != "" {
		t.Errorf("it says %q", why)
	}
}

// Of five, one that was suspended must be compared with two others.
func TestOneOfFiveBringsNobodyBack(t *testing.T) {
	n := newClockNet(1, time.Millisecond, 0, 0, 0, 0, 0)
	n.run(0, 10*time.Second)
	n.asleep[0] = time.Minute
	w, now := n.watches[0], 10*time.Second
	for _, others := range []int{1, 2} {
		for range 2 * int(testSilence/(500*time.Millisecond)) {
			now += 500 * time.Millisecond
			for j := 1; j <= others; j++ {
				o := n.watches[j]
				o.Hear(n.reading(j, now), 1, w.Stamp(n.reading(0, now), ballot.NodeID(j+1)))
				w.Hear(n.reading(0, now), ballot.NodeID(j+1), o.Stamp(n.reading(j, now), 1))
			}
			w.Step(n.reading(0, now), n.asleep[0], n.voters)
		}
		if back := n.out(0, now) == ""; back != (others == 2) {
			t.Errorf("compared with %d others: it is back: %v", others, back)
		}
		n.asleep[0] += time.Minute
	}
}

// A peer may say of clocks whatever it likes.
func TestALongListOfClocksThatAgreeIsNoList(t *testing.T) {
	w := NewWatch(10_000)
	w.Hear(time.Second, 2, Stamp{Sent: 1, Agrees: make([]ballot.NodeID, 100)})
	w.Hear(time.Second, 2, Stamp{Sent: 1, Agrees: []ballot.NodeID{1, 2, 3, 4, 5, 6, 7, 8}})
	if p := w.rates.peer(2); p.agrees.Len() != 0 {
		t.Errorf("%v", p.agrees)
	}
}

func TestASuspendedNodeIsOutForTheSilence(t *testing.T) {
	n := newClockNet(1, time.Millisecond, 0, 0, 0)
	n.run(0, 10*time.Second)
	n.asleep[1] = 2 * time.Hour
	n.run(10*time.Second, 11*time.Second)
	if why := n.out(1, 11*time.Second); !strings.Contains(why, "suspended for 2h") {
		t.Errorf("it says %q", why)
	}
	n.run(11*time.Second, 12*time.Second+testSilence)
	if why := n.out(1, 12*time.Second+testSilence); why != "" {
		t.Errorf("after the silence it says %q", why)
	}
}

// Measurements before a suspension say nothing about the clock after it.
func TestASuspendedNodeThatHearsNobodyStaysOut(t *testing.T) {
	n := newClockNet(1, time.Millisecond, 0, 0, 0)
	n.run(0, 10*time.Second)
	w, now := n.watches[1], n.reading(1, 10*time.Second)
	for range 2 * int(testSilence/time.Second) {
		now += time.Second
		w.Step(now, time.Minute, quorum.Of(1, 2, 3))
		if w.Out(now, testSilence) == "" {
			t.Fatal("it takes part, by a clock that was compared with none since")
		}
	}
	n.asleep[1] = time.Minute
	n.run(2*time.Minute, 2*time.Minute+testSilence+5*time.Second)
	if why := n.out(1, 2*time.Minute+testSilence+5*time.Second); why != "" {
		t.Errorf("it hears the others again, and says %q", why)
	}
}

// With one other node nobody knows which of the two errs.
func TestOneOtherClockProvesNothing(t *testing.T) {
	n := newClockNet(1, time.Millisecond, 0, 50_000, 0)
	for i := range n.watches {
		n.watches[i].rates.limitPPM = 5_000
	}
	n.run(0, 20*time.Second)
	n.watches[0].Forget(3)
	n.watches[0].Step(n.reading(0, 20*time.Second), 0, quorum.Of(1, 2))
	if why := n.out(0, 20*time.Second); why != "" {
		t.Errorf("it says %q", why)
	}
}

// A node that is out comes back only when its clock was compared with others and agrees. Here the connections of the
// node break every second, so its clock is never compared.
func TestNobodyComesBackUncompared(t *testing.T) {
	n := newClockNet(1, 10*time.Millisecond, 0, 0, 50_000)
	n.run(0, 90*time.Second)
	now := 90 * time.Second
	for ; now < 90*time.Second+3*testSilence; now += time.Second {
		for i := range n.watches {
			n.watches[2].Forget(ballot.NodeID(i + 1))
			n.watches[i].Forget(3)
		}
		n.mail = nil
		n.run(now, now+time.Second)
		if n.out(2, now) == "" {
			t.Fatalf("after %v it takes part, by a clock that was compared with none", now)
		}
	}
	before := n.reading(2, now)
	n.rates[2] = 0
	drop := before - n.reading(2, now)
	if drop <= 0 {
		t.Fatal("its clock was not fast")
	}
	for i := range n.watches { // a clock that is set right: a new process
		n.watches[i].Forget(3)
		n.watches[2].Forget(ballot.NodeID(i + 1))
	}
	n.watches[2].last -= drop
	n.mail = nil
	n.run(now, now+testSilence+15*time.Second)
	if why := n.out(2, now+testSilence+15*time.Second); why != "" {
		t.Errorf("its clock agrees again and it says %q", why)
	}
}
