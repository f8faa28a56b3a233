package api

// Code says why a request was not carried out. It is the value of HeaderError, which every answer that is not a success
// carries. A client that receives no code, or an unknown one, has learned nothing: a write has an unknown outcome, and
// a read goes to another node.
//
// What a code says of a write is about the one copy of the write that was answered. An earlier copy under the same
// idempotency key may still be applied, unless the code comes out of the log: it is then the cluster's verdict on the
// write, and every copy gets the same.
type Code string

// The verdicts. They come out of the log, or from a majority of the nodes for leases. Nothing was changed. The same
// request gets the same answer until the state that the verdict depends on has changed.
const (
	// CodeCondition: an operation of the transaction could not be done, so none was. The body is JSON and says which.
	CodeCondition Code = "condition"
	// CodeNotFound: there is no such key, token or policy, or no key under the prefix; of a lease: this node knows of no
	// owner.
	CodeNotFound Code = "not-found"
	// CodeNoSession: the session does not exist, or has ended. Create another.
	CodeNoSession Code = "no-session"
	// CodeFenced: a larger token of the fence was seen, so the sender is not the owner any more. Do not retry.
	CodeFenced Code = "fenced"
	// CodeNotNumber: the key does not hold a decimal number, or the sum would not fit 64 bits.
	CodeNotNumber Code = "not-number"
	// CodeBusy: somebody else owns the lease. The body is JSON and says who, and when it may be free.
	CodeBusy Code = "busy"
	// CodeLost: the lease to renew has ended, and somebody else may have owned it since. Acquire it anew.
	CodeLost Code = "lost"
)

// The refusals. This copy of the request changed nothing and will not. Sending it again as it is does not help, but
// for CodeNoSpace.
const (
	// CodeInvalid: the request is wrong in itself: its path, method, query, headers or body. Correct it.
	CodeInvalid Code = "invalid"
	// CodeForbidden: a browser sent it from a page of another origin.
	CodeForbidden Code = "forbidden"
	// CodeDenied: the token, or the anonymous one if the request has none, does not allow this; the text begins with
	// TextDenied and says which permission is missing. Of an operation of a transaction it is in JSON, as with
	// CodeCondition. Use another token, or have its policies changed.
	CodeDenied Code = "denied"
	// CodeUnknownToken: there is no token with this secret: it was deleted, has expired, or never was. The text begins
	// with TextUnknownToken. A node that lags may not know yet a token that was just made.
	CodeUnknownToken Code = "unknown-token"
	// CodeTooLarge: a value, a body, a transaction, its result or what it would delete is over a limit. Send less.
	CodeTooLarge Code = "too-large"
	// CodeKeyReused: the idempotency key was used by another write, or the operation id by another change of the members.
	// Use a new one for each.
	CodeKeyReused Code = "key-reused"
	// CodeNoSpace: disks are at their reserve or quota, the quota of a prefix is full, which the text names, or a table
	// of the store is. Reads and deletes go on; retry when there is space.
	CodeNoSpace Code = "no-space"
	// CodeFeatureLevel: the request needs a higher feature level than the cluster's. Upgrade all nodes, raise the
	// level, then send it again.
	CodeFeatureLevel Code = "feature-level"
)

// The refusals of a change of the members. This copy changed nothing and will not; an earlier copy under the same
// operation id may have begun the operation.
const (
	// CodeMemberBusy: another change of the members runs, which the text names. One runs at a time: wait, or cancel it.
	CodeMemberBusy Code = "member-busy"
	// CodeNotMember: there is no member of that number, or no operation of that id.
	CodeNotMember Code = "not-member"
	// CodeMemberState: the state of the members forbids the change. Examples: the promotion of a voter, a name that
	// another member has, a cancellation that comes too late.
	CodeMemberState Code = "member-state"
	// CodeQuorumLoss: no majority of the voters that are left would be alive, or more or fewer of them are alive than
	// the request says.
	CodeQuorumLoss Code = "quorum-loss"
)

// Not now. This copy of the request changed nothing and will not. Retry it, through any node.
const (
	// CodeNotApplied: nothing was done: no master is known, there is no majority, or the node stops.
	CodeNotApplied Code = "not-applied"
	// CodeOverloaded: nothing was done, because too much waits already, or this client asks for more than it may. Retry
	// after Retry-After.
	CodeOverloaded Code = "overloaded"
	// CodeQuarantine: nobody can acquire a lease yet, because the nodes have restarted and may have forgotten an
	// owner. Retry after HeaderRetryAfterMS, or Retry-After.
	CodeQuarantine Code = "quarantine"
	// CodeNotReady: this node has not caught up with the others, and had not in the time that a read gave it: ask another
	// one. It is also the answer of the readiness check of such a node, and of one that knows no master.
	CodeNotReady Code = "not-ready"
	// CodeOtherCluster: the request is for another cluster than that of this node, see HeaderCluster: ask another node.
	CodeOtherCluster Code = "other-cluster"
)

// In doubt. The request may have been carried out, or may still be.
const (
	// CodeUnknown: no outcome is known. Read to see, or retry with the same idempotency key, or the same
	// Acquisition of a lease: it is then carried out once at most.
	CodeUnknown Code = "unknown"
	// CodeKeyTooOld: this copy was not applied, but an earlier one under the same idempotency key may have been, and
	// the cluster does not remember it any more. Retrying gives the same answer: read to see, then write with a new
	// key and base.
	CodeKeyTooOld Code = "key-too-old"
	// CodeInternal: the node failed at it in a way that has no code. Treat it as CodeUnknown.
	CodeInternal Code = "internal"
)

// Codes lists every code, in the order in which they are declared.
func Codes() []Code {
	return []Code{
		CodeCondition, CodeNotFound, CodeNoSession, CodeFenced, CodeNotNumber, CodeBusy, CodeLost,
		CodeInvalid, CodeForbidden, CodeDenied, CodeUnknownToken, CodeTooLarge, CodeKeyReused, CodeNoSpace,
		CodeFeatureLevel,
		CodeMemberBusy, CodeNotMember, CodeMemberState, CodeQuorumLoss,
		CodeNotApplied, CodeOverloaded, CodeQuarantine, CodeNotReady, CodeOtherCluster,
		CodeUnknown, CodeKeyTooOld, CodeInternal,
	}
}
