package explore

func (l *namedModel) layoutOf() layout {
	c := &l.c
	mail := row{&l.sets, atMail, 1, same}
	if c.Async {
		mail.by = rename
	}
	y := layout{
		perms: permutationsOf(c.Acceptors, func(i, j int) bool { return alikeIn(c.Chain, i, j) }), acceptors: c.Acceptors,
		rows: []row{
			{&l.clients, atClients, c.Clients, same}, {&l.nodes, atAsked, c.Nodes, relabel}, {&l.tables, atTables,
				c.Acceptors, swap},
			mail, {&l.pasts, atPast, 1, same},
		},
		lives: lives{
			of:    func(id uint32) *lived { return &l.nodes.get(id).lived },
			again: func(from, by, arg uint32) uint32 { return uint32(l.stepNode(from, by|arg)) },
			hears: inReply, renamed: l.renamedMail,
		},
	}
	if c.OwnEras {
		y.perms = y.perms[:1]
	}
	return y
}

func (l *namedModel) renamedMail(id, perm uint32) uint32 {
	m := *l.mails.get(id)
	if m.kind != mailReply {
		return id
	}
	m.acc = l.renamedNode(m.acc, perm)
	return l.mail(m)
}

func (x *namedExplorer) canonical(s *state) digest { return canonical(x, s) }

func (x *namedExplorer) look(s *state, i int) digest {
	return digest{lo: x.l.tables.sum(s[atTables+i]).lo}
}

func (x *namedExplorer) sum(s *state) digest {
	g := unpackCounts(s[atCounts])
	d := digest{uint64(s[atChanges])<<32 | uint64(g.era)<<16 | uint64(g.restarts)<<8 | uint64(g.nodeRestarts), 3}
	return x.l.layout.sum(d, s).end()
}
