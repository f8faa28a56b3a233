package sim

import (
	"tenure/internal/ballot"
	"tenure/server/members"
	"tenure/server/replica"
)

// memberAsk is a request of the operator at a node, and at the master to which that passes it on.
type memberAsk struct {
	node    *node
	request replica.MembersRequest
	passed  bool
	took    func(memberAnswer)
}

// askMembers brings a request of the operator to the node: to begin an operation, or to take it back. A node that is
// not the master passes it on once. Took is called unless the process ends first.
func (n *node) askMembers(op members.Operation, cancel bool, took func(memberAnswer)) {
	q := &memberAsk{node: n, took: took,
		request: replica.MembersRequest{Request: members.Request{Op: op}, Wait: n.plan.lease}}
	if cancel {
		q.request.Cancel = op.ID
	}
	q.arrive()
}

func (q *memberAsk) arrive() {
	n := q.node
	if !n.up() {
		q.took(memberAnswer{})
		return
	}
	q.request.ID = n.nextRequest()
	n.log.put(input{ask: q})
}

// replied takes the log part's answer.
func (q *memberAsk) replied(r *replica.Reply) {
	a := r.Members
	switch {
	case r.Outcome == replica.Done, a.Refusal != nil:
		op, _ := a.Record.Operation(q.request.Op.ID)
		q.took(memberAnswer{known: true, refusal: a.Refusal, op: op, members: a.Record.Membership})
	case r.Outcome == replica.Refused && a.Master != 0 && !q.passed:
		q.passOn(a.Master)
	default:
		q.took(memberAnswer{})
	}
}

// passOn passes the request on to the master. It may be lost on the way.
func (q *memberAsk) passOn(master ballot.NodeID) {
	n := q.node
	to := n.site.nodeOf(master)
	if to == nil || !n.site.net.connected(n.end, to.end) {
		q.took(memberAnswer{})
		return
	}
	q.node, q.passed = to, true
	to.reach(kindMembers, n.site.changes.skewed(n.plan.hop, n.plan.clientHop), q.arrive)
}
