package explore

// The kinds of action in the world of named leases.
const (
	doTick uint8 = iota
	doAsk
	doGiveUp
	doWithdraw
	doGiveBack
	doNodeCrash
	doCrash
	doAllot
	doApply
	doSweep
	doDeliver
	doLose
	doReply
	doGrant
	doBucket
)

func (x *namedExplorer) expand(s *state, emit func(next *state, a action)) {
	c := &x.l.c
	try := func(a action) {
		n := *s
		if x.apply(&n, a) && n != *s {
			emit(&n, a)
		}
	}
	try(action{kind: doTick})
	for i := range uint8(c.Clients) {
		x.expandClient(s, i, try)
	}
	for i := range uint8(c.Nodes) {
		if int(s[atRestartsToo]) < c.NodeRestarts {
			try(action{kind: doNodeCrash, who: i})
		}
	}
	for i := range uint8(c.Acceptors) {
		x.expandTable(s, i, try)
	}
	for _, m := range x.l.sets.get(s[atMail]).ids {
		switch x.l.mails.get(m).kind {
		case mailRequest:
			for i := range uint8(c.Acceptors) {
				try(action{kind: doDeliver, to: i, arg: m})
				if c.LoseReplies && !c.Async {
					try(action{kind: doLose, to: i, arg: m})
				}
			}
		case mailReply:
			try(action{kind: doReply, who: x.l.mails.get(m).node, arg: m})
		case mailGrant:
			try(action{kind: doGrant, who: x.l.mails.get(m).who, arg: m})
		}
	}
}

func (x *namedExplorer) expandClient(s *state, i uint8, try func(a action)) {
	c := &x.l.c
	for n := range uint8(c.Nodes) {
		for counter := 1; counter <= c.Ballots; counter++ {
			for _, in := range []uint32{inNew, inAgain, inRenew} {
				if (in == inAgain && !c.Retry) || (in == inRenew && !c.Renew) {
					continue
				}
				try(action{kind: doAsk, who: i, to: n, how: uint8(counter), arg: in})
				if c.LongLease > 0 {
					try(action{kind: doAsk, who: i, to: n, how: uint8(counter), arg: in | 1})
				}
			}
		}
		if c.GiveUp {
			try(action{kind: doGiveUp, who: i, to: n})
		}
		if c.Withdraw {
			try(action{kind: doWithdraw, who: i, to: n})
		}
	}
	if c.Release {
		try(action{kind: doGiveBack, who: i})
	}
}

func (x *namedExplorer) expandTable(s *state, i uint8, try func(a action)) {
	c := &x.l.c
	if c.Sweep {
		try(action{kind: doSweep, to: i})
	}
	if int(s[atRestarts]) < c.Restarts {
		try(action{kind: doCrash, to: i})
		if c.LongLease > 0 {
			try(action{kind: doCrash, to: i, arg: 1})
		}
	}
	if c.LongLease > 0 {
		try(action{kind: doBucket, to: i})
		try(action{kind: doBucket, to: i, arg: 1})
	}
	if c.Restarts > 0 {
		try(action{kind: doAllot, to: i})
		for k := range uint32(c.Restarts + 1) {
			try(action{kind: doApply, to: i, arg: k})
		}
	}
}

