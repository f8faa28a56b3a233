package storage

import (
	"reflect"
	"testing"

	"tenure/internal/ident"
)

func TestMembershipsOnlyRise(t *testing.T) {
	s := formed(t, t.TempDir())
	me, you := ident.Member{Node: 1, Store: s.Identity().Store}, ident.Member{Node: 2, Store: ident.StoreID{5}}
	three := ident.Membership{Number: 3, Members: []ident.Member{me, you}, Change: 7, Era: 4}
	must(t, s.SetMembership(three))
	s = reopen(t, s)
	for name, m := range map[string]ident.Membership{
		"the same":                          three,
		"older":                             {Number: 2, Members: []ident.Member{me}, Change: 9},
		"older by one change of an address": {Number: 3, Members: []ident.Member{me}, Change: 6},
	} {
		must(t, s.SetMembership(m))
		if got := s.Identity().Membership; !reflect.DeepEqual(got, three) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, m := range map[string]ident.Membership{
		"no voters":            {Number: 4},
		"its id for another":   {Number: 4, Members: []ident.Member{{Node: 1, Store: ident.StoreID{5}}}},
		"not sorted":           {Number: 4, Members: []ident.Member{you, me}},
		"a voter that is none": {Number: 4, Members: []ident.Member{me}, NonVoters: []ident.Member{me}},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, s.SetMembership(m), ErrRefused) })
	}
	four := ident.Membership{Number: 3, Members: []ident.Member{me}, NonVoters: []ident.Member{you}, Change: 8}
	must(t, s.SetMembership(four))
	four.Members[0].Node = 9 // the caller's list stays the caller's
	if id := s.Identity(); !id.TakesPart() || !id.Membership.Lists(2, you.Store) {
		t.Errorf("%+v", id)
	}
	must(t, s.SetMembership(ident.Membership{Number: 4, Members: []ident.Member{you}}))
	if id := reopen(t, s).Identity(); id.TakesPart() || id.Membership.Number != 4 {
		t.Errorf("a node that was removed has %+v", id)
	}
}

// A node that joins is told addresses that no membership of the log has: they are kept.
func TestAddressesAreKept(t *testing.T) {
	s := formed(t, t.TempDir())
	me := ident.Member{Node: 1, Store: s.Identity().Store}
	you := ident.Member{Node: 2, Store: ident.StoreID{5}, PeerAddr: "you:1"}
	must(t, s.SetMembership(ident.Membership{Number: 2, Change: 1, Members: []ident.Member{me, you}}))
	for change, c := range []struct{ has, want string }{{"", "you:1"}, {"you:2", "you:2"}, {"", "you:2"}} {
		you.PeerAddr = c.has
		must(t, s.SetMembership(ident.Membership{Number: 2, Change: 2 + uint64(change), Members: []ident.Member{me},
			NonVoters: []ident.Member{you}}))
		s = reopen(t, s)
		if got := s.Identity().Membership.NonVoters[0].PeerAddr; got != c.want {
			t.Errorf("change %d: %q, want %q", change, got, c.want)
		}
	}
	you.Store, you.PeerAddr = ident.StoreID{6}, "" // another directory, perhaps elsewhere
	must(t, s.SetMembership(ident.Membership{Number: 2, Change: 9, Members: []ident.Member{me, you}}))
	if got := s.Identity().Membership.Members[1].PeerAddr; got != "" {
		t.Errorf("of another store: %q", got)
	}
}

// The membership that decided the slots below the first change stays known, however often the members change.
func TestTheBootstrapStaysKnown(t *testing.T) {
	s := formed(t, t.TempDir())
	first := s.Identity().Membership
	if got := s.Identity().Bootstrap; !reflect.DeepEqual(got, first) {
		t.Errorf("before any change: %+v", got)
	}
	for n := range uint64(2) {
		must(t, s.SetMembership(ident.Membership{Number: 2 + n, Members: first.Members, Change: 1 + n}))
		s = reopen(t, s)
		if got := s.Identity().Bootstrap; !reflect.DeepEqual(got, first) {
			t.Errorf("after change %d: %+v", n+1, got)
		}
	}
	joined := open(t, t.TempDir(), small)
	me := ident.Member{Node: 4, Store: joined.Identity().Store}
	must(t, joined.Join(ident.ClusterID{7}, 4, ident.Membership{Number: 1, Members: first.Members, Change: 1,
		NonVoters: []ident.Member{me}}))
	if got := reopen(t, joined).Identity().Bootstrap; got.Number != 0 {
		t.Errorf("a store that has joined: %+v", got)
	}
}

func TestAMembershipNeedsACluster(t *testing.T) {
	s := open(t, t.TempDir(), small)
	m := ident.Membership{Number: 2, Members: []ident.Member{{Node: 1, Store: s.Identity().Store}}}
	wantError(t, s.SetMembership(m), ErrRefused, "of no cluster")
}

func TestJoining(t *testing.T) {
	s := open(t, t.TempDir(), small)
	me, you := s.Identity().Store, ident.StoreID{5}
	cluster := ident.ClusterID{7}
	m := ident.Membership{Number: 5, Members: []ident.Member{{Node: 1, Store: you}}, Change: 2,
		NonVoters: []ident.Member{{Node: 4, Store: me, Name: "d", PeerAddr: "d:1"}}, Era: 3}
	wantError(t, s.Join(cluster, 5, m), ErrRefused, "does not list it")
	wantError(t, s.Join(cluster, 1, m), ErrRefused, "does not list it")
	wantError(t, s.Join(ident.ClusterID{}, 4, m), ErrRefused)
	must(t, s.Join(cluster, 4, m))
	must(t, s.Join(cluster, 4, m)) // the answer was lost
	s = reopen(t, s)
	id := s.Identity()
	if !id.Formed || id.Cluster != cluster || id.Node != 4 || !id.TakesPart() || !reflect.DeepEqual(id.Membership, m) {
		t.Errorf("%+v", id)
	}
	wantError(t, s.Join(ident.ClusterID{8}, 4, m), ErrFormed, "joins no other one")
	wantError(t, s.Join(cluster, 5, m), ErrFormed)
	wantError(t, s.Found(cluster, m), ErrFormed)
	newer := m
	newer.Change = 3
	must(t, s.Join(cluster, 4, newer))
	if got := s.Identity().Membership.Change; got != 3 {
		t.Errorf("change %d", got)
	}
}

// A wiped node that was started as it always was is bound to its old id, and of no cluster.
func TestADirectoryThatWasBoundBeforeJoins(t *testing.T) {
	s := open(t, t.TempDir(), small)
	must(t, s.SetNode(2))
	m := ident.Membership{Number: 5, Members: []ident.Member{{Node: 4, Store: s.Identity().Store}}}
	must(t, s.Join(ident.ClusterID{7}, 4, m))
	if id := reopen(t, s).Identity(); id.Node != 4 || !id.TakesPart() {
		t.Errorf("%+v", id)
	}
}
