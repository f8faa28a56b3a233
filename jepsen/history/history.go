// Package history records what clients did and saw, for the checkers. Times are readings of one clock of the harness:
// only their order matters.
//
//	history.go  operations and the recorder
//	more.go     further fields, for sessions, locks, leases, transactions and watches
//	token.go    operations under tokens that end
//	edn.go      the history in Jepsen's own format
package history

import (
	"fmt"
	"math"
	"sync"
	"time"
)

// Kind is what an operation does.
type Kind string

// The operations on a key, and on all keys under a prefix.
const (
	Get    Kind = "get"
	Put    Kind = "put"
	CAS    Kind = "cas" // by index; an Index of 0 creates
	Delete Kind = "delete"
	Swap   Kind = "swap"   // by value: From is compared, "" for a key that is absent
	Incr   Kind = "incr"   // by 1; Value is the number that was made
	Append Kind = "append" // of Value to what is there, to Size bytes
	List   Kind = "list"   // Key is the prefix
	Prune  Kind = "prune"  // Key is the prefix: all keys under it go at once
)

// Outcome is how an operation ended for its client.
type Outcome string

// The outcomes. Info is Jepsen's word for unknown: the operation may take effect at any later time, or never.
const (
	OK   Outcome = "ok"
	Fail Outcome = "fail" // certainly without effect
	Info Outcome = "info"
)

// Op is one operation from its call to its end.
type Op struct {
	Client  int     `json:"client"`
	Kind    Kind    `json:"kind"`
	Key     string  `json:"key"`
	Mode    string  `json:"mode,omitempty"`    // of a read: default or consistent
	Value   string  `json:"value,omitempty"`   // written, or read
	Index   uint64  `json:"index,omitempty"`   // compared by a cas, or read; of a list, the revision that it shows
	Absent  bool    `json:"absent,omitempty"`  // a get found nothing
	Matched bool    `json:"matched,omitempty"` // a cas that is OK: its condition held
	Result  uint64  `json:"result,omitempty"`  // revision that a write returned
	Entries []Entry `json:"entries,omitempty"` // of a list, in key order; of a transaction and of a stream see more.go
	Extra
	Outcome Outcome       `json:"outcome"`
	Error   string        `json:"error,omitempty"` // why not OK
	Call    time.Duration `json:"call_ns"`
	Return  time.Duration `json:"return_ns"` // Forever for Info
}

// Grants tells whether the operation was granted a lease, or its renewal.
func (o *Op) Grants() bool { return o.Done() && (o.Kind == LeaseAcquire || o.Kind == LeaseRenew) }

// Entry is a key as a list shows it.
type Entry struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Create uint64 `json:"create"`
	Modify uint64 `json:"modify"`

	Session string `json:"session,omitempty"` // that holds its lock
}

// Writes tells whether the operation can change anything.
func (o *Op) Writes() bool {
	switch o.Kind {
	case Get, List, SessionInfo, Stream, Master:
		return false
	case Txn:
		for _, p := range o.Parts {
			if p.Writes() {
				return true
			}
		}
		return false
	}
	return true
}

// Done tells whether the operation is a write that was certainly done.
func (o *Op) Done() bool {
	if o.Outcome != OK || !o.Writes() || o.Absent {
		return false
	}
	switch o.Kind {
	case CAS, Swap, Txn, Acquire, Release, LeaseAcquire:
		return o.Matched
	}
	return true
}

// String is one line for people.
func (o Op) String() string {
	end := "∞"
	if o.Return != Forever {
		end = fmt.Sprintf("%.3f", o.Return.Seconds()*1000)
	}
	return fmt.Sprintf("[%.3f, %s] ms client %d: %s", o.Call.Seconds()*1000, end, o.Client, o.what())
}

func (o Op) what() string {
	if o.Outcome == Fail {
		return fmt.Sprintf("%s %s → not applied: %s", o.Kind, o.Key, o.Error)
	}
	switch o.Kind {
	case Get:
		if o.Absent {
			return fmt.Sprintf("get %s → absent (%s)", o.Key, o.Mode)
		}
		return fmt.Sprintf("get %s → %q @%d (%s)", o.Key, o.Value, o.Index, o.Mode)
	case CAS:
		verdict := "condition failed"
		if o.Outcome == Info {
			verdict = "unknown"
		} else if o.Matched {
			verdict = fmt.Sprintf("@%d", o.Result)
		}
		return fmt.Sprintf("cas %s from @%d to %q → %s", o.Key, o.Index, o.Value, verdict)
	case Swap, Incr, Append:
		return o.overRedis()
	case Txn, Stream, Master, Create, Renew, Destroy, SessionInfo, Acquire, Release,
		LeaseAcquire, LeaseRenew, LeaseRelease:
		return o.more()
	case List:
		return fmt.Sprintf("list %s → %d entries at revision %d (%s)", o.Key, len(o.Entries), o.Index, o.Mode)
	}
	if o.Outcome == Info {
		return fmt.Sprintf("%s %s %q → unknown", o.Kind, o.Key, o.Value)
	}
	return fmt.Sprintf("%s %s %q → @%d", o.Kind, o.Key, o.Value, o.Result)
}

// Forever is the return of an operation whose outcome is unknown.
const Forever = time.Duration(math.MaxInt64)

// Recorder collects operations; safe for concurrent use.
type Recorder struct {
	start time.Time
	mu    sync.Mutex
	ops   []Op
}

// NewRecorder starts an empty history now.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Now is the time since the start.
func (r *Recorder) Now() time.Duration { return time.Since(r.start) }

// Add files a finished operation. One that failed is kept for the record; the checkers leave it out.
func (r *Recorder) Add(op Op) {
	if op.Outcome == Info {
		op.Return = Forever
	}
	r.mu.Lock()
	r.ops = append(r.ops, op)
	r.mu.Unlock()
}

// Len is how many operations were filed so far.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// Ops is a copy of everything so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Op(nil), r.ops...)
}
