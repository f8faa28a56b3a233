package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// The bounds of leases, as every node has them.
const (
	MaxLeaseNameBytes  = 256
	MaxLeaseOwnerBytes = 128
	MinLeaseTTL        = 100 * time.Millisecond
	// MaxLeaseRenewals is how many leases are renewed in one request.
	MaxLeaseRenewals = 1024
)

// DefaultLeaseTTL is the TTL of a lease that names none.
const DefaultLeaseTTL = 10 * time.Second

// NoWaitLimit, as LeaseOptions.Wait, waits for a busy lease for as long as the context allows.
const NoWaitLimit = time.Duration(-1)

const (
	// leaseShare: that fraction of a TTL is left unused. The protocol itself allows for clocks whose rates err by as
	// much as the cluster is told (--clock-drift); this is for the time from the end of a lease to the moment at which
	// whoever waits for Lost runs, and for a clock here that is worse.
	leaseShare = 16
	// maxLeaseWait is for how long one node is asked to queue for a busy lease: a node that has fallen silent is left
	// after that.
	maxLeaseWait = 15 * time.Second
	// busyPause is between tries for a lease whose holder names no time, at most.
	busyPause = time.Second
	// giveUpTime is for telling the cluster that an acquisition was given up, beyond the end of its context. A call
	// that has less than four times of it takes a quarter of what it has.
	giveUpTime = time.Second
)

// LeaseOptions says how to acquire a lease.
type LeaseOptions struct {
	// Owner is for people: who holds the lease, up to 128 bytes. "": the host's name and the process's number.
	Owner string
	// TTL is how long the lease lasts without being renewed: from 100 ms to the cluster's --max-lease-time. 0:
	// DefaultLeaseTTL.
	TTL time.Duration
	// Wait is for how long to queue if somebody else holds the lease. 0: not at all; NoWaitLimit: as long as the
	// context allows.
	Wait time.Duration
	// Silent, if not nil, is called each time that a node says that no lease can be acquired yet, since the nodes have
	// restarted, before the call waits or gives up: to tell people why it takes so long.
	Silent func(*SilentError)
	// Acquisition makes this another try of an earlier GrantLease, maybe of another process, which chose this text (up
	// to 128 bytes, never used for anything else, and never again once it was released). "": one is drawn.
	Acquisition string
}

// LeaseGrant is one grant of a lease: what it takes to renew or release it, through any node and by any process.
type LeaseGrant struct {
	Name  string
	Owner string
	// Token is the fencing token. A later owner's is larger. It may grow with a renewal.
	Token uint64
	// Grant is for the next renewal or the release. It has no meaning here, and another one comes with every renewal.
	Grant string
	TTL   time.Duration
	// Left is what was left of the TTL when the call returned, counted from before its request on this machine's clock,
	// and without the share that is never used (see Lease). 0 or less: too late to be of use.
	Left time.Duration
}

// BusyError is what is known of the holder of a lease that was not to be had.
type BusyError struct {
	Owner string
	// RetryAfter is when the lease may be free, if it is not renewed; a hint.
	RetryAfter time.Duration
}

// Error names the holder.
func (e *BusyError) Error() string {
	if e.RetryAfter <= 0 {
		return fmt.Sprintf("it is held by %q", e.Owner)
	}
	return fmt.Sprintf("it is held by %q, for another %v unless renewed", e.Owner, e.RetryAfter.Round(time.Millisecond))
}

// SilentError: so many nodes have restarted that nobody can acquire a lease yet, since somebody may own it that they
// have forgotten. It comes with ErrBusy.
type SilentError struct {
	// Begins is for how long that lasts, by the node's clock when it answered.
	Begins time.Duration
}

// Error says for how long.
func (e *SilentError) Error() string {
	return fmt.Sprintf("leases begin in %v: the nodes have restarted, and keep silent about leases that they may have forgotten", e.Begins)
}

// AcquireLease acquires a lease and renews it until Release, or until it is lost. Its own time ends it, whatever
// deadline ctx has. The error is ErrBusy if somebody else holds it for longer than o.Wait (with a *BusyError), or if
// nobody can acquire leases for so long because the nodes have restarted (with a *SilentError); ErrUnknown if the
// cluster may have granted it all the same, so that the name may stay taken for a TTL. An acquisition that is given up
// is released, for which the call may take beyond ctx: a quarter of the time that it has, a second at most.
func (c *Client) AcquireLease(ctx context.Context, name string, o LeaseOptions) (*Lease, error) {
	if o.Acquisition != "" {
		return nil, &Error{Op: "acquire lease", Key: name, Kind: ErrInvalid, Err: errors.New("an acquisition of one's own is for GrantLease")}
	}
	a, err := c.newAcquisition(name, o)
	if err != nil {
		return nil, err
	}
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	l := &Lease{
		c: c, name: name, owner: a.o.Owner, ttl: a.o.TTL,
		lost: make(chan struct{}), hold: a.hold, grant: a.granted.Grant, place: noPlace,
	}
	c.keeper().add(l, a.asked)
	return l, nil
}

// GrantLease acquires a lease for one TTL, and leaves it to the caller to renew and release it: for scripts, which do
// that in another process. If o.Acquisition is given the same call may be made again after an ErrUnknown, and nothing
// is released when the call is given up. Other errors are as in AcquireLease.
func (c *Client) GrantLease(ctx context.Context, name string, o LeaseOptions) (LeaseGrant, error) {
	a, err := c.newAcquisition(name, o)
	if err != nil {
		return LeaseGrant{}, err
	}
	a.drawn = o.Acquisition == ""
	if err := a.run(ctx); err != nil {
		return LeaseGrant{}, err
	}
	g := a.granted
	g.Left = a.hold.Deadline() - a.now()
	return g, nil
}

// settle puts what the zero fields stand for in their place, or says what no node would take.
func (o *LeaseOptions) settle(name string) error {
	if o.Owner == "" {
		o.Owner = thisProcess()
	}
	if o.TTL == 0 {
		o.TTL = DefaultLeaseTTL
	}
	if o.Acquisition == "" {
		o.Acquisition = uuid.NewString()
	}
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

func checkLease(name, owner string) error {
	switch {
	case name == "" || len(name) > MaxLeaseNameBytes:
		return fmt.Errorf("the name has %d bytes: a lease's has 1 to %d", len(name), MaxLeaseNameBytes)
	case !utf8.ValidString(name):
		return errors.New("the name is not UTF-8")
	case len(owner) > MaxLeaseOwnerBytes || !utf8.ValidString(owner):
		return fmt.Errorf("the owner must be UTF-8 of at most %d bytes", MaxLeaseOwnerBytes)
	}
	return nil
}

// thisProcess is an owner's text for who gives none.
func thisProcess() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown host"
	}
	pid := fmt.Sprintf(", process %d", os.Getpid())
	return strings.ToValidUTF8(host[:min(len(host), MaxLeaseOwnerBytes-len(pid))], "") + pid
}

// lifeOf is how much of a TTL is used.
func lifeOf(ttl time.Duration) time.Duration { return ttl - ttl/leaseShare }
