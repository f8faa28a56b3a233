package backend

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/replica"
)

// AbsenceOf returns s in words.
func AbsenceOf(s *replica.IfStopped) *api.Absence {
	left, known := s.HarmlessIn()
	out := &api.Absence{Harmless: s.Harmless(), WaitMS: -1}
	if known {
		out.WaitMS = millisecondsLeft(left)
	}
	switch {
	case out.Harmless:
	case !s.Enough:
		out.Why = "without this node no majority of the voters is heard"
	case !known:
		out.Why = nodesText(s.Behind) + " must catch up first"
	default:
		out.Why = fmt.Sprintf("%s must be silent about the master lease after a start, for another %v", nodesText(s.Silent),
			left.Round(10*time.Millisecond))
	}
	return out
}

// nodesText names nodes, as in "node 2" and "nodes 2 and 3".
func nodesText(ids []ballot.NodeID) string {
	var words []string
	for _, id := range ids {
		words = append(words, fmt.Sprint(id))
	}
	if len(words) == 1 {
		return "node " + words[0]
	}
	return "nodes " + listed(words)
}
