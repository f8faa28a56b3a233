package backend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/web"
	"tenure/server/wire"
)

// maxRaises bounds the requests to raise the level that wait at one node for the master's answer, and those that one node
// works on for others.
const maxRaises = 16

// UpgradesConfig is what an Upgrades is made of. All fields are required.
type UpgradesConfig struct {
	Self      ballot.NodeID
	FirstID   uint64 // of the requests that are passed on; another one in each run
	Members   *runner.Members
	Log       *runner.Log
	Lifecycle *runner.Lifecycle
	Send      runner.Sender
}

// Upgrades tells which feature level the cluster has, and has the master raise it.
type Upgrades struct {
	cfg    UpgradesConfig
	raises *questions[wire.Raised] // for the master
}

// NewUpgrades returns an Upgrades.
func NewUpgrades(c UpgradesConfig) *Upgrades {
	return &Upgrades{cfg: c, raises: newQuestions[wire.Raised](c.FirstID, maxRaises)}
}

// Upgrade returns what this node knows of the feature level.
func (u *Upgrades) Upgrade() api.Upgrade {
	v := u.cfg.Log.View()
	out := api.Upgrade{FeatureLevel: v.Level.Cluster, NewestLevel: v.Level.Newest, RaisesInMS: -1,
		Blocked: u.blocked(v.Level.Cluster, v.Level.Older, v.Level.Unheard)}
	if v.Level.Raises {
		out.RaisesInMS = millisecondsLeft(v.Level.RaisesIn)
	}
	for _, m := range u.cfg.Members.Load().All() {
		x := api.MemberLevel{Node: uint64(m.Node), Name: members.NameOf(m)}
		if m.Node == u.cfg.Self {
			x.Level, x.Heard = v.Level.Newest, true
		}
		for _, p := range v.Peers {
			if p.Node == m.Node {
				x.Level, x.Heard = p.Level, p.LevelTold
			}
		}
		out.Members = append(out.Members, x)
	}
	return out
}

// blocked says why the level cannot be raised above level, "" if it can be.
func (u *Upgrades) blocked(level uint64, older, unheard []ballot.NodeID) string {
	var parts []string
	if len(older) > 0 {
		parts = append(parts, fmt.Sprintf("%s a release that knows no feature level above %d: upgrade %s",
			u.named(older, "runs", "run"), level, itOrThem(older)))
	}
	if len(unheard) > 0 {
		parts = append(parts, fmt.Sprintf("%s not heard, so nobody knows which release that is: start %s, or remove %[2]s",
			u.named(unheard, "was", "were"), itOrThem(unheard)))
	}
	return strings.Join(parts, "; ")
}

// named names members, followed by a verb in the singular or the plural.
func (u *Upgrades) named(ids []ballot.NodeID, one, many string) string {
	m := u.cfg.Members.Load()
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprintf("node %d", id)
		if x, _, ok := m.Find(id); ok && x.Name != "" {
			names[i] += " (" + x.Name + ")"
		}
	}
	if len(names) == 1 {
		return names[0] + " " + one
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + " " + many
}

func itOrThem(ids []ballot.NodeID) string {
	if len(ids) == 1 {
		return "it"
	}
	return "them"
}

// FinishUpgrade has the master raise the feature level to the newest that this node knows, and waits until it is applied
// here.
func (u *Upgrades) FinishUpgrade(timeout time.Duration) (api.Upgrade, error) {
	end := time.Now().Add(timeout)
	asked := false
	for to := ballot.NodeID(0); ; {
		v := u.cfg.Log.View()
		if v.Level.Cluster >= v.Level.Newest {
			return u.Upgrade(), nil
		}
		left := time.Until(end)
		if left <= 0 {
			return u.Upgrade(), u.tooLate(asked)
		}
		if !asked {
			if to == 0 {
				to = v.Master
			}
			told, unknown, err := u.ask(left, to)
			if err != nil {
				return u.Upgrade(), err
			}
			if why := u.blocked(v.Level.Cluster, told.Older, told.Unheard); why != "" {
				return u.Upgrade(), &web.MemberError{Code: api.CodeMemberState, Text: "not raised: " + why}
			}
			to, asked = told.Master, told.Done || unknown
		}
		select {
		case <-u.cfg.Lifecycle.Ended():
			return u.Upgrade(), fmt.Errorf("%w: this node is stopping; ask another", web.ErrUnknown)
		case <-time.After(replica.TickEvery):
		}
	}
}

func (u *Upgrades) tooLate(asked bool) error {
	if asked {
		return fmt.Errorf("%w: the level is being raised, and this node has not applied it yet: look with kvctl upgrade status",
			web.ErrUnknown)
	}
	return fmt.Errorf("%w: no master is known; try again", web.ErrNotApplied)
}

// ask asks one node, this one if it is `to`. unknown: it may have raised the level.
func (u *Upgrades) ask(wait time.Duration, to ballot.NodeID) (told wire.Raised, unknown bool, err error) {
	switch to {
	case 0:
		return told, false, nil
	case u.cfg.Self:
		told, unknown = u.here(wait)
		return told, unknown, nil
	}
	told, how := u.raises.ask(wait, u.cfg.Lifecycle.Ended(), func(id uint64) bool {
		return u.cfg.Send.SendLog(to, wire.EncodeRaise(wire.Raise{ID: id}))
	})
	if how == tooMany {
		return told, false, fmt.Errorf("%w: %d requests to raise the feature level wait already", web.ErrOverloaded, maxRaises)
	}
	return told, how == unanswered, nil
}

// here asks this node's own log part.
func (u *Upgrades) here(wait time.Duration) (told wire.Raised, unknown bool) {
	r, err := u.cfg.Log.Raise(wait)
	if err != nil || r.Level == nil {
		return told, err != nil && err != runner.ErrOverloaded
	}
	return wire.Raised{Done: r.Outcome == replica.Done, Master: r.Level.Master, Older: r.Level.Older,
		Unheard: r.Level.Unheard}, false
}

// Asked answers a request that another node has passed on to this one. One too many is not answered.
func (u *Upgrades) Asked(from ballot.NodeID, r wire.Raise) {
	u.raises.work(func() {
		told, unknown := u.here(raiseWait)
		if told.ID = r.ID; !unknown {
			u.cfg.Send.SendLog(from, wire.EncodeRaised(&told))
		}
	})
}

// raiseWait bounds how long a request of another node is worked on.
const raiseWait = time.Second

// Told takes the master's answer to a request that was passed on.
func (u *Upgrades) Told(r wire.Raised) {
	r.Older, r.Unheard = shown(r.Older), shown(r.Unheard)
	u.raises.answer(r.ID, r)
}

// shown cuts a list of another node to what can be a cluster's.
func shown(ids []ballot.NodeID) []ballot.NodeID { return slices.Clip(ids[:min(len(ids), maxShown)]) }

// maxShown is more than the members of a cluster.
const maxShown = 64
