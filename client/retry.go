package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"time"
)

const (
	firstBackoff = 10 * time.Millisecond
	maxBackoff   = 500 * time.Millisecond
	// minTryTime is the least time left for which another try is begun. One that the deadline cuts only adds doubt.
	minTryTime = 20 * time.Millisecond
	// maxLeastTry is the same for a write that had much time.
	maxLeastTry = 250 * time.Millisecond
)

// leastTry returns the least time left for which a try of a write is begun, if ctx bounds the whole call. In that time
// the node should find out that it cannot propose the write, and say so. A try cut by the deadline leaves the outcome
// in doubt, even if nothing was proposed.
func leastTry(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return minTryTime
	}
	return min(max(time.Until(end)/10, minTryTime), maxLeastTry)
}

// tries chooses the endpoint of each try of one call: the master's, if the call is for the master and that is known;
// then the preferred one, then the others without a wait, then all of them again after a random wait that grows. A node
// that named a time is not asked before it. Endpoints that are learned meanwhile are tried in the next round.
type tries struct {
	s       *sender
	list    []*endpoint // of this round, in order
	near    *endpoint   // the master's, which is first in list because of that; nil: none is
	master  bool        // the call is for the master
	tried   int         // tries in this round
	count   int         // tries so far
	backoff time.Duration
	least   time.Duration           // for which another try is begun; the first too, if it is above minTryTime
	rounds  int                     // that have ended
	retryAt map[*endpoint]time.Time // of nodes that have named a time
	last    error                   // how the last try failed
	reached reached
	others  map[*endpoint]bool // whose node is of another cluster, by its last answer

	// replaced: all of those that were given were. The call goes on in the other cluster.
	replaced bool
	// forgot: the call has gone on so. unserved: they have refused it again, although it named no cluster any more.
	// None of them serves anybody then, until an operator does something about them.
	forgot, unserved bool

	refused      int // tries in a row that met nobody, or failed because of TLS or of a wrong port
	missing      int // of those, whose name does not exist
	refusedSince time.Time
}

// tries begins the tries of one call.
func (s *sender) tries() *tries {
	return &tries{s: s, list: s.endpoints.inOrder(), backoff: firstBackoff, least: minTryTime}
}

// triesOf begins the tries of a call that sends r.
func (s *sender) triesOf(r request) *tries {
	t := s.tries()
	if r.isRead() {
		t.master = r.linearizable && s.cfg.ReadsAtMaster
	} else {
		t.master = !r.idempotent
	}
	if t.master {
		t.masterFirst()
	}
	return t
}

// masterFirst puts the master's endpoint before the others.
func (t *tries) masterFirst() {
	e := t.s.near.endpoint()
	i := slices.Index(t.list, e)
	if t.near = nil; i < 0 {
		return
	}
	t.near = e
	t.list = slices.Concat(t.list[i:i+1], t.list[:i], t.list[i+1:])
}

// next waits until the next try is due and returns its endpoint. It returns an error if there is none: ctx has ended,
// or would end before any node may be asked again.
func (t *tries) next(ctx context.Context) (*endpoint, error) {
	wait := time.Duration(0)
	if t.tried == len(t.list) {
		wait = t.backoff/2 + rand.N(t.backoff)
		t.backoff = min(2*t.backoff, maxBackoff)
		t.nextRound()
	}
	endpoint := t.list[t.tried]
	if len(t.retryAt) > 0 {
		var at time.Time
		endpoint, at = t.firstAllowed(time.Now().Add(wait))
		wait = max(wait, time.Until(at))
	}
	switch {
	case t.nobodyListens(wait):
		return nil, t.unreachable()
	case t.unserved && t.s.cfg.GiveUpRefused > 0:
		return nil, t.last
	}
	need := time.Duration(0)
	if t.count > 0 || t.least > minTryTime {
		need = t.least
	}
	if err := pause(ctx, wait, need); err != nil {
		if t.last == nil {
			return nil, err
		}
		err = fmt.Errorf("%w; gave up after %d tries: %w", t.last, t.count, err)
		return nil, t.reached.explain(err, t.s.endpoints.all())
	}
	t.tried++
	t.count++
	return endpoint, nil
}

// share returns by how many tries the time that is left should be shared, the one whose endpoint next has returned
// among them. A node that waits for a master must leave time to ask each of the others once, and those that are learned
// meanwhile.
func (t *tries) share() int {
	if t.rounds > 0 {
		return 1
	}
	return max(len(t.list)-t.tried+1, 2)
}

