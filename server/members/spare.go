package members

import (
	"fmt"
	"slices"

	"tenure/internal/ident"
)

// spareTurn begins to replace a voter that was silent for a spare's ReplaceAfter: one voter at a time, if the spare is
// caught up and a majority of the other voters is alive.
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
			if n.Alive || n.Silent < s.ReplaceAfter || slices.Contains(f.Disputed, x.Node) ||
				!leavesMajority(r.Membership.Voters(), x.Node, f) {
				continue
			}
			by, _, _ := r.Membership.Find(s.Node)
			next := r.clone()
			next.Operations.begin(Operation{ID: fmt.Sprintf("spare-%d-%d-%d", s.Node, x.Node, f.Slot), Kind: Replace,
				Node: x.Node, Member: by, BySpare: true})
			return Step{Record: next, Change: true, Why: fmt.Sprintf("the spare node %d takes the place of node %d, which "+
				"was not heard for %v", s.Node, x.Node, s.ReplaceAfter)}
		}
	}
	return Step{}
}

// spareFirst ends an operation whose new node is absent, if a spare has a place to take: nobody may be repairing the
// new node, and the open place is urgent. The node that joined stays a non-voter. A replacement without a new node need
// not end, since it takes the spare.
func (r Record) spareFirst(f *Facts, o *Operation) (Step, bool) {
	_, _, listed := r.Membership.Find(o.Node)
	if o.Kind != Add && (o.Kind != Replace || !listed) || !o.joined() || o.BySpare ||
		!gone(&r.Membership, o.Member.Node, f) {
		return Step{}, false
	}
	if turn := spareTurn(r, f); !turn.Change {
		return Step{}, false
	}
	why := fmt.Sprintf("node %d was not heard, and a spare had a place to take: when it is there, kvctl member promote %d "+
		"makes a voter of it", o.Member.Node, o.Member.Node)
	next := r.clone()
	next.Operations.end(Cancelled, why)
	return Step{Record: next, Change: true, Why: why}, true
}

// recallSpare ends a replacement by a spare before anybody was removed: the voter is heard again, or the spare is not.
func (r Record) recallSpare() Step {
	next := r.clone()
	why := "the voter is heard again, or the spare is not"
	next.Operations.end(Cancelled, why)
	return Step{Record: next, Change: true, Why: why}
}

// seatStep fills the place of a voter that was removed. The place stays open until its new node is caught up. If that
// node is a spare and dies, the next spare takes the place.
func (r Record) seatStep(f *Facts, o *Operation) Step {
	if !o.BySpare || f.node(o.Member.Node).Alive {
		return promoteStep(r, f, o.Member.Node)
	}
	by, ok := standIn(&r.Membership, r.Spares, f)
	if !ok {
		return promoteStep(r, f, o.Member.Node)
	}
	next := r.clone()
	next.Operations.running().Member = by
	return Step{Record: next, Change: true, Why: fmt.Sprintf("the spare node %d takes the open place", by.Node)}
}

// standIn returns a spare that is caught up: it can take the place of a voter at once. Other non-voters were made to
// stay what they are, and take a place only if somebody says so.
func standIn(all *ident.Membership, spares []Spare, f *Facts) (by ident.Member, ok bool) {
	for _, s := range spares {
		if f.node(s.Node).CaughtUp {
			by, _, ok = all.Find(s.Node)
			return by, ok
		}
	}
	return by, false
}
