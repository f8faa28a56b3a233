package sim

import (
	"tenure/server/wire"
)

// The handshake. As in the transport, the two ends of a connection say who they are, in frames that may be damaged.
// They refuse each other unless both are members with their present stores. Where disks are copied each also remembers
// what the other's store had.

// meeting is what came of the handshake of two nodes with certain stores and memberships. Frames that travel alone have
// no connection of their own, so one handshake speaks for all of them.
type meeting struct {
	sides [2]side
	ok    bool
}

func (n *endpoint) side() side {
	m := &n.drive.members
	return side{store: n.drive.store, number: m.Number, change: m.Change}
}

// admits reports whether b takes frames from a that travel alone.
func (x *network) admits(a, b *endpoint) bool {
	m := &x.met[a.i][b.i]
	if sides := x.sides(a, b); m.sides != sides {
		greet := func(from, to *endpoint) bool { return x.hears(to, packet{bytes: x.hello(wire.KindLease, from, to)}) }
		*m = meeting{sides, greet(a, b) && greet(b, a)}
	}
	return m.ok
}

// shakeHands reports whether a connection of the log that a makes to b comes about.
func (x *network) shakeHands(a, b *endpoint) bool {
	return x.hears(b, x.pack(x.hello(wire.KindLog, a, b))) && x.hears(a, x.pack(x.hello(wire.KindLog, b, a))) &&
		x.hears(b, x.pack(wire.AppendFrame(nil, wire.EncodeHandshake(&wire.ReadyMsg{}))))
}

// hello returns the frame in which a node says who it is.
func (x *network) hello(kind wire.Kind, from, to *endpoint) []byte {
	t := &x.plan.timing
	m := wire.HelloMsg{Kind: kind, To: to.id, Hello: wire.Hello{
		Cluster: clusterID, Node: from.id, Store: from.drive.store, Incarnation: from.self,
		Constants: wire.Constants{LeaseTime: t.MaxMaster, MaxLeaseTime: t.MaxUser, DriftPPM: t.DriftPPM,
			Margin: t.Margin},
	}}
	x.mark(&m.Hello, from)
	return wire.AppendFrame(nil, wire.EncodeHandshake(&m))
}

// hears reports whether a node goes on after a message of the handshake.
func (x *network) hears(to *endpoint, p packet) bool {
	body, ok := x.open(p, wire.MaxHandshakeBytes)
	if !ok {
		return false
	}
	said, err := wire.DecodeHandshake(body)
	if err != nil {
		x.fail("frames", "node %d cannot decode a message of the handshake: %v", to.id, err)
	}
	m, ok := said.(*wire.HelloMsg)
	return !ok || m.To == to.id && m.Hello.Cluster == clusterID && x.knows(to, &m.Hello)
}

// knows reports whether a node takes another one for a member, as the transport decides it. One that its membership does
// not list may be newer than that membership, if its own is; else it was removed, and is told when it is needed no more.
func (x *network) knows(to *endpoint, h *wire.Hello) bool {
	ours := &to.drive.members
	if _, _, listed := ours.Find(h.Node); listed || !ours.Lists(to.id, to.drive.store) {
		return listed && ours.Lists(h.Node, h.Store) && ours.Lists(to.id, to.drive.store) &&
			x.remembers(to, x.node(h.Node), h)
	}
	from := x.node(h.Node)
	if from.drive.members.Newer(*ours) || !to.heldByMost() && ours.Newer(from.drive.members) {
		return true
	}
	if from.removed != nil && from.up() && from.drive.store == h.Store {
		from.removed()
	}
	return false
}
