package backend

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/members"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// maxRaises bounds the requests to raise the level that wait at one node for the master's answer, and those that one node
// works on for others.
const maxRaises = 16

// UpgradesConfig is what an Upgrades is made of. All fields are required.
type UpgradesConfig struct {
	Self      ballot.NodeID
	Questions *Questions
	Members   *runner.Members
	Log       *runner.Log
	Lifecycle *runner.Lifecycle
}

// Upgrades tells which feature level the cluster has, and has the master raise it.
type Upgrades struct {
	cfg    UpgradesConfig
	raises *kind[struct{}, struct{}] // by the master
}

// NewUpgrades returns an Upgrades.
func NewUpgrades(c UpgradesConfig) *Upgrades {
	u := &Upgrades{cfg: c}
	u.raises = newKind(c.Questions, wire.AskRaise, maxRaises, "look with kvctl upgrade status", u.raise)
	return u
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
		many = one
	}
	return listed(names) + " " + many
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
	reached := func() bool {
		v := u.cfg.Log.View()
		return v.Level.Cluster >= v.Level.Newest
	}
	if !reached() {
		// A master of an older release would answer that the level is reached: the newest that it knows is.
		if older := u.cfg.Log.View().Level.Older; len(older) > 0 {
			return u.Upgrade(), u.notRaised(older, nil)
		}
		// Of an unknown outcome the level itself tells.
		if _, err := u.raises.askMaster(timeout, struct{}{}); err != nil && !errors.Is(err, service.ErrUnknown) {
			return u.Upgrade(), err
		}
	}
	for !reached() {
		if time.Now().After(end) {
			return u.Upgrade(), fmt.Errorf("%w: the level is being raised, and this node has not applied it yet: look with kvctl "+
				"upgrade status", service.ErrUnknown)
		}
		select {
		case <-u.cfg.Lifecycle.Ended():
			return u.Upgrade(), fmt.Errorf("%w: this node is stopping; ask another", service.ErrUnknown)
		case <-time.After(replica.TickEvery):
		}
	}
	return u.Upgrade(), nil
}

// raise has this node's own log part raise the level.
func (u *Upgrades) raise(wait time.Duration, _ struct{}) (none struct{}, err error) {
	r, err := u.cfg.Log.Raise(wait)
	switch err := outcomeOf(err, r.Outcome); {
	case err != nil:
		return none, err
	case r.Level == nil:
		return none, notMaster(0)
	case r.Outcome == replica.Done:
		return none, nil
	}
	if len(r.Level.Older)+len(r.Level.Unheard) > 0 {
		return none, u.notRaised(r.Level.Older, r.Level.Unheard)
	}
	return none, notMaster(r.Level.Master)
}

// notRaised refuses to raise the level because of members in the way.
func (u *Upgrades) notRaised(older, unheard []ballot.NodeID) error {
	why := u.blocked(u.cfg.Log.View().Level.Cluster, older, unheard)
	return &service.Error{Code: api.CodeMemberState, Text: "not raised: " + why}
}
