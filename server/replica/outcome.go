package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
)

// Outcome is what a client may be told of its request.
type Outcome uint8

// The outcomes. A request is Refused only if it was never proposed and never will be; whatever may still be chosen
// is Unknown.
const (
	Done    Outcome = iota + 1 // applied, acknowledged under the lease; for a read: granted
	Refused                    // not applied; safe to retry
	Unknown                    // may have happened, or may still happen
)

// Reason says why a request was refused or left unknown.
type Reason uint8

// The reasons.
const (
	NoReason    Reason = iota
	NoMaster           // no master is known, or it did not answer in time
	Overloaded         // a queue is full
	NoSpace            // the disk of a member has reached its reserve or quota
	Stopping           // the node is shutting down or handing over
	TimedOut           // proposed or forwarded, and no answer in time
	LeaseLost          // chosen or proposed, but the lease was no longer held
	LinkLost           // forwarded, and the connection to the master broke
	NotCaughtUp        // a read: the master has granted a read point, and this node had not applied so much in time
)

var reasonTexts = [...]string{
	NoReason: "no reason given", NoMaster: "no master is known", Overloaded: "too many requests are waiting",
	NoSpace:  "the disk is full up to its reserve, or the quota is reached",
	Stopping: "the node is stopping or handing over",
	TimedOut: "no answer in time", LeaseLost: "the master lost its lease before it could answer",
	LinkLost:    "the connection to the master broke",
	NotCaughtUp: "this node has not caught up with the others: ask another one",
}

// String is the reason as a user reads it.
func (r Reason) String() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r]
	}
	return reasonTexts[NoReason]
}

// Request is a write of a client of this node.
type Request struct {
	ID      uint64 // drawn by the runner, never used twice in a run
	Command []byte // encoded by kv.EncodeCommand; shared from here on, never changed
	Frees   bool   // it only deletes: accepted while the disk is low
	Keyed   bool   // it has an idempotency key: may be forwarded again
	Until   time.Duration
	Wait    time.Duration // if positive, Until is this long after the reading of the round that takes the request
}

func (r *Request) takenAt(now time.Duration) Request {
	if r.Wait > 0 {
		r.Until = now + r.Wait
	}
	return *r
}

// ReadRequest asks for a point from which this node's own state may be read.
type ReadRequest struct {
	ID         uint64
	Consistent bool
	Until      time.Duration
	Wait       time.Duration // as in Request
}

func (r *ReadRequest) takenAt(now time.Duration) ReadRequest {
	if r.Wait > 0 {
		r.Until = now + r.Wait
	}
	return *r
}

// Reply answers a Request or a ReadRequest by its ID, exactly once.
type Reply struct {
	ID      uint64
	Outcome Outcome
	Reason  Reason
	Result  kv.Result // of a write that is Done
	// Slot is where a write was chosen that this node has proposed; 0 if it has not.
	Slot multipaxos.Slot
	// Sole: of a write, no other copy that this node has sent was applied, or ever will be.
	Sole bool
	// Ticket is set on a granted read if this node is the master: the reader must End it after it has taken the
	// data. Without it the state applied here may be read as it is.
	Ticket   Ticket
	Ticketed bool
	Members  *MembersAnswer // to a MembersRequest; else nil
	Level    *LevelAnswer   // to a LevelRequest; else nil
}

// MembersRequest asks for a change of the members, or takes one back. Only the master carries it out.
type MembersRequest struct {
	ID     uint64 // drawn by the runner
	Op     members.Operation
	Cancel string // not empty: take the operation of that id back, instead of Op
	DryRun bool   // only tell what Op would do
	// Known are members with addresses that the record may lack yet.
	Known []ident.Member
	Until time.Duration
	Wait  time.Duration // as in Request
}

// MembersAnswer goes with the Reply to a MembersRequest. Done: the operation has begun, or had begun before, or is taken
// back. Refused with a Refusal: it cannot be; without one, with Reason NoMaster: ask Master, if that is not 0. Unknown:
// ask again with the same operation id.
type MembersAnswer struct {
	Master  ballot.NodeID
	Refusal *members.Refusal
	Record  members.Record // as of the answer, if Done
	Plan    members.Plan   // of a dry run that is Done
}
