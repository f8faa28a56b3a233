package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"tenure/internal/clock"
)

const (
	// maxIdleConnsPerHost is how many calls to one node can be in flight together without a new connection for each.
	maxIdleConnsPerHost = 2048
	idleConnTimeout     = 60 * time.Second
)

// sender sends requests to the nodes of one cluster and tries them again. All calls of a Client share one.
type sender struct {
	secure    *secure
	cfg       Config
	endpoints *endpoints
	learner   *learner
	near      *near
	transport *http.Transport
	token     *token
	answered  atomic.Bool // some endpoint has answered
	revision  revisionSeen
	cluster   cluster
}

func newSender(cfg Config) (*sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.setDefaults()
	list, err := newEndpoints(cfg.Endpoints, cfg.scheme())
	if err != nil {
		return nil, err
	}
	token, err := newToken(&cfg)
	if err != nil {
		return nil, err
	}
	s := &sender{cfg: cfg, endpoints: list, token: token}
	cfg.DialContext = countBytes(cfg.DialContext)
	secure, err := newSecure(&cfg)
	if err != nil {
		return nil, err
	}
	s.secure, s.learner, s.near = secure, newLearner(s), newNear(s)
	// No proxy from the environment: an endpoint is one node, and a proxy would hide which node has failed.
	s.transport = &http.Transport{
		DialContext:         cfg.DialContext,
		DialTLSContext:      secure.dial,
		MaxIdleConnsPerHost: maxIdleConnsPerHost,
		IdleConnTimeout:     idleConnTimeout,
		DisableCompression:  true,
	}
	return s, nil
}

// elapsedClock returns a function that reads a clock which goes on while the machine sleeps. The clock is opened at the
// first reading, because that needs a kernel that has one.
func elapsedClock() func() time.Duration {
	open := sync.OnceValue(clock.New)
	return func() time.Duration { return open().Now() }
}

// bounded returns ctx with the configured timeout if it has no deadline.
func (s *sender) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.cfg.Timeout)
}

// get sends one read, tried again until decode accepts the answer or ctx ends.
func (s *sender) get(ctx context.Context, op, key string, r request, decode func(answer) error) (answer, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	r.method = http.MethodGet
	return s.readBy(ctx, s.triesOf(r), op, key, func() request { return r }, decode)
}

// read sends the requests returned by next until decode accepts a node's answer, or no other node would answer
// differently, or ctx ends. ctx must have a deadline. An answer that does not come from a node counts as none. decode
// sees answers of 200, and those that report an absent key.
func (s *sender) read(
	ctx context.Context, op, key string, next func() request, decode func(answer) error,
) (answer, error) {
	return s.readBy(ctx, s.tries(), op, key, next, decode)
}

// readBy is read with tries that have just begun.
func (s *sender) readBy(
	ctx context.Context, tries *tries, op, key string, next func() request, decode func(answer) error,
) (answer, error) {
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return answer{}, &Error{Op: op, Key: key, Kind: ErrUnavailable, Err: err}
		}
		r := next()
		r.share = tries.share()
		x := s.exchangeRead(ctx, tries, e, r)
		e, a, err := x.endpoint, x.answer, x.err
		switch {
		case errors.Is(err, errAnswerTooLarge):
			return answer{}, &Error{Op: op, Key: key, Kind: ErrTooLarge, Err: err}
		case err != nil:
		case !a.ofNode() && !(r.unmarked && a.status == http.StatusOK):
			err = a.inconclusive()
		case a.status == http.StatusOK || a.absent():
			if err = decode(a); err == nil {
				tries.succeeded(e)
				return a, nil
			}
			err = fmt.Errorf("%s: %w", a.endpoint, err)
		case kindOfRefusal(a.code()) != nil:
			return answer{}, &Error{Op: op, Key: key, Kind: kindOfRefusal(a.code()), Err: a.err()}
		default:
			err = a.err()
		}
		tries.failed(e, err)
	}
}

// kindWithoutBase returns the kind of error for a write that was not sent, because err kept its base from being read.
func kindWithoutBase(err error) error {
	for _, kind := range [...]error{ErrDenied, ErrUnknownToken, ErrForbidden} {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return ErrNotApplied
}

// write sends one write, tried again until its outcome is decided or ctx ends. Every try carries the same Once, unless
// another store has taken the place of the one that its base is from. The kind of the error is true of all tries
// together: once one try is unknown, only an answer that decides the write is trusted.
func (s *sender) write(ctx context.Context, op, key string, r request, once Once) (answer, error) {
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	least := leastTry(ctx)
	doubt := once.Key != "" && !once.New
	fixed := doubt || r.idempotent // there is no base, or it is that of an earlier run
	if fixed {
		s.findLive(ctx)
	} else { // the base is a read
		base, err := s.base(ctx)
		if err != nil {
			return answer{}, &Error{Op: op, Key: key, Kind: kindWithoutBase(err), Err: cause(err)}
		}
		once = Once{Key: once.Key, Base: base}
		if once.Key == "" {
			once.Key = uuid.NewString()
		}
	}
	r.once = once
	fail := func(kind, err error) (answer, error) {
		return answer{}, &Error{Op: op, Key: key, Kind: kind, Err: err, Once: once}
	}
	tries := s.triesOf(r)
	tries.least = least
	for rebased := false; ; {
		e, err := tries.next(ctx)
		if err != nil && doubt {
			return fail(ErrUnknown, err)
		} else if err != nil {
			return fail(ErrNotApplied, err)
		}
		r.share = tries.share()
		a, sent, err := s.exchangeBy(ctx, tries, e, r)
		o := classify(a, sent, err, r.interpret)
		if err == nil && once.Key != "" && !a.ofNode() {
			o = outcome{class: unknown, err: a.inconclusive()}
		}
		switch {
		case o.class == decided:
			tries.succeeded(e)
			if o.kind == nil {
				return a, nil
			}
			return fail(o.kind, o.err)
		case o.class == forgotten:
			return fail(ErrUnknown, o.err)
		case o.class == refused && doubt && o.kind == ErrNoSpace:
			// This copy was refused, but an earlier one may be applied. A try that finds space again decides it.
		case o.class == refused && doubt:
			return fail(ErrUnknown, o.err)
		case o.class == refused && !rebased && s.revision.startOver(a, once.Base):
			base, _ := s.revision.newest()
			once.Base, rebased = base, true
			r.once = once
		case o.class == refused:
			return fail(o.kind, o.err)
		case o.class == unknown:
			doubt = true
		}
		tries.failed(e, o.err)
		if tries.replaced && !fixed && !doubt {
			tries.replaced = false
			base, err := s.base(ctx)
			if err != nil {
				return fail(kindWithoutBase(err), cause(err))
			}
			once.Base = base
			r.once = once
		}
	}
}
