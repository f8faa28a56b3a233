package lease

import "time"

// rounds are the times after the death at which a guardian sends all its Releases. It repeats them because an Accept
// that was under way may arrive after the first round, and because each Release is also a hint to try.
var rounds = [...]time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, 40 * time.Millisecond,
	100 * time.Millisecond,
	250 * time.Millisecond, 500 * time.Millisecond}

// CrashReleaseFor is how long after the death a guardian still has something to say.
const CrashReleaseFor = 500 * time.Millisecond

// Guardian is P7's decision when to speak for a process that has died. It stays silent until Died is called: a process
// that does not answer, or has closed its connections, may still act as owner. The zero value knows of no death. A copy
// is independent.
type Guardian struct {
	died bool
	at   time.Duration
	next int // round
}

// Died is called when the kernel tells that the process is gone, all its threads: it can never act as
// owner again. The clock is any that the guardian likes; it paces the rounds and nothing else.
func (g *Guardian) Died(now time.Duration) {
	if !g.died {
		g.died, g.at = true, now
	}
}

// Due is P7: whether all Releases should be sent now. The caller then says so with Sent.
func (g *Guardian) Due(now time.Duration) bool {
	return g.died && g.next < len(rounds) && now >= g.at+rounds[g.next]
}

// Sent ends a round.
func (g *Guardian) Sent() { g.next++ }

// Next is when the next round is due; not ok if there is none, or none yet.
func (g *Guardian) Next() (at time.Duration, ok bool) {
	if !g.died || g.next >= len(rounds) {
		return 0, false
	}
	return g.at + rounds[g.next], true
}
