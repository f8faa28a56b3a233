package explore

import "slices"

// The symmetry of acceptors is that of the lease's world: see leasesym.go. Here too nothing in the core compares acceptors.

// turned is the number of a node that has lived the same, but for the names of the acceptors.
func (l *namedModel) turned(id, perm uint32) uint32 {
	x := l.nodes.get(id)
	if x.from == 0 || perm == 0 {
		return id
	}
	if x.relabels[perm] == 0 {
		in := x.by
		if in&^inArg == inReply {
			in = inReply | l.turnedMail(in&inArg, perm)
		}
		to := uint32(l.stepNode(l.turned(x.from, perm), in))
		x.relabels[perm] = to
	}
	return x.relabels[perm]
}

func (l *namedModel) turnedMail(id, perm uint32) uint32 {
	m := *l.mails.get(id)
	if m.kind != mailReply {
		return id
	}
	m.acc = l.perms[perm].place(m.acc)
	return l.mail(m)
}

func (l *namedModel) turnedSet(id, perm uint32) uint32 {
	ids := slices.Clone(l.sets.get(id).ids)
	for i := range ids {
		ids[i] = l.turnedMail(ids[i], perm)
	}
	return l.set(ids)
}

func (x *namedExplorer) permute(s *state, perm uint32) state {
	n := *s
	if perm == 0 {
		return n
	}
	l := x.l
	for i := range l.c.Nodes {
		n[atAsked+i] = uint32(x.recall(key(opTurn, s[atAsked+i], perm)))
	}
	if l.c.Async {
		n[atMail] = uint32(x.recall(key(opTurnSet, s[atMail], perm)))
	}
	for i := range l.c.Acceptors {
		n[atTables+i] = s[atTables+int(l.perms[perm][i])]
	}
	return n
}

func (x *namedExplorer) canonical(s *state) digest {
	l := x.l
	if len(l.perms) == 1 {
		return x.sum(s)
	}
	var keys, best [maxAcceptors]uint64
	for i := range l.c.Acceptors {
		keys[i] = l.tables.get(s[atTables+i]).sum.lo
	}
	ties, n := [6]uint32{}, 0
	for perm, p := range l.perms {
		order := [maxAcceptors]uint64{keys[p[0]], keys[p[1]], keys[p[2]]}
		switch c := slices.Compare(order[:], best[:]); {
		case n == 0 || c < 0:
			ties[0], n, best = uint32(perm), 1, order
		case c == 0:
			ties[n] = uint32(perm)
			n++
		}
	}
	chosen := x.permute(s, ties[0])
	least := x.sum(&chosen)
	for _, perm := range ties[1:n] {
		other := x.permute(s, perm)
		if p := x.sum(&other); p.less(least) {
			chosen, least = other, p
		}
	}
	*s = chosen
	return least
}

func (x *namedExplorer) sum(s *state) digest {
	l := x.l
	d := digest{uint64(s[atEra])<<16 | uint64(s[atRestarts])<<8 | uint64(s[atRestartsToo]), 3}
	for i := range l.c.Clients {
		d = d.with(l.clients.get(s[atClients+i]).sum)
	}
	for i := range l.c.Nodes {
		d = d.with(l.nodes.get(s[atAsked+i]).sum)
	}
	for i := range l.c.Acceptors {
		d = d.with(l.tables.get(s[atTables+i]).sum)
	}
	return d.with(l.sets.get(s[atMail]).sum).with(l.pasts.get(s[atPast]).sum).end()
}
