package replica

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
	Overloaded         // a queue is full; or the master is known, and did not get to the request in time
	NoSpace            // the disk of a member has reached its reserve or quota
	Stopping           // the node is shutting down or handing over
	TimedOut           // proposed or forwarded, and no answer in time; or a change of members that waited too long
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
