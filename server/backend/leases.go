package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"tenure/internal/clock"
	"tenure/internal/ident"
	"tenure/lease"
	"tenure/lease/named"
	"tenure/server/replica/leases"
	"tenure/server/runner"
	"tenure/server/service"
)

// LeasesConfig is what a Leases is made of. All fields are required.
type LeasesConfig struct {
	Cluster ident.ClusterID
	Timing  lease.Timing
	Clock   *clock.Clock
	Clocks  *runner.Clocks
	Runner  *runner.Leases
}

// Leases acquires, renews, releases and shows named leases.
type Leases struct{ cfg LeasesConfig }

// NewLeases returns a Leases.
func NewLeases(c LeasesConfig) *Leases { return &Leases{cfg: c} }

// Lease carries out r. When ctx ends, a request that waits ends at once, and an attempt under way soon.
func (b *Leases) Lease(ctx context.Context, r service.LeaseCommand) (service.LeaseGrant, error) {
	a, err := b.cfg.Runner.Lease(ctx, leases.Request{
		Op: r.Op, Name: b.name(r.Name), Acquisition: r.Acquisition, Owner: r.Owner, Text: r.Name,
		Duration: r.TTL, Timeout: max(r.Timeout, 1), Wait: r.Wait,
	})
	switch refused := untaken(err); {
	case refused != nil:
		return service.LeaseGrant{}, refused
	case err != nil:
		return service.LeaseGrant{}, fmt.Errorf("%w: %w; the lease may have been granted, or may still be",
			service.ErrUnknown, err)
	}
	return b.grant(a)
}

// grant returns what the client is told.
func (b *Leases) grant(a leases.Answer) (service.LeaseGrant, error) {
	switch a.Outcome {
	case leases.Done:
		return service.LeaseGrant{Token: uint64(a.Token), Serial: a.Counter, Waited: b.cfg.Timing.AtLeast(a.Waited)}, nil
	case leases.Busy:
		return service.LeaseGrant{}, &service.LeaseBusyError{Owner: a.Owner, RetryAfter: a.RetryAfter}
	case leases.Gone:
		return service.LeaseGrant{}, service.ErrLeaseGone
	case leases.Unknown:
		return service.LeaseGrant{}, fmt.Errorf("%w: %s; the lease may have been granted, or may still be: try again with the "+
			"same Acquisition, through any node",
			service.ErrUnknown, a.Reason)
	}
	switch a.Reason {
	case leases.Silent:
		return service.LeaseGrant{}, &service.LeaseSilentError{Begins: a.RetryAfter}
	case leases.NoSpace:
		return service.LeaseGrant{}, fmt.Errorf("%w: %s; wait until some have ended, or start the nodes with a larger "+
			"--max-leases",
			service.ErrOverloaded, a.Reason)
	case leases.Distrusted:
		return service.LeaseGrant{}, fmt.Errorf("%w: this node takes no part in leases: %s; ask another node",
			service.ErrNotApplied, cmp.Or(b.cfg.Clocks.Problem(), a.Reason.String()))
	case leases.Overloaded:
		return service.LeaseGrant{}, fmt.Errorf("%w: %s; try again later", service.ErrOverloaded, a.Reason)
	}
	return service.LeaseGrant{}, fmt.Errorf("%w: %s%s; try again", service.ErrNotApplied, a.Reason, b.silence())
}

// silence tells of this node's own quarantine, the likely reason after a restart of all nodes.
func (b *Leases) silence() string {
	switch left := b.cfg.Runner.QuarantineLeft(b.cfg.Clock.Now()); {
	case left > 0:
		return fmt.Sprintf(" (after its restart this node keeps silent about them for another %v)",
			left.Round(100*time.Millisecond))
	case !b.cfg.Runner.View().Opened:
		return " (this node has no era of fencing tokens yet: the log must have a master to give one)"
	}
	return ""
}

// ShowLease returns what this node's acceptor knows of a name: a hint (L1).
func (b *Leases) ShowLease(name string) (service.LeaseHint, bool) {
	l, found := b.cfg.Runner.Show(b.name(name))
	if !found {
		return service.LeaseHint{}, false
	}
	return service.LeaseHint{Owner: l.Owner, Token: uint64(l.Token), Left: l.Left}, true
}

// name returns N1's name of fixed size: a hash under the cluster's ID.
func (b *Leases) name(name string) (h named.Name) {
	sum := sha256.Sum256(append(append([]byte(nil), b.cfg.Cluster[:]...), name...))
	copy(h[:], sum[:])
	return h
}
