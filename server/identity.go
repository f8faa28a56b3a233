package server

import (
	"fmt"
	"slices"
	"strings"

	"tenure/internal/ident"
	"tenure/storage"
)

// checkIdentity refuses a data directory that the configuration contradicts: one of another node, or of a cluster of
// other nodes than --cluster lists. Such a node would otherwise serve what its disk says, and not what its operator
// wrote. Until members can be changed, a list may differ from the membership in its addresses only. Errors wrap
// ErrConfig.
func (c Config) checkIdentity(id storage.Identity) error {
	if id.Node != 0 && id.Node != c.Node {
		return fmt.Errorf("%w: --id %d, but %s is the data directory of node %d: start it with --id %d, or give node %d a "+
			"directory of its own with --data",
			ErrConfig, c.Node, c.Data, id.Node, id.Node, c.Node)
	}
	if !id.Formed || c.lists(id.Membership) {
		return nil
	}
	return fmt.Errorf("%w: --cluster lists %s, but %s belongs to a cluster of %s (%s): start it with a list of exactly "+
		"those nodes, whose addresses may differ, or with another --data. Members of a cluster cannot be changed yet. Nothing was changed on disk",
		ErrConfig, c.showCluster(), c.Data, showMembers(id.Membership), id.Cluster)
}

// lists reports whether --cluster names exactly the nodes of m.
func (c Config) lists(m ident.Membership) bool {
	if len(c.Cluster) != len(m.Members) {
		return false
	}
	return !slices.ContainsFunc(c.Cluster, func(a Address) bool {
		return !slices.ContainsFunc(m.Members, func(x ident.Member) bool { return x.Node == a.Node })
	})
}

// showCluster returns --cluster as it was written. A list of one is also what is meant without the flag.
func (c Config) showCluster() string {
	var parts []string
	for _, a := range c.Cluster {
		parts = append(parts, fmt.Sprintf("%d=%s", a.Node, a.Addr))
	}
	if len(parts) == 1 {
		return parts[0] + " alone (as does leaving it out)"
	}
	return strings.Join(parts, ",")
}

func showMembers(m ident.Membership) string {
	if len(m.Members) == 1 {
		return fmt.Sprintf("node %d alone", m.Members[0].Node)
	}
	var parts []string
	for _, x := range m.Members {
		parts = append(parts, fmt.Sprint(x.Node))
	}
	return "nodes " + strings.Join(parts, ", ")
}
