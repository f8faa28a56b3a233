package transport

import (
	"fmt"
	"strings"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/wire"
)

// Refusal is why a connection was refused, by either side. Its text is written so that it reads the same on both:
// it names both nodes and shows both values.
type Refusal struct {
	Reason wire.Reason
	Text   string
	// ByPeer: the other side refused this node, and the text is the other side's.
	ByPeer bool
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(reason wire.Reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Text: fmt.Sprintf(format, args...)}
}

// wrongNode returns the refusal of a connection that was meant for one node and has reached another.
func wrongNode(dialled, answered ballot.NodeID) *Refusal {
	return refuse(wire.ReasonNode, "the address that the list gives for node %d leads to node %d: "+
		"mend --cluster or start the node with its own --id and --data", dialled, answered)
}

// checkHello returns why a connection between ours, the node that runs this code, and theirs must be refused, nil if it
// need not be. One of them dialled the address of node dialled, and the other, answered, was there. Both sides check,
// and no frame is exchanged until both have accepted. Mistakes that explain others come first.
func checkHello(ours, theirs *wire.Hello, m ident.Membership, dialled, answered ballot.NodeID) *Refusal {
	switch {
	case theirs.Incarnation == ours.Incarnation:
		return refuse(wire.ReasonSelf,
			"node %d has reached itself: the list gives its own address for another node", ours.Node)
	case dialled != answered:
		return wrongNode(dialled, answered)
	case theirs.Node == ours.Node:
		return refuse(wire.ReasonNode, "two processes run as node %d, with stores %s and %s: "+
			"give one of them its own id",
			ours.Node, ours.Store, theirs.Store)
	case theirs.Cluster != ours.Cluster:
		return refuse(wire.ReasonCluster, "node %d belongs to cluster %s and node %d to cluster %s: "+
			"one of them has a wrong address in its list or a data directory of another cluster",
			ours.Node, ours.Cluster, theirs.Node, theirs.Cluster)
	}
	store, listed := storeOf(m, theirs.Node)
	switch {
	case !listed:
		return refuse(wire.ReasonNotMember, "node %d is not in membership %s, which node %d has",
			theirs.Node, m, ours.Node)
	case store != theirs.Store:
		return refuse(wire.ReasonStore, "node %d comes with store %s, but membership %d lists it with store %s: "+
			"its data directory was wiped or is another node's", theirs.Node, theirs.Store, m.Number, store)
	case theirs.Constants != ours.Constants:
		return refuse(wire.ReasonConstants, "the nodes of a cluster must be started with the same lease settings: %s",
			difference(ours, theirs))
	}
	return nil
}

// difference names the flags in which a and b differ, with both values.
func difference(a, b *wire.Hello) string {
	var out []string
	add := func(flag string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s is %v on node %d and %v on node %d", flag, x, a.Node, y, b.Node))
		}
	}
	add("--lease-time", a.Constants.LeaseTime, b.Constants.LeaseTime)
	add("--max-lease-time", a.Constants.MaxLeaseTime, b.Constants.MaxLeaseTime)
	add("--clock-drift", ppm(a.Constants.DriftPPM), ppm(b.Constants.DriftPPM))
	add("--lease-margin", a.Constants.Margin, b.Constants.Margin)
	return strings.Join(out, "; ")
}

// ppm is shown in parts per million: rounded to percent, two different values could look alike.
type ppm int64

func (p ppm) String() string { return fmt.Sprintf("%d ppm", int64(p)) }
