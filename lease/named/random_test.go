package named

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenure/internal/ballot"
	"tenure/internal/leasehold"
	"tenure/internal/quorum"
	"tenure/lease"
)

// storm is a cluster with its clients under a random schedule. The network loses, repeats and reorders messages. Clocks
// err by up to ρ in rate and arbitrarily in reading. Acceptors and nodes crash. Eras come late and out of order. It
// checks after every step that no name has two holders, and with every grant that tokens grow.
type storm struct {
	timing    lease.Timing
	linger    time.Duration
	real      time.Duration
	era       uint32
	acceptors []*stormAcceptor
	nodes     []*stormNode
	clients   []stormClock
	owners    []*stormOwner // the newest of each client, then all others
	network   []func()      // each delivers one message
	ids       int           // of acquisitions, so far
	past      map[Name]*stormPast
	fail      func(format string, args ...any)
	wins      int
}

type stormClock struct {
	offset time.Duration
	ppm    int64 // rate, in millionths of real time
}

func (c stormClock) read(real time.Duration) time.Duration {
	return c.offset + time.Duration(int64(real)*c.ppm/1_000_000)
}

type stormAcceptor struct {
	clock stormClock
	table *Table
	run   int
}

// stormNode runs attempts for clients.
type stormNode struct {
	clock    stormClock
	self     ballot.Incarnation
	counter  uint64
	attempts []*stormAttempt
}

type stormAttempt struct {
	attempt Attempt
	owner   *stormOwner
	grant   leasehold.Reply
}

// stormOwner is one acquisition of a client.
type stormOwner struct {
	clock stormClock
	name  Name
	id    Acquisition
	text  string
	hold  leasehold.Hold
	over  bool // released
}

// stormPast is the last holder of a name with its largest token, and the largest of all before.
type stormPast struct {
	last           *stormOwner
	token, earlier uint64
}

func newStorm(t *rapid.T) *storm {
	s := &storm{past: map[Name]*stormPast{}, fail: t.Fatalf}
	s.timing = lease.Timing{MaxMaster: 8 * ms, MaxUser: 8 * ms,
		DriftPPM: rapid.SampledFrom([]int64{0, 200_000}).Draw(t, "drift")}
	s.linger = rapid.SampledFrom([]time.Duration{0, 3 * ms}).Draw(t, "linger")
	clock := func(name string) stormClock {
		return stormClock{
			offset: time.Duration(rapid.Int64Range(0, 50).Draw(t, name+".offset")) * ms,
			ppm:    1_000_000 + rapid.SampledFrom([]int64{-1, 0, 1}).Draw(t, name+".rate")*s.timing.DriftPPM,
		}
	}
	for range 3 {
		a := &stormAcceptor{clock: clock("acceptor")}
		s.acceptors = append(s.acceptors, a)
		s.boot(a, 0)
		s.era++
		a.table.Open(s.era)
	}
	for i := range 2 {
		s.nodes = append(s.nodes, &stormNode{clock: clock("node"), self: ballot.Incarnation{Node: ballot.NodeID(i + 1)}})
		s.clients = append(s.clients, clock("client"))
		s.owners = append(s.owners, nil)
		s.acquire(t, i)
	}
	return s
}

func (s *storm) boot(a *stormAcceptor, silence time.Duration) {
	now := a.clock.read(s.real)
	table, err := NewTable(Config{
		Timing: s.timing, SilentUntil: now + silence, MaxRecords: 4, Linger: s.linger, Width: ms / 2,
	}, now)
	if err != nil {
		s.fail("%v", err)
	}
	a.table = table
	a.run++
}

// restart makes an acceptor forget. Its era, and one for a run that will not see it, come at any time.
func (s *storm) restart(a *stormAcceptor) {
	silence, err := s.timing.Exclusion(s.timing.MaxUser)
	if err != nil {
		s.fail("%v", err)
	}
	s.boot(a, silence)
	s.era++
	run, era := a.run, s.era
	s.send(func() {
		if a.run == run {
			a.table.Open(era)
		}
	})
}

// acquire makes client i begin another acquisition. Its former one is released, or runs out.
func (s *storm) acquire(t *rapid.T, i int) {
	name := nameOf(rapid.SampledFrom([]string{"n", "n", "n", "m"}).Draw(t, "name"))
	o := &stormOwner{clock: s.clients[i], name: name}
	s.ids++
	o.id[0], o.id[1], o.id[2] = byte(i+1), byte(s.ids), byte(s.ids>>8)
	o.text = o.id.String()
	if old := s.owners[i]; old != nil {
		s.owners = append(s.owners, old)
	}
	s.owners[i] = o
}

func (s *storm) send(deliver func()) { s.network = append(s.network, deliver) }

// sendAll sends a request to acceptors.
func (s *storm) sendAll(n *stormNode, q Request, to quorum.Set) {
	self := n.self
	for i := range to.Len() {
		id := to.At(i)
		s.send(func() {
			a := s.acceptors[id-1]
			if r, ok := a.table.Handle(a.clock.read(s.real), self, q); ok {
				s.send(func() { s.reply(n, self, id, r) })
			}
		})
	}
}

// reply hands a reply to the run of a node that it is for.
func (s *storm) reply(n *stormNode, self ballot.Incarnation, from ballot.NodeID, r Reply) {
	if n.self != self {
		return
	}
	now := n.clock.read(s.real)
	for _, f := range n.attempts {
		if !f.attempt.Handle(now, from, r) {
			continue
		}
		n.counter = max(n.counter, f.attempt.Promised())
		s.follow(n, f)
	}
}

