package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenure/client"
	"tenure/internal/leasehold"
	"tenure/jepsen/history"
)

// leaseOps are the operations on named leases.
type leaseOps struct {
	*conn
	http LeaseConn // through conn.raw
}

// acquisition is one attempt to own a name, and its result as the client knows it.
type acquisition struct {
	name, owner, id string
	ttl             time.Duration
	grant           string // the newest
	hold            leasehold.Hold
}

func (a *acquisition) op(kind history.Kind) history.Op {
	return history.Op{Kind: kind, Key: a.name, Extra: history.Extra{Acquisition: a.id, TTL: a.ttl}}
}

// granted takes the grant of an operation. The hold decides whether it counts, by the times that are recorded.
func (a *acquisition) granted(op history.Op, g LeaseGrant) {
	if op.Grants() {
		a.grant = g.Grant
		a.hold.Take(op.Return, op.LeaseReply())
	}
}

// told records the answer to the request in op and returns the error of the operation.
func (a *acquisition) told(op *history.Op, g *LeaseGrant, err error) error {
	switch {
	case errors.Is(err, ErrLeaseBusy):
		return nil
	case errors.Is(err, ErrLeaseGone):
		op.Absent = true
		return nil
	case err == nil:
		op.Waited, err = g.Of(a.name, a.owner, a.ttl)
		op.Matched, op.Token = err == nil, g.Token
	}
	return err
}

// acquire asks for the lease, and waits for so long if somebody else owns it. An answer that takes longer than the wait
// and the TTL together could not be used.
func (l leaseOps) acquire(a *acquisition, wait time.Duration) history.Op {
	op, ask := a.op(history.LeaseAcquire), LeaseAsk{Owner: a.owner, TTL: a.ttl.String(), Acquisition: a.id}
	if wait > 0 {
		op.Mode, ask.Wait = "waiting", wait.String()
	}
	var g LeaseGrant
	op = l.do(op, func(ctx context.Context, op *history.Op) (err error) {
		ctx, cancel := context.WithTimeout(ctx, wait+a.ttl)
		defer cancel()
		g, err = l.http.Acquire(ctx, a.name, ask)
		return a.told(op, &g, err)
	})
	a.granted(op, g)
	return op
}

// renew asks one node once, and waits no longer than limit for its answer.
func (l leaseOps) renew(a *acquisition, limit time.Duration) {
	var g LeaseGrant
	op := l.do(a.op(history.LeaseRenew), func(ctx context.Context, op *history.Op) (err error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		g, err = l.http.Renew(ctx, a.name, LeaseAsk{Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
		return a.told(op, &g, err)
	})
	a.granted(op, g)
}

// batchClients is the distance between the clients under which the renewals of one request are recorded, because a
// client has one operation at a time.
const batchClients = 1000

// renewAll renews all of them in one request.
func (l leaseOps) renewAll(mine []*acquisition, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var asks []LeaseAsk
	for _, a := range mine {
		asks = append(asks, LeaseAsk{Name: a.name, Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
	}
	call := l.rec.Now()
	grants, failed := l.http.RenewAll(ctx, asks)
	end := l.rec.Now()
	for i, a := range mine {
		op, g, err := a.op(history.LeaseRenew), LeaseGrant{}, failed
		op.Client, op.Call, op.Return = l.id+i*batchClients, call, end
		if err == nil {
			g = grants[i]
		}
		switch {
		case g.Lost:
			err = ErrLeaseGone
		case g.Error != "":
			err = fmt.Errorf("%w: %s", client.ErrUnknown, g.Error)
		}
		err = a.told(&op, &g, err)
		if op.Outcome = outcome(err); err != nil {
			op.Error = errorText(err)
		}
		a.granted(op, g)
		l.rec.Add(op)
	}
}

// release stops owning the name, and then tells the cluster.
func (l leaseOps) release(a *acquisition) {
	a.hold.Release()
	ask := LeaseAsk{Owner: a.owner, Grant: a.grant}
	if a.grant == "" {
		ask.Acquisition = a.id
	}
	l.do(a.op(history.LeaseRelease), func(ctx context.Context, _ *history.Op) error {
		return l.http.Release(ctx, a.name, ask)
	})
}
