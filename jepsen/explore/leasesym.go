package explore

import "tenure/internal/ballot"

func (l *leaseModel) relabelled(id, perm uint32) uint32 {
	x := l.proposers.get(id)
	return x.relabelled(id, perm, func() uint32 {
		arg := x.arg
		if x.by == inHandle {
			arg = l.relabelledMessage(arg, perm)
		}
		return uint32(l.stepProposer(l.relabelled(x.from, perm), x.by|arg))
	})
}

func (l *leaseModel) relabelledMessage(id, perm uint32) uint32 {
	x := l.messages.get(id)
	if !x.reply {
		return id
	}
	m := x.m
	m.From = ballot.NodeID(l.perms[perm].place(uint8(m.From-1))) + 1
	return l.message(m)
}

func (x *leaseExplorer) permute(s *state, perm uint32) state {
	l, n := x.l, *s
	if perm == 0 {
		return n
	}
	for i := range l.c.Proposers {
		x.put(&n, atProposers+i, opRelabel, perm)
		if l.c.Async {
			x.put(&n, atReplies+i, opRename, perm)
		}
	}
	for i, from := range l.perms[perm][:l.c.Acceptors] {
		n[atAcceptors+i] = s[atAcceptors+from]
		if l.c.Once {
			n[atSent+i] = s[atSent+from]
		}
	}
	return n
}

func (x *leaseExplorer) canonical(s *state) digest {
	return canonical(x, x.l.perms, x.l.c.Acceptors, s)
}

func (x *leaseExplorer) look(s *state, i int) digest {
	d := digest{lo: x.l.acceptors.sum(s[atAcceptors+i]).lo}
	if x.l.c.Once {
		d.lo += x.l.sets.sum(s[atSent+i]).lo * 0x9e3779b97f4a7c15
	}
	return d
}

func (x *leaseExplorer) sum(s *state) digest {
	l := x.l
	d := digest{uint64(s[atFlags]), 1}
	d = l.proposers.checkpoint(d, s[atProposers:][:l.c.Proposers])
	d = l.acceptors.checkpoint(d, s[atAcceptors:][:l.c.Acceptors])
	d = l.sets.checkpoint(d, s[atSent:][:l.boxes()])
	if l.c.Async {
		d = l.sets.checkpoint(d, s[atReplies:][:l.c.Proposers])
	}
	return d.end()
}
