package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// monitorRetry is between reads of a held key that fail at once.
	monitorRetry = time.Second
	// unlockTries bounds how often an unlock starts again because somebody has written the key.
	unlockTries = 16
)

// Lock is a key that is locked by a LiveSession. It is safe for concurrent use.
type Lock struct {
	s           *LiveSession
	kv          kv
	key         string
	token       uint64
	created     bool // Unlock deletes the key if it is still at token
	ownsSession bool // Unlock closes the session
	lost        chan struct{}
	stop        context.CancelFunc
	done        chan struct{} // closed when monitor has returned

	mu  sync.Mutex
	err error
}

// Key returns the key that is locked.
func (l *Lock) Key() string { return l.key }

// Session returns the session that holds the lock.
func (l *Lock) Session() *LiveSession { return l.s }

// Fence returns the fence for the writes that the lock protects. With it in WriteOptions they are refused once the
// fence of a later holder was seen, however late they arrive.
func (l *Lock) Fence() Fence { return Fence{Name: "kv/" + l.key, Token: l.token} }

// Lost is closed when the lock is not held any more, or not for certain: the session may have expired (see
// LiveSession), somebody has unlocked or deleted the key, or Unlock was called.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Err returns nil while the lock is held, and then an *Error of kind ErrLost that says why it is not. It reads the
// clock, so it may know before Lost is closed.
func (l *Lock) Err() error {
	_ = l.s.Err() // notices an expiry that the timer has not yet
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Unlock unlocks the key, with the value that it has, so that the next one can lock it at once. It closes the session
// if Locks.Acquire has started it. If the lock was lost before, the error is of kind ErrLost and the key is not
// changed.
func (l *Lock) Unlock(ctx context.Context) error {
	err := l.Err()
	l.lose(errUnlocked)
	l.s.remove(l)
	<-l.done
	if err == nil {
		err = l.release(ctx)
	}
	if l.ownsSession {
		if closeErr := l.s.Close(ctx); err == nil {
			err = closeErr
		}
	}
	return err
}

var errUnlocked = errors.New("it was unlocked here")

// release unlocks the key with the value that it has now, or deletes it if the lock created it.
func (l *Lock) release(ctx context.Context) error {
	var err error
	for range unlockTries {
		var e Entry
		e, _, err = l.kv.Get(ctx, l.key, ReadOptions{})
		if errors.Is(err, ErrNotFound) || err == nil && e.Session != l.s.id {
			return nil
		}
		if err != nil {
			return err
		}
		last := TxnOp{Verb: TxnUnlock, Key: l.key, Session: l.s.id, Value: e.Value, Flags: e.Flags}
		if l.created && e.ModifyIndex == l.token {
			last = TxnOp{Verb: TxnDelete, Key: l.key}
		}
		_, err = l.kv.Txn(ctx, []TxnOp{{Verb: TxnCheckIndex, Key: l.key, Index: e.ModifyIndex}, last}, WriteOptions{})
		if !errors.Is(err, ErrCondition) {
			return err
		}
	}
	return err
}

// monitor loses the lock when the session does not hold the key any more.
func (l *Lock) monitor(ctx context.Context, index uint64) {
	defer close(l.done)
	for {
		e, m, err := l.kv.GetWait(ctx, l.key, index, 0, ReadOptions{})
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrNotFound):
			l.drop(errors.New("the key was deleted"))
			return
		case err == nil && e.Session != l.s.id:
			l.drop(errors.New("the key was unlocked by somebody else, or its session has ended"))
			return
		case err == nil:
			index = m.Index
		default:
			// Until the key can be read again, the session counts.
			if pause(ctx, monitorRetry, 0) != nil {
				return
			}
		}
	}
}

// drop loses the lock, though its session may live.
func (l *Lock) drop(why error) {
	l.s.remove(l)
	l.lose(why)
}

// lose ends the lock here. A second call does nothing.
func (l *Lock) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = &Error{Op: "lock", Key: l.key, Kind: ErrLost, Err: why}
	close(l.lost)
	l.stop()
}
