package multipaxos

import "fmt"

// Folded is told that this node's durable image holds everything through slot s. At start an image can be ahead of
// the chosen mark on disk, which is written late: what is in the image was chosen. If even the entries are missing
// here, the log counts as truncated through s, so that no promise vouches for slots it cannot report.
func (c *Core) Folded(s Slot) {
	if s > c.chosen && (c.phase != Following || c.seq > 0) {
		panic(fmt.Sprintf("multipaxos: slot %d was folded, and slots are chosen only up to %d", s, c.chosen))
	}
	c.folded = max(c.folded, s)
	for c.chosen < s && c.log.at(c.chosen+1) != nil {
		c.chosen++
	}
	if c.chosen < s {
		c.log.truncate(s)
		c.persist().Truncate = s
		c.chosen, c.synced = s, max(c.synced, s)
	}
	c.known = max(c.known, c.chosen)
	c.gatherFolded()
}

// noteFolded is told by a leader what all members have folded.
func (c *Core) noteFolded(all Slot) { c.foldedAll = max(c.foldedAll, all) }

// gatherFolded takes the minimum over all members. Images never shrink, so neither does the minimum.
func (c *Core) gatherFolded() {
	all := c.folded
	for i := range c.peers {
		all = min(all, c.peers[i].folded)
	}
	c.noteFolded(all)
}

// tickTruncate deletes a bounded number of entries that every member has in its image, but for the newest
// KeepEntries of them, unless space is short. Never above the own image, whatever a leader says: a promise must not be truncated at a slot
// that another member still needs, and none needs what it has folded.
func (c *Core) tickTruncate() {
	all := min(c.foldedAll, c.folded)
	keep := c.cfg.KeepEntries
	if c.short {
		keep = 0
	}
	if uint64(all) <= keep {
		return
	}
	t := min(all-Slot(keep), c.log.truncated+maxTruncate)
	if t <= c.log.truncated {
		return
	}
	c.log.truncate(t)
	c.persist().Truncate = t
}
