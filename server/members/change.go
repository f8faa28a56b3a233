package members

import (
	"cmp"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// The functions below make the next record from a clone of the one before. None of them checks whether it may.

// clone returns a copy of r that shares no slice with it.
func (r Record) clone() Record {
	r.Membership.Members = slices.Clone(r.Membership.Members)
	r.Membership.NonVoters = slices.Clone(r.Membership.NonVoters)
	r.Operations = slices.Clone(r.Operations)
	r.Before, r.Spares = slices.Clone(r.Before), slices.Clone(r.Spares)
	r.Removed = slices.Clone(r.Removed)
	return r
}

func byNode(a, b ident.Member) int { return cmp.Compare(a.Node, b.Node) }

// admit lists m as a non-voter under an id that nobody ever had, and returns the id.
func (r *Record) admit(m ident.Member) ballot.NodeID {
	m.Node = r.NextNode
	r.NextNode++
	r.Membership.NonVoters = append(r.Membership.NonVoters, m)
	slices.SortFunc(r.Membership.NonVoters, byNode)
	r.Membership.Change++
	r.Removed = dropName(r.Removed, NameOf(m))
	return m.Node
}

// newNumber makes the voters as they are now those of before, and allots the next number its era (N3).
func (r *Record) newNumber(f *Facts) {
	r.Before = slices.Clone(r.Membership.Members)
	r.Membership.Number++
	r.Membership.Change++
	r.Membership.Era = f.Era
}

// promote makes a non-voter a voter.
func (r *Record) promote(node ballot.NodeID, f *Facts) {
	r.newNumber(f)
	m := &r.Membership
	i := slices.IndexFunc(m.NonVoters, func(x ident.Member) bool { return x.Node == node })
	m.Members = append(m.Members, m.NonVoters[i])
	slices.SortFunc(m.Members, byNode)
	m.NonVoters = slices.Delete(m.NonVoters, i, i+1)
	r.Spares = dropSpare(r.Spares, node)
}

// remove takes a member out.
func (r *Record) remove(node ballot.NodeID, f *Facts) {
	m := &r.Membership
	removed, _, listed := m.Find(node)
	is := func(x ident.Member) bool { return x.Node == node }
	if i := slices.IndexFunc(m.Members, is); i >= 0 {
		r.newNumber(f)
		m.Members = slices.Delete(m.Members, i, i+1)
	} else {
		m.NonVoters = slices.DeleteFunc(m.NonVoters, is)
		m.Change++
		r.Spares = dropSpare(r.Spares, node)
	}
	if listed {
		name := NameOf(removed)
		if _, taken := r.Named(name); !taken { // by a member that took its place
			r.Removed = addName(r.Removed, name)
		}
	}
}

// addName returns the names of removed members with one more, without the oldest beyond MaxRemoved.
func addName(removed []string, name string) []string {
	removed = append(dropName(removed, name), name)
	return slices.Delete(removed, 0, max(0, len(removed)-MaxRemoved))
}

// dropName returns the names of removed members without one.
func dropName(removed []string, name string) []string {
	return slices.DeleteFunc(removed, func(x string) bool { return x == name })
}

// dropSpare returns spares without a node.
func dropSpare(spares []Spare, node ballot.NodeID) []Spare {
	return slices.DeleteFunc(spares, func(s Spare) bool { return s.Node == node })
}

// update gives a member what is not empty in with.
func (r *Record) update(node ballot.NodeID, with ident.Member) {
	for _, list := range [...][]ident.Member{r.Membership.Members, r.Membership.NonVoters} {
		for i := range list {
			if m := &list[i]; m.Node == node {
				m.Name = cmp.Or(with.Name, m.Name)
				m.PeerAddr = cmp.Or(with.PeerAddr, m.PeerAddr)
				m.ClientAddr = cmp.Or(with.ClientAddr, m.ClientAddr)
				r.Removed = dropName(r.Removed, NameOf(*m))
			}
		}
	}
	r.Membership.Change++
}

// Fill returns r with the addresses of known for the members of which it has none: the bootstrap writes none. An address
// for peers that another member has is left out.
func (r Record) Fill(known []ident.Member) Record {
	next, filled := r.clone(), false
	for _, k := range known {
		m, _, ok := next.Membership.Find(k.Node)
		if !ok || checkShown(k) != "" {
			continue
		}
		if with := lacks(&next.Membership, m, k); with.PeerAddr != "" || with.ClientAddr != "" {
			next.update(k.Node, with)
			filled = true
		}
	}
	if !filled {
		return r
	}
	next.Membership.Change = r.Membership.Change + 1
	return next
}

// lacks returns the addresses in k that m lacks, and that no other member has.
func lacks(all *ident.Membership, m, k ident.Member) (with ident.Member) {
	if m.PeerAddr == "" {
		with.PeerAddr = k.PeerAddr
	}
	if m.ClientAddr == "" {
		with.ClientAddr = k.ClientAddr
	}
	for _, x := range all.All() {
		if x.Node == m.Node {
			continue
		}
		if x.PeerAddr == with.PeerAddr {
			with.PeerAddr = ""
		}
	}
	return with
}

// settle notes that no lease of an older membership can be live.
func (r *Record) settle() { r.Settled, r.Before = r.Membership.Number, nil }
