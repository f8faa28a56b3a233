package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/internal/leasehold"
	"tenure/jepsen/history"
)

// What shows that a run of leases tested something: names in Result.Counts.
const (
	Acquisitions = "acquisitions"       // that came to own
	Successions  = "changes of owner"   // from one client to another
	Contended    = "contended"          // attempts made while another acquisition owned
	Refused      = "writes refused"     // by a fence
	Renewals     = "renewals"           // that a client counted
	Outlived     = "ends by themselves" // of ownerships that nobody released
)

// Leases checks named leases and the keys that they guard, as Locks does. A lease's key ends in "lease" and is its
// name; the guarded key beside it ends in "guarded".
//
// Times are readings of one clock, the harness's, and every client decides by internal/leasehold what it may believe,
// at the Call and Return that are recorded. So what is checked is exact: no two acquisitions of a name own at an
// instant.
//
// Of two grants of a name, the later has the larger token if the first was told before the other was asked for. The
// tokens may be equal if both grants are of one acquisition. A renewal that is answered while its acquisition owns is
// not told that it is gone. If fenced, tokens never fall in the order of the writes; else each fall is counted as
// Shown.
func Leases(ops []history.Op, fenced bool) Result {
	r := Result{Counts: map[string]int{}}
	names, by := groups(ops, directory)
	for _, n := range names {
		if n != "" {
			r.merge(leaseGroup(by[n], fenced))
		}
	}
	return r
}

// directory returns a key up to its last slash.
func directory(op history.Op) string { return op.Key[:strings.LastIndexByte(op.Key, '/')+1] }

func leaseGroup(all []history.Op, fenced bool) Result {
	r := Result{Checked: len(useful(all)), Keys: 1, Counts: map[string]int{}}
	var guard, leases []history.Op
	for _, op := range all {
		if strings.HasSuffix(op.Key, "/guarded") {
			guard = append(guard, op)
		} else {
			leases = append(leases, op)
		}
		if op.Fenced {
			r.Counts[Refused]++
		}
	}
	guarded(&r, guard, fenced)
	tokens(&r, leases)
	owners := ownerships(&r, leases)
	successions(&r, owners)
	contended(&r, leases, owners)
	return r
}

// tokens checks the tokens of all grants of one name.
func tokens(r *Result, ops []history.Op) {
	var grants []history.Op
	first := map[uint64]history.Op{}
	for _, op := range ops {
		if !op.Grants() {
			continue
		}
		grants = append(grants, op)
		if f, ok := first[op.Token]; !ok {
			first[op.Token] = op
		} else if f.Acquisition != op.Acquisition {
			r.add("token twice", fmt.Sprintf("token %d of %s went to two acquisitions", op.Token, op.Key), f, op)
		}
	}
	most := history.Op{}
	earlier(grants, grants, func(op history.Op) {
		if op.Token >= most.Token {
			most = op
		}
	}, func(op history.Op) {
		switch {
		case op.Token >= most.Token:
		case op.Acquisition == most.Acquisition:
			r.add("token fell", fmt.Sprintf("an acquisition of %s had token %d, and later %d", op.Key, most.Token,
				op.Token), most, op)
		default:
			r.add("older token", fmt.Sprintf("%s was granted with token %d after it had been with %d", op.Key, op.Token,
				most.Token), most, op)
		}
	})
}

// ownership is the time in which a client believed to own by one acquisition.
type ownership struct {
	hold        leasehold.Hold
	from, until time.Duration
	ops         []history.Op // that show it: the grants that counted, and the release
	released    bool
}

func (o *ownership) first() history.Op { return o.ops[0] }

// ownerships has each client decide again what it may believe, and returns the times in which they believed to own, by
// their beginning.
func ownerships(r *Result, ops []history.Op) []*ownership {
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b history.Op) int { return cmp.Compare(a.Call, b.Call) })
	by := map[string]*ownership{}
	var out []*ownership
	for _, op := range ops {
		o := by[op.Acquisition]
		if o == nil {
			o = &ownership{}
			by[op.Acquisition] = o
		}
		owned := len(o.ops) > 0
		if o.take(r, op); !owned && len(o.ops) > 0 {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b *ownership) int { return cmp.Compare(a.from, b.from) })
	return out
}

// take notes one operation of the acquisition. They come in their order.
func (o *ownership) take(r *Result, op history.Op) {
	switch {
	case op.Kind == history.LeaseRelease:
		if o.hold.Held(op.Call) {
			o.until, o.released, o.ops = op.Call, true, append(o.ops, op)
		}
		o.hold.Release()
	case op.Outcome == history.OK && op.Absent:
		if o.hold.Lost(op.Call) && o.hold.Held(op.Return) {
			r.add("lost while held", fmt.Sprintf("a renewal of %s was told that it is gone %v before its time", op.Key,
				o.hold.Deadline()-op.Return),
				append(slices.Clone(o.ops), op)...)
		}
	case op.Grants():
		if !o.hold.Take(op.Return, op.LeaseReply()) {
			return
		}
		if len(o.ops) == 0 {
			o.from = op.Return
		} else {
			r.Counts[Renewals]++
		}
		o.until, o.ops = o.hold.Deadline(), append(o.ops, op)
	}
}

// successions checks that ownerships of one name exclude one another.
func successions(r *Result, owners []*ownership) {
	var longest *ownership
	for i, o := range owners {
		r.Counts[Acquisitions]++
		if !o.released {
			r.Counts[Outlived]++
		}
		if i > 0 && o.first().Client != owners[i-1].first().Client {
			r.Counts[Successions]++
		}
		if longest != nil && o.from < longest.until {
			r.add("two owners", fmt.Sprintf("%s was owned by two acquisitions for %v", o.first().Key, min(o.until,
				longest.until)-o.from),
				slices.Concat(longest.ops, o.ops)...)
		}
		if longest == nil || o.until > longest.until {
			longest = o
		}
	}
}

// contended counts the attempts to acquire that began while another acquisition owned.
func contended(r *Result, ops []history.Op, owners []*ownership) {
	for _, op := range ops {
		if op.Kind != history.LeaseAcquire || op.Outcome == history.Fail {
			continue
		}
		// They exclude one another, so the last one that began before the call is the one to look at.
		i, _ := slices.BinarySearchFunc(owners, op.Call, func(o *ownership,
			at time.Duration) int {
			return cmp.Compare(o.from, at)
		})
		if i > 0 && owners[i-1].until > op.Call && owners[i-1].first().Acquisition != op.Acquisition {
			r.Counts[Contended]++
		}
	}
}
