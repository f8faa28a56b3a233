// Package drain works out what is lost when a member is drained. The server refuses drains by it, and kvctl tells by it
// whether the node may be stopped.
package drain

import (
	"fmt"
	"slices"
	"strings"

	"tenure/api"
)

// Remaining are the voters besides the one that is to be drained and stopped.
type Remaining struct {
	of      int      // voters in all
	able    []uint64 // alive and not drained
	drained []uint64
	unknown []uint64 // alive; whether they are drained is not known
	silent  []uint64
}

// Without returns the voters of l other than that node. Draining must be set of each that is drained, but for those of
// unknown, which have not told.
func Without(l api.MemberList, node uint64, unknown ...uint64) Remaining {
	var r Remaining
	for _, m := range l.Members {
		if !m.Voter {
			continue
		}
		r.of++
		switch {
		case m.Node == node:
		case !m.Connected:
			r.silent = append(r.silent, m.Node)
		case m.Draining:
			r.drained = append(r.drained, m.Node)
		case slices.Contains(unknown, m.Node):
			r.unknown = append(r.unknown, m.Node)
		default:
			r.able = append(r.able, m.Node)
		}
	}
	return r
}

// Voters returns how many voters there are, with the one that is to be drained.
func (r Remaining) Voters() int { return r.of }

// majority returns how many voters must be alive for anything to be written.
func (r Remaining) majority() int { return r.of/2 + 1 }

// Loss says what is lost by draining m and stopping it, or is empty.
func (r Remaining) Loss(m api.Member) string {
	alive := len(r.able) + len(r.unknown) + len(r.drained)
	switch {
	case !m.Voter:
		return ""
	case len(r.able)+len(r.unknown) == 0 && r.of > 1:
		return fmt.Sprintf("with node %d drained no voter can be master, and nothing can be written until a drain ends%s",
			m.Node, r.others())
	case alive < r.majority():
		return fmt.Sprintf("with node %d stopped %d of %s would be alive, and writes need %d: nothing could be written "+
			"until more are back%s", m.Node, alive, voters(r.of), r.majority(), r.others())
	}
	return ""
}

// others says in parentheses which voters do not count, and why.
func (r Remaining) others() string {
	var parts []string
	if len(r.drained) > 0 {
		parts = append(parts, nodesText(r.drained, "is", "are")+" drained too")
	}
	if len(r.silent) > 0 {
		parts = append(parts, nodesText(r.silent, "is", "are")+" not heard")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// AtOnce says that the voters which are drained, or may be, cannot all be stopped at the same time, if that is so. Of
// several that are drained at once, the one that finds out last sees the others, if each asks once it is drained.
func (r Remaining) AtOnce() string {
	if len(r.drained)+len(r.unknown) == 0 || len(r.able) >= r.majority() {
		return ""
	}
	var others []string
	if len(r.drained) > 0 {
		others = append(others, nodesText(r.drained, "(drained too)", "(drained too)"))
	}
	if len(r.unknown) > 0 {
		others = append(others, nodesText(r.unknown, "(which may be drained too, and does not answer)",
			"(which may be drained too, and do not answer)"))
	}
	return fmt.Sprintf(", but not together with %s: %d of %d voters must be alive for anything to be written",
		strings.Join(others, " or "), r.majority(), r.of)
}

// voters counts voters in words, as in "1 voter" and "3 voters".
func voters(n int) string {
	if n == 1 {
		return "1 voter"
	}
	return fmt.Sprintf("%d voters", n)
}

// nodesText names nodes and says one of the two of them, as in "node 1 is" and "nodes 1 and 3 are".
func nodesText(ids []uint64, one, more string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "node " + texts[0] + " " + one
	}
	last := len(ids) - 1
	return "nodes " + strings.Join(texts[:last], ", ") + " and " + texts[last] + " " + more
}
