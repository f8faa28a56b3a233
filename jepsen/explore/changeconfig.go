package explore

import (
	"fmt"
	"time"

	"tenure/internal/quorum"
	"tenure/lease"
)

// ChangeConfig is a bounded world of the master's lease with changing members. Proposers and acceptors learn of each
// membership at any time after it was chosen, or never, and a master proposes the next one. Requests arrive any number
// of times or never, each with its reply.
type ChangeConfig struct {
	Name string
	// Chain is the memberships one after the other, each with the acceptors that vote. An acceptor that joins has been
	// running all the time, and is not silent.
	Chain []quorum.Set
	// Lost, if not empty, is a second membership that was proposed for number 2, stored by anybody, and never chosen.
	Lost     quorum.Set
	Ballots  int  // highest counter a proposer may draw; it may skip some
	Draws    int  // ballots that each proposer draws
	Restarts int  // of acceptors, together
	Renew    bool // attempts while a lease is held
	Release  bool
	// Late makes acceptors go over to a membership only when the master counts them, and no more of them than it needs.
	// If each proposer makes one attempt only, Late hides no state: before going over, an acceptor takes everything
	// that it would take afterwards.
	Late bool
	// Drift has the clocks of proposers at rates 2 and 3, of acceptors at 3 and 2, and of the master at 3, with the ρ that
	// allows just this.
	Drift bool
}

// changeProposers is how many proposers there are.
const changeProposers = 2

// changeConfigs are the worlds of changing members by name: the lone one moves a cluster of one node to another one,
// the others are two steps over three to five nodes whose first and last memberships have majorities apart.
var changeConfigs = []ChangeConfig{
	{Name: "change-lone", Chain: chain("1", "12", "2"), Ballots: 2, Draws: 2, Renew: true, Release: true},
	{Name: "change-lone-restart", Chain: chain("1", "12", "2"), Ballots: 2, Draws: 2, Restarts: 2},
	{Name: "change-lone-drift", Chain: chain("1", "12", "2"), Ballots: 2, Draws: 2, Renew: true, Drift: true},
	{Name: "change-replace", Chain: chain("123", "1234", "134"), Ballots: 1, Draws: 1, Late: true},
	{Name: "change-replace-restart", Chain: chain("123", "1234", "134"), Ballots: 1, Draws: 1, Late: true, Restarts: 1},
	{Name: "change-replace-any", Chain: chain("123", "1234", "134"), Ballots: 1, Draws: 1},
	{Name: "change-replace-renewal", Chain: chain("123", "1234", "134"), Ballots: 2, Draws: 2, Renew: true},
	{Name: "change-grow", Chain: chain("123", "1234", "12345"), Ballots: 1, Draws: 1, Late: true},
	{Name: "change-shrink", Chain: chain("12345", "1234", "123"), Ballots: 1, Draws: 1, Late: true},
	{Name: "change-lost-lone", Chain: chain("12", "2"), Lost: quorum.Of(1), Ballots: 2, Draws: 2, Renew: true},
	{Name: "change-lost", Chain: chain("1234", "234"), Lost: quorum.Of(1, 2, 3), Ballots: 1, Draws: 1},
}

// chain returns memberships, each as the digits of its voters.
func chain(voters ...string) (sets []quorum.Set) {
	for _, v := range voters {
		sets = append(sets, nodeSet(v))
	}
	return sets
}

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c ChangeConfig) Validate() error {
	if len(c.Chain) < 1 || len(c.Chain) > maxChain || c.acceptors() > maxNodes || c.Ballots < 1 || c.Ballots > maxBallots ||
		c.Draws < 1 || c.Restarts < 0 || c.Restarts > 7 {
		return refused(c.Name, "%+v", c)
	}
	return nil
}

func (c ChangeConfig) label() string { return c.Name }

func (c ChangeConfig) says() string {
	s := fmt.Sprintf("members %s, 2 proposers, %d ballots", chainText(c.Chain), c.Ballots)
	if c.Lost.Len() > 0 {
		s += fmt.Sprintf(", %v was proposed and lost", c.Lost)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Restarts > 0, fmt.Sprintf("%d restarts", c.Restarts)}, {c.Renew, "renewal"}, {c.Release, "release"},
		{c.Late, "going over late"}, {c.Drift, "drift"}} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

func (c ChangeConfig) open() (model, narrator) {
	l := newChangeModel(c)
	return l, &changeTeller{l}
}

func (c ChangeConfig) acceptors() int {
	return highest(append(c.Chain[:len(c.Chain):len(c.Chain)], c.Lost))
}

// memberships returns the chain and, at its end, the lost one, if there is one.
func (c ChangeConfig) memberships() []quorum.Set {
	all := c.Chain[:len(c.Chain):len(c.Chain)]
	if c.Lost.Len() > 0 {
		all = append(all, c.Lost)
	}
	return all
}

// duration is D_P and M.
func (c ChangeConfig) duration() time.Duration {
	if c.Drift {
		return 2 * ms
	}
	return ms
}

func (c ChangeConfig) timing() lease.Timing {
	t := lease.Timing{MaxMaster: c.duration(), MaxUser: c.duration()}
	if c.Drift {
		t.DriftPPM = 200_000
	}
	return t
}

func (c ChangeConfig) proposerRate(i int) time.Duration {
	if c.Drift && i%2 == 0 {
		return 2 * ms
	}
	return c.masterRate()
}

func (c ChangeConfig) acceptorRate(i int) time.Duration {
	if c.Drift && i%2 == 1 {
		return 2 * ms
	}
	return c.masterRate()
}

func (c ChangeConfig) masterRate() time.Duration {
	if c.Drift {
		return 3 * ms
	}
	return ms
}
