package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/api"
	"tenure/server/replica/leases"
)

// LeaseOp is what a client wants of a named lease.
type LeaseOp = leases.Op

// The operations.
const (
	LeaseAcquire = leases.Acquire
	LeaseRenew   = leases.Renew
	LeaseRelease = leases.Release
)

// LeaseCommand is a client's request, checked.
type LeaseCommand struct {
	Op          LeaseOp
	Name        string
	Owner       string        // for people
	Acquisition [16]byte      // the owner, to the protocol (N1)
	TTL         time.Duration // not of a release
	Wait        time.Duration // LeaseAcquire: how long to wait for a busy name
	Timeout     time.Duration // how long the answer may take besides
}

// LeaseGrant is what came of it.
type LeaseGrant struct {
	Token  uint64
	Serial uint64 // makes each grant of an acquisition another one
	// Waited is by how much later than the request was received the client may count its deadline from: what its own
	// clock shows at least of the wait for a busy name.
	Waited time.Duration
}

// LeaseHint is what a node knows of a lease by itself (L1).
type LeaseHint struct {
	Owner string
	Token uint64
	Left  time.Duration // until others can own; the owner's own deadline is earlier
}

// LeaseQuery asks for the leases whose names begin with Prefix and are not before Start, in the order of their names,
// at most Limit.
type LeaseQuery struct {
	Prefix, Start string
	Limit         int
	// Keep, if set, reports whether a name may be listed. It is called by the caller's goroutine.
	Keep func(name string) bool
}

// NamedHint is what a node knows of the lease of a name by itself (L1).
type NamedHint struct {
	Name string
	LeaseHint
}

// LeaseList is a page of what a node knows.
type LeaseList struct {
	Leases []NamedHint
	Next   string        // name of the first lease that is not on the page; "": there is none
	Silent time.Duration // the node has been restarted: for so long it learns of no lease
}

// LeaseBusyError says that somebody else owns. Both are hints.
type LeaseBusyError struct {
	Owner      string
	RetryAfter time.Duration
}

func (e *LeaseBusyError) Error() string {
	return fmt.Sprintf("busy: %q owns the lease; try again in %v", e.Owner, e.RetryAfter)
}

// APICode returns api.CodeBusy.
func (e *LeaseBusyError) APICode() api.Code { return api.CodeBusy }

// LeaseSilentError says that so many nodes have restarted that nobody can acquire a lease yet, and for how long. It is
// an ErrNotApplied.
type LeaseSilentError struct{ Begins time.Duration }

func (e *LeaseSilentError) Error() string {
	return fmt.Sprintf("leases begin in %s: the nodes have restarted, and keep silent about leases that they may have "+
		"forgotten: nothing was granted; try again then", (e.Begins + time.Millisecond - 1).Truncate(time.Millisecond))
}

// APICode returns api.CodeQuarantine.
func (e *LeaseSilentError) APICode() api.Code { return api.CodeQuarantine }

// Unwrap makes it an ErrNotApplied.
func (e *LeaseSilentError) Unwrap() error { return ErrNotApplied }

// ErrLeaseGone: the lease to renew has ended, and somebody else may have owned since.
var ErrLeaseGone = errors.New("gone: this lease has ended: acquire it anew, under a new Acquisition")

// Leases is the node's part for named leases. Safe for concurrent use. Errors are those of a Node, and the three above.
type Leases interface {
	// Lease carries out r. It answers within r.Wait and r.Timeout together, and soon after ctx ends if it waits.
	Lease(ctx context.Context, r LeaseCommand) (LeaseGrant, error)
	// ShowLease is what this node alone knows of a name: a hint.
	ShowLease(name string) (LeaseHint, bool)
	// ListLeases returns what this node alone knows of live leases: hints. ctx bounds how long it looks.
	ListLeases(ctx context.Context, q LeaseQuery) (LeaseList, error)
}
