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
	leaseLong   = 100 * time.Millisecond // more than what an exclusion is longer than its lease, with a TTL on top

	// leaseMost bounds what is asked for, so that the silence after a restart is short.
	leaseMost     = time.Second
	leaseMostFlag = "--max-lease-time=1s"
)

var leaseTTLs = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, leaseMost}

// leaseWorkload is the one with so many names.
func leaseWorkload(name, says string, names int, fenced bool) Workload {
	w := Workload{Name: name, Says: says, Drive: leases(names, fenced), Flags: []string{leaseMostFlag}, Timed: true,
		Check: func(ops []history.Op) check.Result { return check.Leases(ops, fenced) },
		Least: []Least{{check.Acquisitions, 20}, {check.Successions, 40}, {check.Contended, 40}, {check.Renewals, 40}, {check.Outlived, 100}}}
	if fenced {
		w.Least = append(w.Least, Least{check.Refused, 400})
	} else {
		w.Shows = "writes of earlier owners after those of later ones were seen"
	}
	return w
}

// leases: clients own some of the names together, and renew them through random nodes. While they believe to own one
// they write what it guards, each time in two steps: read, then write. Between the two a client is sometimes paused for
// longer than its lease lives, and goes on without looking. If fenced, each write carries the token of its lease. In
// the end it releases what it owns, or walks away.
func leases(names int, fenced bool) func(context.Context, Config, *history.Recorder) error {
	return func(ctx context.Context, cfg Config, rec *history.Recorder) error {
		return each(ctx, cfg, rec, func(w *worker) { w.shift(ctx, names, fenced) })
	}
}

// shift owns some names for a while.
func (w *worker) shift(ctx context.Context, names int, fenced bool) {
	mine := w.acquireSome(ctx, names)
	if len(mine) == 0 {
		w.rest(4 * leaseRest)
		return
	}
	for range w.random.IntN(leaseSteps) + len(mine) {
		mine = w.keep(mine)
		if len(mine) == 0 || ctx.Err() != nil {
			break
		}
		refused := w.writeUnder(mine, fenced)
		mine = slices.DeleteFunc(mine, func(a *acquisition) bool { return slices.Contains(refused, a) })
		w.rest(leaseRest)
	}
	for _, a := range mine {
		if w.random.IntN(6) > 0 {
			w.releaseLease(a)
		} // else it is left to its end
	}
}

// acquireSome asks for as many names as make half of them owned when all clients are at work, and at least one.
func (w *worker) acquireSome(ctx context.Context, names int) (mine []*acquisition) {
	for range max(1, names/(2*w.cfg.Clients)) {
		a := &acquisition{name: fmt.Sprintf("leased/%d/lease", w.random.IntN(names)), owner: fmt.Sprintf("client %d", w.id),
			id: fmt.Sprintf("%x/%s", w.cfg.Seed, w.word()), ttl: leaseTTLs[w.random.IntN(len(leaseTTLs))]}
		taken := slices.ContainsFunc(mine, func(b *acquisition) bool { return b.name == a.name })
		if !taken && ctx.Err() == nil && w.own(ctx, a) {
			mine = append(mine, a)
		}
	}
	return mine
}

// own tries to own. One that has no answer is tried again, through another node; so is a grant that came too late,
// after a long wait, to count: the name is this acquisition's now.
func (w *worker) own(ctx context.Context, a *acquisition) bool {
	wait := time.Duration(0)
	if w.random.IntN(3) == 0 {
		wait = leaseWait
	}
	for try := range leaseTries {
		op := w.acquireLease(a, wait)
		if a.hold.Held(op.Return) {
			return true
		}
		if op.Outcome == history.OK && !op.Matched {
			if try > 0 {
				break
			}
			return false // nothing of it can be left anywhere
		}
		if wait = 0; ctx.Err() != nil {
			break
		}
	}
	w.releaseLease(a)
	return false
}

// keep renews those of which a third of the time is gone, and now and then others, each time through a random node and
// together if there are several; and lets go of those that are lost.
func (w *worker) keep(mine []*acquisition) []*acquisition {
	var due []*acquisition
	for _, a := range mine {
		if a.hold.Deadline()-w.rec.Now() < a.ttl*2/3 || w.random.IntN(4*len(mine)) == 0 {
			due = append(due, a)
		}
	}
	for len(due) > 0 {
		w.raw.at = w.random.IntN(len(w.raw.endpoints))
		if len(due) > 1 && w.random.IntN(4) > 0 {
			w.renewLeases(due, leaseTTLs[0]/3)
		} else {
			for _, a := range due {
				w.renewLease(a, a.ttl/3)
			}
		}
		now := w.rec.Now()
		due = slices.DeleteFunc(due, func(a *acquisition) bool { return !a.hold.Held(now) || a.hold.Deadline()-now >= a.ttl/2 })
		if len(due) > 0 {
			w.rest(leaseRest)
		}
	}
	now := w.rec.Now()
	return slices.DeleteFunc(mine, func(a *acquisition) bool { return !a.hold.Held(now) })
}

// writeUnder writes what a lease guards, in two steps. If it is paused between them, it writes under some of the others
// too. It returns those that a fence refused.
func (w *worker) writeUnder(mine []*acquisition, fenced bool) (refused []*acquisition) {
	w.random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
	under := mine[:1]
	w.look(under[0].guarded())
	if w.random.IntN(leasePauses+2*len(mine)) == 0 {
		time.Sleep(under[0].ttl + leaseLong + time.Duration(w.random.Int64N(int64(under[0].ttl))))
		under = mine[:min(lateWrites, len(mine))]
	}
	for _, a := range under {
		if w.guarded(a.guarded(), w.word(), client.Fence{Name: "lease/" + a.name, Token: a.hold.Token()}, fenced).Fenced {
			refused = append(refused, a)
		}
	}
	return refused
}

// guarded is the key that the lease guards.
func (a *acquisition) guarded() string { return strings.TrimSuffix(a.name, "lease") + "guarded" }
