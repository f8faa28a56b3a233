package explore

// Where the parts stand in a state.
const (
	atProposers = 0
	atAcceptors = 3
	atSent      = 6 // requests on their way: one set for each acceptor or, if they are redelivered, one for all
	atReplies   = 9 // to each proposer, if replies travel
	atFlags     = 12
)

// The bits of the flags, shifted by a proposer's index.
const (
	flagGap    = 1 << 0 // somebody else has owned since this one's tenure was last seen
	flagBroken = 1 << 4 // a tenure went on across another's
)

// leaseModel is the model of a Config. Everything in it but c and perms is guarded by memo.mu.
type leaseModel struct {
	c Config
	common
	proposers interned[proposerPart]
	acceptors interned[acceptorPart]
	messages  interned[messagePart]
	outputs   interned[output]
}

func newLeaseModel(c Config) *leaseModel {
	l := &leaseModel{c: c}
	l.prepare(l.messages.sum, l.layoutOf())
	l.sets.order = l.before
	empty := l.sets.of(nil)
	for i := range c.Proposers {
		l.first[atProposers+i] = l.boot(uint8(i), 0, 0)
		if c.Async {
			l.first[atReplies+i] = empty
		}
	}
	for i := range c.Acceptors {
		l.first[atAcceptors+i] = l.install(0, 0, true)
	}
	for i := range l.boxes() {
		l.first[atSent+i] = empty
	}
	return l
}

func (l *leaseModel) explorer() explorer {
	return &leaseExplorer{access[*leaseModel]{l: l, cache: new(cache)}}
}

// boxes returns how many sets hold the requests on their way.
func (l *leaseModel) boxes() int {
	if !l.c.Once {
		return 1
	}
	return l.c.Acceptors
}

// leaseExplorer is one goroutine's access to a leaseModel.
type leaseExplorer struct{ access[*leaseModel] }

// broken returns the violation in s: two owners at a time, or a tenure that another one has interrupted (M1). It
// returns "" if s has none.
func (x *leaseExplorer) broken(s *state) string {
	owners := 0
	for i := range x.l.c.Proposers {
		if x.l.proposers.get(s[atProposers+i]).held {
			owners++
		}
	}
	switch {
	case owners > 1:
		return "two owners"
	case s[atFlags] >= flagBroken:
		return "a tenure goes on although another owner has come between"
	}
	return ""
}
