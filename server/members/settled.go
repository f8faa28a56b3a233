package members

import (
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Blocks reports whether the nodes acked are enough to block every majority of the voters before: what is left of those
// without them is no majority, so that no lease can begin under their membership any more.
func Blocks(before []ident.Member, acked func(ballot.NodeID) bool) bool {
	var all, left quorum.Set
	for _, m := range before {
		all.Add(m.Node)
		if !acked(m.Node) {
			left.Add(m.Node)
		}
	}
	return !quorum.Reached(all, left)
}
