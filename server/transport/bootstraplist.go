package transport

import (
	"fmt"
	"slices"
	"strings"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// sorted returns a copy of list by rising node id, the form in which lists are compared and sent.
func sorted(list []wire.Address) []wire.Address {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b wire.Address) int { return int(int64(a.Node) - int64(b.Node)) })
	return list
}

// showList returns the list as the user wrote it, as in "1=a:1,2=b:2".
func showList(list []wire.Address) string {
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = fmt.Sprintf("%d=%s", a.Node, a.Addr)
	}
	return strings.Join(parts, ",")
}

// listOf returns the list that would have the voters of m.
func listOf(m ident.Membership) (list []wire.Address) {
	for _, x := range m.Members {
		list = append(list, wire.Address{Node: x.Node, Addr: x.PeerAddr})
	}
	return list
}

// sameNodes reports whether list and m have the same nodes.
func sameNodes(list []wire.Address, m ident.Membership) bool {
	return slices.EqualFunc(list, m.Members, func(a wire.Address, x ident.Member) bool { return a.Node == x.Node })
}

// storeOf returns the store that m lists for node, if it lists the node.
func storeOf(m ident.Membership, node ballot.NodeID) (ident.StoreID, bool) {
	x, _, listed := m.Find(node)
	return x.Store, listed
}
