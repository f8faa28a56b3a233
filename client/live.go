package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultSessionTTL is the TTL of a session that is kept alive and names none.
const DefaultSessionTTL = 15 * time.Second

const (
	// clockMargin: that fraction of a TTL is left unused, for a clock here that runs slower than the cluster's.
	clockMargin = 32
	// renewals are begun so many times in a TTL.
	renewals = 3
	// expiryCheck is how finely a session's end is noticed after the machine has slept, when timers are late.
	expiryCheck = time.Second
	// renewPause is between renewals that fail at once.
	renewPause = 100 * time.Millisecond
)

// LiveSession is a session that this process keeps alive. It is safe for concurrent use.
//
// How long it lives is reckoned on this machine's own clock, from before the request that last renewed it was sent, so
// Lost closes before the cluster can have ended the session for want of a renewal. That holds while the process runs.
// One that was stopped, or whose machine slept, may do something after its session has ended and before it notices:
// against that the fence of a Lock helps.
type LiveSession struct {
	c    *Client
	id   string
	life time.Duration // the TTL without clockMargin
	now  func() time.Duration
	lost chan struct{}
	ctx  context.Context // ends when the session is lost
	stop context.CancelFunc
	done chan struct{} // keep has returned

	mu    sync.Mutex
	until time.Duration // on the clock now
	err   error         // why it is lost
	timer *time.Timer
	locks map[*Lock]struct{}
}

// StartSession creates a session and renews it until Close, or until it is lost. It has no deadline but the session's,
// whatever ctx has.
func (c *Client) StartSession(ctx context.Context, o SessionOptions) (*LiveSession, error) {
	if o.TTL == 0 {
		o.TTL = DefaultSessionTTL
	}
	now := c.elapsed()
	sent := now()
	id, err := c.CreateSession(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &LiveSession{
		c: c, id: id, life: o.TTL - o.TTL/clockMargin, now: now,
		lost: make(chan struct{}), done: make(chan struct{}), locks: map[*Lock]struct{}{},
	}
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.until = sent + s.life
	s.timer = time.AfterFunc(s.nextCheck(), s.expire)
	s.mu.Unlock()
	go s.keep(s.ctx, sent)
	return s, nil
}

// ID is the session's.
func (s *LiveSession) ID() string { return s.id }

// Lost is closed when the session has ended or may have: it could not be renewed in time, was destroyed, or Close was
// called.
func (s *LiveSession) Lost() <-chan struct{} { return s.lost }

// Err is nil while the session lives, and then an *Error of kind ErrLost that says why.
func (s *LiveSession) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && s.now() >= s.until {
		s.lose(errNotRenewed)
	}
	return s.err
}

// Remaining is how long the session lives yet if no renewal succeeds; 0 if it is lost.
func (s *LiveSession) Remaining() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0
	}
	return max(0, s.until-s.now())
}

// Close stops renewing the session and destroys it, and with it its locks, whose lock-delay begins then: Unlock them
// first. If it fails the session ends when its TTL has passed.
func (s *LiveSession) Close(ctx context.Context) error {
	s.mu.Lock()
	s.lose(errClosed)
	s.mu.Unlock()
	<-s.done
	return s.c.DestroySession(ctx, s.id, WriteOptions{})
}

var (
	errNotRenewed = errors.New("it could not be renewed in time")
	errClosed     = errors.New("it was closed here")
)

// keep renews until the session is lost.
func (s *LiveSession) keep(ctx context.Context, sent time.Duration) {
	defer close(s.done)
	every := s.life / renewals
	for {
		if pause(ctx, sent+every-s.now(), 0) != nil {
			return
		}
		sent = s.now()
		// A call of its own for each, so that what counts is from before the tries that succeed.
		try, cancel := context.WithTimeout(ctx, max(every, lastChance))
		_, err := s.c.RenewSession(try, s.id)
		cancel()
		switch {
		case err == nil:
			s.extend(sent)
			continue
		case errors.Is(err, ErrNoSession), errors.Is(err, ErrInvalid), errors.Is(err, ErrForbidden):
			s.mu.Lock()
			s.lose(err)
			s.mu.Unlock()
			return
		}
		sent = s.now() + renewPause - every // soon again
	}
}

// extend notes that a renewal was sent and done.
func (s *LiveSession) extend(sent time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if s.now() >= s.until {
		s.lose(errNotRenewed) // too late: somebody may have seen it lost
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

// nextCheck is for how long the timer sleeps.
func (s *LiveSession) nextCheck() time.Duration { return min(max(0, s.until-s.now()), expiryCheck) }

// lose ends the session here, with its locks. s.mu is held. Doing it again does nothing.
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
