package clocks

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
)

// FoundWithin bounds how long, in its own time, a clock that errs by the whole drift stays unnoticed.
// BackWithin bounds how long until a clock is known to agree again. Both hold if stamps take no time.
const (
	FoundWithin = rateWindow + 2*rateBucket
	BackWithin  = 2*rateWindow + 4*rateBucket
)

// Watch decides whether this node's elapsed clock may be trusted with leases. It is pure: it is told readings.
//
// A node is out if a majority of the voters have clocks that agree among themselves, and its own clock differs from
// theirs by more than half of the allowed drift. It then lets go of the master lease, answers nothing about leases, and
// asks for none. Without an agreeing majority no node is out, so of two nodes neither is: clocks within the allowed
// drift never cost a cluster its master. A node that was suspended is out too.
//
// It comes back by itself. First its clock must have been compared since with those of half of the voters; after it was
// outvoted, only voters from whose clocks it does not differ count. Then it keeps silent until all leases are over that
// it may have granted before, as after a restart (A4), since an erring clock recorded them. Peers whose clocks cannot
// be compared, because connections break all the time, do not help.
//
// A clock that comes to differ by the whole drift is found within rateWindow + 2·rateBucket of its own time, and
// 2·d/limit more where a stamp takes up to d on its way. Until then one owner at a time rests on the allowance of an
// exclusion: two clocks that differ by twice the drift. A slowly growing error is found before it reaches that. A clock
// that is at once further off is outside the promise for that time.
type Watch struct {
	rates     rates
	voters    quorum.Set // as last told
	started   bool
	suspended time.Duration // of the machine, as last told
	erred     bool          // it ever was out
	outvoted  bool          // the last time was because others' clocks run at another rate
	doubted   bool          // it erred, and has not been compared with enough others since
	last      time.Duration // when the clock was last known to err
	why       string
}

// NewWatch returns the watch of a node that may drift by driftPPM.
func NewWatch(driftPPM int64) *Watch {
	return &Watch{rates: rates{limitPPM: driftPPM / 2}}
}

// Stamp returns what to send to a peer at now, again and again.
func (w *Watch) Stamp(now time.Duration, to ballot.NodeID) Stamp {
	s := w.rates.stamp(now, to)
	s.Agrees = w.rates.agreeing(w.voters)
	return s
}

// Hear takes a stamp that came from a peer at now.
func (w *Watch) Hear(now time.Duration, from ballot.NodeID, s Stamp) {
	w.rates.hear(now, from, s)
}

// Forget drops the measurements of a peer that has connected anew.
func (w *Watch) Forget(peer ballot.NodeID) { w.rates.forget(peer) }

// Step looks at the clock at now. suspended is for how long the machine was suspended since it was booted.
func (w *Watch) Step(now, suspended time.Duration, voters quorum.Set) {
	slept := suspended - w.suspended
	w.suspended, w.voters = suspended, voters
	if !w.started {
		w.started = true // what was before this run does not matter: the run began with A4
		return
	}
	switch {
	case w.rates.outvoted(voters):
		w.outvoted = true
		w.err(now, "its clock runs at another rate than those of "+DescribeRates(w.rates.differing(voters)))
	case slept > 0:
		w.rates.doubt()
		w.err(now, fmt.Sprintf("its machine was suspended for %v", slept.Round(time.Millisecond)))
	case w.doubted && w.rates.comparedWith(voters, w.outvoted) < voters.Len()/2: // with this node they make a majority
		w.last = now
	default:
		w.outvoted, w.doubted = false, false
	}
}

func (w *Watch) err(now time.Duration, why string) {
	w.erred, w.doubted, w.last, w.why = true, true, now, why
}

// StampEvery is the time between two comparisons of clocks.
const StampEvery = 500 * time.Millisecond

// Out returns why this node takes no part now in leases that live for up to silence after they were granted, "" if it
// does.
func (w *Watch) Out(now, silence time.Duration) string {
	if !w.erred || now-w.last >= silence {
		return ""
	}
	return w.why
}

// Differing returns the voters whose clocks certainly run at another rate.
func (w *Watch) Differing(voters quorum.Set) []RateDiffers { return w.rates.differing(voters) }

// DescribeRates names peers and by how much this node's clock is faster or slower than theirs, "" for none.
func DescribeRates(differs []RateDiffers) string {
	var parts []string
	for _, d := range differs {
		ppm, word := d.PPM, "slower"
		if ppm < 0 {
			ppm, word = -ppm, "faster"
		}
		parts = append(parts, fmt.Sprintf("node %d (%d ppm %s at least)", d.Node, ppm, word))
	}
	return strings.Join(parts, " and ")
}
