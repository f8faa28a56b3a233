package members

import (
	"cmp"
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
	"tenure/internal/shown"
)

// memberOf returns the member that an operation is about; next is the id of the next member.
func memberOf(all *ident.Membership, next, node ballot.NodeID) (m ident.Member, voter bool, err error) {
	m, voter, ok := all.Find(node)
	switch {
	case ok:
		return m, voter, nil
	case node != 0 && node < next:
		return m, false, refuse(Unknown, "node %d is not a member any more", node)
	}
	return m, false, refuse(Unknown, "there is no member %d; kvctl member list shows them", node)
}

// fits returns why m, which gets the id next, cannot be listed beside the other members, without the replaced one (0:
// none is replaced).
func fits(all *ident.Membership, next ballot.NodeID, m ident.Member, replaced ballot.NodeID) error {
	m.Node = cmp.Or(m.Node, next)
	switch x, what := clash(all, m, replaced); what {
	case clashName:
		return refuse(NameTaken, "node %d is named %q; choose another name, or replace it: kvnode --join ... "+
			"--replace %s", x.Node, NameOf(m), NameOf(m))
	case clashAddress:
		return refuse(NameTaken, "node %d has the address %s; choose another one, or replace it: kvnode --join ... "+
			"--replace %s", x.Node, m.PeerAddr, NameOf(x))
	}
	return nil
}

// fitsAfter is fits for an update that makes the member what m is. The member that is in the way is well: it need only
// be updated first.
func fitsAfter(all *ident.Membership, m ident.Member) error {
	switch x, what := clash(all, m, m.Node); what {
	case clashName:
		return refuse(NameTaken, "node %d is named %q; choose another name, or rename that node first: kvctl member update "+
			"%s --name NAME", x.Node, NameOf(m), shown.Word(NameOf(x)))
	case clashAddress:
		return refuse(NameTaken, "node %[1]d has the address %[2]s, and no two members can have the same. If node %[1]d has "+
			"moved, first write down where to: kvctl member update %[4]s --peer-address HOST:PORT. If nodes %[3]d and %[1]d "+
			"exchange their addresses, first give node %[1]d one that nobody has, then update node %[3]d, and then give node "+
			"%[1]d its own", x.Node, m.PeerAddr, m.Node, shown.Word(NameOf(x)))
	}
	return nil
}

// What two members cannot have in common.
const (
	clashName = iota + 1
	clashAddress
)

// clash returns a member other than m and replaced with the name or the peer address of m, and says which of the two; 0
// if there is none.
func clash(all *ident.Membership, m ident.Member, replaced ballot.NodeID) (x ident.Member, what int) {
	for _, x := range all.All() {
		switch {
		case x.Node == replaced || x.Node == m.Node:
		case NameOf(x) == NameOf(m):
			return x, clashName
		case m.PeerAddr != "" && x.PeerAddr == m.PeerAddr: // clients may reach several by one address
			return x, clashAddress
		}
	}
	return x, 0
}

// votersFull returns why there can be no further voter.
func votersFull(all *ident.Membership) error {
	if len(all.Members) < quorum.MaxVoters {
		return nil
	}
	return refuse(TooMany, "there are %d voters, the most there may be; remove one first, or add it as a non-voter",
		quorum.MaxVoters)
}

// nonVotersFull returns why there can be no further non-voter, under the id next: every member begins as one.
func nonVotersFull(all *ident.Membership, next ballot.NodeID) error {
	switch {
	case len(all.NonVoters) >= ident.MaxNonVoters:
		return refuse(TooMany, "there are %d non-voters, the most there may be, and every member begins as one; "+
			"remove one first", ident.MaxNonVoters)
	case next > ballot.MaxNodeID:
		return refuse(TooMany, "all %d node ids are used up", ballot.MaxNodeID)
	}
	return nil
}

// fitsDispute returns why a voter may not be removed or replaced because of a dispute between replicas, or nil. The
// removal of a voter in dispute decides whose state is right, so the operation must say so.
func (o *Operation) fitsDispute(f *Facts) error {
	switch disputed := slices.Contains(f.Disputed, o.Node); {
	case disputed && !o.Differs:
		return refuse(Disputed, "the states of nodes %v differ, and no majority tells which is right: find out, and "+
			"if that of node %d is wrong, kvctl member remove %d --differs", f.Disputed, o.Node, o.Node)
	case !disputed && o.Differs:
		return refuse(Invalid, "the state of node %d is not in dispute; leave --differs out", o.Node)
	}
	return nil
}
