package service

import (
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/members"
)

// Members is the list of members and the changes of it. Safe for concurrent use. Calls with a timeout answer within it,
// or soon after. Errors are those of a Node, and *Error.
type Members interface {
	// ListMembers returns the members as this node has applied them, and what it knows of each. It never waits.
	ListMembers() (api.MemberList, error)
	// ChangeMembers begins the operation, wherever the master is, and returns it once it is in the log. A second call
	// with the same id changes nothing and returns what became of the first; with another change it is refused with
	// api.CodeKeyReused.
	ChangeMembers(timeout time.Duration, op members.Operation) (api.MemberOperation, error)
	// PlanChange says what ChangeMembers would do, and refuses what it would refuse. It changes nothing.
	PlanChange(timeout time.Duration, op members.Operation) (api.MemberPlan, error)
	// CancelChange takes an operation that runs back, where that is still possible, and returns it. One that was
	// cancelled before is returned again.
	CancelChange(timeout time.Duration, operation string) (api.MemberOperation, error)
	// DrainNode makes that node hand mastership over, and take no new clients until off is given. It is told to that
	// node if this is another one. Without force it is refused, with api.CodeQuorumLoss, if no other voter could be
	// master then, or too few would be alive once the node is stopped.
	DrainNode(timeout time.Duration, node ballot.NodeID, off, force bool) error
	// Transfer asks the master to hand over, to node `to` if it is not 0.
	Transfer(timeout time.Duration, to ballot.NodeID) error
}
