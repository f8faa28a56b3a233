package client

import (
	"context"
	"errors"
	"fmt"
)

// LockOptions says how to lock a key. The zero value waits until the key is free.
type LockOptions struct {
	Value []byte // written to the key with the lock
	Flags uint64
	// Try gives up at once, with ErrCondition, if another session holds the key or its lock-delay runs.
	Try bool
	// OnWait, if not nil, is called each time the wait begins or goes on, with who holds the key. It is called by the
	// goroutine that locks, and must not block.
	OnWait func(why error)
	// RemoveMade makes Unlock delete the key if this lock created it and nobody has written it since. Otherwise the key
	// stays.
	RemoveMade bool
	// Session describes the session of the lock. For Locks.Acquire, which starts one.
	Session SessionOptions
}

// Locks acquires locks and semaphores. Locks are advisory: others can write the key, and delete it, which ends the
// lock.
type Locks struct {
	kv       kv
	sessions *Sessions
}

// Acquire locks a key with a session of its own, which Unlock ends. It waits as long as ctx allows, whatever
// Config.Timeout is; see LiveSession.Lock.
func (c *Locks) Acquire(ctx context.Context, key string, o LockOptions) (*Lock, error) {
	s, err := c.sessions.Start(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	l, err := s.Lock(ctx, key, o)
	if err != nil {
		// The session may hold the lock if the outcome is unknown. Ending the session settles that.
		closing, cancel := c.kv.s.bounded(context.WithoutCancel(ctx))
		defer cancel()
		_ = s.Close(closing) // if it fails, the session ends when its TTL has passed
		return nil, err
	}
	l.ownsSession = true
	return l, nil
}

// LockKey writes a key and locks it for a session, and returns the revision. The error is ErrCondition if another
// session holds the lock or its lock-delay runs, and ErrNoSession if the session has ended. If the session holds the
// lock already, it is a plain write. Acquire and LiveSession.Lock return a Lock that tells when it is lost.
func (c *Locks) LockKey(
	ctx context.Context, key string, value []byte, session string, o WriteOptions,
) (uint64, error) {
	return c.kv.lock(ctx, key, value, session, o)
}

// UnlockKey writes a key and unlocks it, and returns the revision. The error is ErrCondition unless the session holds
// the lock.
func (c *Locks) UnlockKey(
	ctx context.Context, key string, value []byte, session string, o WriteOptions,
) (uint64, error) {
	if session == "" {
		return 0, &Error{Op: "unlock", Key: key, Kind: ErrInvalid, Err: errNoSessionID}
	}
	return c.kv.set(ctx, "unlock", key, value, condition{unlock: session}, o)
}

// lock is Locks.LockKey.
func (c *kv) lock(ctx context.Context, key string, value []byte, session string, o WriteOptions) (uint64, error) {
	if session == "" {
		return 0, &Error{Op: "lock", Key: key, Kind: ErrInvalid, Err: errNoSessionID}
	}
	return c.set(ctx, "lock", key, value, condition{lock: session}, o)
}

// HolderError names the session that holds a lock which somebody else wanted. It comes with ErrCondition.
type HolderError struct {
	Session string // its ID
	Name    string // "" if it is not known
	Node    string // "" if it is not known
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

// Lock locks a key. If another session holds it, or its lock-delay runs, it waits as long as ctx allows. The error is
// ErrCondition if that was not long enough, ErrNotApplied if no write got through, ErrLost if the session was lost, and
// ErrUnknown if the session may hold the lock now; closing the session then frees it. A session locks a key once: two
// Locks of one key by one session do not exclude each other.
func (s *LiveSession) Lock(ctx context.Context, key string, o LockOptions) (*Lock, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	a := lockAttempt{sessions: s.sessions, kv: s.sessions.kv, session: s.id, key: key, o: o}
	e, err := a.run(ctx)
	if errors.Is(err, ErrNoSession) {
		s.fail(cause(err))
	}
	if lost := s.Err(); lost != nil {
		return nil, &Error{Op: "lock", Key: key, Kind: ErrLost, Err: cause(lost)}
	}
	if err != nil {
		return nil, err
	}
	monitor, stopMonitor := context.WithCancel(context.WithoutCancel(ctx))
	l := &Lock{
		s: s, kv: s.sessions.kv, key: key, token: e.ModifyIndex,
		created: o.RemoveMade && e.CreateIndex == e.ModifyIndex,
		lost:    make(chan struct{}), stop: stopMonitor, done: make(chan struct{}),
	}
	s.add(l)
	go l.monitor(monitor, e.ModifyIndex)
	return l, nil
}
