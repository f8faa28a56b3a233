package ident

import "testing"

func TestListsNeedsNodeAndStore(t *testing.T) {
	a, b := StoreID{1}, StoreID{2}
	m := Membership{Number: 1, Members: []Member{{Node: 1, Store: a}, {Node: 2, Store: b}}}
	if !m.Lists(1, a) || m.Lists(1, b) || m.Lists(2, a) || m.Lists(3, a) {
		t.Fatalf("membership %v lists the wrong ones", m)
	}
	if m.Voters().Len() != 2 {
		t.Fatalf("voters %v", m.Voters())
	}
}
