package backend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/transport"
)

// cutOffAfter is longer than a node takes to connect at its start, and again after a connection has ended.
const cutOffAfter = 3 * time.Second

// cutOff says that node self hears no majority of the voters of m, and why, as far as links tell; "": it hears one.
func cutOff(self ballot.NodeID, m ident.Membership, links []transport.PeerState) string {
	heard, unheard := 0, []string{}
	for _, x := range m.Members {
		i := slices.IndexFunc(links, func(l transport.PeerState) bool { return l.Node == x.Node })
		switch {
		case x.Node == self || i >= 0 && hears(&links[i].Log):
			heard++
		case i >= 0 && links[i].Problem != "":
			unheard = append(unheard, fmt.Sprintf("node %d: %s", x.Node, links[i].Problem))
		default:
			unheard = append(unheard, fmt.Sprintf("node %d: it does not connect, or is refused: see this node's log", x.Node))
		}
	}
	if heard >= m.Voters().Need() {
		return ""
	}
	return "this node hears no majority of the voters: " + strings.Join(unheard, "; ")
}

// hears reports whether something came over l lately.
func hears(l *transport.LinkState) bool {
	return l.Connected || l.LastHeard >= 0 && l.LastHeard < cutOffAfter
}
