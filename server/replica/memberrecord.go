package replica

import (
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/kv"
	"tenure/multipaxos"
	"tenure/server/members"
)

// membersValue is an entry that replaces the record of the members.
func membersValue(r *members.Record) []byte { return append([]byte{tagMembers}, r.Encode()...) }

// recordIn returns the record in an entry's value; ok is false if the entry has none.
func recordIn(value []byte) (r members.Record, ok bool, err error) {
	if len(value) == 0 || value[0] != tagMembers {
		return members.Record{}, false, nil
	}
	r, err = members.Decode(value[1:])
	return r, true, err
}

// MembershipOf is for multipaxos.Config: an entry with the record of the members says who decides the slots above it.
// One that is malformed is found when it is applied.
func MembershipOf(value []byte) (multipaxos.Membership, bool) {
	r, ok, err := recordIn(value)
	if !ok || err != nil {
		return multipaxos.Membership{}, false
	}
	return membershipOf(r.Membership), true
}

func membershipOf(m ident.Membership) multipaxos.Membership {
	return multipaxos.Membership{Number: m.Number, Voters: m.Voters(), NonVoters: idsOf(m.NonVoters)}
}

func idsOf(ms []ident.Member) (ids []ballot.NodeID) {
	for _, x := range ms {
		ids = append(ids, x.Node)
	}
	return ids
}

// recordOf returns the record of the members that the state holds, or the one that identity makes if it holds none.
func recordOf(state *kv.State, identity ident.Membership) (members.Record, error) {
	if b := state.Members(); b != nil {
		return members.Decode(b)
	}
	return members.First(identity), nil
}

// BaseMembership returns the membership for multipaxos.New: the members that decide the slots above the state. identity
// is the membership of the node's identity, and d and r are its log.
//
// Without a record in the state that is the membership of the bootstrap. The identity has it, unless the members have
// changed since: then the first record in the log still tells it. A joined node whose log has no record yet, for
// example after a snapshot has brought the identity, follows all others.
func BaseMembership(state *kv.State, identity ident.Membership, d multipaxos.Durable,
	r multipaxos.Reader) (multipaxos.Membership, error) {
	if b := state.Members(); b != nil {
		record, err := members.Decode(b)
		m := membershipOf(record.Membership)
		m.Slot = multipaxos.Slot(state.Applied())
		return m, err
	}
	if identity.Number == 1 && identity.Change == 0 {
		return membershipOf(identity), nil
	}
	first, ok, err := firstRecord(max(multipaxos.Slot(state.Applied()), d.Truncated)+1, d.Last, r)
	switch {
	case err != nil:
		return multipaxos.Membership{}, err
	case !ok:
		return multipaxos.Membership{NonVoters: idsOf(identity.All())}, nil
	case first.Membership.Number == 1:
		return membershipOf(ident.Membership{Number: 1, Members: first.Membership.Members}), nil
	}
	return membershipOf(ident.Membership{Number: first.Membership.Number - 1, Members: first.Before}), nil
}

// firstRecord returns the record of the members in the lowest slot of the log that has one.
func firstRecord(from, through multipaxos.Slot, r multipaxos.Reader) (first members.Record, ok bool, err error) {
	for from <= through {
		page, err := r.Entries(from, through, recordPage)
		if err != nil {
			return first, false, fmt.Errorf("look for the first record of the members: %w", err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if first, ok, err = recordIn(e.Value); ok || err != nil {
				return first, ok, err
			}
			from = e.Slot + 1
		}
	}
	return first, false, nil
}

// recordPage is how many bytes of the log are looked through at a time.
const recordPage = 1 << 20
