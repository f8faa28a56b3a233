package service

import (
	"strconv"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/acl"
	"tenure/server/members"
)

// ListMembers returns the members as this node has applied them, and what it knows of each.
func (r *Request) ListMembers() (api.MemberList, error) {
	if err := r.need(acl.OperatorRead()); err != nil {
		return api.MemberList{}, err
	}
	return r.node().ListMembers()
}

// PlanChange says what ChangeMembers would do, and refuses what it would refuse. It changes nothing.
func (r *Request) PlanChange(op members.Operation) (api.MemberPlan, error) {
	r.Line.Omit()
	if err := r.need(acl.OperatorRead()); err != nil {
		return api.MemberPlan{}, err
	}
	return r.node().PlanChange(r.timeout, op)
}

// ChangeMembers begins the operation, and returns it once it is in the log; see Members.
func (r *Request) ChangeMembers(op members.Operation) (api.MemberOperation, error) {
	for _, id := range [...]ballot.NodeID{op.Node, op.Member.Node} {
		if id != 0 {
			r.Line.About(nodeText(id))
		}
	}
	if op.Member.Name != "" {
		r.Line.About(op.Member.Name)
	}
	r.Line.About(op.ID)
	if err := r.needNow(acl.OperatorWrite()); err != nil {
		return api.MemberOperation{}, err
	}
	begun, err := r.node().ChangeMembers(r.timeout, op)
	return begun, inDoubtWith(err, "ask again with the operation "+op.ID)
}

// CancelChange takes an operation that runs back, where that is still possible, and returns it.
func (r *Request) CancelChange(operation string) (api.MemberOperation, error) {
	r.Line.About(operation)
	if err := r.needNow(acl.OperatorWrite()); err != nil {
		return api.MemberOperation{}, err
	}
	op, err := r.node().CancelChange(r.timeout, operation)
	return op, inDoubtWith(err, "ask again with the operation "+operation)
}

// DrainNode makes a node hand mastership over, and take no new clients until off is given; see Members.
func (r *Request) DrainNode(node ballot.NodeID, off, force bool) error {
	r.Line.About(nodeText(node))
	decide := r.needNow
	if off { // a cluster whose nodes are all drained has no master to ask, and needs this to get one
		decide = r.need
	}
	if err := decide(acl.OperatorWrite()); err != nil {
		return err
	}
	return inDoubtWith(r.node().DrainNode(r.timeout, node, off, force), "ask again")
}

// Transfer asks the master to hand over, to node `to` if it is not 0.
func (r *Request) Transfer(to ballot.NodeID) error {
	r.Line.About(nodeText(to)) // 0: whom the master chooses
	if err := r.needNow(acl.OperatorWrite()); err != nil {
		return err
	}
	return InDoubt(r.node().Transfer(r.timeout, to))
}

func nodeText(id ballot.NodeID) string { return strconv.FormatUint(uint64(id), 10) }

// inDoubtWith is InDoubt with other advice, which an unknown outcome gets too.
func inDoubtWith(err error, advice string) error {
	if code, ok := CodeOf(err); err != nil && (!ok || code == api.CodeUnknown) {
		return AsUnknown(err, advice)
	}
	return err
}

// Upgrade returns what this node knows of the feature level.
func (r *Request) Upgrade() (api.Upgrade, error) {
	if err := r.needForLevel(acl.OperatorRead()); err != nil {
		return api.Upgrade{}, err
	}
	return r.node().Upgrade(), nil
}

// FinishUpgrade has the master raise the level to the newest that this node knows, and waits until it is; dry: it only
// tells whether the request may.
func (r *Request) FinishUpgrade(dry bool) (api.Upgrade, error) {
	if dry {
		r.Line.Omit()
	}
	if err := r.needForLevel(acl.OperatorWrite()); err != nil {
		return api.Upgrade{}, err
	}
	if dry {
		return r.node().Upgrade(), nil
	}
	out, err := r.node().FinishUpgrade(r.timeout)
	return out, InDoubt(err)
}

// needForLevel decides whether the request may see or raise the level. Below the level of tokens no token can exist, so
// everybody may. The next step, the bootstrap, is open to everybody as well.
func (r *Request) needForLevel(p acl.Permission) error {
	if err := r.refusal(); err != nil {
		return err
	}
	if r.node().Upgrade().FeatureLevel < kv.LevelOfACL {
		return r.needServing()
	}
	return r.needNow(p)
}

// backupNeeds are the permissions for the contents of a backup: keys with fences, sessions, and tokens with the hashes
// of their secrets.
var backupNeeds = []acl.Permission{acl.OperatorRead(), acl.ACLRead(), acl.KeyReadPrefix(""),
	everySession, {Kind: acl.Lease, Access: acl.Read, Prefix: true}}

// Backup begins a backup that has every write which was acknowledged before the call. The caller closes it.
func (r *Request) Backup() (Backup, error) {
	for _, p := range backupNeeds {
		if err := r.need(p); err != nil {
			return nil, err
		}
	}
	out, err := r.node().Backup(r.timeout)
	if err != nil {
		return nil, err
	}
	if err := r.Again(); err != nil {
		out.Close(err)
		return nil, err
	}
	return out, nil
}
