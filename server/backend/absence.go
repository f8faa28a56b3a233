package backend

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/replica"
)

// AbsenceOf returns a in words.
func AbsenceOf(a *replica.Absence) *api.Absence {
	wait, known := a.Wait()
	out := &api.Absence{Harmless: a.Harmless(), WaitMS: -1}
	if known {
		out.WaitMS = millisecondsLeft(wait)
	}
	switch {
	case out.Harmless:
	case !a.Enough:
		out.Why = "without this node no majority of the voters is heard"
	case !known:
		out.Why = nodesText(a.Behind) + " must catch up first"
	default:
		out.Why = fmt.Sprintf("%s must be silent about the master lease after a start, for another %v", nodesText(a.Silent),
			wait.Round(10*time.Millisecond))
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
