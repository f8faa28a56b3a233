package backend

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/ident"
	"tenure/server/members"
	"tenure/server/runner"
)

// ClusterID returns the id of the cluster.
func (b *Cluster) ClusterID() string { return b.cfg.Identity.Cluster.String() }

// Status returns the node's view of itself and its peers.
func (b *Cluster) Status() api.Status {
	v, now := b.cfg.Log.View(), b.cfg.Clock.Now()
	u, standing := b.cfg.Disk.Usage(), b.cfg.Health.Standing()
	return api.Status{
		Cluster: b.ClusterID(), Node: uint64(b.cfg.Identity.Node), Version: b.cfg.Version,
		Role: b.role(v.Master), Master: uint64(v.Master), Epoch: v.Epoch, Lease: b.leaseStatus(v, now),
		Promised: v.Promised.String(), Chosen: v.Chosen, Applied: v.Applied, Checkpointed: v.Checkpointed,
		Truncated: v.Truncated, Revision: v.Revision, Peers: b.peers(v, now),
		Membership: membershipStatus(b.cfg.Members.Load(), v.Record),
		Disk: api.DiskStatus{LogBytes: u.LogBytes, StateBytes: u.StateBytes, FreeBytes: u.FreeBytes,
			QuotaBytes: u.QuotaBytes},
		Guardian: b.guardianStatus(), Leases: b.leasesStatus(now),
		Able: standing.Able, Draining: b.cfg.Draining(), StandingBackMS: standing.StandBack.Milliseconds(),
		Snapshot: b.snapshotStatus(), Archive: b.cfg.Archive(),
		Absence:      AbsenceOf(&v.Absence),
		FeatureLevel: v.Level.Cluster, ACL: b.cfg.ACL,
		UptimeMS: (now - b.cfg.Started).Milliseconds(), Problem: b.problem(), Full: numbers(v.Full),
	}
}

// snapshotStatus returns the snapshot that this node receives now, nil if there is none.
func (b *Cluster) snapshotStatus() *api.SnapshotStatus {
	v := b.cfg.Snapshots.Status()
	if v == nil {
		return nil
	}
	return &api.SnapshotStatus{From: uint64(v.From), Slot: v.Slot, Bytes: v.Bytes, TotalBytes: v.TotalBytes,
		Installing: v.Whole}
}

// membershipStatus says which list of members a node goes by, and which one has settled by the record that it has
// applied.
func membershipStatus(m ident.Membership, r members.Record) api.MembershipStatus {
	return api.MembershipStatus{Number: m.Number, Change: m.Change, Settled: r.Settled}
}

// role returns what this node is now.
func (b *Cluster) role(master ballot.NodeID) string {
	_, voter, listed := b.cfg.Members.Load().Find(b.cfg.Identity.Node)
	switch {
	case b.FounderWaits() != "":
		return api.RoleNone
	case master == b.cfg.Identity.Node:
		return api.RoleMaster
	case voter:
		return api.RoleFollower
	case listed:
		return api.RoleNonVoter
	}
	return api.RoleNone
}

func (b *Cluster) leaseStatus(v *runner.LogView, now time.Duration) api.LeaseStatus {
	p := b.cfg.Mastership.Load()
	s := api.LeaseStatus{Held: p.Held(now), Changes: b.cfg.Elector.Changes(), TimeMS: b.cfg.LeaseTime.Milliseconds()}
	left := v.LeaseLeft
	if s.Held {
		left = p.Deadline - now
	}
	s.RemainingMS = max(0, left.Milliseconds())
	s.QuarantineMS = millisecondsLeft(b.cfg.Elector.QuarantineLeft(now))
	return s
}

func (b *Cluster) leasesStatus(now time.Duration) api.LeasesStatus {
	v := b.cfg.Leases.View()
	return api.LeasesStatus{Records: v.Records, Waiting: v.Waiting, Era: b.cfg.Leases.Era(),
		QuarantineMS: millisecondsLeft(b.cfg.Leases.QuarantineLeft(now))}
}

func (b *Cluster) guardianStatus() api.Guardian {
	s := b.cfg.Guardian()
	return api.Guardian{PID: s.PID, Problem: s.Problem, ReleasedHere: b.cfg.Elector.Cleared()}
}

// peers returns what is known of the other members.
func (b *Cluster) peers(v *runner.LogView, now time.Duration) []api.PeerStatus {
	links := b.cfg.Links()
	out := make([]api.PeerStatus, 0, len(v.Peers))
	for _, p := range v.Peers {
		s := api.PeerStatus{Node: uint64(p.Node), PeerAddress: b.cfg.Members.Address(p.Node), Applied: p.Applied, LastHeardMS: -1}
		if p.Heard > 0 {
			s.LastHeardMS = max(0, (now - p.Heard).Milliseconds())
		}
		m, voter, ok := b.cfg.Members.Load().Find(p.Node)
		if ok {
			s.Name, s.NonVoter = members.NameOf(m), !voter
		}
		for _, l := range links {
			if l.Node != p.Node {
				continue
			}
			s.ClientAddress, s.Connected = l.ClientAddr, l.Log.Connected && l.Lease.Connected
			s.RedisAddress = l.RedisAddr
			if !l.Log.Connected {
				s.Problem = l.Refusal
			} else if ok {
				s.Problem = MovedNote(fmt.Sprintf("node %d", p.Node), m, l.Told, l.ClientAddr)
			}
		}
		out = append(out, s)
	}
	return out
}

// numbers returns ids as the API has them, never nil.
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
