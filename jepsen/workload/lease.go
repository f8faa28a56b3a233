package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenure/client"
	"tenure/jepsen/check"
	"tenure/jepsen/history"
)

const (
	leaseTries  = 4 // requests for one grant
	leaseSteps  = 8 // of one shift, and one more for each lease
	leasePauses = 12
	lateWrites  = 5 // after a pause
	leaseRest   = 10 * time.Millisecond
	leaseWait   = 700 * time.Millisecond
	leaseLong   = 100 * time.Millisecond // with a TTL, longer than a name stays taken after its lease has ended

	// maxLease is the longest TTL. The quarantine after a restart is about as long.
	maxLease     = time.Second
	maxLeaseFlag = "--max-lease-time=1s"
)

var leaseTTLs = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, maxLease}

// leaseWorkload returns the workload of leases with so many names.
func leaseWorkload(name, says string, names int, fenced bool) Workload {
	w := Workload{
		Name: name, Says: says, Drive: leases(names, fenced), Flags: []string{maxLeaseFlag}, Timed: true,
		Check: func(ops []history.Op) check.Result { return check.Leases(ops, fenced) },
		Least: []Least{
			{check.Acquisitions, 20}, {check.Successions, 40}, {check.Contended, 40}, {check.Renewals, 40},
			{check.Outlived, 100},
		},
	}
	if fenced {
		w.Least = append(w.Least, Least{check.Refused, 400})
	} else {
		w.Shows = "writes of earlier owners after those of later ones were seen"
	}
	return w
}

// leases makes clients own some of the names at a time, and renew them through random nodes. While a client believes
// that it owns a name, it reads and then writes the key that the lease guards. Between the two it is sometimes paused
// for longer than its lease lives, and continues without a check. If fenced, each write carries the token of its lease.
// In the end the client releases its leases, or leaves them to expire.
func leases(names int, fenced bool) func(context.Context, Config, *history.Recorder) error {
	return func(ctx context.Context, cfg Config, rec *history.Recorder) error {
		return each(ctx, cfg, rec, func(w *worker) { w.shift(ctx, names, fenced) })
	}
}

// shift owns some names for a while.
func (w *worker) shift(ctx context.Context, names int, fenced bool) {
	mine := w.acquireSome(ctx, names)
	if len(mine) == 0 {
		w.gen.rest(4 * leaseRest)
		return
	}
	for range w.gen.IntN(leaseSteps) + len(mine) {
		mine = w.renewDue(mine)
		if len(mine) == 0 || ctx.Err() != nil {
			break
		}
		refused := w.writeUnder(mine, fenced)
		mine = slices.DeleteFunc(mine, func(a *acquisition) bool { return slices.Contains(refused, a) })
		w.gen.rest(leaseRest)
	}
	for _, a := range mine {
		if w.gen.IntN(6) > 0 {
			w.leases.release(a)
		} // else it expires
	}
}

// acquireSome asks for at least one name, and for so many that all clients together own half of the names.
func (w *worker) acquireSome(ctx context.Context, names int) (mine []*acquisition) {
	for range max(1, names/(2*w.cfg.Clients)) {
		a := &acquisition{
			name: fmt.Sprintf("leased/%d/lease", w.gen.IntN(names)), owner: fmt.Sprintf("client %d", w.id),
			id: fmt.Sprintf("%x/%s", w.cfg.Seed, w.gen.value()), ttl: leaseTTLs[w.gen.IntN(len(leaseTTLs))],
		}
		taken := slices.ContainsFunc(mine, func(b *acquisition) bool { return b.name == a.name })
		if !taken && ctx.Err() == nil && w.own(ctx, a) {
			mine = append(mine, a)
		}
	}
	return mine
}

// own reports whether a was granted. A request without an answer is tried again through another node, and so is one
// whose grant came too late to be used: the name belongs to this acquisition then.
func (w *worker) own(ctx context.Context, a *acquisition) bool {
	wait := time.Duration(0)
	if w.gen.IntN(3) == 0 {
		wait = leaseWait
	}
	for try := range leaseTries {
		op := w.leases.acquire(a, wait)
		if a.hold.Held(op.Return) {
			return true
		}
		if op.Outcome == history.OK && !op.Matched {
			if try > 0 {
				break
			}
			return false // no node can have granted it
		}
		if wait = 0; ctx.Err() != nil {
			break
		}
	}
	w.leases.release(a)
	return false
}

// renewDue renews the leases that have used a third of their time, and now and then others, through a random node and
// often several in one request. It returns the leases that are still held.
func (w *worker) renewDue(mine []*acquisition) []*acquisition {
	var due []*acquisition
	for _, a := range mine {
		if a.hold.Deadline()-w.conn.rec.Now() < a.ttl*2/3 || w.gen.IntN(4*len(mine)) == 0 {
			due = append(due, a)
		}
	}
	for len(due) > 0 {
		w.conn.raw.at = w.gen.IntN(len(w.conn.raw.endpoints))
		if len(due) > 1 && w.gen.IntN(4) > 0 {
			w.leases.renewAll(due, leaseTTLs[0]/3)
		} else {
			for _, a := range due {
				w.leases.renew(a, a.ttl/3)
			}
		}
		now := w.conn.rec.Now()
		due = slices.DeleteFunc(due, func(a *acquisition) bool {
			return !a.hold.Held(now) || a.hold.Deadline()-now >= a.ttl/2
		})
		if len(due) > 0 {
			w.gen.rest(leaseRest)
		}
	}
	now := w.conn.rec.Now()
	return slices.DeleteFunc(mine, func(a *acquisition) bool { return !a.hold.Held(now) })
}

// writeUnder reads and writes the key that a lease guards. If it is paused between the two, it writes under some of the
// other leases too. It returns the leases whose fence was refused.
func (w *worker) writeUnder(mine []*acquisition, fenced bool) (refused []*acquisition) {
	w.gen.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	under := mine[:1]
	w.keys.look(under[0].guarded())
	if w.gen.IntN(leasePauses+2*len(mine)) == 0 {
		time.Sleep(under[0].ttl + leaseLong + time.Duration(w.gen.Int64N(int64(under[0].ttl))))
		under = mine[:min(lateWrites, len(mine))]
	}
	for _, a := range under {
		fence := client.Fence{Name: "lease/" + a.name, Token: a.hold.Token()}
		if w.keys.guarded(a.guarded(), w.gen.value(), fence, fenced).Fenced {
			refused = append(refused, a)
		}
	}
	return refused
}

// guarded returns the key that the lease guards.
func (a *acquisition) guarded() string { return strings.TrimSuffix(a.name, "lease") + "guarded" }