// follow does what an attempt that has moved asks for.
func (s *storm) follow(n *stormNode, f *stormAttempt) {
	if f.attempt.End() == EndWon {
		grant, o := f.grant, f.owner
		grant.Token = uint64(f.attempt.Token())
		s.send(func() { s.grant(o, grant) })
		return
	}
	q, to := f.attempt.Requests(n.clock.read(s.real))
	s.sendAll(n, q, to)
	if q, ok := f.attempt.Withdrawal(); ok {
		s.sendAll(n, q, quorum.Of(1, 2, 3))
	}
}

func (s *storm) grant(o *stormOwner, r leasehold.Reply) {
	if !o.hold.Take(o.clock.read(s.real), r) {
		return
	}
	p := s.past[o.name]
	if p == nil {
		p = &stormPast{}
		s.past[o.name] = p
	}
	if p.last != o {
		s.wins++
		p.last, p.earlier, p.token = o, max(p.earlier, p.token), 0
	}
	if t := o.hold.Token(); t <= p.earlier || t < p.token {
		s.fail("%s has token %v; before it there were %v, and %v in this acquisition", o.text, Token(t), Token(p.earlier),
			Token(p.token))
	}
	p.token = o.hold.Token()
}

// ask makes client i ask a node: to acquire, once more, or to renew.
func (s *storm) ask(t *rapid.T, i int) {
	o, n := s.owners[i], rapid.SampledFrom(s.nodes).Draw(t, "node")
	mine := o.clock.read(s.real)
	held := o.hold.Held(mine)
	if o.over || (o.hold.Token() != 0 && !held) {
		s.acquire(t, i)
		o, held = s.owners[i], false
	}
	for _, f := range n.attempts {
		if f.owner == o && f.attempt.Phase() != Over && rapid.IntRange(0, 3).Draw(t, "again") > 0 {
			return // mostly, an attempt is left to run
		}
	}
	n.counter++
	d := time.Duration(rapid.SampledFrom([]int{2, 3, 8, 8}).Draw(t, "d")) * ms
	f := &stormAttempt{owner: o, grant: leasehold.Reply{Asked: mine, TTL: d, Renewal: held}}
	f.attempt = Begin(n.clock.read(s.real), Ask{Name: o.name, Acquisition: o.id, Owner: o.text, Duration: d,
		Renewal: held}, quorum.Of(1, 2, 3), n.counter)
	n.attempts = append(n.attempts, f)
	s.follow(n, f)
}

var events = []string{
	"ask", "ask", "pass", "pass", "pass", "resend", "release", "give up", "crash", "sweep",
	"deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver", "deliver",
}

// step is one random event.
func (s *storm) step(t *rapid.T) {
	i := rapid.IntRange(0, len(s.clients)-1).Draw(t, "client")
	n := rapid.SampledFrom(s.nodes).Draw(t, "node")
	switch rapid.SampledFrom(events).Draw(t, "event") {
	case "ask":
		s.ask(t, i)
	case "resend":
		for _, f := range n.attempts {
			s.follow(n, f)
		}
	case "give up":
		for _, f := range n.attempts {
			f.attempt.Abandon()
			s.follow(n, f)
		}
		n.attempts = nil
	case "release":
		if o := s.owners[i]; rapid.Bool().Draw(t, "release") {
			o.hold.Release()
			o.over = true
			s.sendAll(n, Request{Kind: Release, Name: o.name, Counter: 1, Acquisition: o.id}, quorum.Of(1, 2, 3))
		}
	case "crash":
		switch rapid.IntRange(0, 3).Draw(t, "crash") {
		case 0:
			s.restart(rapid.SampledFrom(s.acceptors).Draw(t, "acceptor"))
		case 1:
			n.self.Restart++
			n.counter, n.attempts = 0, nil
		}
	case "sweep":
		a := rapid.SampledFrom(s.acceptors).Draw(t, "acceptor")
		a.table.Sweep(a.clock.read(s.real), rapid.IntRange(1, 4).Draw(t, "most"))
	case "pass":
		s.real += rapid.SampledFrom([]time.Duration{1, ms / 4, ms / 2, ms, ms, 2 * ms}).Draw(t, "pass")
	case "deliver":
		for range rapid.SampledFrom([]int{1, 1, 2, 4, 8}).Draw(t, "burst") {
			s.deliver(t)
			s.check()
		}
	}
}

// deliver hands over one message, recent ones more likely than old, and sometimes keeps it for another time.
func (s *storm) deliver(t *rapid.T) {
	if len(s.network) == 0 {
		return
	}
	back := min(rapid.IntRange(0, 6).Draw(t, "message"), len(s.network)-1)
	at := len(s.network) - 1 - back
	deliver := s.network[at]
	if rapid.IntRange(0, 7).Draw(t, "keep") > 0 {
		s.network = append(s.network[:at:at], s.network[at+1:]...)
	}
	deliver()
}

func (s *storm) check() {
	holds := map[Name]*stormOwner{}
	for _, o := range s.owners {
		if !o.hold.Held(o.clock.read(s.real)) {
			continue
		}
		if other := holds[o.name]; other != nil {
			s.fail("%s and %s hold %v at once", o.text, other.text, o.name)
		}
		holds[o.name] = o
	}
}

func TestRandomSchedulesHaveOneHolderAndGrowingTokens(t *testing.T) {
	wins, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(t)
		for range 400 {
			s.step(t)
			s.check()
		}
		wins += s.wins
		runs++
	})
	if wins < runs {
		t.Errorf("%d holders in %d runs prove little", wins, runs)
	}
	t.Logf("%d holders in %d runs", wins, runs)
}
