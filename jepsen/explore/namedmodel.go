package explore

import (
	"slices"

	"tenure/internal/ballot"
	"tenure/internal/leasehold"
	"tenure/lease/named"
)

// Where the parts of the world of named leases stand in a state.
const (
	atClients = 0
	atAsked   = 2 // the nodes that clients ask
	atTables  = 4
	atMail    = 9 // all that was ever sent and still matters
	atPast    = 10
	atCounts  = 11 // counts
	atChanges = 12 // changes, if members change
)

// What a part meets: a kind in the upper bits of the input, its argument in the lower.
const (
	inNew       uint32 = (iota + 1) << 24 // client: ask in a new acquisition; 1: for the long lease
	inAgain                               // client: ask again before any grant; 1 as above
	inRenew                               // client; 1 as above
	inGiveBack                            // client
	inGrant                               // client; message
	inBegin                               // node; counter, message with the ask
	inReply                               // node; message
	inGiveUp                              // node; client
	inWithdraw                            // node; client
	inCrash                               // node, acceptor; of an acceptor 1: what was being written is there
	inClockTick                           // all
	inSweep                               // acceptor
	inAllot                               // acceptor; era
	inApply                               // acceptor; entry
	inBucket                              // acceptor: asks for a bucket; 1: that is durable

	inArg   = 1<<24 - 1
	askBits = 20 // of inBegin's message

	// inOver is of a node (membership) and an acceptor (number of the membership, era). A kind must fit in 28 bits with its
	// argument, and this one is no client's.
	inOver = inNew
)

// The operations of the memo.
const (
	opClient uint32 = iota + 1 // client, input
	opAsked                    // node, input
	opTable                    // acceptor, input
	opServe                    // acceptor, request and place
	opPast                     // past, client
	opPrune                    // set, client
)

// namedModel is the model of a NamedConfig. Everything in it but c and perms is guarded by memo.mu.
type namedModel struct {
	c NamedConfig
	common
	clients interned[namedClient]
	nodes   interned[namedNode]
	tables  interned[namedTable]
	mails   interned[namedMail]
	pasts   interned[namedPast]
}

func newNamedModel(c NamedConfig) *namedModel {
	l := &namedModel{c: c}
	l.prepare(l.mails.sum, l.layoutOf())
	for i := range c.Clients {
		l.first[atClients+i] = l.client(namedClient{who: uint8(i), released: true})
	}
	for i := range c.Nodes {
		l.first[atAsked+i] = l.node(namedNode{who: uint8(i)})
	}
	for i := range c.Acceptors {
		l.first[atTables+i] = l.bootstrap(uint8(i))
	}
	l.first[atMail] = l.sets.of(nil)
	l.first[atPast] = l.past(namedPast{})
	g := counts{era: 1}
	if c.OwnEras {
		g.era = uint32(c.Acceptors)
	}
	l.first[atCounts] = g.pack()
	if len(c.Chain) > 0 {
		l.first[atChanges] = changes{chosen: 1, settled: 1}.pack()
	}
	return l
}

func (l *namedModel) explorer() explorer {
	return &namedExplorer{access[*namedModel]{l: l, cache: new(cache)}}
}

// namedExplorer is one goroutine's access to a namedModel.
type namedExplorer struct{ access[*namedModel] }

// compute runs the real code once for a part and an input; see memo. A step returns the part after it and, in the upper
// half, its messages: a set, or a single one. It returns 0 if it cannot be taken.
func (l *namedModel) compute(op, a, b uint32) uint64 {
	switch op {
	case opClient:
		return l.stepClient(*l.clients.get(a), b&^inArg, b&inArg)
	case opAsked:
		return l.stepNode(a, b)
	case opTable:
		return l.stepTable(*l.tables.get(a), b&^inArg, b&inArg)
	case opServe:
		return l.serve(*l.tables.get(a), l.mails.get(b>>3), uint8(b&7))
	case opPast:
		return uint64(l.remember(*l.pasts.get(a), l.clients.get(b)))
	case opPrune:
		return uint64(l.prune(a, l.clients.get(b)))
	}
	panic("explore: unknown operation")
}

