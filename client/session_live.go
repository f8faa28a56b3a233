package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultSessionTTL is the TTL of a session from Sessions.Start if none is given.
const DefaultSessionTTL = 15 * time.Second

const (
	// clockMargin is the fraction of a session's TTL that is not used, in case the clock here is slower than the
	// cluster's.
	clockMargin = 32
	// renewalsPerTTL is how often a session or a lease is renewed within its TTL.
	renewalsPerTTL = 3
	// expiryCheck is how often the end of a session or a lease is checked. Timers are late after the machine has slept.
	expiryCheck = time.Second
	// renewPause is between renewals of a session that fail at once.
	renewPause = 100 * time.Millisecond
)

// LiveSession is a session that this process keeps alive. It is safe for concurrent use.
//
// Its life is measured with this machine's clock, from before the request that last renewed it was sent. So Lost is
// closed before the cluster can have ended the session for want of a renewal, as long as the process runs. A process
// that was stopped, or whose machine slept, may act after its session has ended and before it notices; use the fence of
// a Lock against that.
type LiveSession struct {
	sessions *Sessions
	id       string
	life     time.Duration // the TTL without clockMargin
	now      func() time.Duration
	lost     chan struct{}
	ctx      context.Context // ends when the session is lost
	stop     context.CancelFunc
	done     chan struct{} // closed when renew has returned

	mu    sync.Mutex
	until time.Duration // by now
	err   error         // why it is lost
	timer *time.Timer
	locks map[*Lock]struct{}
}

// Start creates a session and renews it until Close, or until it is lost. The deadline of ctx bounds only the creation.
func (s *Sessions) Start(ctx context.Context, o SessionOptions) (*LiveSession, error) {
	o.TTL = cmp.Or(o.TTL, DefaultSessionTTL)
	sent := s.now()
	id, err := s.Create(ctx, o)
	if err != nil {
		return nil, err
	}
	l := &LiveSession{
		sessions: s, id: id, life: o.TTL - o.TTL/clockMargin, now: s.now,
		lost: make(chan struct{}), done: make(chan struct{}), locks: map[*Lock]struct{}{},
	}
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.mu.Lock()
	l.until = sent + l.life
	l.timer = time.AfterFunc(l.nextCheck(), l.expire)
	l.mu.Unlock()
	go l.renew(l.ctx, sent)
	return l, nil
}

// ID returns the ID of the session.
func (s *LiveSession) ID() string { return s.id }

// Lost is closed when the session has ended or may have: it could not be renewed in time, it was destroyed, or Close
// was called.
func (s *LiveSession) Lost() <-chan struct{} { return s.lost }

// Err returns nil while the session lives, and then an *Error of kind ErrLost that says why it does not.
func (s *LiveSession) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.now() >= s.until {
		s.lose(errNotRenewed)
	}
	return s.err
}

// Remaining returns how long the session lives if no renewal succeeds; 0 if it is lost.
func (s *LiveSession) Remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0
	}
	return max(0, s.until-s.now())
}

// Close stops renewing the session and destroys it. Its locks end with it and their lock-delay begins: Unlock them
// first to avoid that. If Close fails, the session ends when its TTL has passed.
func (s *LiveSession) Close(ctx context.Context) error {
	s.fail(errClosed)
	<-s.done
	return s.sessions.Destroy(ctx, s.id, WriteOptions{})
}

var (
	errNotRenewed = errors.New("it could not be renewed in time")
	errClosed     = errors.New("it was closed here")
)

// renew renews until the session is lost. It was last asked for at sent.
func (s *LiveSession) renew(ctx context.Context, sent time.Duration) {
	defer close(s.done)
	every := s.life / renewalsPerTTL
	for {
		if pause(ctx, sent+every-s.now(), 0) != nil {
			return
		}
		sent = s.now()
		// Each renewal is a call of its own, so that the life counts from before the tries that succeed.
		try, cancel := context.WithTimeout(ctx, max(every, minTryTime))
		_, err := s.sessions.Renew(try, s.id)
		cancel()
		switch {
		case err == nil:
			s.extend(sent)
			continue
		case errors.Is(err, ErrNoSession), errors.Is(err, ErrInvalid), errors.Is(err, ErrForbidden):
			s.fail(err)
			return
		}
		sent = s.now() + renewPause - every // again after renewPause
	}
}

// extend records a renewal that was sent at sent and has succeeded.
func (s *LiveSession) extend(sent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if s.now() >= s.until {
		s.lose(errNotRenewed) // too late: somebody may have seen that it was lost
		return
	}
	s.until = max(s.until, sent+s.life)
}

// expire is called by the timer.
func (s *LiveSession) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if s.now() >= s.until {
		s.lose(errNotRenewed)
		return
	}
	s.timer.Reset(s.nextCheck())
}

// nextCheck returns when expire is to be called.
func (s *LiveSession) nextCheck() time.Duration { return min(max(0, s.until-s.now()), expiryCheck) }

// fail ends the session here.
func (s *LiveSession) fail(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lose(why)
}

// lose ends the session here, with its locks. s.mu is held. A second call does nothing.
func (s *LiveSession) lose(why error) {
	if s.err != nil {
		return
	}
	s.err = &Error{Op: "session", Key: s.id, Kind: ErrLost, Err: why}
	s.timer.Stop()
	for l := range s.locks {
		l.lose(fmt.Errorf("its session is lost: %w", why))
	}
	clear(s.locks)
	close(s.lost)
	s.stop()
}

// add adds a lock that ends with the session, or ends it if the session is lost.
func (s *LiveSession) add(l *Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.locks[l] = struct{}{}
	} else {
		l.lose(cause(s.err))
	}
}

// remove removes a lock.
func (s *LiveSession) remove(l *Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locks, l)
}
