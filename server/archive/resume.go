package archive

import "time"

// Resumed is the point at which an archive continues.
type Resumed struct {
	First   uint64
	Before  Chain     // the chain before First
	Reached time.Time // the slot before First had been applied by then; zero if unknown
	New     bool      // a new chain begins, which needs a full copy at slot First-1 or later
	Gap     bool      // slots before First should have been archived and are not
}

// Resume returns where a node continues an archive. l has the end of the archive; the node has truncated its log
// through slot truncated and applied it through slot applied. The archive continues after the last segment, or after
// the newest full copy if there is no segment. If the archive is empty, or the log no longer has that slot, it
// continues after applied.
func Resume(l *Listing, truncated, applied uint64) Resumed {
	end, found := l.End()
	r := Resumed{First: end.Last + 1, Before: end.After, Reached: end.Reached}
	if !found {
		if n := len(l.Fulls); n > 0 {
			r.First, r.Reached = l.Fulls[n-1].Slot+1, l.Fulls[n-1].Made
		}
		r.New = true
	}
	if empty := !found && len(l.Fulls) == 0; empty || r.First <= truncated {
		r.First, r.New, r.Gap = applied+1, true, !empty
	}
	if r.New {
		r.Before = BeginChain(l.Cluster, r.First)
	}
	return r
}
