package transport

import (
	"fmt"
	"strings"

	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/internal/shown"
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

// wrongNode returns the refusal of a connection that was meant for one node and has reached another. While a node takes
// the place of another one on the same machine, that is as it should be, and passes: both are members, of one name, or
// the other one is none any more. A node that this one does not know as a member yet may be about to do so.
func wrongNode(dialled, answered ballot.NodeID, m ident.Membership) *Refusal {
	was, _, listed := m.Find(dialled)
	now, _, known := m.Find(answered)
	switch {
	case known && nameOf(was) == nameOf(now):
		return refuse(wire.ReasonNotReady, "node %d takes the place of node %d, %s, at the address of which it answers: "+
			"this ends when node %[2]d is removed", answered, dialled, nameOf(was))
	case !known && (m.Number > 1 || m.Change > 0):
		return refuse(wire.ReasonNode, "the address of node %d, %s, leads to node %d, which is not in membership %d: if it "+
			"takes the place of that node, this ends by itself; otherwise it is started at an address of another node",
			dialled, nameOf(was), answered, m.Number)
	case !listed && (m.Number > 1 || m.Change > 0): // one of the two knows an older membership
		return refuse(wire.ReasonNotReady, "node %d, for which node %d, %s, answers, is not in membership %d: this ends when "+
			"both know the same members", dialled, answered, nameOf(now), m.Number)
	case m.Number > 1 || m.Change > 0:
		return refuse(wire.ReasonNode, "the address of node %d leads to node %d, %s: mend it with: kvctl member update %s "+
			"--peer-address HOST:PORT", dialled, answered, nameOf(now), shown.Word(nameOf(was)))
	}
	return refuse(wire.ReasonNode, "the address that the list gives for node %d leads to node %d: "+
		"mend --cluster or start the node with its own --id and --data", dialled, answered)
}

// checkHello returns why a connection between ours, the node that runs this code, and theirs must be refused, nil if it
// need not be. One of them dialled the address of node dialled, and the other, answered, was there. t is as for
// checkMember. Both sides check, and no frame is exchanged until both have accepted. Mistakes that explain others come
// first.
func checkHello(ours, theirs *wire.Hello, t *table, dialled, answered ballot.NodeID) *Refusal {
	switch {
	case theirs.Incarnation == ours.Incarnation:
		return refuse(wire.ReasonSelf,
			"node %d has reached itself: the list gives its own address for another node", ours.Node)
	case dialled != answered:
		return wrongNode(dialled, answered, t.membership)
	case theirs.Node == ours.Node:
		return refuse(wire.ReasonNode, "two processes run as node %d, with stores %s and %s: "+
			"give one of them its own id",
			ours.Node, ours.Store, theirs.Store)
	case theirs.Cluster != ours.Cluster:
		return refuse(wire.ReasonCluster, "node %d belongs to cluster %s and node %d to cluster %s: "+
			"one of them has a wrong address in its list or a data directory of another cluster",
			ours.Node, ours.Cluster, theirs.Node, theirs.Cluster)
	}
	if r := checkMember(theirs, t, ours.Node); r != nil {
		return r
	}
	if r := checkLevels(ours, theirs); r != nil {
		return r
	}
	if theirs.Constants != ours.Constants {
		return refuse(wire.ReasonConstants, "the nodes of a cluster must be started with the same lease settings: %s",
			difference(called(ours.Node), &ours.Constants, called(theirs.Node), &theirs.Constants))
	}
	return nil
}

// checkLevels returns the refusal between nodes if the release of one side does not know the cluster's feature level:
// that node could not apply the others' commands.
func checkLevels(ours, theirs *wire.Hello) *Refusal {
	at := max(ours.ClusterLevel, theirs.ClusterLevel)
	for _, h := range [...]*wire.Hello{ours, theirs} {
		if h.Level < at {
			return LevelRefusal(called(h.Node), h.Level, at)
		}
	}
	return nil
}

// LevelRefusal returns the refusal of the node of that name, whose release knows up to level known while the cluster is
// at the feature level at.
func LevelRefusal(name string, known, at uint64) *Refusal {
	return refuse(wire.ReasonLevel, "the cluster's feature level is %d, and %s runs a release that knows up to level %d: "+
		"run there the release of the other members, or a later one", at, name, known)
}

// checkMember returns the refusal of a node of the same cluster by node self with the table t, nil if none is due. An
// unlisted node with a newer membership is accepted, because this node is behind, unless its id was a member's. A
// removed node is accepted while others may still need it (table.mayBeNeeded).
func checkMember(theirs *wire.Hello, t *table, self ballot.NodeID) *Refusal {
	m := t.membership
	store, listed := storeOf(m, theirs.Node)
	switch {
	case listed && store != theirs.Store:
		return refuse(wire.ReasonStore, "node %d comes with store %s, but membership %d lists it with store %s: "+
			"its data directory was wiped or is another node's", theirs.Node, theirs.Store, m.Number, store)
	case listed || t.mayBeNeeded(theirs.Has()):
		return nil
	case m.Newer(theirs.Has()):
		return refuse(wire.ReasonRemoved, "node %d is no member of cluster %s any more: it goes by membership %d, "+
			"and was removed before membership %s, which node %d has. Its data directory is of no more use to the cluster; "+
			"to take part again it joins with an empty one, under a new id, with TLS after kvctl member readmit",
			theirs.Node, theirs.Cluster, theirs.Has().Number, m, self)
	case theirs.Has().Newer(m) && t.gone(theirs.Node):
		return refuse(wire.ReasonRemoved, "node %d is no member of cluster %s any more: an id is never used again, and "+
			"membership %s, which node %d has, does not list it. Its data directory is of no more use to the cluster; "+
			"to take part again it joins with an empty one, under a new id, with TLS after kvctl member readmit", theirs.Node, theirs.Cluster, m, self)
	case theirs.Has().Newer(m):
		return nil
	}
	return refuse(wire.ReasonNotMember, "node %d is not in membership %s, which node %d has", theirs.Node, m, self)
}

// difference names the flags in which a and b, the settings of the nodes of these names, differ, with both values.
func difference(nameA string, a *wire.Constants, nameB string, b *wire.Constants) string {
	var out []string
	add := func(flag string, x, y any) {
		if x != y {
			out = append(out, fmt.Sprintf("%s is %v on %s and %v on %s", flag, x, nameA, y, nameB))
		}
	}
	add("--lease-time", a.LeaseTime, b.LeaseTime)
	add("--max-lease-time", a.MaxLeaseTime, b.MaxLeaseTime)
	add("--clock-drift", ppm(a.DriftPPM), ppm(b.DriftPPM))
	add("--lease-margin", a.Margin, b.Margin)
	return strings.Join(out, "; ")
}

// called returns what a node is called in a text; 0 is one that has no id yet.
func called(n ballot.NodeID) string {
	if n == 0 {
		return "a node without an id"
	}
	return fmt.Sprintf("node %d", n)
}

// ppm is shown in parts per million: rounded to percent, two different values could look alike.
type ppm int64

func (p ppm) String() string { return fmt.Sprintf("%d ppm", int64(p)) }
