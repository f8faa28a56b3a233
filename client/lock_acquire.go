package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// delayRetry is between tries to lock a key in lock-delay. The end of a lock-delay is no change of the key.
	delayRetry = time.Second
	// holderTimeout bounds the question who holds a lock, when the time to wait for the lock may be over.
	holderTimeout = 500 * time.Millisecond
)

// lockAttempt is one call of LiveSession.Lock.
type lockAttempt struct {
	sessions *Sessions
	kv       kv
	session  string
	key      string
	o        LockOptions
	doubt    error // why the session may hold the key, or may come to hold it
}

// run returns the entry when the session holds the key. The entry is read after that.
func (a *lockAttempt) run(ctx context.Context) (Entry, error) {
	for {
		e, m, err, readErr := a.try(ctx)
		unread := readErr != nil && !errors.Is(readErr, ErrNotFound)
		switch {
		case err == nil && readErr == nil && e.Session == a.session:
			return e, nil
		case err != nil && !errors.Is(err, ErrCondition):
			if !mayRetry(err) {
				return Entry{}, err
			}
			if errors.Is(err, ErrUnknown) {
				a.doubt = err
			}
		case err == nil && unread:
			a.doubt = readErr
		case a.o.Try:
			return Entry{}, a.busy(a.holder(ctx, e))
		}
		if a.o.OnWait != nil && errors.Is(err, ErrCondition) {
			a.o.OnWait(a.holder(ctx, e))
		}
		if ended := a.waitUntilFree(ctx, &e, m); ended != nil {
			if a.doubt == nil && err != nil && !errors.Is(err, ErrCondition) {
				return Entry{}, err // no node has said that the key is held
			}
			return Entry{}, a.busy(fmt.Errorf("%w: %w", a.holder(ctx, e), waitEnded{ended}))
		}
	}
}

// waitEnded is the end of the wait for a lock, in words.
type waitEnded struct{ error }

func (e waitEnded) Error() string {
	if errors.Is(e.error, context.DeadlineExceeded) {
		return "it was not free within the time to wait"
	}
	return e.error.Error()
}

func (e waitEnded) Unwrap() error { return e.error }

// try locks the key and reads it, if the lock succeeded or the key is held.
func (a *lockAttempt) try(ctx context.Context) (e Entry, m Meta, err, readErr error) {
	ctx, cancel := context.WithTimeout(ctx, a.kv.s.cfg.Timeout)
	defer cancel()
	_, err = a.kv.lock(ctx, a.key, a.o.Value, a.session, WriteOptions{Flags: a.o.Flags})
	if err == nil || errors.Is(err, ErrCondition) {
		e, m, readErr = a.kv.Get(ctx, a.key, ReadOptions{})
	}
	return e, m, err, readErr
}

// mayRetry reports whether to lock again after err, while there is time. If an earlier try of this session was applied
// after all, the next one is a plain write.
func mayRetry(err error) bool { return errors.Is(err, ErrNotApplied) || errors.Is(err, ErrUnknown) }

// busy returns the error for a lock that is held.
func (a *lockAttempt) busy(why error) error {
	if a.doubt != nil {
		return &Error{Op: "lock", Key: a.key, Kind: ErrUnknown, Err: cause(a.doubt)}
	}
	return &Error{Op: "lock", Key: a.key, Kind: ErrCondition, Err: why}
}

// holder returns the error that says who holds e, as far as any node knows.
func (a *lockAttempt) holder(ctx context.Context, e Entry) error {
	if e.Session == "" {
		return errors.New("it is in lock-delay, or was held until just now")
	}
	h := &HolderError{Session: e.Session}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holderTimeout)
	defer cancel()
	if s, _, err := a.sessions.Info(ctx, e.Session, ReadOptions{Mode: Stale}); err == nil {
		h.Name, h.Node = s.Name, s.Node
	}
	return h
}

// waitUntilFree waits until the key may be free, or ctx ends. e and m are the last reading of the key; it replaces e by
// later readings.
func (a *lockAttempt) waitUntilFree(ctx context.Context, e *Entry, m Meta) error {
	for e.Session != "" {
		next, meta, err := a.kv.GetWait(ctx, a.key, m.Index, 0, ReadOptions{})
		switch {
		case err == nil || errors.Is(err, ErrNotFound):
			*e, m = next, meta
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			return pause(ctx, delayRetry, 0)
		}
		if e.Session == "" {
			return nil
		}
	}
	return pause(ctx, delayRetry/2+rand.N(delayRetry), 0)
}
