package explore

// turned is the number of a node that has lived the same, but for the names of the acceptors.
func (l *namedModel) turned(id, perm uint32) uint32 {
	x := l.nodes.get(id)
	return x.relabelled(id, perm, func() uint32 {
		arg := x.arg
		if x.by == inReply {
			arg = l.turnedMail(arg, perm)
		}
		return uint32(l.stepNode(l.turned(x.from, perm), x.by|arg))
	})
}

func (l *namedModel) turnedMail(id, perm uint32) uint32 {
	m := *l.mails.get(id)
	if m.kind != mailReply {
		return id
	}
	m.acc = l.perms[perm].place(m.acc)
	return l.mail(m)
}

func (x *namedExplorer) permute(s *state, perm uint32) state {
	l, n := x.l, *s
	if perm == 0 {
		return n
	}
	for i := range l.c.Nodes {
		x.put(&n, atAsked+i, opTurn, perm)
	}
	if l.c.Async {
		x.put(&n, atMail, opRename, perm)
	}
	for i, from := range l.perms[perm][:l.c.Acceptors] {
		n[atTables+i] = s[atTables+from]
	}
	return n
}

func (x *namedExplorer) canonical(s *state) digest {
	return canonical(x, x.l.perms, x.l.c.Acceptors, s)
}

func (x *namedExplorer) look(s *state, i int) digest {
	return digest{lo: x.l.tables.sum(s[atTables+i]).lo}
}

func (x *namedExplorer) sum(s *state) digest {
	l := x.l
	d := digest{uint64(s[atEra])<<16 | uint64(s[atRestarts])<<8 | uint64(s[atRestartsToo]), 3}
	d = l.clients.checkpoint(d, s[atClients:][:l.c.Clients])
	d = l.nodes.checkpoint(d, s[atAsked:][:l.c.Nodes])
	d = l.tables.checkpoint(d, s[atTables:][:l.c.Acceptors])
	return d.with(l.sets.sum(s[atMail])).with(l.pasts.sum(s[atPast])).end()
}