func (l *namedModel) stepClient(x namedClient, in, arg uint32) uint64 {
	x.asks = slices.Clone(x.asks)
	granted := x.hold.Token() != 0
	switch in {
	case inClockTick:
		x.now += ms
		return stepped(l.client(x), 0)
	case inNew:
		if int(x.begun) == l.c.Acquisitions || !(x.released || (granted && !x.held)) {
			return 0
		}
		x.hold, x.released, x.asks = leasehold.Hold{}, false, nil
		x.begun++
		return l.ask(x, false, arg)
	case inAgain:
		if x.released || granted {
			return 0
		}
		return l.ask(x, false, arg)
	case inRenew:
		if !x.held {
			return 0
		}
		return l.ask(x, true, arg)
	case inGiveBack:
		if x.released || (granted && !x.held) {
			return 0
		}
		x.hold.Release()
		x.released = true
		q := named.Request{Kind: named.Release, Name: leaseName(l.c.lease(x.who, x.begun)), Counter: 1,
			Acquisition: x.acquisition()}
		return stepped(l.client(x), l.mail(namedMail{kind: mailRequest, request: q}))
	case inGrant:
		m := l.mails.get(arg)
		if !x.grant(m) {
			return 0
		}
		a := x.asks[m.ask]
		if !x.hold.Take(x.now, leasehold.Reply{Asked: a.at, TTL: a.ttl, Token: uint64(m.token), Renewal: a.renewal}) {
			return 0
		}
		return stepped(l.client(x), 1)
	}
	panic("explore: no input of a client")
}

// ask has the client ask: the message goes to a node at once.
func (l *namedModel) ask(x namedClient, renewal bool, long uint32) uint64 {
	if int(x.asked) == l.c.Asks {
		return 0
	}
	x.asked++
	x.asks = append(x.asks, namedAsk{x.now, l.c.ttl(long), renewal})
	m := namedMail{kind: mailAsk, who: x.who, begun: x.begun, ask: uint8(len(x.asks) - 1), renewal: renewal}
	m.request.Acquisition, m.request.Duration = x.acquisition(), l.c.ttl(long)
	return stepped(l.client(x), l.mail(m))
}

func (l *namedModel) stepNode(id, in uint32) uint64 {
	x := *l.nodes.get(id)
	arg := in & inArg
	x.lived = lived{from: id, by: in &^ inArg, arg: arg}
	var sent []uint32
	switch x.by {
	case inClockTick:
		x.now += ms
	case inCrash:
		x = namedNode{who: x.who, run: x.run + 1, over: x.over, lived: x.lived}
	case inOver:
		x.over = uint8(arg)
	case inBegin:
		counter, m := uint64(arg>>askBits), l.mails.get(arg&(1<<askBits-1))
		f := &x.attempts[m.who]
		if counter <= x.counter || (f.on && f.attempt.Phase() != named.Over) {
			return 0
		}
		x.counter = counter
		*f = askAttempt{on: true, begun: m.begun, ask: m.ask, attempt: named.Begin(x.now, named.Ask{
			Name: leaseName(l.c.lease(m.who, m.begun)), Acquisition: m.request.Acquisition,
			Duration: m.request.Duration, Renewal: m.renewal, Membership: uint64(x.over) + 1,
		}, l.c.voters(int(x.over)), counter)}
		sent = l.requests(&x, f)
	case inReply:
		m := l.mails.get(arg)
		if !x.mine(m) {
			return 0
		}
		for who := range x.attempts {
			f := &x.attempts[who]
			if !f.on || !f.attempt.Handle(x.now, ballot.NodeID(m.acc+1), m.reply) {
				continue
			}
			if f.attempt.End() == named.EndWon {
				sent = append(sent, l.mail(namedMail{kind: mailGrant, who: uint8(who), begun: f.begun, ask: f.ask,
					token: f.attempt.Token()}))
			}
			sent = append(sent, l.requests(&x, f)...)
		}
	case inGiveUp:
		x.attempts[arg].attempt.Abandon()
	case inWithdraw:
		f := &x.attempts[arg]
		q, ok := f.attempt.Withdrawal()
		if !ok {
			return 0
		}
		*f = askAttempt{}
		sent = append(sent, l.mail(namedMail{kind: mailRequest, request: q, node: x.who, run: x.run}))
	}
	out := uint32(0)
	if len(sent) > 0 {
		out = l.sets.of(sent)
	}
	return stepped(l.node(x), out)
}

