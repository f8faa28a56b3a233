package server

import (
	"cmp"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/archiver"
	"tenure/server/backend"
	"tenure/server/runner"
)

// runners are the parts of a run with all that runs them.
type runners struct {
	life     *runner.Lifecycle
	disk     *runner.Disk
	elector  *runner.Elector
	log      *runner.Log
	leases   *runner.Leases
	handover *runner.Handover
	snapshot *runner.Snapshots
	peers    *runner.Peers
	changes  *runner.MemberChanges
	drain    *runner.Drain
	backend  *backend.Backend
	guardian *guard
	archiver *archiver.Archiver // nil: none

	clocks     *runner.Clocks
	members    *runner.Members
	mastership *runner.Mastership
	health     *runner.Health
	state      *runner.State
}

// wire makes the runners of p and connects them. Only the guardian runs yet: it must run before the first Accept.
func (n *node) wire(p *parts) *runners {
	n.ports.peers.SetRoster(p.roster)
	members := runner.NewMembers(n.self.Node, p.identity.Membership, n.addresses)
	r := &runners{
		members: members,
		life:    runner.NewLifecycle(n.store.Interrupt), mastership: runner.NewMastership(), state: runner.NewState(p.state),
		health: runner.NewHealth(members),
		disk:   n.newDisk(p), guardian: n.newGuard(p, members),
	}
	r.clocks = runner.NewClocks(runner.ClocksConfig{DriftPPM: n.cfg.ClockDriftPPM, Master: p.exclusion[0],
		User: p.exclusion[1], Clock: n.clock, Members: members, Send: n.ports.peers, Registry: n.registry, Logger: n.log})
	r.elector = runner.NewElector(runner.ElectorConfig{
		Part: p.elector, LeaseTime: n.cfg.LeaseTime, Members: members, Clock: n.clock, Mastership: r.mastership,
		Health: r.health, Send: n.ports.peers, Guardian: r.guardian, Lifecycle: r.life, Distrusted: r.clocks.Distrusted, Registry: n.registry, Logger: n.log,
	})
	r.log = runner.NewLog(runner.LogConfig{
		Part: p.log, State: r.state, Store: n.store, Data: n.cfg.Data, FirstID: p.firstID, Members: members, Clock: n.clock,
		Mastership: r.mastership, Health: r.health, Disk: r.disk, Send: n.ports.peers, LetGo: r.elector.LetGo,
		RequireLevel: n.ports.peers.RequireLevel, Dismiss: n.ports.peers.Dismiss, Roster: n.ports.peers.SetRoster,
		Lifecycle: r.life, Registry: n.registry, Logger: n.log,
	})
	r.leases = runner.NewLeases(runner.LeasesConfig{
		Part: p.leases, Self: n.self, SilentUntil: p.began + p.silence, FirstID: p.firstID, Clock: n.clock, Store: n.store,
		State: r.state, Log: r.log, Send: n.ports.peers, Lifecycle: r.life,
		Distrusted: func() bool { return r.clocks.Problem() != "" }, Registry: n.registry, Logger: n.log,
	})
	r.changes = runner.NewMemberChanges(runner.MemberChangesConfig{
		Members: members, Store: n.store, Follow: r.guardian.follow, Elector: r.elector, Leases: r.leases, Log: r.log,
		Connect:   func(m ident.Membership) { n.ports.peers.SetMembership(m, n.addresses) },
		Lifecycle: r.life, Logger: n.log,
	})
	r.handover = &runner.Handover{Clock: n.clock, Log: r.log, Elector: r.elector}
	r.drain = runner.NewDrain(runner.DrainConfig{LeaseTime: n.cfg.LeaseTime, Clock: n.clock, Members: members,
		Mastership: r.mastership, Elector: r.elector, Logger: n.log})
	r.snapshot = runner.NewSnapshots(runner.SnapshotsConfig{
		Store: n.store, Log: r.log, Disk: r.disk, Clock: n.clock, Send: n.ports.peers, Lifecycle: r.life,
		Registry: n.registry, Logger: n.log,
	})
	r.archiver = n.newArchiver(p, r)
	r.backend = n.newBackend(p, r)
	r.backend.Register(n.registry)
	n.admission, n.level = r.backend.Members, func() uint64 { return r.log.View().Level.Cluster }
	peers := runner.PeersConfig{
		Self: n.cfg.Node, LeaseTime: n.cfg.LeaseTime, Clock: n.clock, Elector: r.elector, Log: r.log, Leases: r.leases,
		Health: r.health, Questions: r.backend.Questions, Clocks: r.clocks, Snapshots: r.snapshot, Registry: n.registry,
		Logger: n.log,
	}
	if r.archiver != nil {
		peers.Archive = r.archiver
	}
	r.peers = runner.NewPeers(peers)
	return r
}

