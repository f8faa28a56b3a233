package members

import (
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/quorum"
)

// Blocks reports whether the acked nodes block every majority of the voters before: the other voters are no majority.
// Then no lease can begin under the membership of before any more.
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
