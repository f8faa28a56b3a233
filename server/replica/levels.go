package replica

import (
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// LevelConfig is what a node does about the cluster's feature level.
type LevelConfig struct {
	// Newest is the highest level that this node knows, and says so to the others. It raises the cluster's to no higher
	// one.
	Newest uint64
	// Release is written into the log with the level, at most kv.MaxReleaseBytes.
	Release string
	// After is for how long every member must have known a level before the master raises the cluster's to it by itself.
	// 0: never.
	After time.Duration
}

// levels raises the feature level. Every node follows what the members know, so that a new master need not count After
// from its own beginning; the ready master alone raises.
//
// The level is raised to the highest one that every member of the newest membership knows, voter or not, and only while
// each member is heard and has reported its level over its present connection. A member with an older release could not
// apply commands that need the level, and its state would differ.
//
// Nodes that do not know the level are refused as soon as the command is asked for, until it is applied or the
// mastership is over. Output.Level ends their connections before the command leaves, and no change of the members
// begins meanwhile. A successor may find the command in the log. It applies it before it is ready, and so before
// anything that needs the level.
type levels struct {
	cfg    LevelConfig
	common uint64        // what all members know, as last heard
	since  time.Duration // when it became that
	asked  uint64        // the level in a command that is queued or in flight; 0: none
	again  uint64        // tick from which one may be asked for again, if nothing came of it
}

// LevelRequest asks the master to raise the feature level to the newest that all members know, now. Reply.Level answers
// it: Done if the command was proposed, or the level was reached before.
type LevelRequest struct {
	ID uint64 // drawn by the runner
}

// LevelAnswer goes with the Reply to a LevelRequest. Refused with Reason NoMaster: ask Master, if that is not 0. Refused
// otherwise: nothing can be raised yet, because of Older and Unheard.
type LevelAnswer struct {
	Master ballot.NodeID
	// Older are the members whose release knows no higher level than the cluster's. Unheard are the members whose level
	// the master does not know, since they are not connected. Both by rising id.
	Older, Unheard []ballot.NodeID
}

// levelTicks is when a level is asked for again after its command was lost with an earlier mastership.
const levelTicks = 100

// raising reports whether the command that raises the level above level may be on its way.
func (v *levels) raising(level uint64) bool { return v.asked > level }

// required returns the level that a node must know to be connected to this one.
func (v *levels) required(level uint64) uint64 { return max(v.asked, level) }

// end is told that this node is not the ready master any more. Its command is lost, or is now its successor's.
func (v *levels) end() { v.asked, v.again = 0, 0 }

// follow takes note of what the members know. now is the newest reading of the clock.
func (v *levels) follow(now time.Duration, m *membersView) {
	common := v.cfg.Newest
	for i := range m.peers {
		if p := &m.peers[i]; p.listed {
			common = min(common, p.level)
		}
	}
	if common != v.common {
		v.common, v.since = common, now
	}
}

// blocking returns the members for which the level cannot be raised above level.
func (v *levels) blocking(now time.Duration, level uint64, m *membersView) (older, unheard []ballot.NodeID) {
	if v.cfg.Newest <= level {
		older = append(older, m.self)
	}
	for _, x := range m.newest.All() {
		p := m.peer(x.Node)
		switch {
		case x.Node == m.self:
		case p == nil || !p.heardLately(now) || !p.told:
			unheard = append(unheard, x.Node)
		case p.level <= level:
			older = append(older, x.Node)
		}
	}
	return older, unheard
}

// due reports whether the master raises the level by itself. All members must know a higher one. They must have known
// it for long enough, or the cluster must be new, so that an older release has nothing to read.
func (v *levels) due(now time.Duration, state *kv.State, epoch *epoch) bool {
	fresh := epoch.number() == 1 || state.Revision() == kv.FirstRevision
	return v.common > state.Level() && (fresh || v.cfg.After > 0 && now-v.since >= v.cfg.After)
}

// left returns in how long the level is raised by itself at the earliest; ok is false if it is not.
func (v *levels) left(now time.Duration, level uint64) (time.Duration, bool) {
	if v.common <= level || v.cfg.After <= 0 {
		return 0, false
	}
	return max(0, v.since+v.cfg.After-now), true
}

// tickLevels follows the members, and has the ready master raise the level when it is due. During a change of the
// members it does not: the newest membership may have changed by the time the command is chosen.
func (l *Log) tickLevels(now time.Duration, p Published) {
	v := &l.levels
	v.follow(now, &l.members)
	if !l.epoch.ready || l.stopping || l.changes.proposed != nil || !p.HeldAs(l.epoch.tenure, now) ||
		!v.due(now, l.state, &l.epoch) {
		return
	}
	if c, ok, _, _ := v.raise(now, l.ticks, l.state.Level(), &l.members); ok {
		l.timers.push(&c, now, &l.queue)
	}
}

// raise returns the command that raises the level above level. ok is false if a member stands in the way, or one is on
// its way already.
func (v *levels) raise(now time.Duration, tick, level uint64, m *membersView) (
	c kv.Command, ok bool, older, unheard []ballot.NodeID,
) {
	v.follow(now, m)
	older, unheard = v.blocking(now, level, m)
	if len(older)+len(unheard) > 0 || v.asked == v.common && tick < v.again {
		return c, false, older, unheard
	}
	v.asked, v.again = v.common, tick+levelTicks
	return kv.Command{Op: kv.OpLevel, Num: int64(v.common), Value: []byte(v.cfg.Release)}, true, nil, nil
}

// askLevel takes a request to raise the level. Only the ready master carries it out. While it may not it is to be asked
// again.
func (l *Log) askLevel(now time.Duration, q *LevelRequest) {
	r := Reply{ID: q.ID, Outcome: Refused, Reason: NoMaster, Level: &LevelAnswer{Master: l.master.other()}}
	switch {
	case l.leaving:
		r.Reason = Stopping
	case !l.epoch.ready || l.stopping:
	case l.changes.proposed != nil:
		r.Level.Master = l.cfg.Self.Node
	default:
		older, unheard := l.levels.blocking(now, l.state.Level(), &l.members)
		if l.state.Level() >= l.levels.cfg.Newest {
			older, unheard = nil, nil // it is reached
		} else if len(older)+len(unheard) == 0 {
			var c kv.Command
			var ok bool
			if c, ok, older, unheard = l.levels.raise(now, l.ticks, l.state.Level(), &l.members); ok {
				l.timers.push(&c, now, &l.queue)
			}
		}
		r.Reason, r.Level = NoReason, &LevelAnswer{Older: older, Unheard: unheard}
		if len(older)+len(unheard) == 0 {
			r.Outcome = Done
		}
	}
	l.out.reply(r)
}

// LevelStatus is the feature level for a status page.
type LevelStatus struct {
	Cluster uint64 // applied here
	Newest  uint64 // that this node knows
	// Older and Unheard are as in LevelAnswer, as this node knows the members.
	Older, Unheard []ballot.NodeID
	// RaisesIn is in how long the master raises it by itself, at the earliest, if Raises.
	RaisesIn time.Duration
	Raises   bool
}

// status returns the level for a status page, where level is applied.
func (v *levels) status(now time.Duration, level uint64, m *membersView) LevelStatus {
	s := LevelStatus{Cluster: level, Newest: v.cfg.Newest}
	if s.Cluster < s.Newest {
		s.Older, s.Unheard = v.blocking(now, s.Cluster, m)
	}
	s.RaisesIn, s.Raises = v.left(now, s.Cluster)
	return s
}
