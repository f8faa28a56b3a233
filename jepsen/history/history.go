// Package history records what clients did and saw, for the checkers. Times are readings of one clock of the harness:
// only their order matters.
package history

import (
	"math"
	"sync"
	"time"
)

// Kind is what an operation does.
type Kind string

// The operations on a key.
const (
	Get    Kind = "get"
	Put    Kind = "put"
	CAS    Kind = "cas" // by index; an Index of 0 creates
	Delete Kind = "delete"
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
	Client  int
	Kind    Kind
	Key     string
	Mode    string // of a get: default or consistent
	Value   string // written, or read
	Index   uint64 // compared by a cas, or read
	Absent  bool   // a get found nothing
	Matched bool   // a cas that is OK: its condition held
	Result  uint64 // revision that a write returned
	Outcome Outcome
	Call    time.Duration
	Return  time.Duration // Forever for Info
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

// Ops is a copy of everything so far.
func (r *Recorder) Ops() []Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Op(nil), r.ops...)
}
