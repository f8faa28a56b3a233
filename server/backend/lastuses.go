package backend

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/server/runner"
	"tenure/server/service"
	"tenure/server/wire"
)

// A member gets usesWait to tell when tokens were last used there. At most maxGathered clients have all members asked
// at a time, and every one of these may ask every member: a member is silent only if it did not answer.
const (
	usesWait    = time.Second
	maxGathered = 16
	maxUses     = maxGathered * maxMembers // questions of that kind at a time
)

// LastUsesConfig is what a LastUses is made of. All fields are required.
type LastUsesConfig struct {
	Questions *Questions
	Members   *runner.Members
	// LastUsed returns when this node last allowed a token something; zero: not since it started.
	LastUsed func(accessor string) time.Time
}

// LastUses gathers when tokens were last used: each member knows of its own clients only.
type LastUses struct {
	cfg      LastUsesConfig
	asks     *kind[wire.Uses, wire.UsesTold]
	gathered atomic.Int64 // clients that have all members asked now
}

// NewLastUses returns a LastUses.
func NewLastUses(c LastUsesConfig) *LastUses {
	u := &LastUses{cfg: c}
	u.asks = newKind(c.Questions, wire.AskUses, maxUses, "ask again", u.told)
	return u
}

// TokenUses returns when the tokens with these accessors, at most api.MaxTokenUses, were last used on any member. A
// member that does not answer costs usesWait, and is named. The error is service.ErrOverloaded.
func (u *LastUses) TokenUses(accessors []string) (api.TokenUses, error) {
	defer u.gathered.Add(-1)
	if u.gathered.Add(1) > maxGathered {
		return api.TokenUses{}, fmt.Errorf("%w: %d clients have the members asked already", service.ErrOverloaded,
			maxGathered)
	}
	out := api.TokenUses{Uses: make([]api.TokenUse, len(accessors)), Silent: []uint64{}}
	for i, accessor := range accessors {
		out.Uses[i].Accessor = accessor
	}
	members := u.cfg.Members.Load().All()
	told := make([]wire.UsesTold, len(members))
	failed := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() { told[i], failed[i] = u.asks.ask(usesWait, m.Node, wire.Uses{Accessors: accessors}) })
	}
	all.Wait()
	for i, m := range members {
		if failed[i] != nil || len(told[i].AtMS) != len(accessors) {
			out.Silent = append(out.Silent, uint64(m.Node))
			continue
		}
		merge(out.Uses, m.Node, told[i].AtMS)
	}
	return out, nil
}

// merge takes over what a member tells of later uses. Clocks of members may differ, so that the member that is named is
// not for certain the one that was used last.
func merge(uses []api.TokenUse, node ballot.NodeID, atMS []int64) {
	for i, ms := range atMS {
		at := time.UnixMilli(ms).UTC()
		if use := &uses[i]; ms > 0 && (use.LastUsed == nil || at.After(*use.LastUsed)) {
			use.LastUsed, use.Node = &at, uint64(node)
		}
	}
}

// told answers for this node.
func (u *LastUses) told(_ time.Duration, asked wire.Uses) (wire.UsesTold, error) {
	accessors := asked.Accessors[:min(len(asked.Accessors), api.MaxTokenUses)]
	out := wire.UsesTold{AtMS: make([]int64, len(accessors))}
	for i, accessor := range accessors {
		if at := u.cfg.LastUsed(accessor); !at.IsZero() {
			out.AtMS[i] = at.UnixMilli()
		}
	}
	return out, nil
}
