package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// SemaphoreOptions says how to acquire a semaphore.
type SemaphoreOptions struct {
	Limit int    // how many may hold it at a time, at least 1; all users must give the same
	Value []byte // written to the key of this contender, for people
	// Try gives up at once, with ErrCondition, if there is no free place.
	Try bool
	// OnWait, if not nil, is called each time the wait begins or goes on, with who holds the places. It is called by
	// the goroutine that acquires, and must not block.
	OnWait func(why error)
	// RemoveMade makes Release delete the list of holders if it is empty then.
	RemoveMade bool
	// Session describes the session of this contender.
	Session SessionOptions
}

// Semaphore is one of a number of places, held with a session of its own. It is safe for concurrent use. It is
// advisory, and has no fence, because there is no newest holder.
type Semaphore struct {
	s      *LiveSession
	kv     kv
	prefix string
	o      SemaphoreOptions
	lost   chan struct{}
	stop   context.CancelFunc
	done   chan struct{} // closed when monitor has returned

	mu  sync.Mutex
	err error
}

// AcquireSemaphore takes one of o.Limit places under a prefix. It waits as long as ctx allows, whatever Config.Timeout
// is. The error is ErrCondition if that was not long enough, or if others use another limit.
func (c *Locks) AcquireSemaphore(ctx context.Context, prefix string, o SemaphoreOptions) (*Semaphore, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if o.Limit < 1 || prefix == "" {
		err := errors.New("it needs a prefix and a limit of at least 1")
		return nil, &Error{Op: "semaphore", Key: prefix, Kind: ErrInvalid, Err: err}
	}
	s, err := c.sessions.Start(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	m := &Semaphore{s: s, kv: c.kv, prefix: prefix, o: o, lost: make(chan struct{}), done: make(chan struct{})}
	index, err := m.acquire(ctx)
	if err != nil {
		closing, cancel := c.kv.s.bounded(context.WithoutCancel(ctx))
		defer cancel()
		_ = m.leave(closing) // if it fails, the session ends when its TTL has passed
		return nil, err
	}
	var monitor context.Context
	monitor, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go m.monitor(monitor, index)
	return m, nil
}

// Prefix returns the prefix of the semaphore's keys.
func (m *Semaphore) Prefix() string { return m.prefix }

// Session returns the session that holds the place.
func (m *Semaphore) Session() *LiveSession { return m.s }

// Lost is closed when the place is not held any more, or not for certain, or Release was called.
func (m *Semaphore) Lost() <-chan struct{} { return m.lost }

// Err returns nil while the place is held, and then an *Error of kind ErrLost that says why it is not.
func (m *Semaphore) Err() error {
	if err := m.s.Err(); err != nil {
		m.lose(fmt.Errorf("its session is lost: %w", cause(err)))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Release frees the place for the next one. If the place was lost before, the error is of kind ErrLost, and Release
// still removes the rest of it from the store.
func (m *Semaphore) Release(ctx context.Context) error {
	lost := m.Err()
	m.lose(errUnlocked)
	<-m.done
	err := m.leave(ctx)
	if lost != nil {
		return lost
	}
	return err
}

// acquire returns the index of a state in which the session holds a place.
func (m *Semaphore) acquire(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.s.ctx, cancel)()
	index := uint64(0)
	var full error // why there was no place
	for enrolled := false; ; {
		var err error
		if !enrolled {
			err = m.enroll(ctx)
			enrolled = err == nil
		}
		var at uint64
		if enrolled {
			var why error
			if at, why, err = m.tryPlace(ctx, index); err == nil {
				full = why
			}
		}
		lost := m.s.Err()
		switch {
		case lost != nil:
			return 0, m.fail(ErrLost, cause(lost))
		case err == nil && full == nil:
			return at, nil
		case err == nil && m.o.Try:
			return 0, m.fail(ErrCondition, full)
		case err == nil:
			index = at
			if m.o.OnWait != nil {
				m.o.OnWait(full)
			}
		case ctx.Err() != nil && full != nil:
			return 0, m.fail(ErrCondition, full)
		case !mayRetry(err) && !errors.Is(err, ErrUnavailable):
			return 0, err
		case pause(ctx, delayRetry/4, 0) != nil:
			return 0, err
		}
	}
}

// monitor loses the place when the session is lost, or the list of holders does not have it any more.
func (m *Semaphore) monitor(ctx context.Context, index uint64) {
	defer close(m.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.s.ctx, cancel)()
	for {
		list, meta, err := m.kv.ListWait(ctx, m.prefix+"/", index, 0, ListOptions{})
		switch {
		case ctx.Err() != nil:
			_ = m.Err() // notices that the session is lost
			return
		case err != nil:
			if pause(ctx, monitorRetry, 0) != nil {
				_ = m.Err()
				return
			}
		default:
			if h, _, err := m.read(list); err != nil || !h.Holders[m.s.id] {
				m.lose(errors.New("somebody else has removed it from the list of holders"))
				return
			}
			index = meta.Index
		}
	}
}

func (m *Semaphore) fail(kind, err error) error {
	return &Error{Op: "semaphore", Key: m.prefix, Kind: kind, Err: err}
}

// lose ends the holding here. A second call does nothing.
func (m *Semaphore) lose(why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	m.err = m.fail(ErrLost, why)
	close(m.lost)
	m.stop()
}
