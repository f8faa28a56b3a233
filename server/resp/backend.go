package resp

import (
	"context"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/web"
)

// Cluster is what a node knows of the members. It is safe for concurrent use.
type Cluster interface {
	// Status returns the node's view of itself and its peers.
	Status() api.Status
}

// Leases is the node's part for named leases; see web.Leases.
type Leases interface {
	Lease(ctx context.Context, r web.LeaseCommand) (web.LeaseGrant, error)
	ShowLease(name string) (web.LeaseHint, bool)
}

// Backend is the node as the Redis protocol sees it. All methods are safe for concurrent use, and answer within their
// timeout or soon after. Errors are those of a web.Backend.
type Backend interface {
	Cluster
	Leases
	web.Writer
	// GetMany reads keys in one state and calls each with every one in order, until it returns false. The entry of a
	// key that is absent has ModifyIndex 0. It may begin again with the first key. It returns the revision of that
	// state.
	GetMany(timeout time.Duration, mode web.Mode, keys []string, each func(i int, e kv.Entry) bool) (uint64, error)
	// Snapshot returns a consistent view of the whole state, which the caller closes.
	Snapshot(timeout time.Duration, mode web.Mode) (*kv.Snapshot, web.ReadMeta, error)
	// KeyCount returns how many keys there were a little while ago, as this node had applied them. known is false if they
	// were not counted yet.
	KeyCount() (keys int, known bool)
	// Remaining returns about how long the time that runs on name has left, if one is known to run.
	Remaining(kind kv.TimedKind, name string) (left time.Duration, runs bool)
}
