package sim

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/multipaxos"
	"tenure/server/replica"
	"tenure/server/replica/elector"
	"tenure/server/replica/leases"
	"tenure/server/transport"
)

// process is one run of the server on a node: all of it is lost in a crash. Nil: none runs.
type process struct {
	self       ballot.Incarnation
	begun      time.Duration // on the node's clock
	quarantine lease.Quarantine
	record     time.Duration
	elector    *electorLoop
	log        *logLoop
	leases     *leasesLoop // nil: the run has no named leases
	handlers   []*attempt  // all that were not answered, to be told when the process ends
	hand       *handOver
	over       goingOver
	snapshots  *transfers
	clocks     *clockWatch // nil: the run compares no clocks
}

// open builds the parts.
func (n *node) open(silence time.Duration) error {
	n.end.past, n.end.saw = new(transport.History), [maxMachines]ballot.Incarnation{}
	n.board.shown, n.end.linked, n.end.self, n.disk.work = shown{}, [maxMachines]uint64{}, n.self, work{}
	n.end.dismissed = 0
	if err := n.openElector(); err != nil {
		return err
	}
	if err := n.openLog(); err != nil {
		return err
	}
	n.elector.poke = n.log.poke
	if n.plan.leasers.count == 0 {
		return nil
	}
	return n.openLeases(silence)
}

func (n *node) openElector() error {
	p, t := n.process, n.plan.timing
	e, err := elector.New(elector.Config{
		Self: p.self, Voters: n.disk.members.Voters(), Membership: n.disk.members.Number, Timing: t, Duration: n.plan.lease,
		Seed:     n.random.next(),
		Acceptor: lease.AcceptorConfig{Self: n.id, Timing: t, SilentUntil: p.quarantine.Deadline(p.begun)},
	}, p.begun)
	if err != nil {
		return err
	}
	p.elector = &electorLoop{
		machine: n.machine, own: n.run, loops: &n.site.loops, net: n.site.net, end: n.end, board: n.board,
		progress: n.site.progress, elector: e, round: elector.NewRound(e), inForce: p.over.inForce, distrusted: n.distrusted,
	}
	p.elector.effect = p.elector.round.Next()
	return nil
}

func (n *node) openLog() (err error) {
	p := n.process
	l := &logLoop{
		machine: n.machine, own: n.run, loops: &n.site.loops, disk: n.disk, net: n.site.net, end: n.end, board: n.board,
		elector: p.elector, waiting: map[uint64]*attempt{}, asked: map[uint64]*memberAsk{},
		life: life{damaged: n.damaged, differs: n.differs, ioFailed: n.ioFailed, goOver: p.over.begin, dismiss: n.dismiss,
			relieve: n.handOver},
	}
	n.disk.resume()
	if l.state, err = kv.Open(n.disk, n.plan.limits); err != nil {
		return err
	}
	cfg := n.plan.part
	cfg.Self, cfg.Core.Self, cfg.Timing = p.self, p.self, n.plan.timing
	cfg.Membership, cfg.Digest = n.disk.members, n.disk.stateDB.Digest()
	base, err := replica.BaseMembership(l.state, cfg.Membership, n.disk.marks, n.disk)
	if err != nil {
		return err
	}
	if l.core, err = multipaxos.New(cfg.Core, base, n.disk.marks, n.disk); err != nil {
		return err
	}
	if l.log, err = replica.NewLog(cfg, l.core, l.state); err != nil {
		return err
	}
	l.round = replica.NewLogRound(l.log)
	if l.effect, err = l.round.Next(); err != nil {
		return err
	}
	n.board.state = l.state
	l.check = logCheck{
		drive: n.disk, masters: n.site.masters, core: l.core, state: l.state, anyApplied: n.site.applied,
	}
	l.spares = spareCheck{machine: n.machine, members: n.site.members, progress: n.site.progress, state: l.state}
	l.answers = answerCheck{board: n.board, core: l.core, asked: map[askKey]question{}}
	p.log = l
	return nil
}

// openLeases builds the part for named leases.
func (n *node) openLeases(silence time.Duration) error {
	p, plan := n.process, &n.plan.leasers
	part, err := leases.New(leases.Config{
		Self: p.self, Voters: n.disk.members.Voters(), MaxTasks: plan.tasks, Seed: n.site.leasing.next(),
		Table: named.Config{
			Timing: n.plan.timing, SilentUntil: p.begun + silence, Bucket: n.disk.bucket,
			BucketLinger: plan.bucketLinger,
			MaxRecords:   plan.records, Linger: plan.linger, Width: plan.width,
			Membership: n.disk.members.Number, Era: n.disk.members.Era,
		},
	}, p.begun)
	if err != nil {
		return err
	}
	p.leases = &leasesLoop{
		machine: n.machine, own: n.run, leasing: n.site.leasing, disk: n.disk, net: n.site.net, end: n.end,
		owners: n.site.owners, self: p.self, part: part, round: leases.NewRound(part), accepts: newAccepts(),
		era: replica.EraAsk{Self: p.self}, askEra: n.askEra, inForce: p.over.inForce, distrusted: n.distrusted,
	}
	p.leases.effect = p.leases.round.Next()
	return nil
}
