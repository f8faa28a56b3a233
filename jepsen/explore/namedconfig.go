package explore

import (
	"fmt"
	"time"

	"tenure/internal/quorum"
	"tenure/lease"
	"tenure/lease/named"
)

// NamedConfig is a bounded world of named leases: clients that acquire through nodes, and acceptors that a log gives
// eras. Any request or grant that was ever sent may arrive any number of times, or never; replies arrive at once or
// never, or travel too. Acceptors drop what they may at any time. All clocks tick alike: those that drift are in the
// random tests of lease/named.
type NamedConfig struct {
	Name         string
	Clients      int           // 1 or 2
	Nodes        int           // that clients ask, 1 or 2
	Acceptors    int           // 1 to 3
	Names        int           // 1, or 2: then the second client's first acquisition is of another name
	Acquisitions int           // of each client, one after the other
	Asks         int           // of each client in all: acquiring, renewing, trying again
	Ballots      int           // highest counter; a node may skip counters, as if it had seen a rejection
	Lease        time.Duration // D_P, and M if there is no LongLease
	LongLease    time.Duration // 0, or another D_P and M: then acceptors keep buckets (N4)
	Restarts     int           // of acceptors, together; each then needs an era of its own
	NodeRestarts int           // of the nodes that clients ask, together
	Renew        bool          // asks while the name is held
	Retry        bool          // asks again before any grant has come
	GiveUp       bool          // attempts end in the middle
	Withdraw     bool          // what attempts that won nothing left behind is undone
	Release      bool
	Sweep        bool
	LoseReplies  bool // a reply arrives at once or never
	Async        bool // replies travel
	OwnEras      bool // each acceptor begins in an era of its own
	UsedUp       bool // the first era has one token left
	// Chain, if not empty, is the memberships one after the other, each with the acceptors that vote (see ChangeConfig).
	Chain []quorum.Set
}

// namedConfigs are the configurations of named leases by name.
var namedConfigs = []NamedConfig{
	{Name: "named-base", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2, Lease: ms},
	{Name: "named-long-lease", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: 2 * ms},
	{Name: "named-sweep", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2, Lease: ms,
		Sweep: true},
	{Name: "named-own-eras", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, OwnEras: true, Sweep: true},
	{Name: "named-own-eras-retry", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 1,
		Lease: ms, OwnEras: true, Retry: true},
	{Name: "named-release", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: ms, Release: true},
	{Name: "named-release-sweep", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: ms, Release: true, Sweep: true},
	{Name: "named-withdraw", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: ms, GiveUp: true, Withdraw: true, LoseReplies: true},
	{Name: "named-retry", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2, Lease: ms,
		Retry: true, GiveUp: true, Withdraw: true},
	{Name: "named-renewal", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2,
		Lease: ms, Renew: true, GiveUp: true, Withdraw: true},
	{Name: "named-renewal-release", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2,
		Lease: ms, Renew: true, Release: true},
	{Name: "named-two-acquisitions", Clients: 2, Nodes: 1, Acceptors: 3, Names: 1, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, Release: true},
	{Name: "named-two-names", Clients: 2, Nodes: 1, Acceptors: 3, Names: 2, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, Sweep: true},
	{Name: "named-restart", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: ms, Restarts: 1},
	{Name: "named-restart-sweep", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 2,
		Lease: ms, Restarts: 1, Sweep: true},
	{Name: "named-restart-renewal", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2,
		Lease: ms, Restarts: 1, Renew: true},
	{Name: "named-two-restarts", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Restarts: 2},
	{Name: "named-era-used-up", Clients: 2, Nodes: 1, Acceptors: 3, Names: 1, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, Restarts: 1, UsedUp: true},
	{Name: "named-buckets", Clients: 2, Nodes: 1, Acceptors: 1, Names: 1, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, LongLease: 4 * ms, Restarts: 2},
	{Name: "named-buckets-lowered", Clients: 2, Nodes: 1, Acceptors: 1, Names: 1, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, LongLease: 2 * ms, Restarts: 1},
	{Name: "named-buckets-renewal", Clients: 2, Nodes: 1, Acceptors: 1, Names: 1, Acquisitions: 1, Asks: 3, Ballots: 3,
		Lease: ms, LongLease: 3 * ms, Restarts: 2, Renew: true},
	{Name: "named-buckets-release", Clients: 2, Nodes: 1, Acceptors: 1, Names: 1, Acquisitions: 2, Asks: 2, Ballots: 3,
		Lease: ms, LongLease: 2 * ms, Restarts: 1, Release: true, Sweep: true},
	{Name: "named-buckets-three", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, LongLease: 2 * ms, Restarts: 3},
	{Name: "named-late-replies", Clients: 2, Nodes: 2, Acceptors: 3, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Async: true},
	{Name: "named-node-restart", Clients: 2, Nodes: 1, Acceptors: 1, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2,
		Lease: ms, Retry: true, Async: true, NodeRestarts: 1},
	{Name: "named-change-lone", Clients: 2, Nodes: 2, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Chain: chain("1", "12", "2")},
	{Name: "named-change-lone-long", Clients: 2, Nodes: 2, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, LongLease: 2 * ms, Chain: chain("1", "12", "2")},
	{Name: "named-change-lone-renewal", Clients: 2, Nodes: 2, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 2, Ballots: 2,
		Lease: ms, Renew: true, Chain: chain("1", "12", "2")},
	{Name: "named-change-lone-restart", Clients: 2, Nodes: 2, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Restarts: 1, Chain: chain("1", "12", "2")},
	{Name: "named-change-lone-buckets", Clients: 2, Nodes: 2, Acceptors: 2, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, LongLease: 2 * ms, Restarts: 1, Chain: chain("1", "12", "2")},
	{Name: "named-change-replace", Clients: 2, Nodes: 2, Acceptors: 4, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Chain: chain("123", "1234", "134")},
	{Name: "named-change-grow", Clients: 2, Nodes: 2, Acceptors: 5, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Chain: chain("123", "1234", "12345")},
	{Name: "named-change-shrink", Clients: 2, Nodes: 2, Acceptors: 5, Names: 1, Acquisitions: 1, Asks: 1, Ballots: 1,
		Lease: ms, Chain: chain("12345", "1234", "123")},
}

