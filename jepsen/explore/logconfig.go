package explore

import (
	"fmt"

	"tenure/internal/ballot"
	"tenure/internal/quorum"
	"tenure/multipaxos"
)

// LogConfig is a bounded world of log nodes. Any message that was ever sent may arrive any number of times, or never;
// each Persist becomes durable whenever it likes, and a crash loses those that are not. Time does not pass: what a tick
// would repeat is still there, and Marks are sent at any time. While a node owes the disk something no message
// arrives there twice.
type LogConfig struct {
	Name    string
	Nodes   int // voters, 1 to 3
	Leaders int // how many of them may lead
	Leads   int // attempts of each of those, in all its runs
	Slots   int // no value is proposed beyond this slot
	Values  int // proposed by a node in each run
	Crashes int // of all nodes together
	// FollowersCrash has none but those crash that never lead; Quiet has leaders send no Marks.
	FollowersCrash, Quiet bool
	// Members are the voters of each membership in turn: the first is that of the bootstrap, and a leader may propose the
	// one behind the newest. None: all nodes, and no changes. Who is not in the first knows nobody's membership at first.
	Members [][]ballot.NodeID
}

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c LogConfig) Validate() error {
	if c.Nodes < 1 || c.Nodes > 3 || c.Leaders < 1 || c.Leaders > c.Nodes || c.Leads < 1 || c.Slots < 1 ||
		c.Values < 1 || c.Crashes < 0 {
		return refused(c.Name, "%+v", c)
	}
	for _, ids := range c.Members {
		for _, id := range ids {
			if id < 1 || int(id) > c.Nodes {
				return refused(c.Name, "%+v", c)
			}
		}
	}
	return nil
}

// base is the membership that a node knows when it begins with an empty disk.
func (c LogConfig) base(node ballot.NodeID) multipaxos.Membership {
	if len(c.Members) == 0 {
		return multipaxos.Membership{Number: 1, Voters: voters(c.Nodes)}
	}
	first := quorum.Of(c.Members[0]...)
	if !first.Has(node) {
		return multipaxos.Membership{NonVoters: first.IDs()}
	}
	return multipaxos.Membership{Number: 1, Voters: first}
}

// membershipEntry is the value of the entry that brings a membership, by its number.
func membershipEntry(number uint64) []byte { return fmt.Appendf(nil, "M%d", number) }

// membershipOf is the membership that a value brings.
func (c LogConfig) membershipOf(value []byte) (multipaxos.Membership, bool) {
	for i, ids := range c.Members {
		if n := uint64(i + 1); i > 0 && string(value) == string(membershipEntry(n)) {
			return multipaxos.Membership{Number: n, Voters: quorum.Of(ids...)}, true
		}
	}
	return multipaxos.Membership{}, false
}

// logConfigs are the log's configurations by name.
var logConfigs = []LogConfig{
	{Name: "log-2-nodes", Nodes: 2, Leaders: 2, Leads: 1, Slots: 1, Values: 1},
	{Name: "log-2-nodes-crash", Nodes: 2, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Crashes: 1},
	{Name: "log-2-nodes-2-slots", Nodes: 2, Leaders: 2, Leads: 1, Slots: 2, Values: 2},
	{Name: "log-3-nodes", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1},
	{Name: "log-3-nodes-crash", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Crashes: 1},
	{Name: "log-3-nodes-quiet", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Quiet: true},
	{Name: "log-3-nodes-quiet-follower-crash", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Crashes: 1,
		FollowersCrash: true, Quiet: true},
	{Name: "log-2-nodes-change", Nodes: 2, Leaders: 2, Leads: 1, Slots: 2, Values: 1, Quiet: true,
		Members: [][]ballot.NodeID{{1}, {1, 2}}},
	{Name: "log-2-nodes-change-crash", Nodes: 2, Leaders: 2, Leads: 1, Slots: 2, Values: 1, Quiet: true, Crashes: 1,
		Members: [][]ballot.NodeID{{1}, {1, 2}}},
	{Name: "log-2-nodes-2-changes", Nodes: 2, Leaders: 2, Leads: 1, Slots: 3, Values: 1, Quiet: true,
		Members: [][]ballot.NodeID{{1}, {1, 2}, {2}}},
	{Name: "log-3-nodes-change", Nodes: 3, Leaders: 2, Leads: 1, Slots: 2, Values: 1, Quiet: true,
		Members: [][]ballot.NodeID{{1, 2}, {1, 2, 3}}},
	{Name: "log-3-nodes-2-changes", Nodes: 3, Leaders: 2, Leads: 1, Slots: 3, Values: 1, Quiet: true,
		Members: [][]ballot.NodeID{{1, 2}, {1, 2, 3}, {2, 3}}},
	{Name: "log-3-nodes-quiet-crash", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Crashes: 1, Quiet: true},
	{Name: "log-3-nodes-2-slots", Nodes: 3, Leaders: 2, Leads: 1, Slots: 2, Values: 2},
	{Name: "log-3-nodes-2-leads", Nodes: 3, Leaders: 2, Leads: 2, Slots: 1, Values: 1},
}

func (c LogConfig) label() string { return c.Name }

func (c LogConfig) says() string {
	s := fmt.Sprintf("nodes %d, leaders %d with %d attempts each, slots %d, crashes %d", c.Nodes, c.Leaders, c.Leads,
		c.Slots, c.Crashes)
	if len(c.Members) > 0 {
		s += fmt.Sprintf(", members %v", c.Members)
	}
	return s
}

func (c LogConfig) open() (model, narrator) {
	l := newLogModel(c)
	return l, &logTeller{l}
}
