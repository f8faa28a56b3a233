package archive

import "time"

// Resumed is the point at which an archive continues.
type Resumed struct {
	First   uint64
	Before  Chain     // the chain before First
	Reached time.Time // the slot before First had been applied by then; zero if unknown
	New     bool      // a new chain begins, which needs a full copy at slot First-1 or later (Listing.LeadsTo)
	Gap     Gap       // slots before First that should have been archived and are not; zero if there are none
}

// Resume returns where a node continues an archive. l has the end of the archive; the node has truncated its log
// through slot truncated and applied it through slot applied. The archive continues after the last segment, or after
// the newest full copy if there is no segment. If the log no longer has that slot, the archive gets a gap. Behind the
// gap it continues after the newest full copy if the log still has the slots after that copy, else after applied. An
// empty archive begins after applied.
func Resume(l *Listing, truncated, applied uint64) Resumed {
	end, found := l.End()
	r := Resumed{First: end.Last + 1, Before: end.After, Reached: end.Reached}
	n := len(l.Fulls)
	switch {
	case !found && n == 0:
		r.First, r.New = applied+1, true
	case !found:
		r.First, r.Reached, r.New = l.Fulls[n-1].Slot+1, l.Fulls[n-1].Made, true
	}
	if lost := r.First; lost <= truncated {
		r.First, r.New = applied+1, true
		if n > 0 && l.Fulls[n-1].Slot >= truncated {
			r.First = l.Fulls[n-1].Slot + 1
		}
		r.Gap = Gap{First: lost, Last: r.First - 1}
	}
	if r.New {
		r.Before = BeginChain(l.Cluster, r.First)
	}
	return r
}
