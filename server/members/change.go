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
	r.dropRemoved(NameOf(m))
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
	r.dropSpare(node)
}

// remove takes a member out.
func (r *Record) remove(node ballot.NodeID, f *Facts) {
	m := &r.Membership
	gone, _, listed := m.Find(node)
	is := func(x ident.Member) bool { return x.Node == node }
	if i := slices.IndexFunc(m.Members, is); i >= 0 {
		r.newNumber(f)
		m.Members = slices.Delete(m.Members, i, i+1)
	} else {
		m.NonVoters = slices.DeleteFunc(m.NonVoters, is)
		m.Change++
		r.dropSpare(node)
	}
	if listed {
		r.noteRemoved(NameOf(gone))
	}
}

// noteRemoved remembers the name of a member that was removed, unless another member has it: one that took its place.
func (r *Record) noteRemoved(name string) {
	if _, taken := r.Named(name); taken {
		return
	}
	r.dropRemoved(name)
	r.Removed = append(r.Removed, name)
	r.Removed = slices.Delete(r.Removed, 0, max(0, len(r.Removed)-MaxRemoved))
}

// dropRemoved forgets that a member of that name was removed.
func (r *Record) dropRemoved(name string) {
	r.Removed = slices.DeleteFunc(r.Removed, func(x string) bool { return x == name })
}

func (r *Record) dropSpare(node ballot.NodeID) {
	r.Spares = slices.DeleteFunc(r.Spares, func(s Spare) bool { return s.Node == node })
}

// update gives a member what is not empty in with.
func (r *Record) update(node ballot.NodeID, with ident.Member) {
	for _, list := range [...][]ident.Member{r.Membership.Members, r.Membership.NonVoters} {
		for i := range list {
			if m := &list[i]; m.Node == node {
				m.Name = cmp.Or(with.Name, m.Name)
				m.PeerAddr = cmp.Or(with.PeerAddr, m.PeerAddr)
				m.ClientAddr = cmp.Or(with.ClientAddr, m.ClientAddr)
				r.dropRemoved(NameOf(*m))
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
		if with := next.lacks(m, k); with.PeerAddr != "" || with.ClientAddr != "" {
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

// lacks returns the addresses in k that m lacks.
func (r *Record) lacks(m, k ident.Member) (with ident.Member) {
	if m.PeerAddr == "" {
		with.PeerAddr = k.PeerAddr
	}
	if m.ClientAddr == "" {
		with.ClientAddr = k.ClientAddr
	}
	for _, x := range r.Membership.All() {
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

// begun adds an operation that runs, and forgets the oldest finished one beyond MaxOperations.
func (r *Record) begun(o Operation) *Operation {
	o.State, o.Name, o.Problem = Running, "", ""
	if n := len(r.Operations); n >= MaxOperations {
		r.Operations = slices.Delete(r.Operations, 0, n-MaxOperations)
	}
	r.Operations = append(r.Operations, o)
	return r.running()
}

// running returns the operation that runs, to be changed in place, or nil.
func (r *Record) running() *Operation {
	if n := len(r.Operations); n > 0 && r.Operations[n-1].State == Running {
		return &r.Operations[n-1]
	}
	return nil
}

// end ends the operation that runs.
func (r *Record) end(s State, problem string) {
	o := r.running()
	o.State, o.Problem = s, problem
	if n := len(r.Operations); n > MaxOperations {
		r.Operations = slices.Delete(r.Operations, 0, n-MaxOperations)
	}
}
