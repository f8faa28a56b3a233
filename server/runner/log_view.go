package runner

import (
	"slices"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/storage"
)

// LogView is what the log publishes for status, readiness and stale reads, at least once a tick.
type LogView struct {
	replica.Status
	Heard time.Duration // reading of the clock at the last message of a master; 0: never
}

// View returns the newest view. It is not changed any more.
func (l *Log) View() *LogView { return l.view.Load() }

// publishView makes the log part's state visible to everybody, and logs what has changed for people.
func (l *Log) publishView(now time.Duration) {
	old, v := l.view.Load(), &LogView{Status: l.cfg.Part.Status(now)}
	v.Heard = old.Heard
	if v.Master != 0 {
		v.Heard = now - v.MasterAge
	}
	l.view.Store(v)
	if old.Master != v.Master {
		l.masterChanged(old.Master, v)
	}
	l.fullChanged(old.Full, v.Full, l.cfg.Members.self, l.cfg.Disk.Usage)
	l.disputeChanged(old.Dispute, v.Dispute)
	if v.Level.Cluster > old.Level.Cluster {
		l.cfg.Logger.Info().Uint64("feature_level", v.Level.Cluster).Msg("the cluster's feature level was raised")
	}
	if old.Record.NextNode != 0 { // else it is the first view
		l.operationsChanged(&old.Record, &v.Record)
	}
	l.rosterChanged(&old.Record, &v.Record)
}

// rosterChanged tells who must not come back by himself. A readmission changes the record, and no membership.
func (l *Log) rosterChanged(old, now *members.Record) {
	m := now.Membership
	if !m.Newer(old.Membership) && now.NextNode == old.NextNode && slices.Equal(now.Removed, old.Removed) {
		return
	}
	l.cfg.Roster(now.Roster())
}

// operationsChanged logs which operations on the members have begun or ended. Operations begun by a spare have no
// asker.
func (l *Log) operationsChanged(old, now *members.Record) {
	if len(now.Operations) == 0 || slices.Equal(old.Operations, now.Operations) {
		return
	}
	for _, op := range now.Operations {
		was, known := old.Operation(op.ID)
		if known && was.State == op.State {
			continue
		}
		line := l.cfg.Logger.Info()
		if op.BySpare || op.State == members.Failed {
			line = l.cfg.Logger.Warn()
		}
		line.Str("operation", op.ID).Stringer("change", op).Str("problem", op.Problem).
			Msg("an operation on the members is " + op.State.String())
	}
}

// masterChanged logs who serves now, as this node has heard it.
func (l *Log) masterChanged(old ballot.NodeID, v *LogView) {
	if v.Master == 0 {
		l.cfg.Logger.Warn().Uint64("was", uint64(old)).Msg("no master is known")
		return
	}
	l.cfg.Logger.Info().Uint64("master", uint64(v.Master)).Uint64("epoch", v.Epoch).Msg("the master is ready")
}

// disputeChanged logs the beginning and the end of a dispute between replicas.
func (l *Log) disputeChanged(old, now replica.Dispute) {
	switch {
	case now.Slot != 0 && old.Slot == 0:
		l.cfg.Logger.Error().Uint64("slot", now.Slot).Msg(now.String())
	case now.Slot == 0 && old.Slot != 0:
		l.cfg.Logger.Info().Uint64("slot", old.Slot).Msg("no replicas differ any more, as far as this node knows")
	}
}

// readyChanged logs that this node's mastership began or ended.
func (l *Log) readyChanged(tenure, epoch uint64) {
	if tenure != 0 {
		l.cfg.Logger.Info().Uint64("epoch", epoch).Msg("this node is the master")
		return
	}
	l.cfg.Logger.Info().Msg("this node is not the master any more")
}

// fullChanged logs which members are short of space, and with the name of this one what it has.
func (l *Log) fullChanged(old, now []ballot.NodeID, self ballot.NodeID, usage func() storage.Usage) {
	line := func(e *zerolog.Event, id ballot.NodeID) *zerolog.Event {
		if e = e.Uint64("member", uint64(id)); id == self {
			u := usage()
			e = e.Int64("free_bytes", u.FreeBytes+u.HeldBytes).Int64("used_bytes", u.LogBytes+u.StateBytes).
				Int64("reserve_bytes", u.ReserveBytes).Int64("quota_bytes", u.QuotaBytes)
		}
		return e
	}
	for _, id := range now {
		if !slices.Contains(old, id) {
			line(l.cfg.Logger.Warn(), id).Msg("the disk of a member has reached its reserve or its quota")
		}
	}
	for _, id := range old {
		if !slices.Contains(now, id) {
			line(l.cfg.Logger.Info(), id).Msg("the disk of a member has space again, or the member cannot be reached")
		}
	}
}