// Validate returns an error that wraps ErrConfig if the world cannot be built.
func (c NamedConfig) Validate() error {
	if c.Clients < 1 || c.Clients > 2 || c.Nodes < 1 || c.Nodes > 2 || c.Acceptors < 1 || c.Acceptors > maxNodes ||
		c.Acceptors > maxAcceptors && len(c.Chain) == 0 || len(c.Chain) > maxChain ||
		c.Names < 1 || c.Names > 2 ||
		c.Acquisitions < 1 || c.Asks < c.Acquisitions || c.Ballots < 1 || c.Ballots > maxBallots || c.Lease < ms ||
		c.LongLease != 0 && c.LongLease <= c.Lease || c.Restarts < 0 || c.NodeRestarts < 0 {
		return refused(c.Name, "%+v", c)
	}
	return nil
}

func (c NamedConfig) says() string {
	s := fmt.Sprintf("clients %d with %d acquisitions and %d asks each, "+
		"nodes %d, acceptors %d, names %d, ballots %d, D_P %v",
		c.Clients, c.Acquisitions, c.Asks, c.Nodes, c.Acceptors, c.Names, c.Ballots, c.Lease)
	for _, f := range []struct {
		on   bool
		name string
	}{
		{c.Renew, "renewal"}, {c.Retry, "retry"}, {c.GiveUp, "giving up"}, {c.Withdraw, "withdrawal"}, {c.Release,
			"release"}, {c.Sweep, "sweep"},
		{len(c.Chain) > 0, "members " + chainText(c.Chain)},
		{c.LongLease > 0, fmt.Sprintf("or %v, with buckets", c.LongLease)}, {c.LoseReplies, "lost replies"}, {c.Async,
			"late replies"}, {c.OwnEras, "own eras"}, {c.UsedUp, "an era used up"},
		{c.Restarts > 0, fmt.Sprintf("%d restarts", c.Restarts)}, {c.NodeRestarts > 0,
			fmt.Sprintf("%d restarts of nodes", c.NodeRestarts)},
	} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

func (c NamedConfig) timing() lease.Timing {
	return lease.Timing{MaxMaster: c.Lease, MaxUser: max(c.Lease, c.LongLease)}
}

// ttl returns how long a lease an ask is for.
func (c NamedConfig) ttl(long uint32) time.Duration {
	if long != 0 {
		return c.LongLease
	}
	return c.Lease
}

// lease returns the number of the name that a client's acquisition is of.
func (c NamedConfig) lease(who, acquisition uint8) uint8 {
	if c.Names == 2 && who == 1 && acquisition == 1 {
		return 1
	}
	return 0
}

func leaseName(lease uint8) (n named.Name) {
	n[0] = lease + 1
	return n
}

func (c NamedConfig) label() string { return c.Name }

func (c NamedConfig) open() (model, narrator) {
	l := newNamedModel(c)
	return l, &namedTeller{l}
}