// apply does one action to s. It is false if the action cannot be taken.
func (x *namedExplorer) apply(s *state, a action) bool {
	switch a.kind {
	case doTick:
		x.tick(s)
		return true
	case doAsk:
		v := x.recall(key(opClient, s[atClients+a.who], a.arg))
		if v == 0 {
			return false
		}
		s[atClients+a.who] = uint32(v)
		x.prune(s, a.who)
		return x.node(s, a.to, inBegin|uint32(a.how)<<askBits|uint32(v>>32))
	case doGiveUp:
		return x.node(s, a.to, inGiveUp|uint32(a.who))
	case doWithdraw:
		return x.node(s, a.to, inWithdraw|uint32(a.who))
	case doGiveBack:
		v := x.recall(key(opClient, s[atClients+a.who], inGiveBack))
		if v == 0 {
			return false
		}
		s[atClients+a.who] = uint32(v)
		x.put(s, uint32(v>>32))
		return true
	case doNodeCrash:
		s[atRestartsToo]++
		return x.node(s, a.who, inCrash)
	case doCrash:
		s[atRestarts]++
		return x.table(s, a.to, inCrash|a.arg)
	case doAllot:
		s[atEra]++
		return x.table(s, a.to, inAllot|s[atEra])
	case doApply:
		return x.table(s, a.to, inApply|a.arg)
	case doBucket:
		return x.table(s, a.to, inBucket|a.arg)
	case doSweep:
		return x.table(s, a.to, inSweep)
	case doDeliver, doLose:
		return x.deliver(s, a)
	case doReply:
		return x.node(s, a.who, inReply|a.arg)
	case doGrant:
		v := x.recall(key(opClient, s[atClients+a.who], inGrant|a.arg))
		if v == 0 {
			return false
		}
		s[atClients+a.who] = uint32(v)
		s[atPast] = uint32(x.recall(key(opPast, s[atPast], s[atClients+a.who])))
		return true
	}
	panic("explore: unknown action")
}

func (x *namedExplorer) tick(s *state) {
	for i := range x.l.c.Clients {
		s[atClients+i] = uint32(x.recall(key(opClient, s[atClients+i], inClockTick)))
		x.prune(s, uint8(i))
	}
	for i := range x.l.c.Nodes {
		s[atAsked+i] = uint32(x.recall(key(opNode, s[atAsked+i], inClockTick)))
	}
	for i := range x.l.c.Acceptors {
		s[atTables+i] = uint32(x.recall(key(opTable, s[atTables+i], inClockTick)))
	}
}

func (x *namedExplorer) prune(s *state, client uint8) {
	s[atMail] = uint32(x.recall(key(opPrune, s[atMail], s[atClients+client])))
}

// node is one step of a node that clients ask. What it sends is on its way.
func (x *namedExplorer) node(s *state, i uint8, in uint32) bool {
	v := x.recall(key(opNode, s[atAsked+i], in))
	if v == 0 {
		return false
	}
	s[atAsked+i] = uint32(v)
	if out := uint32(v >> 32); out != 0 {
		s[atMail] = uint32(x.recall(key(opMerge, s[atMail], out)))
	}
	return true
}

// put sends one message.
func (x *namedExplorer) put(s *state, m uint32) {
	x.l.mu.Lock()
	one := x.l.set([]uint32{m})
	x.l.mu.Unlock()
	s[atMail] = uint32(x.recall(key(opMerge, s[atMail], one)))
}

func (x *namedExplorer) table(s *state, i uint8, in uint32) bool {
	v := x.recall(key(opTable, s[atTables+i], in))
	if v == 0 {
		return false
	}
	s[atTables+i] = uint32(v)
	return true
}

// deliver hands a request to an acceptor, and its reply on.
func (x *namedExplorer) deliver(s *state, a action) bool {
	v := x.recall(key(opServe, s[atTables+a.to], a.arg<<2|uint32(a.to)))
	s[atTables+a.to] = uint32(v)
	reply := uint32(v >> 32)
	switch {
	case reply == 0:
		return a.kind == doDeliver
	case a.kind == doLose:
	case x.l.c.Async:
		x.put(s, reply)
	default:
		x.node(s, x.l.mails.get(reply).node, inReply|reply)
	}
	return true
}

// broken is what must never be.
func (x *namedExplorer) broken(s *state) string {
	l := x.l
	if what := l.pasts.get(s[atPast]).broken; what != "" {
		return what
	}
	if l.c.Clients == 2 {
		a, b := l.clients.get(s[atClients]), l.clients.get(s[atClients+1])
		if a.held && b.held && l.c.lease(a.who, a.begun) == l.c.lease(b.who, b.begun) {
			return "two holders"
		}
	}
	return ""
}
