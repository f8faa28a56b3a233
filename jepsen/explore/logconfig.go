package explore

import "fmt"

// LogConfig is a bounded world of log nodes. Any message that was ever sent may arrive any number of times, or never;
// each Persist becomes durable whenever it likes, and a crash loses those that are not. Time does not pass: what a tick
// would repeat is still there, and heartbeats are sent at any time. While a node owes the disk something no message
// arrives there twice.
type LogConfig struct {
	Name    string
	Nodes   int // voters, 1 to 3
	Leaders int // how many of them may lead
	Leads   int // attempts of each of those, in all its runs
	Slots   int // no value is proposed beyond this slot
	Values  int // proposed by a node in each run
	Crashes int // of all nodes together
	// FollowersCrash has none but those crash that never lead; Quiet has leaders send no heartbeats.
	FollowersCrash, Quiet bool
}

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c LogConfig) Validate() error {
	if c.Nodes < 1 || c.Nodes > 3 || c.Leaders < 1 || c.Leaders > c.Nodes || c.Leads < 1 || c.Slots < 1 ||
		c.Values < 1 || c.Crashes < 0 {
		return refused(c.Name, "%+v", c)
	}
	return nil
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
	{Name: "log-3-nodes-quiet-crash", Nodes: 3, Leaders: 2, Leads: 1, Slots: 1, Values: 1, Crashes: 1, Quiet: true},
	{Name: "log-3-nodes-2-slots", Nodes: 3, Leaders: 2, Leads: 1, Slots: 2, Values: 2},
	{Name: "log-3-nodes-2-leads", Nodes: 3, Leaders: 2, Leads: 2, Slots: 1, Values: 1},
}

func (c LogConfig) label() string { return c.Name }

func (c LogConfig) says() string {
	return fmt.Sprintf("nodes %d, leaders %d with %d attempts each, slots %d, crashes %d", c.Nodes, c.Leaders, c.Leads,
		c.Slots, c.Crashes)
}

func (c LogConfig) open() (model, narrator) {
	l := newLogModel(c)
	return l, &logTeller{l}
}
