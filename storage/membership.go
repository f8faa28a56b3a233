package storage

import (
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/ident"
)

// SetMembership makes m the membership of this node, durably. Members without a peer address in m keep the known one. A
// membership that is not newer changes nothing. From then on neither layer answers under an older one, also after a
// restart. m need not list this node: a node that was removed knows it from here. It refuses a membership that gives
// this node's id to another store.
func (s *Node) SetMembership(m ident.Membership) error {
	return s.changeIdentity("write the membership", func(next *identityRecord) (changed bool, err error) {
		if next.Cluster.IsZero() {
			return false, fmt.Errorf("%w: membership %s for %s, which is of no cluster", ErrRefused, m, s.files.Dir)
		}
		return s.newMembership(next, m)
	})
}

// newMembership gives next the membership m, unless the one that next has is as new.
func (s *Node) newMembership(next *identityRecord, m ident.Membership) (changed bool, err error) {
	if !m.Newer(next.Membership) {
		return false, nil
	}
	if err := next.mayHave(m); err != nil {
		return false, fmt.Errorf("%s: %w", s.files.Dir, err)
	}
	next.Bootstrap = next.bootstrap()
	next.Membership = withAddresses(m.Clone(), next.Membership)
	return true, nil
}

// withAddresses puts the peer addresses of was into m, its own copy, for the same members without one. A node was told
// these addresses when it joined, and may need them after a restart.
func withAddresses(m, was ident.Membership) ident.Membership {
	for _, list := range [][]ident.Member{m.Members, m.NonVoters} {
		for i := range list {
			x, _, _ := was.Find(list[i].Node)
			if list[i].PeerAddr == "" && x.Store == list[i].Store {
				list[i].PeerAddr = x.PeerAddr
			}
		}
	}
	return m
}

// mayHave returns an error if m is none that the node of r can have.
func (r *identityRecord) mayHave(m ident.Membership) error {
	if err := checkMembership(m); err != nil {
		return err
	}
	if x, _, listed := m.Find(r.Node); listed && x.Store != r.Store {
		return fmt.Errorf("%w: membership %s gives node %d to another store than its own, %s",
			ErrRefused, m, r.Node, r.Store)
	}
	return nil
}

// bootstrap returns the membership that the bootstrap wrote here, zero in a store that has joined.
func (r *identityRecord) bootstrap() ident.Membership {
	if r.Bootstrap.Number == 0 && r.Membership.Number == 1 && r.Membership.Change == 0 {
		return r.Membership
	}
	return r.Bootstrap
}

// Join makes a store that is of no cluster a member of one, durably and once: m must list node with this store. A node
// id that SetNode gave to the store before gives way: it has never taken part. Said again for the same cluster and node
// it is SetMembership; otherwise a store that is of a cluster gets ErrFormed.
func (s *Node) Join(cluster ident.ClusterID, node ballot.NodeID, m ident.Membership) error {
	return s.changeIdentity("write the membership", func(next *identityRecord) (changed bool, err error) {
		if !next.Cluster.IsZero() {
			if next.Cluster != cluster || next.Node != node {
				return false, fmt.Errorf("%w: %s is node %d of cluster %s, membership %s; it joins no other one",
					ErrFormed, s.files.Dir, next.Node, next.Cluster, next.Membership)
			}
			return s.newMembership(next, m)
		}
		if node == 0 || node > ballot.MaxNodeID || cluster.IsZero() || m.Number == 0 || !m.Lists(node, next.Store) {
			return false, fmt.Errorf("%w: joining cluster %s as node %d: membership %s does not list it with store %s",
				ErrRefused, cluster, node, m, next.Store)
		}
		next.Cluster, next.Node, next.Membership = cluster, node, ident.Membership{}
		return s.newMembership(next, m)
	})
}

// NoteStartedAs writes Identity.StartedAs, durably, in a store that is of no cluster yet.
func (s *Node) NoteStartedAs(id ballot.NodeID) error {
	return s.changeIdentity("note the number that the node is started with", func(next *identityRecord) (bool, error) {
		switch {
		case next.StartedAs == id:
			return false, nil
		case !next.Cluster.IsZero() || id > ballot.MaxNodeID:
			return false, fmt.Errorf("%w: %s, of cluster %s, as the directory of what was started as node %d", ErrRefused,
				s.files.Dir, next.Cluster, id)
		}
		next.StartedAs = id
		return true, nil
	})
}

// checkMembership returns an error if m has no voters or is not lists of nodes with their stores by rising id, each
// node in one of them.
func checkMembership(m ident.Membership) error {
	if len(m.Members) == 0 {
		return fmt.Errorf("%w: membership %s has no voters", ErrRefused, m)
	}
	seen := map[ballot.NodeID]bool{}
	for _, list := range [][]ident.Member{m.Members, m.NonVoters} {
		last := ballot.NodeID(0)
		for _, x := range list {
			if x.Node <= last || x.Node > ballot.MaxNodeID || x.Store.IsZero() || seen[x.Node] {
				return fmt.Errorf("%w: membership %s is not a list of nodes with their stores by rising id", ErrRefused, m)
			}
			last, seen[x.Node] = x.Node, true
		}
	}
	return nil
}
