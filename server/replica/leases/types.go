package leases

import (
	"fmt"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease/named"
)

// Op is what a client wants of a named lease.
type Op uint8

// The operations.
const (
	Acquire Op = iota + 1
	Renew
	Release
)

// Request is one client's request. Times are readings of this node's elapsed clock.
type Request struct {
	ID          uint64 // this node's, never used twice in a run
	Op          Op
	Name        named.Name
	Acquisition named.Acquisition
	Owner       string        // for people
	Text        string        // Name as people write it
	Duration    time.Duration // D_P of what is asked for
	Until       time.Duration // no attempt goes on beyond
	// WaitUntil, beyond now, has an acquire wait for a busy name. Until is later.
	WaitUntil time.Duration
	// Timeout, if positive, sets Until and WaitUntil by the clock reading of the round that takes the request. An
	// acquire waits for a busy name for Wait, and attempts go on for Timeout after that.
	Timeout, Wait time.Duration
}

func (r *Request) takenAt(now time.Duration) Request {
	if r.Timeout > 0 {
		r.Until = now + r.Wait + r.Timeout
		if r.Wait > 0 {
			r.WaitUntil = now + r.Wait
		}
	}
	return *r
}

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	Done       Outcome = iota + 1
	Busy               // somebody else owns, or others were faster each time
	Gone               // a renewal found that the lease has ended
	NotApplied         // no acceptor can have accepted anything; Reason says why
	Unknown            // some acceptor may have; Reason says why
)

// Reason tells why a request came to nothing.
type Reason uint8

// The reasons.
const (
	NoReason Reason = iota
	NoQuorum
	Overloaded
	NoSpace
	EraUsedUp
	Stopping
	Silent     // after a restart; RetryAfter is for how long
	Distrusted // the clock
)

var reasons = [...]string{"", "no quorum of nodes answered about named leases in time",
	"too many requests about leases wait on this node",
	"the nodes have no space for another named lease",
	"the era of fencing tokens is used up and the next one is not there yet", "this node is stopping",
	"the nodes have restarted, and keep silent about leases that they may have forgotten",
	"the clock of this node cannot be trusted"}

// String is half a sentence for people.
func (r Reason) String() string { return reasons[r] }

// Answer is the one answer to each Request.
type Answer struct {
	ID      uint64
	Outcome Outcome
	Reason  Reason
	Token   named.Token // Done, but for releases
	Counter uint64      // of the ballot that won: makes each grant another one
	// Waited is how much later than the request the attempt began that won. The owner's deadline may count from then.
	Waited     time.Duration
	Owner      string        // Busy: a hint, "" if not known
	RetryAfter time.Duration // Busy, Silent: a hint
}

// Batch is what one node has for another at a time. Requests are of the sender's incarnation, replies are for
// the incarnation For and mean nothing to any other.
type Batch struct {
	To       ballot.NodeID
	For      ballot.Incarnation
	Requests []named.Request
	Replies  []named.Reply
}

// Config is what a run starts with.
type Config struct {
	Self     ballot.Incarnation
	Voters   quorum.Set   // until an event brings another membership
	Table    named.Config // with the number and the era of the durable membership, which has the Voters
	MaxTasks int          // bound on the requests that this node works on or lets wait
	Seed     uint64       // of the random waits
}

// Validate refuses a configuration under which no node may run.
func (c Config) Validate() error {
	if c.MaxTasks < 1 {
		return fmt.Errorf("named leases: %d requests at a time", c.MaxTasks)
	}
	return c.Table.Validate()
}

// Status is what status and metrics show.
type Status struct {
	Records        int           // names that the acceptor remembers, live or not
	Floor          named.Token   // see named.Table.Floor
	Opened         bool          // this run has an era
	QuarantineLeft time.Duration // of the acceptor
	Attempts       int           // under way
	Waiting        int           // requests that wait for a busy name
}
