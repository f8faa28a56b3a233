package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
)

// Write is a client's write, on its way from there to the log: at the client's node, and if that is not the master
// forwarded from there.
type Write struct {
	ID      uint64        // drawn by the runner, never used twice in a run; forwarded: what the client's node calls it
	Command []byte        // encoded by kv.EncodeCommand; shared from here on, never changed
	Frees   bool          // see kv.Command.Frees: accepted while the disk is low
	Wait    time.Duration // how long it may wait, from the round that takes it on; 0: until Until

	// What only the client's node knows.
	Keyed bool          `msgpack:"-"` // it has an idempotency key, or is repeatable: may be forwarded again
	Until time.Duration `msgpack:"-"`
}

// WriteOf returns the request to write c, yet without its ID and how long it waits.
func WriteOf(c *kv.Command) Write {
	return Write{Command: kv.EncodeCommand(c), Frees: c.Frees(), Keyed: c.IdemKey != "" || repeatable(c.Op)}
}

// repeatable reports whether a second copy of op does nothing more, however late it comes: a session is renewed while
// it lives, and ends once.
func repeatable(op kv.Op) bool { return op == kv.OpSessionRenew || op == kv.OpSessionDestroy }

// ReadRequest asks for a point from which this node's own state may be read.
type ReadRequest struct {
	ID         uint64
	Consistent bool
	Until      time.Duration
	Wait       time.Duration // as in Write
}

// waitsUntil returns until when a request with these fields Until and Wait waits, if a round takes it at now.
func waitsUntil(now, until, wait time.Duration) time.Duration {
	if wait != 0 {
		return now + wait
	}
	return until
}

// Reply answers a Write, ReadRequest, MembersRequest or LevelRequest by its ID, exactly once.
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
	ID uint64 // drawn by the runner
	members.Request
	// Known are members with addresses that the record may lack yet.
	Known []ident.Member
	Until time.Duration
	Wait  time.Duration // as in Write
}

// MembersAnswer goes with the Reply to a MembersRequest. Done: the operation has begun, or had begun before, or is
// taken back. Refused with a Refusal: it cannot be; without one, with Reason NoMaster: ask Master, if that is not 0.
// Unknown: ask again with the same operation id.
type MembersAnswer struct {
	Master  ballot.NodeID
	Refusal *members.Refusal
	Record  members.Record // as of the answer, if Done
	Plan    members.Plan   // of a dry run that is Done
}
