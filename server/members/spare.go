package members

import "fmt"

// spareTurn begins to replace a voter that was not heard for as long as a spare says: one at a time, with the spare
// caught up and a majority of the voters that are left alive.
func spareTurn(r Record, f *Facts) Step {
	if why, ok := r.mayChangeVoters(f); !ok {
		return Step{Why: why}
	}
	for _, s := range r.Spares {
		if s.ReplaceAfter <= 0 || !f.node(s.Node).CaughtUp {
			continue
		}
		for _, x := range r.Membership.Members {
			n := f.node(x.Node)
			if n.Alive || n.Silent < s.ReplaceAfter || !leavesMajority(r.Membership.Voters(), x.Node, f) {
				continue
			}
			by, _, _ := r.Membership.Find(s.Node)
			next := r.clone()
			next.begun(Operation{ID: fmt.Sprintf("spare-%d-%d-%d", s.Node, x.Node, f.Slot), Kind: Replace, Node: x.Node,
				Member: by, BySpare: true})
			return Step{Record: next, Change: true, Why: fmt.Sprintf("the spare node %d takes the place of node %d, which "+
				"was not heard for %v", s.Node, x.Node, s.ReplaceAfter)}
		}
	}
	return Step{}
}

// recallSpare ends a replacement by a spare before anybody was removed: the voter is heard again, or the spare is not.
func (r Record) recallSpare() Step {
	next := r.clone()
	why := "the voter is heard again, or the spare is not"
	next.end(Cancelled, why)
	return Step{Record: next, Change: true, Why: why}
}

// seatStep fills the place of a voter that was removed. The place stays open until the node that is to have it is caught
// up; if that node is a spare and dies, the next spare takes its turn.
func (r Record) seatStep(f *Facts, o *Operation) Step {
	if !o.BySpare || f.node(o.Member.Node).Alive {
		return promoteStep(r, f, o.Member.Node, true)
	}
	by, ok := r.standIn(f)
	if !ok {
		return promoteStep(r, f, o.Member.Node, true)
	}
	next := r.clone()
	next.running().Member = by
	return Step{Record: next, Change: true, Why: fmt.Sprintf("the spare node %d takes the open place", by.Node)}
}
