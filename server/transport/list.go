package transport

import (
	"fmt"
	"slices"
	"strings"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Address is where a member of the static list listens for its peers.
type Address struct {
	Node ballot.NodeID
	Addr string // host:port
}

// sorted is a copy of list by rising node id, the form in which lists are compared and sent.
func sorted(list []Address) []Address {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Address) int { return int(int64(a.Node) - int64(b.Node)) })
	return list
}

// checkList looks at a sorted list.
func checkList(list []Address) error {
	if len(list) == 0 || len(list) > quorum.MaxVoters {
		return fmt.Errorf("a list of %d nodes; a cluster has 1 to %d", len(list), quorum.MaxVoters)
	}
	for i, a := range list {
		if err := checkNode(a.Node); err != nil {
			return err
		}
		if len(a.Addr) > maxAddrBytes || !printable(a.Addr) {
			return fmt.Errorf("the address of node %d is too long or not plain text", a.Node)
		}
		if i > 0 && list[i-1].Node >= a.Node {
			return fmt.Errorf("node %d is listed twice or out of order", a.Node)
		}
	}
	return nil
}

// showList is the list as the user wrote it, as in "1=a:1,2=b:2".
func showList(list []Address) string {
	parts := make([]string, len(list))
	for i, a := range list {
		parts[i] = fmt.Sprintf("%d=%s", a.Node, a.Addr)
	}
	return strings.Join(parts, ",")
}

func sameNodes(list []Address, m ident.Membership) bool {
	return slices.EqualFunc(list, m.Members, func(a Address, x ident.Member) bool { return a.Node == x.Node })
}

// storeOf is the store that m lists for node, if it lists the node.
func storeOf(m ident.Membership, node ballot.NodeID) (ident.StoreID, bool) {
	for _, x := range m.Members {
		if x.Node == node {
			return x.Store, true
		}
	}
	return ident.StoreID{}, false
}
