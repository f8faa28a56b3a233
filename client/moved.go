package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// movedEvery is how long the master may be silent about a request that went to it first before another node is asked
// whether it still is the master, and how long until that is asked again. By default a change of master
// takes half a second, and Config.AttemptTimeout is two: without the question a write to a machine that is lost would
// take much longer than one that another node passes on.
const movedEvery = 250 * time.Millisecond

// errMoved: the master was silent, and another node names another one.
var errMoved = errors.New("it was silent, and another node is master now")

// exchangeBy is exchange with e, tries' next.
func (s *sender) exchangeBy(
	ctx context.Context, tries *tries, e *endpoint, r request,
) (a answer, sent bool, err error) {
	if e == tries.near {
		return s.exchangeAtMaster(ctx, e, r)
	}
	return s.exchange(ctx, e, r)
}

// exchangeAtMaster is exchange with e, which is tried because the master is there. It ends when another node says that
// another one is master. All that it begins has ended when it returns.
func (s *sender) exchangeAtMaster(ctx context.Context, e *endpoint, r request) (a answer, sent bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	over := make(chan struct{})
	timer := time.AfterFunc(movedEvery, func() {
		defer close(over)
		for ctx.Err() == nil && !s.near.moved(ctx, e) {
			if pause(ctx, movedEvery, 0) != nil {
				return
			}
		}
		cancel(errMoved)
	})
	defer func() {
		cancel(nil)
		if !timer.Stop() {
			<-over
		}
	}()
	return s.exchange(ctx, e, r)
}

// moved reports whether another master than the one at e was named. It asks another node, unless one was asked just
// now: however many requests wait, one question is on its way at most.
func (n *near) moved(ctx context.Context, e *endpoint) bool {
	last, now := n.asked.Load(), n.now()
	if now-last >= int64(movedEvery) && n.asked.CompareAndSwap(last, now) {
		n.ask(ctx, e)
	}
	master := n.master.Load()
	return master != 0 && master != e.member.Load()
}

// ask asks the next endpoint but e who is master.
func (n *near) ask(ctx context.Context, e *endpoint) {
	others := slices.DeleteFunc(slices.Clone(n.s.endpoints.all()), func(x *endpoint) bool { return x == e })
	if len(others) == 0 {
		return
	}
	other := others[int(n.turn.Add(1))%len(others)]
	ctx, cancel := context.WithTimeout(ctx, movedEvery)
	defer cancel()
	a, _, err := n.s.exchange(ctx, other, statusRequest)
	if err != nil || a.status != http.StatusOK {
		return
	}
	if st, err := decodeStatus(a); err == nil && st.Master != 0 && st.Cluster == n.s.cluster.known() {
		n.master.Store(st.Master)
	}
}
