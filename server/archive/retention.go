package archive

import (
	"slices"
	"time"
)

// Schedule says when to make full copies, how long to keep them, and when to verify. All durations are positive.
type Schedule struct {
	FullEvery   time.Duration // time between two full copies
	Keep        time.Duration // how far back every revision can be restored
	VerifyEvery time.Duration // time between two verifications
}

// aheadFor is how far a time may be ahead of the reading node's clock. A time further ahead comes from a wrong clock,
// and is ignored.
const aheadFor = 2 * time.Hour

// within reports whether at is less than d before now, or a little ahead.
func within(at, now time.Time, d time.Duration) bool {
	age := now.Sub(at)
	return age < d && age > -aheadFor
}

// FullDue reports whether a full copy is due at now.
func (s Schedule) FullDue(l *Listing, now time.Time) bool {
	return !slices.ContainsFunc(l.Fulls, func(f Full) bool { return within(f.Made, now, s.FullEvery) })
}

// VerifyDue reports whether a verification is due at now.
func (s Schedule) VerifyDue(l *Listing, now time.Time) bool {
	return len(l.Fulls) > 0 &&
		!slices.ContainsFunc(l.Verified, func(v Verified) bool { return within(v.When, now, s.VerifyEvery) })
}

// least returns how many of the newest full copies are kept whatever their times: the number for s.Keep at one every
// s.FullEvery, and the copy before. So a clock that is ahead expires no copy before that many newer ones were made.
func (s Schedule) least() int {
	if s.FullEvery <= 0 {
		return 1
	}
	return int((s.Keep+s.FullEvery-1)/s.FullEvery) + 1
}

// Kept returns the full copies needed at now, sorted by Slot. These are all copies younger than s.Keep, the newest
// older copy, the newest s.least() copies, and the newest verified copy. The older copy is needed to restore the
// beginning of that time.
func (s Schedule) Kept(l *Listing, now time.Time) (kept []Full) {
	begin, end := now.Add(-s.Keep), now.Add(aheadFor)
	verified, ok := l.NewestVerified()
	for i, f := range l.Fulls {
		young := f.Made.After(begin) || i+1 < len(l.Fulls) && l.Fulls[i+1].Made.After(begin)
		ahead := f.Made.After(end) // as all are that were made since a clock was wrong
		if i >= len(l.Fulls)-s.least() || young && !ahead || ok && f == verified.Full {
			kept = append(kept, f)
		}
	}
	return kept
}

// ExpiredSegments returns the names of the segments of l that no full copy in kept needs; kept is sorted by Slot.
// Delete them before the full copies: the oldest full copy tells the next attempt where to look for what an interrupted
// one has left.
func ExpiredSegments(l *Listing, kept []Full) (names []string) {
	for _, s := range l.Segments {
		if len(kept) > 0 && s.Last <= kept[0].Slot {
			names = append(names, s.Name(l.Cluster))
		}
	}
	return names
}

// ExpiredCopies returns the names of the full copies that are not in kept, of their verifications, and of all but the
// newest verification of each kept one. It returns nothing if kept is empty.
func ExpiredCopies(l *Listing, kept []Full) (names []string) {
	if len(kept) == 0 {
		return nil
	}
	newest := map[Full]Verified{}
	for _, v := range l.Verified { // sorted by When
		newest[v.Full] = v
	}
	for _, v := range l.Verified {
		if !slices.Contains(kept, v.Full) || newest[v.Full] != v {
			names = append(names, v.Name(l.Cluster))
		}
	}
	for _, f := range l.Fulls {
		if !slices.Contains(kept, f) {
			names = append(names, f.Name(l.Cluster))
		}
	}
	return names
}
