package backend

import (
	"fmt"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
	"tenure/server/runner"
)

// Full names the members that are short of space, as this node knows it, or is "".
func (b *Cluster) Full() string { return fullNodes(b.cfg.Log.View().Full) }

// fullNodes says of the members in full that they are short of space, or is "".
func fullNodes(full []ballot.NodeID) string {
	if len(full) == 0 {
		return ""
	}
	ids := make([]string, len(full))
	for i, id := range full {
		ids[i] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "the disk of node " + ids[0] + " has reached its reserve of free space or its --quota-bytes"
	}
	return "the disks of nodes " + listed(ids) + " have reached their reserve of free space or --quota-bytes"
}

// listed joins words as in "a, b and c".
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// cutOff is the function of that name for this node, which needs a while to connect after it began to serve.
func (b *Cluster) cutOff() string {
	if b.cfg.Served() < cutOffAfter {
		return ""
	}
	return cutOff(b.cfg.Identity.Node, b.cfg.Members.Load(), b.cfg.Links())
}

// problem says in one line what keeps the node from working as it should, or "".
func (b *Cluster) problem() string {
	if unanswered := b.cfg.Health.Standing().DiskUnanswered; unanswered >= runner.DiskComplaint {
		return fmt.Sprintf("the disk has not answered for %d s", unanswered/time.Second)
	}
	if d := b.cfg.Log.View().Dispute; d.Slot != 0 {
		return d.String()
	}
	if why := b.FounderWaits(); why != "" {
		return why
	}
	if why := b.cutOff(); why != "" {
		return why
	}
	if why := b.cfg.Clocks.Problem(); why != "" {
		return "this node takes no part in leases: " + why
	}
	if why := b.cfg.Snapshots.Problem(); why != "" {
		return why
	}
	u := b.cfg.Disk.Usage()
	switch b.cfg.Disk.Space() {
	case replica.SpaceLow:
		return fmt.Sprintf("the disk has reached its reserve or the quota (%d bytes free, %d in use, quota %d): writes "+
			"that need space are refused unless enough others have some, deletes are not",
			u.FreeBytes+u.HeldBytes, u.LogBytes+u.StateBytes, u.QuotaBytes)
	case replica.SpaceTight:
		return fmt.Sprintf("the disk has used up half of its reserve (%d bytes free, %d in use, quota %d): this node "+
			"stores nothing that needs space, and falls behind if the others do",
			u.FreeBytes+u.HeldBytes, u.LogBytes+u.StateBytes, u.QuotaBytes)
	case replica.SpaceNone:
		return fmt.Sprintf("the disk is full up to what promises and the start of a node need (%d bytes free): this node "+
			"stores no writes; make space on the file system", u.FreeBytes+u.HeldBytes)
	}
	return b.cfg.AddressNote(b.cfg.Members.Load())
}
