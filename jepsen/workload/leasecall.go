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

// acquisition is one attempt to own a name, and what comes of it, as its client knows it.
type acquisition struct {
	name, owner, id string
	ttl             time.Duration
	grant           string // the newest
	hold            leasehold.Hold
}

func (a *acquisition) op(kind history.Kind) history.Op {
	return history.Op{Kind: kind, Key: a.name, Extra: history.Extra{Acquisition: a.id, TTL: a.ttl}}
}

// granted takes in what was done. It counts only as the hold says, by the times that are recorded.
func (a *acquisition) granted(op history.Op, g LeaseGrant) {
	if op.Grants() {
		a.grant = g.Grant
		a.hold.Take(op.Return, op.LeaseReply())
	}
}

// told is the operation's answer; err is that of the request.
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

// acquireLease asks for the lease, and waits for so long while somebody else owns it. An answer that takes longer than
// that and the lease together could not count.
func (w *worker) acquireLease(a *acquisition, wait time.Duration) history.Op {
	op, ask := a.op(history.LeaseAcquire), LeaseAsk{Owner: a.owner, TTL: a.ttl.String(), Acquisition: a.id}
	if wait > 0 {
		op.Mode, ask.Wait = "waiting", wait.String()
	}
	var g LeaseGrant
	op = w.do(op, func(ctx context.Context, op *history.Op) (err error) {
		ctx, cancel := context.WithTimeout(ctx, wait+a.ttl)
		defer cancel()
		g, err = w.leases.Acquire(ctx, a.name, ask)
		return a.told(op, &g, err)
	})
	a.granted(op, g)
	return op
}

// renewLease asks once, at one node, and for no longer than patience.
func (w *worker) renewLease(a *acquisition, patience time.Duration) {
	var g LeaseGrant
	op := w.do(a.op(history.LeaseRenew), func(ctx context.Context, op *history.Op) (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		g, err = w.leases.Renew(ctx, a.name, LeaseAsk{Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
		return a.told(op, &g, err)
	})
	a.granted(op, g)
}

// batchClients keeps the clients apart that the answers of a batch are filed under: a client has one operation at a
// time.
const batchClients = 1000

// renewLeases renews them all in one request.
func (w *worker) renewLeases(mine []*acquisition, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var asks []LeaseAsk
	for _, a := range mine {
		asks = append(asks, LeaseAsk{Name: a.name, Owner: a.owner, Grant: a.grant, TTL: a.ttl.String()})
	}
	call := w.rec.Now()
	grants, failed := w.leases.RenewAll(ctx, asks)
	end := w.rec.Now()
	for i, a := range mine {
		op, g, err := a.op(history.LeaseRenew), LeaseGrant{}, failed
		op.Client, op.Call, op.Return = w.id+i*batchClients, call, end
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
			op.Error = fmt.Sprintf("%.200s", err)
		}
		a.granted(op, g)
		w.rec.Add(op)
	}
}

// releaseLease stops owning, and then says so.
func (w *worker) releaseLease(a *acquisition) {
	a.hold.Release()
	ask := LeaseAsk{Owner: a.owner, Grant: a.grant}
	if a.grant == "" {
		ask.Acquisition = a.id
	}
	w.do(a.op(history.LeaseRelease), func(ctx context.Context, _ *history.Op) error { return w.leases.Release(ctx, a.name, ask) })
}
