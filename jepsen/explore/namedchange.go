package explore

import (
	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease/named"
	"tenure/server/replica"
)

// counts is what a state of the world of named leases counts.
type counts struct {
	era          uint32 // the last that the log has allotted
	restarts     int    // of acceptors
	nodeRestarts int    // of the nodes that clients ask
}

func (n counts) pack() uint32 { return n.era | uint32(n.restarts)<<16 | uint32(n.nodeRestarts)<<24 }

func (n counts) add(to uint32) uint32 { return to + n.pack() }

func unpackCounts(n uint32) counts {
	return counts{era: n & 0xffff, restarts: int(n >> 16 & 0xff), nodeRestarts: int(n >> 24)}
}

// voters returns those of a membership, counted from 0.
func (c NamedConfig) voters(membership int) quorum.Set {
	if len(c.Chain) == 0 {
		return voters(c.Acceptors)
	}
	return c.Chain[membership]
}

// isFor reports whether an acceptor, counted from 0, is one that a request goes to.
func (c NamedConfig) isFor(q *named.Request, acceptor uint8) bool {
	if len(c.Chain) == 0 || q.Membership == 0 {
		return true
	}
	return c.Chain[q.Membership-1].Has(ballot.NodeID(acceptor + 1))
}

func (x *namedExplorer) expandChanges(s *state, try func(a action)) {
	c := &x.l.c
	if len(c.Chain) == 0 {
		return
	}
	g := unpackChanges(s[atChanges])
	if g.mayPropose(c.Chain) {
		try(action{kind: doPropose})
	}
	try(action{kind: doAcknowledge})
	for i := range uint8(c.Nodes) {
		if over := x.l.nodes.get(s[atAsked+i]).over; int(over)+1 < g.chosen {
			try(action{kind: doNodeOver, who: i, arg: uint32(over) + 1})
		}
	}
	for i := range uint8(c.Acceptors) {
		if n := x.l.tables.get(s[atTables+i]).table.Membership(); int(n) < g.chosen {
			try(action{kind: doOver, to: i, arg: uint32(n) + 1})
		}
	}
}

// change does one action of a change of the members. Each is chosen with an era of its own (N3).
func (x *namedExplorer) change(s *state, a action) bool {
	g := unpackChanges(s[atChanges])
	switch a.kind {
	case doPropose:
		s[atCounts] = counts{era: 1}.add(s[atCounts])
		g.eras[g.chosen] = unpackCounts(s[atCounts]).era
		g.chosen++
	case doAcknowledge:
		if !x.acknowledge(s, &g) {
			return false
		}
	case doNodeOver:
		return x.node(s, a.who, inOver|a.arg)
	case doOver:
		return x.table(s, a.to, inOver|a.arg<<8|g.eras[a.arg-1])
	}
	s[atChanges] = g.pack()
	return true
}

// acknowledge has the master count the acceptors that have the newest membership in force.
func (x *namedExplorer) acknowledge(s *state, g *changes) bool {
	var acked []replica.Acknowledgement
	for i := range x.l.c.Acceptors {
		if v := x.l.tables.get(s[atTables+i]); int(v.table.Membership()) == g.chosen {
			acked = append(acked, replica.Acknowledgement{Node: ballot.NodeID(i + 1),
				Excluding: v.table.OlderExclusion(v.now)})
		}
	}
	return g.acknowledge(x.l.c.Chain, x.l.c.timing(), acked)
}
