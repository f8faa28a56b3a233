package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"tenure/lease/named"
	"tenure/server/replica"
	"tenure/server/web"
)

// Named leases as the HTTP API sees them: the rest of web.Backend.

// Lease carries out r. When ctx ends, a request that only waits ends too.
func (n *Node) Lease(ctx context.Context, r web.LeaseRequest) (web.LeaseGrant, error) {
	id, reply := n.nextID.Add(1), make(chan replica.LeaseAnswer, 1)
	if !n.named.inbox.putClient(namedEvent{reply: reply, LeasesEvent: replica.LeasesEvent{Request: &replica.LeaseRequest{
		ID: id, Op: leaseOps[r.Op], Name: n.leaseName(r.Name), Acquisition: r.Acquisition, Owner: r.Owner, Text: r.Name,
		Duration: r.TTL, Patience: max(r.Patience, 1), Wait: r.Wait,
	}}}) {
		return web.LeaseGrant{}, tooMany()
	}
	done := ctx.Done()
	for {
		select {
		case a := <-reply:
			return n.leaseGrant(&r, a)
		case <-done:
			done = nil
			n.named.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Cancel: id}})
		case <-n.ended:
			return web.LeaseGrant{}, fmt.Errorf("%w: this node is stopping; the lease may have been granted, or may still be", web.ErrUnknown)
		}
	}
}

var leaseOps = map[web.LeaseOp]replica.LeaseOp{
	web.LeaseAcquire: replica.LeaseAcquire, web.LeaseRenew: replica.LeaseRenew, web.LeaseRelease: replica.LeaseRelease,
}

// leaseGrant is what the client is told.
func (n *Node) leaseGrant(r *web.LeaseRequest, a replica.LeaseAnswer) (web.LeaseGrant, error) {
	switch a.Outcome {
	case replica.LeaseDone:
		return web.LeaseGrant{Token: uint64(a.Token), Serial: a.Counter, Waited: n.cfg.timing().AtLeast(a.Waited)}, nil
	case replica.LeaseBusy:
		return web.LeaseGrant{}, &web.LeaseBusyError{Owner: a.Owner, RetryAfter: a.RetryAfter}
	case replica.LeaseGone:
		return web.LeaseGrant{}, web.ErrLeaseGone
	case replica.LeaseUnknown:
		return web.LeaseGrant{}, fmt.Errorf("%w: %s; the lease may have been granted, or may still be: try again with the same Acquisition, through any node",
			web.ErrUnknown, a.Reason)
	}
	switch a.Reason {
	case replica.LeaseSilent:
		return web.LeaseGrant{}, &web.LeaseSilentError{Begins: a.RetryAfter}
	case replica.LeaseNoSpace:
		return web.LeaseGrant{}, fmt.Errorf("%w: %s; wait until some have ended, or start the nodes with a larger --max-leases", web.ErrOverloaded, a.Reason)
	case replica.LeaseOverloaded:
		return web.LeaseGrant{}, fmt.Errorf("%w: %s; try again later", web.ErrOverloaded, a.Reason)
	}
	return web.LeaseGrant{}, fmt.Errorf("%w: %s%s; try again", web.ErrNotApplied, a.Reason, n.silence())
}

// silence tells of this node's own quarantine, the likely reason after a restart of all nodes.
func (n *Node) silence() string {
	s := n.named.view.Load()
	switch left := n.named.quarantine - n.clock.Now(); {
	case left > 0:
		return fmt.Sprintf(" (after its restart this node keeps silent about them for another %v)", left.Round(100*time.Millisecond))
	case !s.Opened:
		return " (this node has no era of fencing tokens yet: the log must have a master to give one)"
	}
	return ""
}

// ShowLease is what this node's acceptor knows of a name: a hint (L1).
func (n *Node) ShowLease(name string) (l web.LeaseHint, found bool) {
	done := make(chan struct{})
	n.named.inbox.put(namedEvent{LeasesEvent: replica.LeasesEvent{Call: func(now time.Duration) {
		var r named.Lease
		if r, found = n.named.part.Live(now, n.leaseName(name)); found {
			l = web.LeaseHint{Owner: r.Owner, Token: uint64(r.Token), Left: r.Left}
		}
		close(done)
	}}})
	select {
	case <-done:
		return l, found
	case <-n.ended:
		return web.LeaseHint{}, false
	}
}

// leaseName is N1's name of fixed size: a hash under the cluster's id.
func (n *Node) leaseName(name string) (h named.Name) {
	sum := sha256.Sum256(append(append([]byte(nil), n.leaseKey...), name...))
	copy(h[:], sum[:])
	return h
}

// eraKey is the idempotency key of one question of this run for an era.
func (n *Node) eraKey() string {
	return fmt.Sprintf("tenure era %d.%d.%016x.%d", n.self.Node, n.self.Restart, n.self.Nonce, n.nextID.Add(1))
}

func (n *Node) revision() uint64 {
	n.stateMu.RLock()
	defer n.stateMu.RUnlock()
	return n.state.Revision()
}
