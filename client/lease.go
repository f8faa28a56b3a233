package client

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"tenure/api"
)

// The bounds of leases, the same on every node.
const (
	MaxLeaseNameBytes  = api.MaxLeaseNameBytes
	MaxLeaseOwnerBytes = api.MaxLeaseOwnerBytes
	MinLeaseTTL        = api.MinLeaseTTL
	MaxLeaseRenewals   = api.MaxLeaseRenewals // in one request
)

// DefaultLeaseTTL is the TTL of a lease if none is given.
const DefaultLeaseTTL = 10 * time.Second

// NoWaitLimit, as LeaseOptions.Wait, waits for a busy lease as long as the context allows.
const NoWaitLimit = time.Duration(-1)

// leaseMargin is the fraction of a TTL that is not used. The protocol itself allows for clocks whose rates err by as
// much as the cluster is told (--clock-drift). The margin is for the time until a goroutine that waits for Lost runs,
// and for a clock here that is worse than that.
const leaseMargin = 16

// Leases acquires, renews and releases leases. A lease is a name with one owner at a time. It lives in the memory of
// the nodes and does not depend on any single one. Leases and sessions are independent of each other.
//
// Acquire is for programs: it keeps the lease renewed. Grant and the calls on a LeaseGrant are for programs that renew
// and release by themselves, perhaps in another process.
type Leases struct {
	s       *sender
	now     func() time.Duration
	renewer *renewer
}

// LeaseOptions says how to acquire a lease.
type LeaseOptions struct {
	// Owner says for people who holds the lease, in up to 128 bytes. "": the name of the host and the process ID.
	Owner string
	// TTL is how long the lease lasts without a renewal: from 100 ms to the cluster's --max-lease-time. 0:
	// DefaultLeaseTTL.
	TTL time.Duration
	// Wait is how long to wait if somebody else holds the lease. 0: not at all; NoWaitLimit: as long as the context
	// allows.
	Wait time.Duration
	// OnQuarantine, if not nil, is called each time that a node answers that no lease can be granted yet, before the
	// call waits or gives up. Programs can tell people why it takes so long.
	OnQuarantine func(*QuarantineError)
	// Acquisition makes this another try of an earlier Grant, perhaps by another process that chose this text: up to
	// 128 bytes, never used for another acquisition, and not used again after its release. "": a random one.
	Acquisition string
}

// LeaseGrant is one grant of a lease. Any process can renew or release the lease with it, through any node.
type LeaseGrant struct {
	Name  string
	Owner string
	// Token is the fencing token. That of a later owner is larger. It may grow with a renewal.
	Token uint64
	// Grant is for the next renewal or the release. It is opaque, and every renewal returns another one.
	Grant string
	TTL   time.Duration
	// Left is how long the lease lasted when the call returned, counted from before its request on this machine's
	// clock, without the part of the TTL that is not used (see Lease). If it is 0 or less, the grant came too late to
	// be used.
	Left time.Duration
}

// LeaseInfo is what one node knows of a lease. It is a hint: the owner may have renewed or released the lease through
// other nodes. The Token must not be used as a fence, because it may be that of the next owner.
type LeaseInfo struct {
	Name      string
	Owner     string
	Token     uint64
	Remaining time.Duration
}

// BusyError describes the holder of a lease that could not be acquired. It comes with ErrBusy.
type BusyError struct {
	Owner string
	// RetryAfter is when the lease ends unless it is renewed; a hint.
	RetryAfter time.Duration
}

// Error names the holder.
func (e *BusyError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("it is held by %q", e.Owner)
	}
	return fmt.Sprintf("it is held by %q, for another %v unless renewed", e.Owner, e.RetryAfter.Round(time.Millisecond))
}

// QuarantineError says that no lease can be granted yet: after restarts, the nodes that remember the leases' owners are
// no majority. It comes with ErrBusy.
type QuarantineError struct {
	// Remaining is how long that lasts, by the clock of the node that answered.
	Remaining time.Duration
}

// Error says how long to wait.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("no lease can be granted for another %v, because nodes have restarted and may have forgotten "+
		"leases that are still held: try again then", e.Remaining)
}

// setDefaults fills zero fields.
func (o *LeaseOptions) setDefaults() {
	if o.Owner == "" {
		o.Owner = defaultOwner()
	}
	o.TTL = cmp.Or(o.TTL, DefaultLeaseTTL)
	if o.Acquisition == "" {
		o.Acquisition = uuid.NewString()
	}
}

// check returns an error for a lease of that name with these options if every node would refuse it.
func (o *LeaseOptions) check(name string) error {
	switch {
	case o.TTL < MinLeaseTTL:
		return fmt.Errorf("the TTL is %v: it must be %v at least", o.TTL, MinLeaseTTL)
	case o.Wait < 0 && o.Wait != NoWaitLimit:
		return fmt.Errorf("the wait is %v: it must not be negative", o.Wait)
	case len(o.Acquisition) > MaxLeaseOwnerBytes || !utf8.ValidString(o.Acquisition):
		return fmt.Errorf("the acquisition must be UTF-8 of at most %d bytes", MaxLeaseOwnerBytes)
	}
	return checkLease(name, o.Owner)
}

// checkLease returns an error for a name and an owner that every node would refuse.
func checkLease(name, owner string) error {
	switch {
	case name == "" || len(name) > MaxLeaseNameBytes:
		return fmt.Errorf("the name has %d bytes: that of a lease has 1 to %d", len(name), MaxLeaseNameBytes)
	case !utf8.ValidString(name):
		return errors.New("the name is not UTF-8")
	case len(owner) > MaxLeaseOwnerBytes || !utf8.ValidString(owner):
		return fmt.Errorf("the owner must be UTF-8 of at most %d bytes", MaxLeaseOwnerBytes)
	}
	return nil
}

// defaultOwner names the owner when the caller gives no name.
func defaultOwner() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown host"
	}
	pid := fmt.Sprintf(", process %d", os.Getpid())
	return strings.ToValidUTF8(host[:min(len(host), MaxLeaseOwnerBytes-len(pid))], "") + pid
}

// usableTTL returns how much of a TTL is used.
func usableTTL(ttl time.Duration) time.Duration { return ttl - ttl/leaseMargin }
