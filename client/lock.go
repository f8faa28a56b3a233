package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// delayRetry is between tries at a key that nobody holds and that is in lock-delay: its end is no change.
	delayRetry = time.Second
	// monitorRetry is between reads of a held key that fail at once.
	monitorRetry = time.Second
	// unlockTries bounds how often an unlock begins anew because somebody wrote the key.
	unlockTries = 16
)

// LockOptions says how to lock a key. The zero value waits until it is free.
type LockOptions struct {
	Value []byte // written to the key with the lock
	Flags uint64
	// Try gives up at once, with ErrCondition, if another session holds the key or its lock-delay runs.
	Try bool
	// RemoveMade has Unlock delete the key if this lock made it and nobody has written it since. Else the key stays,
	// unlocked.
	RemoveMade bool
	// Session is for Client.Lock, which makes a session of its own.
	Session SessionOptions
}

// Lock is a key that is locked by a LiveSession. It is safe for concurrent use. Locks are advisory: others can write
// the key, and delete it, which ends the lock.
type Lock struct {
	s     *LiveSession
	key   string
	token uint64
	made  bool // Unlock is to delete the key if it is still at token: the lock made it
	owns  bool // the session is for this lock alone
	lost  chan struct{}
	stop  context.CancelFunc
	done  chan struct{} // monitor has returned

	mu  sync.Mutex
	err error
}

// Lock locks a key with a session of its own, which Unlock ends. It waits for as long as ctx allows, whatever
// Config.Timeout is; see LiveSession.Lock.
func (c *Client) Lock(ctx context.Context, key string, o LockOptions) (*Lock, error) {
	s, err := c.StartSession(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	l, err := s.Lock(ctx, key, o)
	if err != nil {
		// The lock may be held if the outcome is unknown: ending the session settles that.
		closing, cancel := c.bounded(context.WithoutCancel(ctx))
		defer cancel()
		_ = s.Close(closing) // if that fails, its TTL ends it
		return nil, err
	}
	l.owns = true
	return l, nil
}

// Lock locks a key. If another session holds it, or its lock-delay runs, it waits for as long as ctx allows. The error
// is ErrCondition if that was not long enough, ErrNotApplied if no write got through in the end, ErrLost if the session
// was lost meanwhile, ErrUnknown if the session may hold the lock now; closing the session then frees it. A session
// locks a key once: two Locks of one key with one session do not exclude each other.
func (s *LiveSession) Lock(ctx context.Context, key string, o LockOptions) (*Lock, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	e, err := s.acquire(ctx, key, o)
	if errors.Is(err, ErrNoSession) {
		s.mu.Lock()
		s.lose(cause(err))
		s.mu.Unlock()
	}
	if lost := s.Err(); lost != nil {
		return nil, &Error{Op: "lock", Key: key, Kind: ErrLost, Err: cause(lost)}
	}
	if err != nil {
		return nil, err
	}
	monitor, stopMonitor := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lock{s: s, key: key, token: e.ModifyIndex, made: o.RemoveMade && e.CreateIndex == e.ModifyIndex, lost: make(chan struct{}), stop: stopMonitor, done: make(chan struct{})}
	s.mu.Lock()
	if s.err == nil {
		s.locks[l] = struct{}{}
	} else {
		l.lose(cause(s.err))
	}
	s.mu.Unlock()
	go l.monitor(monitor, e.ModifyIndex)
	return l, nil
}

// acquire is the entry once the session holds it, read after that.
func (s *LiveSession) acquire(ctx context.Context, key string, o LockOptions) (Entry, error) {
	var doubt error // why the session may hold the key, or may come to hold it
	busy := func(why error) (Entry, error) {
		if doubt != nil {
			return Entry{}, &Error{Op: "lock", Key: key, Kind: ErrUnknown, Err: cause(doubt)}
		}
		return Entry{}, &Error{Op: "lock", Key: key, Kind: ErrCondition, Err: why}
	}
	for {
		call, cancel := context.WithTimeout(ctx, s.c.cfg.Timeout)
		_, err := s.c.Acquire(call, key, o.Value, s.id, WriteOptions{Flags: o.Flags})
		var e Entry
		var m Meta
		var readErr error
		if err == nil || errors.Is(err, ErrCondition) {
			e, m, readErr = s.c.Get(call, key, ReadOptions{})
		}
		cancel()
		unread := readErr != nil && !errors.Is(readErr, ErrNotFound)
		switch {
		case err == nil && readErr == nil && e.Session == s.id:
			return e, nil
		case err != nil && !errors.Is(err, ErrCondition):
			if !again(err) {
				return Entry{}, err
			}
			if errors.Is(err, ErrUnknown) {
				doubt = err
			}
		case err == nil && unread:
			doubt = readErr
		case o.Try:
			return busy(s.c.heldBy(ctx, e))
		}
		if ended := s.c.free(ctx, key, &e, m); ended != nil {
			if doubt == nil && err != nil && !errors.Is(err, ErrCondition) {
				return Entry{}, err // nobody has said that the key is held
			}
			return busy(fmt.Errorf("%w: %w", s.c.heldBy(ctx, e), ended))
		}
	}
}

// again tells whether an acquisition that ended in err is worth another while there is time. If an earlier one of this
// session was applied after all, the next one is a plain write.
func again(err error) bool { return errors.Is(err, ErrNotApplied) || errors.Is(err, ErrUnknown) }

// HolderError says which session holds a lock that somebody else wanted. It comes with ErrCondition.
type HolderError struct {
	Session string // its ID
	Name    string // what it was created as; "" if that is not known
	Node    string // whose it is; "" if that is not known
}

// Error names the holder as well as it is known.
func (e *HolderError) Error() string {
	s := "it is held by session " + e.Session
	switch {
	case e.Name != "" && e.Node != "":
		s += fmt.Sprintf(" (%q of %s)", e.Name, e.Node)
	case e.Node != "":
		s += " of " + e.Node
	}
	return s
}

// holderTimeout bounds the question who holds a lock, when the time to wait for it is over already.
const holderTimeout = 500 * time.Millisecond

// heldBy is why e could not be locked. Who the holder is, any node may tell, as far as it knows.
func (c *Client) heldBy(ctx context.Context, e Entry) error {
	if e.Session == "" {
		return errors.New("it is in lock-delay, or was held until just now")
	}
	h := &HolderError{Session: e.Session}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holderTimeout)
	defer cancel()
	if s, _, err := c.SessionInfo(ctx, e.Session, ReadOptions{Mode: Stale}); err == nil {
		h.Name, h.Node = s.Name, s.Node
	}
	return h
}

