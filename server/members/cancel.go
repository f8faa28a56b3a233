package members

import "fmt"

// Cancel returns the record that takes the operation of that id back. changed is false if it is cancelled already. An
// ended operation stays unchanged. A removed voter does not come back: its id is never used again. An error is a
// *Refusal.
func (r Record) Cancel(id string, f Facts) (next Record, changed bool, err error) {
	o, ok := r.Operation(id)
	switch {
	case !ok:
		return r, false, refuse(Unknown, "no operation %q is remembered; kvctl member list shows them", id)
	case o.State == Cancelled:
		return r, false, nil
	case o.State != Running:
		return r, false, refuse(TooLate, "operation %v is %v; begin another one to undo it", o, o.State)
	}
	next = r.clone()
	_, stays, listed := next.Membership.Find(o.Node)
	if _, voter, ok := next.Membership.Find(o.comer()); ok && voter && (o.Kind != Replace || !stays) {
		return r, false, refuse(TooLate, "node %d is a voter already; kvctl member remove %d takes it out", o.comer(),
			o.comer())
	}
	if o.Kind == Replace && !listed {
		if f.node(o.Member.Node).Alive && len(f.Disputed) == 0 { // in a dispute it becomes no voter
			return r, false, refuse(TooLate, "node %d is removed already, and node %d is about to take its place; when "+
				"that is done, kvctl member remove %d takes it out", o.Node, o.Member.Node, o.Member.Node)
		}
		next.dropComer(&o, &f)
		next.Operations.end(Cancelled, fmt.Sprintf("the place of node %d, which was removed, stays empty: add a node, or "+
			"kvctl member promote a non-voter", o.Node))
		return next, true, nil
	}
	if o.Kind == Add || o.Kind == Replace {
		if _, voter, ok := next.Membership.Find(o.Member.Node); ok && voter && stays {
			next.Operations.end(Cancelled, "the new member is a voter beside the one that it was to replace")
			return next, true, nil
		}
		next.dropComer(&o, &f)
	}
	next.Operations.end(Cancelled, "")
	return next, true, nil
}

// dropComer takes the member out that came for o, unless it was there before: a spare, or a non-voter that was chosen.
func (r *Record) dropComer(o *Operation, f *Facts) {
	if _, voter, ok := r.Membership.Find(o.Member.Node); !ok || voter || !o.Came {
		return
	}
	r.remove(o.Member.Node, f)
}
