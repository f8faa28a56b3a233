package main

import (
	"fmt"

	"tenure/client"
)

// changes tells of the newest loss of the master lease and the newest win with one before it, oldest first, by what the nodes
// say of themselves. Their clocks may differ: the times are for people.
func (s survey) changes() []string {
	var lost, won *client.TenureChange
	var lostBy, wonBy uint64
	for _, n := range s {
		if !n.answers() {
			continue
		}
		for i := range n.status.Lease.Changes {
			c := &n.status.Lease.Changes[i]
			switch {
			case c.Event == client.TenureLost && (lost == nil || c.Time.After(lost.Time)):
				lost, lostBy = c, n.status.Node
			case c.Event == client.TenureWon && c.Cause != firstTenure && (won == nil || c.Time.After(won.Time)):
				won, wonBy = c, n.status.Node
			}
		}
	}
	var lines []string
	if lost != nil {
		lines = append(lines, changeLine(lostBy, "lost the master lease", lost))
	}
	if won != nil {
		lines = append(lines, changeLine(wonBy, "won the master lease", won))
	}
	if len(lines) == 2 && won.Time.Before(lost.Time) {
		lines[0], lines[1] = lines[1], lines[0]
	}
	return lines
}

// firstTenure is the cause of a win that followed no other, as far as its node knows: no change of master.
const firstTenure = "none"

func changeLine(node uint64, what string, c *client.TenureChange) string {
	return fmt.Sprintf("%s  node %d %s: %s", c.Time.Local().Format("15:04:05.000"), node, what, c.Detail)
}