// requests returns what an attempt sends in its phase.
func (l *namedModel) requests(x *namedNode, f *askAttempt) []uint32 {
	q, to := f.attempt.Requests(x.now)
	if to.Len() == 0 {
		return nil
	}
	return []uint32{l.mail(namedMail{kind: mailRequest, request: q, node: x.who, run: x.run})}
}

func (l *namedModel) stepTable(x namedTable, in, arg uint32) uint64 {
	switch in {
	case inClockTick:
		x.now += ms
		x.sweeps = 0
	case inSweep:
		x.table = x.table.Clone()
		x.sweeps += 2
		x.table.Sweep(x.now+x.sweeps, sweepAll)
	case inCrash:
		if arg != 0 {
			if x.writing == (named.Bucket{}) {
				return 0
			}
			x.disk = x.writing
		}
		return uint64(l.restarted(x))
	case inBucket:
		x.table = x.table.Clone()
		if !x.bucket(arg != 0) {
			return 0
		}
	case inAllot:
		if x.table.Opened() || slices.ContainsFunc(x.eras, func(e eraEntry) bool { return e.run == x.run }) {
			return 0
		}
		x.eras = append(slices.Clone(x.eras), eraEntry{x.run, arg})
	case inApply:
		if int(arg) >= len(x.eras) {
			return 0
		}
		x.table = x.table.Clone()
		x.applied(x.eras[arg])
	case inOver:
		x.table = x.table.Clone()
		x.table.SetMembership(x.now, uint64(arg>>8), arg&0xff)
		x.table.CountOlder(sweepAll)
		x.member, x.memberEra = arg>>8, arg&0xff
	}
	return uint64(l.acceptor(x))
}

// bucket asks for a bucket to be written, or reports one durable.
func (x *namedTable) bucket(durable bool) (ok bool) {
	switch {
	case !durable:
		if x.writing, ok = x.table.NextBucket(x.now); !ok {
			return false
		}
	case x.writing == (named.Bucket{}):
		return false
	default:
		x.disk = x.writing
		x.table.BucketDurable(x.writing)
		x.writing = named.Bucket{}
	}
	return true
}

// serve returns the acceptor after a request and, in the upper half, its reply.
func (l *namedModel) serve(x namedTable, m *namedMail, place uint8) uint64 {
	x.table = x.table.Clone()
	reply, ok := x.table.Handle(x.now, incarnation(m.node, m.run), m.request)
	out := uint32(0)
	if ok && reply.Kind != named.Released {
		out = l.mail(namedMail{kind: mailReply, reply: reply, acc: place, node: m.node, run: m.run})
	}
	return stepped(l.acceptor(x), out)
}

// remember returns the past after a grant has counted.
func (l *namedModel) remember(p namedPast, c *namedClient) uint32 {
	h := &p.names[l.c.lease(c.who, c.begun)]
	t := named.Token(c.hold.Token())
	if h.who != c.who+1 || h.begun != c.begun {
		h.who, h.begun = c.who+1, c.begun
		h.earlier, h.last = max(h.earlier, h.last), 0
	}
	switch {
	case t < h.last:
		p.broken = "a token falls within an acquisition"
	case t <= h.earlier:
		p.broken = "a new holder's token is not larger than an earlier one's"
	}
	h.last = max(h.last, t)
	return l.past(p)
}

// prune removes the grants to a client that cannot count any more.
func (l *namedModel) prune(set uint32, c *namedClient) uint32 {
	ids := slices.DeleteFunc(slices.Clone(l.sets.list(set)), func(id uint32) bool {
		m := l.mails.get(id)
		return m.kind == mailGrant && m.who == c.who && (m.begun != c.begun || l.left(*c, c.asks[m.ask]) == 0)
	})
	return l.sets.of(ids)
}
