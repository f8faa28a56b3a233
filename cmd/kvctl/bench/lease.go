package bench

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"tenure/api"
)

// leaseOwner is the owner of every lease here.
const leaseOwner = "kvctl bench"

// leases is what the clients of a run on leases share. Names are of this run alone, so that it meets no lease of an
// earlier one.
type leases struct {
	run     string // part of all names
	acquire []byte // the body of an acquisition
	renew   []byte // that of a renewal, up to the grant
	next    atomic.Int64
	grants  []atomic.Pointer[[]byte] // by key: the newest (Keepalive only)
}

func newLeases(c Config) *leases {
	l := &leases{
		run:     strconv.FormatInt(time.Now().UnixMicro(), 36) + "-",
		acquire: fmt.Appendf(nil, `{"Owner":%q,"TTL":%q}`, leaseOwner, c.TTL),
		renew:   fmt.Appendf(nil, `{"Owner":%q,"Grant":"`, leaseOwner),
	}
	if c.Op == Keepalive {
		l.grants = make([]atomic.Pointer[[]byte], c.Keys)
	}
	return l
}

// leasePath sets the target to a command on the lease of number i.
func (w *worker) leasePath(i int, command string) []byte {
	t := append(append(append(w.target[:0], api.PathLease...), w.cfg.Prefix...), w.leases.run...)
	w.target = append(appendNumber(t, i), command...)
	return w.target
}

// lease does one operation on leases.
func (w *worker) lease(ctx context.Context, c *conn, now time.Time, key int) kind {
	if w.cfg.Op == Lease {
		return c.do(ctx, now, "POST", w.leasePath(int(w.leases.next.Add(1)), api.LeaseAcquire), w.leases.acquire)
	}
	grant := w.leases.grants[key].Load()
	if grant == nil {
		return condition // it was lost, and not acquired again yet
	}
	w.body = append(append(append(w.body[:0], w.leases.renew...), *grant...), `"}`...)
	return w.granted(c, key, c.do(ctx, now, "POST", w.leasePath(key, api.LeaseRenew), w.body))
}

// regain acquires a lease that is to be renewed, at first or because it was lost.
func (w *worker) regain(ctx context.Context, c *conn, now time.Time, key int) kind {
	if w.cfg.Op == Lease {
		return done // that of the failed operation was somebody else's; the next name is another
	}
	return w.granted(c, key, c.do(ctx, now, "POST", w.leasePath(key, api.LeaseAcquire), w.leases.acquire))
}

// granted notes the grant in an answer.
func (w *worker) granted(c *conn, key int, k kind) kind {
	if k != done {
		return k
	}
	const member = `"Grant":"`
	_, rest, found := bytes.Cut(c.reply.text, []byte(member))
	grant, _, ends := bytes.Cut(rest, []byte{'"'})
	if !found || !ends {
		return malformed
	}
	grant = bytes.Clone(grant)
	w.leases.grants[key].Store(&grant)
	return done
}
