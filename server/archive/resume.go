package archive

import "time"

// Resumed is where an archive goes on.
type Resumed struct {
	First   uint64
	Before  Chain     // the chain before First
	Reached time.Time // the slot before First had been applied by then; zero: not known
	New     bool      // with a new chain: a full copy is needed at or behind the slot before First
	Gap     bool      // there are slots before First that were to be archived and are not
}

// Resume returns where the archive goes on of which l has the end, at a node that has truncated its log through one
// slot and applied it through another. That is behind the last segment; without one behind the newest full copy; and
// where the log does not reach back to that, behind what is applied.
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
