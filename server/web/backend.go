package web

import (
	"context"
	"errors"
	"time"

	"tenure/internal/ballot"
	"tenure/kv"
)

// Mode is what a read promises.
type Mode uint8

// The read modes of the API.
const (
	Default    Mode = iota // linearizable while clock rates err by less than the configured drift
	Consistent             // linearizable without that assumption; costs a round of messages
	Stale                  // this node's applied state, as it is
)

// What a Backend reports instead of a result. Each is wrapped with what happened and what to do.
var (
	// ErrNotApplied: refused before anything was proposed; safe to retry (503).
	ErrNotApplied = errors.New("not applied")
	// ErrOverloaded: not applied, because too much waits already; come back later (503).
	ErrOverloaded = errors.New("not applied: overloaded")
	// ErrUnknown: the write may have been applied, or may still be (504).
	ErrUnknown = errors.New("outcome unknown")
	// ErrNoRoom: the disk's reserve or the quota is reached; deletes and reads go on (507).
	ErrNoRoom = errors.New("no room")
)

// ReadMeta describes the state that a read saw.
type ReadMeta struct {
	Revision    uint64        // of the whole store, 1 if nothing was ever written
	LastContact time.Duration // age of the last word from the master; 0 on the master
	KnownLeader bool
}

// Backend is the node as its HTTP API sees it. All methods are safe for concurrent use. Write, Get and Snapshot answer
// within patience, or soon after; that the client has hung up does not end them, since the wait is short and a context
// for each request costs more than the wait of the few.
type Backend interface {
	// Write has the command applied once, through the master wherever it is. Its error is one of the above. c.Value
	// is not used after Write returns, also when it returns early: the caller reads the next body into it.
	Write(patience time.Duration, c kv.Command) (kv.Result, error)
	// Get reads one key.
	Get(patience time.Duration, mode Mode, key string) (kv.Entry, bool, ReadMeta, error)
	// Snapshot is a consistent view for listings; the caller closes it.
	Snapshot(patience time.Duration, mode Mode) (*kv.Snapshot, ReadMeta, error)
	// Transfer asks the master to hand over, to node `to` if it is not 0. It returns soon after ctx ends.
	Transfer(ctx context.Context, to ballot.NodeID) error
	// Status is the node's view of itself and its peers. It never waits for the disk or the log.
	Status() Status
	// Ready is nil if the node knows a master that is ready, and is caught up; else it says what is missing.
	Ready() error
	// Full says which members are short of space, as this node knows it, or is "".
	Full() string
	// Peers lists the peer addresses of the members; Leader is the peer address of the master, or "".
	Peers() []string
	Leader() string
	Local
	Leases
}

// Local is what this node has applied, or measures, by itself: it may be behind the master, and never waits. Safe for
// concurrent use.
type Local interface {
	// Session is the session of that ID, if there is one.
	Session(id string) (kv.Session, bool)
	// Remaining is about how long the time runs on that name has; false if none is known to run.
	Remaining(kind kv.TimedKind, name string) (time.Duration, bool)
}

// Status is the body of GET /v1/status.
type Status struct {
	Cluster   string        `json:"cluster"`
	Node      ballot.NodeID `json:"node"`
	Version   string        `json:"version"`
	Role      string        `json:"role"` // master, follower, non-voter
	Master    ballot.NodeID `json:"master"`
	Epoch     uint64        `json:"epoch"` // slot of the opening entry of the newest mastership known here
	Lease     LeaseStatus   `json:"lease"`
	Promised  string        `json:"promised"`
	Chosen    uint64        `json:"chosen"`
	Applied   uint64        `json:"applied"`
	Folded    uint64        `json:"folded"`
	Truncated uint64        `json:"truncated"`
	Revision  uint64        `json:"revision"`
	Peers     []PeerStatus  `json:"peers"`
	Disk      DiskStatus    `json:"disk"`
	Guardian  Guardian      `json:"guardian"`
	Leases    LeasesStatus  `json:"leases"`
	Able      bool          `json:"able"` // this node could serve as master: its disk answers, it has space, it does not stand back
	// StandingBackMS is how long this node makes way for others yet, having let go of the master lease; at least 1 while its disk
	// has not answered since.
	StandingBackMS int64 `json:"standing_back_ms"`
	UptimeMS       int64 `json:"uptime_ms"`
	// Full lists the members whose disks are short of space, as this node knows it: itself, and those connected to it.
	Full []ballot.NodeID `json:"full"`
	// Problem says what keeps this node from working as it should: it takes no part, or its disk is short of space.
	Problem string `json:"problem,omitempty"`
}

// LeaseStatus is the lease as this node knows it: exact on its holder, a hint elsewhere (L1).
type LeaseStatus struct {
	Held         bool  `json:"held"` // by this node
	RemainingMS  int64 `json:"remaining_ms"`
	QuarantineMS int64 `json:"quarantine_ms"` // how long this node's acceptor stays silent yet (A4)
	// Changes are the last beginnings and ends of this node's own tenures in this run, oldest first.
	Changes []TenureChange `json:"changes"`
}

// The events of a TenureChange.
const (
	TenureWon  = "won"
	TenureLost = "lost"
)

// TenureChange is a beginning or an end of a tenure of the master lease by this node.
type TenureChange struct {
	Time   time.Time     `json:"time"`   // by this node's wall clock
	Event  string        `json:"event"`  // won or lost
	Cause  string        `json:"cause"`  // of a loss: why; of a win: how the tenure before ended
	Detail string        `json:"detail"` // the same as a sentence, for people
	Before ballot.NodeID `json:"before,omitempty"`
	// OwnerlessMS is, of a win, about how long nobody owned the lease; HeldMS is, of a loss, how long the tenure was.
	OwnerlessMS int64 `json:"ownerless_ms"`
	HeldMS      int64 `json:"held_ms"`
}

// LeasesStatus is this node's part for named leases.
type LeasesStatus struct {
	Records      int    `json:"records"`       // names that this node's acceptor remembers, live or not
	Waiting      int    `json:"waiting"`       // requests here that wait for a busy name
	Era          uint32 `json:"era"`           // of this run's tokens; 0: none yet, and no vote
	QuarantineMS int64  `json:"quarantine_ms"` // how long this node's acceptor stays silent about them yet (A4)
}

// Guardian is the process that outlives this node's and releases its lease (P7).
type Guardian struct {
	PID          int    `json:"pid"`               // 0: none runs
	Problem      string `json:"problem,omitempty"` // why none runs
	ReleasedHere uint64 `json:"released_here"`     // live lease records cleared on this node at the word of peers' guardians, in this run
}

// PeerStatus is another member as this node sees it.
type PeerStatus struct {
	Node          ballot.NodeID `json:"node"`
	PeerAddress   string        `json:"peer_address"`
	ClientAddress string        `json:"client_address"` // "" until it has connected once
	Connected     bool          `json:"connected"`
	Chosen        uint64        `json:"chosen"`
	LastHeardMS   int64         `json:"last_heard_ms"` // -1: never in this run
}

// DiskStatus is the use of the data directory's disk.
type DiskStatus struct {
	LogBytes   int64 `json:"log_bytes"`
	StateBytes int64 `json:"state_bytes"`
	FreeBytes  int64 `json:"free_bytes"`
	QuotaBytes int64 `json:"quota_bytes"` // 0: none
}
