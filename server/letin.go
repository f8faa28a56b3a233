package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/api"
	"tenure/server/members"
	"tenure/server/service"
	"tenure/server/transport"
	"tenure/server/wire"
)

// admitter has the master carry out the operation by which a node joins, and returns the record of the members that
// lists it.
type admitter interface {
	Join(timeout time.Duration, op members.Operation) (members.Record, error)
}

// letIn answers a node that wants to join, and writes that down. Any member may be asked. It is called from Serve on.
func (n *node) letIn(ctx context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
	began := time.Now()
	joined, err := n.admit(ctx, m)
	n.audit.Add(joinRecord(began, &m, err))
	return joined, err
}

// admit answers a node that wants to join.
func (n *node) admit(ctx context.Context, m wire.JoinMsg) (wire.JoinedMsg, error) {
	if n.admission == nil {
		return wire.JoinedMsg{}, errors.New("this node cannot let others in yet")
	}
	if n.access != nil && !m.ACL && n.access.ACL().Bootstrap() != 0 {
		return wire.JoinedMsg{}, refuseToJoin(wire.ReasonJoin, needsACL)
	}
	timeout := time.Minute
	if end, ok := ctx.Deadline(); ok {
		timeout = time.Until(end) * 9 / 10 // the answer has to arrive, too
	}
	op := operationOf(m)
	op.Certified = n.tls.peerFiles() != nil // and the transport has compared the names
	r, err := n.admission.Join(timeout, op)
	if err != nil {
		return wire.JoinedMsg{}, refusalOf(err)
	}
	x, ok := r.WithStore(m.Store)
	if !ok {
		op, _ := r.Operation(m.Operation)
		return wire.JoinedMsg{}, refuseToJoin(wire.ReasonJoin, cmp.Or(op.Problem,
			"it was let in before, and is no member any more: start it with an empty data directory"))
	}
	if _, voter, _ := r.Membership.Find(x.Node); voter { // which it became only once it was a member as it knew itself
		return wire.JoinedMsg{}, refuseToJoin(wire.ReasonRolledBack, fmt.Sprintf("it is the store of node %d, which votes, "+
			"and was a member before: the directory is an older copy. Start it with an empty one and --replace %s", x.Node,
			members.NameOf(x)))
	}
	if x.PeerAddr != m.PeerAddr { // two nodes on copies of one directory, which neither has found out yet
		return wire.JoinedMsg{}, refuseToJoin(wire.ReasonJoin, fmt.Sprintf("its directory was let in as node %d at %s, and "+
			"not at %s: if it is a copy of that node's, start it with an empty one; if it is the same, with that address",
			x.Node, x.PeerAddr, m.PeerAddr))
	}
	return wire.JoinedMsg{Node: x.Node, Cluster: n.store.Identity().Cluster, Membership: r.Membership}, nil
}

// operationOf returns what m asks for.
func operationOf(m wire.JoinMsg) members.Operation {
	op := members.Operation{
		ID: m.Operation, Kind: members.Add, NonVoter: m.NonVoter, Spare: m.Spare, ReplaceAfter: m.ReplaceAfter,
	}
	if m.Replace != "" {
		op.Kind, op.Name, op.Unheard = members.Replace, m.Replace, true
	}
	op.Member.Store, op.Member.Name = m.Store, m.Name
	op.Member.PeerAddr, op.Member.ClientAddr = m.PeerAddr, m.ClientAddr
	return op
}

// refusalOf returns the answer to the joining node about err. The node asks again, unless its request is wrong in
// itself: a change under way ends, and a voter to be replaced may fall silent.
func refusalOf(err error) error {
	var e *service.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case api.CodeInvalid, api.CodeKeyReused:
		return refuseToJoin(wire.ReasonJoin, e.Text)
	case api.CodeNotMember:
		return refuseToJoin(wire.ReasonNotMember, e.Text)
	}
	return err
}

func refuseToJoin(why wire.Reason, text string) error {
	return &transport.Refusal{Reason: why, Text: text}
}
