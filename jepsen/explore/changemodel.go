package explore

import (
	"encoding/binary"
	"slices"
	"time"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/lease"
)

// Where the parts of the world of changing members stand in a state.
const (
	atTryers = 0 // the proposers
	atVoters = 2 // the acceptors
	atAsks   = 7 // the requests that were ever sent
	atLog    = 8 // changes
)

// changeModel is the model of a ChangeConfig. Everything in it but c, all and nodes is guarded by memo.mu.
type changeModel struct {
	c     ChangeConfig
	all   []quorum.Set // the memberships, the lost one last
	nodes int          // acceptors
	common
	proposers interned[changeProposer]
	acceptors interned[changeAcceptor]
	messages  interned[changeMessage]
}

// changeProposer is a proposer in one local state.
type changeProposer struct {
	p     *lease.Proposer
	now   time.Duration
	who   uint8
	draws uint8
	of    uint8 // the membership of its newest attempt
	held  bool
	busy  bool
	late  bool
	lived
}

// changeAcceptor is an acceptor in one local state.
type changeAcceptor struct {
	a   *lease.Acceptor
	now time.Duration
}

// changeMessage is a request to the acceptors of a membership, or a reply. A Release is for everybody.
type changeMessage struct {
	m     lease.Message
	of    uint8
	who   uint8 // the proposer it is from or for
	reply bool
}

// toAll is the membership of a Release.
const toAll = 255

func newChangeModel(c ChangeConfig) *changeModel {
	l := &changeModel{c: c, all: c.memberships(), nodes: c.acceptors()}
	l.prepare(l.messages.sum, l.layoutOf())
	for i := range uint8(changeProposers) {
		p, err := lease.NewProposer(lease.ProposerConfig{Self: incarnation(i, 0), Duration: c.duration(),
			Voters: c.Chain[0], Timing: c.timing(), Membership: 1})
		if err != nil {
			panic(err)
		}
		l.first[atTryers+i] = l.proposer(changeProposer{p: p, who: i})
	}
	for i := range l.nodes {
		l.first[atVoters+i] = l.install(1, 0)
	}
	l.first[atAsks] = l.sets.of(nil)
	l.first[atLog] = changes{chosen: 1, settled: 1}.pack()
	return l
}

func (l *changeModel) explorer() explorer {
	return &changeExplorer{access[*changeModel]{l: l, cache: new(cache)}}
}

// changeExplorer is one goroutine's access to a changeModel.
type changeExplorer struct{ access[*changeModel] }

func (l *changeModel) layoutOf() layout {
	n := l.nodes
	return layout{
		perms: permutationsOf(n, func(i, j int) bool {
			return alikeIn(l.all, i, j) && l.c.acceptorRate(i) == l.c.acceptorRate(j)
		}), acceptors: n,
		rows: []row{{&l.proposers, atTryers, changeProposers, relabel}, {&l.acceptors, atVoters, n, swap},
			{&l.sets, atAsks, 1, same}},
		lives: lives{
			of:    func(id uint32) *lived { return &l.proposers.get(id).lived },
			again: func(from, by, arg uint32) uint32 { return uint32(l.stepProposer(from, by|arg)) },
			hears: inHandle, renamed: l.renamed,
		},
	}
}

func (l *changeModel) renamed(id, perm uint32) uint32 {
	x := *l.messages.get(id)
	if !x.reply {
		return id
	}
	x.m.From = ballot.NodeID(l.renamedNode(uint8(x.m.From-1), perm)) + 1
	return l.message(x)
}

func (x *changeExplorer) canonical(s *state) digest { return canonical(x, s) }

func (x *changeExplorer) look(s *state, i int) digest {
	return digest{lo: x.l.acceptors.sum(s[atVoters+i]).lo}
}

func (x *changeExplorer) sum(s *state) digest {
	return x.l.layout.sum(digest{uint64(s[atLog]), 4}, s).end()
}

// broken returns what is wrong with s, "" if nothing.
func (x *changeExplorer) broken(s *state) string {
	if x.l.proposers.get(s[atTryers]).held && x.l.proposers.get(s[atTryers+1]).held {
		return "two owners"
	}
	return ""
}

func (l *changeModel) proposer(x changeProposer) uint32 {
	_, x.held = x.p.Held(x.now)
	a := x.p.Attempt()
	x.busy = a.Phase != lease.PhaseNone
	x.late = x.busy && x.now >= a.Deadline
	key := append(l.proposers.buffer(), 'p', x.who, x.draws, x.of)
	return l.proposers.number(x.p.AppendState(key, x.now), x)
}

// install returns the number of an acceptor at the start of a run.
func (l *changeModel) install(membership uint64, silence time.Duration) uint32 {
	a, err := lease.NewAcceptor(lease.AcceptorConfig{Self: 1, Timing: l.c.timing(), SilentUntil: silence,
		Membership: membership})
	if err != nil {
		panic(err)
	}
	return l.acceptor(changeAcceptor{a: a})
}

func (l *changeModel) acceptor(x changeAcceptor) uint32 {
	return l.acceptors.number(x.a.AppendState(append(l.acceptors.buffer(), 'a'), x.now), x)
}

// message returns the number of a message; how much of a lease is left is a hint.
func (l *changeModel) message(x changeMessage) uint32 {
	x.m.LiveLeft = 0
	key := append(l.messages.buffer(), 'm', x.of, x.who, flags(x.reply, x.m.Live), byte(x.m.Kind), byte(x.m.From))
	for _, n := range [...]uint64{x.m.Ballot.Counter, uint64(x.m.Ballot.Node), uint64(x.m.Promised.Node),
		x.m.Promised.Counter, uint64(x.m.LiveOwner.Node), x.m.LiveBallot.Counter, x.m.Membership} {
		key = binary.AppendUvarint(key, n)
	}
	return l.messages.number(key, x)
}

// gather returns the set of messages that differ in more than their addressee.
func (l *changeModel) gather(x *changeProposer, sent []lease.Message) uint32 {
	var ids []uint32
	for _, m := range sent {
		of := x.of
		if m.Kind == lease.KindRelease {
			of = toAll
		}
		m.To = 0
		if id := l.message(changeMessage{m: m, of: of, who: x.who}); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return 0
	}
	return l.sets.of(ids)
}
