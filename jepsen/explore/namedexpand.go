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
	doPropose
	doAcknowledge
	doNodeOver // a node that clients ask goes over to the next membership
	doOver     // an acceptor does
)

func (x *namedExplorer) expand(s *state, emit func(next *state, a action)) {
	c := &x.l.c
	try := trying(s, x.apply, emit)
	try(action{kind: doTick})
	for i := range uint8(c.Clients) {
		x.expandClient(s, i, try)
	}
	for i := range uint8(c.Nodes) {
		if unpackCounts(s[atCounts]).nodeRestarts < c.NodeRestarts {
			try(action{kind: doNodeCrash, who: i})
		}
	}
	for i := range uint8(c.Acceptors) {
		x.expandTable(s, i, try)
	}
	x.expandChanges(s, try)
	for _, m := range x.l.sets.list(s[atMail]) {
		switch x.l.mails.get(m).kind {
		case mailRequest:
			for i := range uint8(c.Acceptors) {
				if !c.isFor(&x.l.mails.get(m).request, i) {
					continue
				}
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
	if unpackCounts(s[atCounts]).restarts < c.Restarts {
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

// apply does one action to s. It reports false if the action cannot be taken.
func (x *namedExplorer) apply(s *state, a action) bool {
	switch a.kind {
	case doTick:
		x.tick(s)
		return true
	case doAsk:
		ask, ok := x.step(s, atClients+int(a.who), opClient, a.arg)
		if !ok {
			return false
		}
		x.prune(s, a.who)
		return x.node(s, a.to, inBegin|uint32(a.how)<<askBits|ask)
	case doGiveUp:
		return x.node(s, a.to, inGiveUp|uint32(a.who))
	case doWithdraw:
		return x.node(s, a.to, inWithdraw|uint32(a.who))
	case doGiveBack:
		release, ok := x.step(s, atClients+int(a.who), opClient, inGiveBack)
		if ok {
			x.put(s, atMail, opWith, release)
		}
		return ok
	case doNodeCrash:
		s[atCounts] = counts{nodeRestarts: 1}.add(s[atCounts])
		return x.node(s, a.who, inCrash)
	case doCrash:
		s[atCounts] = counts{restarts: 1}.add(s[atCounts])
		return x.table(s, a.to, inCrash|a.arg)
	case doAllot:
		s[atCounts] = counts{era: 1}.add(s[atCounts])
		return x.table(s, a.to, inAllot|unpackCounts(s[atCounts]).era)
	case doPropose, doAcknowledge, doNodeOver, doOver:
		return x.change(s, a)
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
		_, ok := x.step(s, atClients+int(a.who), opClient, inGrant|a.arg)
		if ok {
			x.put(s, atPast, opPast, s[atClients+a.who])
		}
		return ok
	}
	panic("explore: unknown action")
}

func (x *namedExplorer) tick(s *state) {
	for i := range x.l.c.Clients {
		x.put(s, atClients+i, opClient, inClockTick)
		x.prune(s, uint8(i))
	}
	for i := range x.l.c.Nodes {
		x.put(s, atAsked+i, opAsked, inClockTick)
	}
	for i := range x.l.c.Acceptors {
		x.put(s, atTables+i, opTable, inClockTick)
	}
	if len(x.l.c.Chain) > 0 {
		g := unpackChanges(s[atChanges])
		g.pass(ms)
		s[atChanges] = g.pack()
	}
}

func (x *namedExplorer) prune(s *state, client uint8) {
	x.put(s, atMail, opPrune, s[atClients+client])
}

// node makes one step of a node that clients ask. What it sends is then on its way.
func (x *namedExplorer) node(s *state, i uint8, in uint32) bool {
	out, ok := x.step(s, atAsked+int(i), opAsked, in)
	if out != 0 {
		x.put(s, atMail, opUnion, out)
	}
	return ok
}

func (x *namedExplorer) table(s *state, i uint8, in uint32) bool {
	_, ok := x.step(s, atTables+int(i), opTable, in)
	return ok
}

// deliver hands a request to an acceptor, and its reply on.
func (x *namedExplorer) deliver(s *state, a action) bool {
	reply, _ := x.step(s, atTables+int(a.to), opServe, a.arg<<3|uint32(a.to))
	switch {
	case reply == 0:
		return a.kind == doDeliver
	case a.kind == doLose:
	case x.l.c.Async:
		x.put(s, atMail, opWith, reply)
	default:
		x.node(s, x.l.mails.get(reply).node, inReply|reply)
	}
	return true
}

// broken returns what is wrong with s, "" if nothing.
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