// newArchiver returns the archiver of this run, nil if the node was given no archive.
func (n *node) newArchiver(p *parts, r *runners) *archiver.Archiver {
	if n.cfg.Archive.Target == nil {
		return nil
	}
	return archiver.New(archiver.Config{
		Target: n.cfg.Archive.Target, Schedule: n.cfg.Archive.Schedule, Readable: n.cfg.Archive.Readable,
		KeepLogBytes: cmp.Or(n.cfg.Archive.KeepLogBytes, keepLogForArchive), Data: n.cfg.Data,
		Self: n.self.Node, Cluster: p.identity.Cluster, Members: r.members, Clock: n.clock, Wall: time.Now,
		Mastership: r.mastership, Log: r.log, State: r.state, Store: n.store, Disk: r.disk, Send: n.ports.peers,
		Backup: func(timeout time.Duration) (archiver.Copy, error) {
			b, err := r.backend.ForArchive(timeout)
			if err != nil {
				return nil, err
			}
			return b, nil
		},
		Lifecycle: r.life, Registry: n.registry, Logger: n.log,
	})
}

// archiveStatus returns how the archive is, nil if this node was given none.
func (r *runners) archiveStatus() *api.ArchiveStatus {
	if r.archiver == nil {
		return nil
	}
	return r.archiver.Status()
}

func (n *node) newDisk(p *parts) *runner.Disk {
	return runner.NewDisk(runner.DiskConfig{Store: n.store, Clock: n.clock, Quarantine: p.quarantine, Began: p.began,
		Registry: n.registry, Logger: n.log})
}

func (n *node) newBackend(p *parts, r *runners) *backend.Backend {
	cluster := backend.NewCluster(backend.ClusterConfig{
		Identity: p.identity, Members: r.members, ClientAddr: n.cfg.clientAdvertised(), Version: n.cfg.Version,
		ACL: n.cfg.ACL, LeaseTime: n.cfg.LeaseTime,
		Started: n.started, Clock: n.clock,
		Mastership: r.mastership, Health: r.health, Elector: r.elector, Log: r.log, Leases: r.leases, Disk: r.disk,
		Snapshots: r.snapshot, Archive: r.archiveStatus,
		Lifecycle: r.life, Draining: r.drain.On, Clocks: r.clocks, Links: n.ports.peers.Peers,
		Sought: n.ports.peers.Sought, Served: n.ports.peers.Served, FounderWait: n.cfg.FounderWait,
		Guardian:   r.guardian.state,
		Unjoinable: n.cfg.PeerAddr == "", AddressNote: n.cfg.addressNote,
	})
	questions := backend.NewQuestions(backend.QuestionsConfig{Self: n.cfg.Node, FirstID: p.firstID,
		Master: func() ballot.NodeID { return r.log.View().Master }, Lifecycle: r.life, Send: n.ports.peers})
	transfers := backend.NewTransfers(backend.TransfersConfig{
		Self: n.cfg.Node, Questions: questions, Clock: n.clock, Mastership: r.mastership, Log: r.log, Handover: r.handover,
		CanTake: cluster.CanTake, Logger: n.log,
	})
	r.drain.HandOver = transfers.Drain
	keys := backend.NewKV(backend.KVConfig{Self: n.cfg.Node, Clock: n.clock, Started: n.started, State: r.state, Log: r.log,
		Mastership: r.mastership, Lifecycle: r.life})
	return &backend.Backend{
		Cluster: cluster,
		Samples: backend.NewSamples(backend.SamplesConfig{Self: n.cfg.Node, Clock: n.clock, Recent: n.slow.Recent(),
			View: r.log.View}),
		SelfReports: backend.NewSelfReports(backend.SelfReportsConfig{Self: n.cfg.Node, Questions: questions,
			Members: r.members, Status: cluster.Status}),
		LastUses: backend.NewLastUses(backend.LastUsesConfig{Questions: questions, Members: r.members,
			LastUsed: n.lastUsed}),
		Members: backend.NewMembers(backend.MembersConfig{Self: n.cfg.Node, Questions: questions, Cluster: cluster,
			List: r.members, Links: n.ports.peers.Peers, Log: r.log, Lifecycle: r.life, Drain: r.drain, Logger: n.log}),
		KV: keys,
		Backups: backend.NewBackups(backend.BackupsConfig{KV: keys, State: r.state, Log: r.log, Store: n.store,
			Disk: r.disk, Lifecycle: r.life, Logger: n.log}),
		Leases: backend.NewLeases(backend.LeasesConfig{Cluster: p.identity.Cluster, Timing: n.cfg.timing(), Clock: n.clock,
			Clocks: r.clocks, Runner: r.leases}),
		Transfers: transfers,
		Upgrades: backend.NewUpgrades(backend.UpgradesConfig{Self: n.cfg.Node, Questions: questions, Members: r.members,
			Log: r.log, Lifecycle: r.life}),
		Questions: questions,
	}
}

// loops are the goroutines of the run, each of which ends the run if it fails.
func (r *runners) loops() [][]runner.Loop {
	all := [][]runner.Loop{r.log.Loops(), r.disk.Loops(), r.elector.Loops(), r.leases.Loops(),
		r.changes.Loops(), r.clocks.Loops(), r.drain.Loops(), r.snapshot.Loops(),
		{r.backend.Relieve, r.backend.FollowAddresses, r.backend.Sample}}
	if r.archiver != nil {
		all = append(all, r.archiver.Loops())
	}
	return all
}