// another returns an endpoint that has not been tried in this round, to be asked beside the last one, or nil.
func (t *tries) another() *endpoint {
	for t.tried < len(t.list) {
		e := t.list[t.tried]
		t.tried++
		if !t.retryAt[e].After(time.Now()) {
			t.count++
			return e
		}
	}
	return nil
}

// nextRound begins another round, with the endpoints of now.
func (t *tries) nextRound() {
	t.tried = 0
	t.rounds++
	if t.master {
		t.list = t.s.endpoints.inOrder()
		t.masterFirst()
		return
	}
	all := t.s.endpoints.all()
	if len(all) != len(t.list) || slices.ContainsFunc(all, func(e *endpoint) bool { return !slices.Contains(t.list, e) }) {
		t.list = t.s.endpoints.inOrder()
	}
}

// nobodyListens reports whether to give up after another wait, because only refused connections were seen for
// Config.GiveUpRefused, or because no endpoint has a name that exists.
func (t *tries) nobodyListens(wait time.Duration) bool {
	limit := t.s.cfg.GiveUpRefused
	return limit > 0 && t.refused >= len(t.list) && !t.s.answered.Load() &&
		(t.missing == t.refused || time.Since(t.refusedSince)+wait > limit)
}

// unreachable returns how the last try has failed, as an ErrRefused or an ErrNoSuchHost if all endpoints have failed
// so.
func (t *tries) unreachable() error {
	switch {
	case t.refused < len(t.list):
		return t.last
	case t.missing == t.refused:
		return fmt.Errorf("%w: %w", ErrNoSuchHost, t.last)
	case t.missing > 0 || !errors.Is(t.last, syscall.ECONNREFUSED):
		return t.last
	}
	return fmt.Errorf("%w: %w", ErrRefused, t.last)
}

// noSuchHost reports whether err says that a name does not exist. A name server that does not answer, or cannot say, is
// no such error.
func noSuchHost(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e) && e.IsNotFound && !e.IsTemporary
}

// firstAllowed returns the next endpoint that may be asked at time at, or else the one that may be asked first, and
// since when it may be asked.
func (t *tries) firstAllowed(at time.Time) (*endpoint, time.Time) {
	best := t.list[t.tried]
	for i := range t.list {
		e := t.list[(t.tried+i)%len(t.list)]
		if !t.retryAt[e].After(at) {
			return e, t.retryAt[e]
		}
		if t.retryAt[e].Before(t.retryAt[best]) {
			best = e
		}
	}
	return best, t.retryAt[best]
}

// failed records that endpoint e was of no use, and makes other calls prefer the next one.
func (t *tries) failed(e *endpoint, err error) {
	t.last = t.reached.failed(e, err)
	missing := noSuchHost(err)
	if !missing && !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, ErrTLS) && !errors.Is(err, errWrongPort) {
		t.refused, t.missing = 0, 0
	} else if t.refused++; t.refused == 1 {
		t.refusedSince = time.Now()
	}
	if missing {
		t.missing++
	}
	t.s.endpoints.avoid(e)
	if e == t.near && (errors.Is(err, errMoved) || !errors.As(err, new(cutError))) {
		t.s.near.failed(e)
	}
	t.s.learner.failed()
	t.foundOther(e, isOtherCluster(err))
	var status *StatusError
	if !errors.As(err, &status) || status.RetryAfter <= 0 {
		return
	}
	if t.retryAt == nil {
		t.retryAt = map[*endpoint]time.Time{}
	}
	// The jitter keeps clients that were refused together from coming back together.
	t.retryAt[e] = time.Now().Add(status.RetryAfter + rand.N(status.RetryAfter/4))
}

// foundOther records whether the node at e is of another cluster than the one that is used. If those at all addresses
// that were given are, that one was replaced.
func (t *tries) foundOther(e *endpoint, other bool) {
	delete(t.others, e)
	if !other {
		return
	}
	if t.others == nil {
		t.others = map[*endpoint]bool{}
	}
	t.others[e] = true
	if !slices.ContainsFunc(t.s.endpoints.given(), func(e *endpoint) bool { return !t.others[e] }) {
		t.others, t.replaced = nil, true
		t.forgot, t.unserved = true, t.forgot
		t.s.replaced()
	}
}

// succeeded records that endpoint e has answered. What is not for the master stays where it goes, so that the master
// does not get all of that too.
func (t *tries) succeeded(e *endpoint) {
	if e != t.near {
		t.s.endpoints.prefer(e)
	}
}

// pause waits for d. If ctx ends before, or has less than need left after that, it returns an error without waiting.
func pause(ctx context.Context, d, need time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < d+need {
		return context.DeadlineExceeded
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
