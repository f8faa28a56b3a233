package transport

import (
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/shown"
	"tenure/server/wire"
)

// A node that the membership does not list is accepted as a peer if it has a newer membership, since this node may be
// behind. But every node can claim that, also a removed one that still has its certificate. So two rules hold whatever
// membership a node claims: ids are never used again, and the cluster remembers the removed names.

// next returns an id that is at most that of the next member. Every member has a higher id than those before it.
func (t *table) next() ballot.NodeID {
	next := t.roster.NextNode
	for _, x := range t.membership.All() {
		next = max(next, x.Node+1)
	}
	return next
}

// gone reports whether no member has that id, and none will ever have it.
func (t *table) gone(node ballot.NodeID) bool {
	_, _, listed := t.membership.Find(node)
	_, _, noted := t.roster.Membership.Find(node)
	return !listed && !noted && node < t.next()
}

// nameRemoved reports whether the member of that name was removed, and none has the name now.
func (t *table) nameRemoved(name string) bool {
	if name == "" || !slices.Contains(t.roster.Removed, name) {
		return false
	}
	is := func(x ident.Member) bool { return nameOf(x) == name }
	return !slices.ContainsFunc(t.membership.All(), is) && !slices.ContainsFunc(t.roster.Membership.All(), is)
}

// mayBeNeeded reports whether other nodes may still need a node with the membership has that t does not list: has is
// older than t's membership, which a majority may not hold yet (Transport.Dismiss).
func (t *table) mayBeNeeded(has ident.Membership) bool { return !t.held() && t.membership.Newer(has) }

// bars reports whether a node with the membership has is refused because its certificate has the name of a removed
// member. cert is "" without TLS.
func (t *table) bars(node ballot.NodeID, cert string, has ident.Membership) bool {
	_, _, listed := t.membership.Find(node)
	return !listed && t.nameRemoved(cert) && !t.mayBeNeeded(has)
}

// checkRemoved returns node self's refusal of a node with the certificate of a removed member, nil if none is due. The
// reason is not ReasonRemoved, at which a node ends: this node may be behind, and may not know yet that the name was
// readmitted.
func (t *table) checkRemoved(theirs *wire.Hello, cert string, self ballot.NodeID) *Refusal {
	if !t.bars(theirs.Node, cert, theirs.Has()) {
		return nil
	}
	return refuse(wire.ReasonCertificate, "node %d comes with the certificate of %s, and the member of that name was "+
		"removed, as node %d knows: to take part again it needs kvctl member readmit %[2]s, and then an empty data "+
		"directory and --join", theirs.Node, shown.Word(cert), self)
}

// setRoster takes the members' record.
func (s *peers) setRoster(r ident.Roster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now.Load()
	s.goOver(&table{membership: now.membership, roster: r, dismissed: now.dismissed, hints: now.hints})
}

// endBarred ends the connections on which nodes that t does not list have shown the certificate of a removed member.
func (t *table) endBarred() {
	for _, p := range t.list {
		for i := range p.ends {
			if l := p.ends[i].link.Load(); l != nil && t.bars(p.node, l.cert, p.goesBy()) {
				l.close(errRemoved)
			}
		}
	}
}
