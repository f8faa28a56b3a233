package server

import (
	"fmt"
	"slices"
	"strings"

	"tenure/internal/ident"
	"tenure/server/backend"
	"tenure/storage"
)

// Identify returns whose data directory dir is, without opening it; ok is false if it is nobody's yet.
func Identify(dir string) (id storage.Identity, ok bool, err error) { return storage.ReadIdentity(dir) }

// checkIdentity refuses a data directory that the configuration contradicts: one of another node, or, if no members
// have changed since the bootstrap, one of a cluster of other nodes than --cluster lists. The node would otherwise
// serve the data on its disk against its operator's intent. Once members have changed, the list only hints at
// addresses. Errors wrap ErrConfig.
func (c Config) checkIdentity(id storage.Identity) error {
	if id.Node != 0 && c.Node != 0 && id.Node != c.Node {
		return fmt.Errorf("%w: --id %d, but %s is the data directory of node %d: start it with --id %d, or give node %d a "+
			"directory of its own with --data",
			ErrConfig, c.Node, c.Data, id.Node, id.Node, c.Node)
	}
	m := id.Membership
	switch {
	case !id.Formed && len(c.Cluster) == 0 && c.Join == "":
		return fmt.Errorf("%w: %s is not a member's yet: start it with --cluster, or with --join", ErrConfig, c.Data)
	case !id.Formed, m.Number > 1, m.Change > 0, c.lists(m):
		return nil
	case len(c.Cluster) == 0 && len(m.Members) == 1:
		return nil
	case len(c.Cluster) == 0:
		return fmt.Errorf("%w: %s is the data directory of node %d of a cluster of %s (%s), and without --cluster nothing "+
			"says where the others are: start it with --id %d and a list of those nodes. Nothing was changed on disk",
			ErrConfig, c.Data, id.Node, showMembers(m), id.Cluster, id.Node)
	}
	return fmt.Errorf("%w: --cluster lists %s, but %s belongs to a cluster of %s (%s): start it with a list of exactly "+
		"those nodes, whose addresses may differ, or with another --data. Nothing was changed on disk",
		ErrConfig, c.showCluster(), c.Data, showMembers(id.Membership), id.Cluster)
}

// noteOf returns a line for the log if --cluster differs from the membership, or "".
func (c Config) noteOf(id storage.Identity) string {
	if !id.Formed || len(c.Cluster) == 0 || c.lists(id.Membership) {
		return ""
	}
	return fmt.Sprintf("--cluster lists %s, and the members are %s: the list only hints at addresses", c.showCluster(),
		showMembers(id.Membership))
}

// addressNote returns a warning if the members list other addresses for this node than its own, or "".
func (c Config) addressNote(listed ident.Membership) string {
	m, _, ok := listed.Find(c.Node)
	if !ok {
		return ""
	}
	return backend.MovedNote("this node", m, c.peerAdvertised(), c.clientAdvertised())
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
