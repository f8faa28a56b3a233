package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/internal/ballot"
	"tenure/server/replica"
)

// What the node says of disks that are short of space, its own and others'.

// fullChanged logs which members are short of space.
func (n *Node) fullChanged(old, now []ballot.NodeID) {
	for _, id := range now {
		if !slices.Contains(old, id) {
			n.log.Warn().Uint64("full", uint64(id)).Msg("the disk of a member has reached its reserve or its quota")
		}
	}
	for _, id := range old {
		if !slices.Contains(now, id) {
			n.log.Info().Uint64("full", uint64(id)).Msg("the disk of a member has space again, or the member cannot be reached")
		}
	}
}

// fullNodes names the members that are short of space, as this node knows it, or is "".
func (n *Node) fullNodes() string {
	full := n.logView.Load().full
	if len(full) == 0 {
		return ""
	}
	ids := make([]string, len(full))
	for i, id := range full {
		ids[i] = fmt.Sprint(id)
	}
	if len(ids) == 1 {
		return "the disk of node " + ids[0] + " has reached its reserve or its quota"
	}
	last := len(ids) - 1
	return "the disks of nodes " + strings.Join(ids[:last], ", ") + " and " + ids[last] + " have reached their reserve or quota"
}

// noSpace is why a write was refused for want of space.
func (n *Node) noSpace() string {
	if full := n.fullNodes(); full != "" {
		return full
	}
	return replica.NoSpace.String()
}

// Full names the members that are short of space, as this node knows it, or is "".
func (n *Node) Full() string { return n.fullNodes() }

// problem says in one line what keeps the node from working as it should, or "".
func (n *Node) problem() string {
	if silent := n.standing.Load().DiskSilent; silent >= diskComplaint {
		return fmt.Sprintf("the disk has not answered for %d s", silent/time.Second)
	}
	u := n.store.Usage()
	switch replica.Space(n.space.Load()) {
	case replica.SpaceLow:
		return fmt.Sprintf("the disk has reached its reserve or the quota (%d bytes free, %d in use, quota %d): writes that need space are refused "+
			"unless enough others have some, deletes are not", u.FreeBytes+u.HeldBytes, u.LogBytes+u.StateBytes, u.QuotaBytes)
	case replica.SpaceTight:
		return fmt.Sprintf("the disk has used up half of its reserve (%d bytes free, %d in use, quota %d): this node stores nothing that needs space, "+
			"and falls behind if the others do", u.FreeBytes+u.HeldBytes, u.LogBytes+u.StateBytes, u.QuotaBytes)
	case replica.SpaceNone:
		return fmt.Sprintf("the disk is full up to what promises and the start of a node need (%d bytes free): this node stores no writes; "+
			"make space on the file system", u.FreeBytes+u.HeldBytes)
	}
	return ""
}

// relieve hands over to next, a member with space, because this node has none. It runs apart from the log loop, which
// the hand-over needs.
func (n *Node) relieve(next ballot.NodeID) {
	if !n.transferring.CompareAndSwap(false, true) {
		return
	}
	n.log.Warn().Uint64("to", uint64(next)).Msg("this master's disk is short of space: it hands over to a member that has some")
	go func() {
		defer n.transferring.Store(false)
		if err := n.transferHere(next, replica.CauseNoSpace); err != nil {
			n.log.Warn().Err(err).Msg("could not hand over")
		}
	}()
}
