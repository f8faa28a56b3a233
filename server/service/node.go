package service

import (
	"time"

	"tenure/api"
)

// Node is the node as the requests of clients see it. Whoever needs a part takes only that. All methods are safe for
// concurrent use. Methods with a timeout answer within it, or soon after. They do not end when the client hangs up: the
// wait is short, and a context for each request would cost more.
type Node interface {
	Reader
	Writer
	Local
	Leases
	Cluster
	Members
	Backups
	Upgrades
	Uses
	Health
	// Serves returns nil if the node may carry out requests, else the error to refuse them with. It never waits, and it
	// is called for every request.
	Serves() error
}

// Health says how the node is, to everybody.
type Health interface {
	// Ready returns nil if the node knows a master that is ready, and is caught up; else it says what is missing.
	Ready() error
	// Drained reports whether the node is drained and knows no master.
	Drained() bool
	// Full says which members are short of space, as this node knows it, or is "".
	Full() string
}

// Cluster is what the node knows of itself and its peers, for everybody.
type Cluster interface {
	// Status returns the node's view of itself and its peers. It never waits for the disk or the log.
	Status() api.Status
	// History returns how busy the node was in the last minutes. It never waits.
	History() api.History
	// Reports returns what each member says of itself. It waits for a moment for those that do not answer.
	Reports() api.Reports
	// ClusterID returns the id of the cluster, "" until this node is a member of one.
	ClusterID() string
	// Peers returns the peer addresses of the members.
	Peers() []string
	// Leader returns the peer address of the master, or "".
	Leader() string
	// Master returns the number of the master, 0 if this node knows none. It never waits, and it is called for nearly
	// every answer.
	Master() uint64
}

// Uses tells when tokens were last used.
type Uses interface {
	// TokenUses returns that of the tokens with these accessors, in their order, as the members tell it. It waits for a
	// moment for those that do not answer. The error is ErrOverloaded.
	TokenUses(accessors []string) (api.TokenUses, error)
}

// Upgrades tells which feature level the cluster has, and raises it.
type Upgrades interface {
	// Upgrade returns what this node knows of it. It never waits.
	Upgrade() api.Upgrade
	// FinishUpgrade has the master raise the level to the newest that this node knows, and waits until it is. A
	// *Error says which member stands in the way.
	FinishUpgrade(timeout time.Duration) (api.Upgrade, error)
}