// free waits until there is reason to try again for a key that was seen as *e with m, or until ctx ends. It notes in *e
// what the key is now.
func (c *Client) free(ctx context.Context, key string, e *Entry, m Meta) error {
	for e.Session != "" {
		next, meta, err := c.GetWait(ctx, key, m.Index, 0, ReadOptions{})
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

// Key is the key that is locked.
func (l *Lock) Key() string { return l.key }

// Session is the session that holds the lock.
func (l *Lock) Session() *LiveSession { return l.s }

// Fence is for the writes that the lock protects: with it in WriteOptions they are refused once a later holder's fence
// was seen, however late they arrive.
func (l *Lock) Fence() Fence { return Fence{Name: "kv/" + l.key, Token: l.token} }

// Lost is closed when the lock is not held any more, or not for certain: the session may have expired (see
// LiveSession), the key was unlocked or deleted by somebody, or Unlock was called.
func (l *Lock) Lost() <-chan struct{} { return l.lost }

// Err is nil while the lock is held, and then an *Error of kind ErrLost that says why not. It looks at the clock, so it
// may know before Lost is closed.
func (l *Lock) Err() error {
	_ = l.s.Err() // notices an end that the timer has not yet
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Unlock gives the key free, with the value that it has, for the next one to acquire at once, and ends the session if
// it is the lock's own. If the lock is lost already it is an error of kind ErrLost, and the key is left alone.
func (l *Lock) Unlock(ctx context.Context) error {
	err := l.Err()
	l.lose(errUnlocked)
	l.s.forget(l)
	<-l.done
	if err == nil {
		err = l.release(ctx)
	}
	if l.owns {
		if closeErr := l.s.Close(ctx); err == nil {
			err = closeErr
		}
	}
	return err
}

var errUnlocked = errors.New("it was unlocked here")

// release unlocks the key with the value that it has, whatever that is by now, or deletes it if the lock made it.
func (l *Lock) release(ctx context.Context) error {
	var err error
	for range unlockTries {
		var e Entry
		e, _, err = l.s.c.Get(ctx, l.key, ReadOptions{})
		if errors.Is(err, ErrNotFound) || err == nil && e.Session != l.s.id {
			return nil
		}
		if err != nil {
			return err
		}
		last := TxnOp{Verb: TxnUnlock, Key: l.key, Session: l.s.id, Value: e.Value, Flags: e.Flags}
		if l.made && e.ModifyIndex == l.token {
			last = TxnOp{Verb: TxnDelete, Key: l.key}
		}
		_, err = l.s.c.Txn(ctx, []TxnOp{{Verb: TxnCheckIndex, Key: l.key, Index: e.ModifyIndex}, last}, WriteOptions{})
		if !errors.Is(err, ErrCondition) {
			return err
		}
	}
	return err
}

// monitor loses the lock when the key says that the session does not hold it.
func (l *Lock) monitor(ctx context.Context, index uint64) {
	defer close(l.done)
	for {
		e, m, err := l.s.c.GetWait(ctx, l.key, index, 0, ReadOptions{})
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
			// What counts meanwhile is the session.
			if pause(ctx, monitorRetry, 0) != nil {
				return
			}
		}
	}
}

// drop loses the lock though the session may live.
func (l *Lock) drop(why error) {
	l.s.forget(l)
	l.lose(why)
}

func (s *LiveSession) forget(l *Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.locks, l)
}

// lose ends the lock here. Doing it again does nothing.
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
