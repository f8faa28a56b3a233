package server

import (
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/replica"
)

// logView is what the log loop publishes for status, readiness and stale reads, at least once a tick.
type logView struct {
	master                                   ballot.NodeID
	epoch                                    uint64
	heard                                    time.Duration // last word from the master; 0: never
	leaseLeft                                time.Duration // a hint
	caughtUp                                 bool
	promised                                 string
	chosen, applied, checkpointed, truncated uint64
	revision                                 uint64
	tableBytes                               int64
	queued, inFlight, waitingReads           int
	peers                                    []replica.PeerStatus
	full                                     []ballot.NodeID // members that are short of space
}

// publishLog makes the log part's state visible to everybody.
func (n *Node) publishLog(part *replica.Log, now time.Duration) {
	s := part.Status(now)
	v := &logView{
		master: s.Master, epoch: s.Epoch, caughtUp: s.CaughtUp, promised: s.Promised.String(), leaseLeft: s.LeaseLeft,
		chosen: s.Chosen, applied: s.Applied, checkpointed: s.Checkpointed, truncated: s.Truncated, revision: s.Revision,
		tableBytes: s.TableBytes, queued: s.Queued, inFlight: s.InFlight, waitingReads: s.Reads, peers: s.Peers, full: s.Full,
	}
	old := n.logView.Load()
	v.heard = old.heard
	if s.Master != 0 {
		v.heard = now - s.MasterAge
	}
	n.logView.Store(v)
	if old.master != v.master {
		n.masterChanged(old.master, v)
	}
	n.fullChanged(old.full, v.full)
}

// masterChanged logs who serves now, as this node has heard it.
func (n *Node) masterChanged(old ballot.NodeID, v *logView) {
	if v.master == 0 {
		n.log.Warn().Uint64("was", uint64(old)).Msg("no master is known")
		return
	}
	n.log.Info().Uint64("master", uint64(v.master)).Uint64("epoch", v.epoch).Msg("the master is ready")
}

// Status is the node's view of itself and its peers, from published values only: it never waits.
func (n *Node) Status() api.Status {
	v, now := n.logView.Load(), n.clock.Now()
	u, standing := n.store.Usage(), n.standing.Load()
	return api.Status{
		Cluster: n.store.Identity().Cluster.String(), Node: uint64(n.self.Node), Version: n.cfg.Version,
		Role: n.role(v.master), Master: uint64(v.master), Epoch: v.epoch, Lease: n.leaseStatus(v, now),
		Promised: v.promised, Chosen: v.chosen, Applied: v.applied, Checkpointed: v.checkpointed, Truncated: v.truncated,
		Revision: v.revision, Peers: n.peerStatus(v, now),
		Disk:     api.DiskStatus{LogBytes: u.LogBytes, StateBytes: u.StateBytes, FreeBytes: u.FreeBytes, QuotaBytes: u.QuotaBytes},
		Guardian: n.guardStatus(), Leases: n.leasesStatus(now),
		Able: standing.Able, StandingBackMS: standing.StandBack.Milliseconds(),
		UptimeMS: (now - n.startedAt).Milliseconds(), Problem: n.problem(), Full: numbers(v.full),
	}
}

func (n *Node) leaseStatus(v *logView, now time.Duration) api.LeaseStatus {
	p, l := n.gate.load(), n.leaseView.Load()
	s := api.LeaseStatus{Held: p.Held(now), Changes: n.tenures.list()}
	left := v.leaseLeft
	if s.Held {
		left = p.Deadline - now
	}
	s.RemainingMS = max(0, left.Milliseconds())
	s.QuarantineMS = millisecondsLeft(l.quarantineLeft - (now - l.at))
	return s
}

func (n *Node) leasesStatus(now time.Duration) api.LeasesStatus {
	v := n.named.view.Load()
	s := api.LeasesStatus{Records: v.Records, Waiting: v.Waiting, QuarantineMS: millisecondsLeft(n.named.quarantine - now)}
	if v.Opened {
		s.Era = v.Floor.Era()
	}
	return s
}

func (n *Node) peerStatus(v *logView, now time.Duration) []api.PeerStatus {
	links := n.transport.Peers()
	out := make([]api.PeerStatus, 0, len(v.peers))
	for _, p := range v.peers {
		s := api.PeerStatus{Node: uint64(p.Node), PeerAddress: n.addresses[p.Node], Chosen: p.Chosen, LastHeardMS: -1}
		if p.Heard > 0 {
			s.LastHeardMS = max(0, (now - p.Heard).Milliseconds())
		}
		for _, l := range links {
			if l.Node == p.Node {
				s.ClientAddress, s.Connected = l.ClientAddr, l.Log.Connected && l.Lease.Connected
			}
		}
		out = append(out, s)
	}
	return out
}

// numbers is ids as the API has them, never nil.
func numbers(ids []ballot.NodeID) []uint64 {
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = uint64(id)
	}
	return out
}

// millisecondsLeft rounds what is left of a wait up: it is 0 only when nothing is.
func millisecondsLeft(d time.Duration) int64 {
	return max(0, (d + time.Millisecond - 1).Milliseconds())
}
