package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// The layout of a semaphore is that of Consul's, so both may use one together: each contender locks PREFIX/SESSION, and
// PREFIX/.lock lists the holders, written under its index.
const (
	semaphoreFlags = 0xe0f69a2baa414de0
	semaphoreKey   = ".lock"
)

// SemaphoreOptions says how to acquire a semaphore.
type SemaphoreOptions struct {
	Limit int    // how many may hold it at a time, at least 1; all who use it must say the same
	Value []byte // written to the contender's key, for people
	// Try gives up at once, with ErrCondition, if there is no place.
	Try bool
	// RemoveMade has Release delete the list of holders if it leaves it empty.
	RemoveMade bool
	// Session is the one that the contender's key is locked by.
	Session SessionOptions
}

// Semaphore is one of a number of places that is held with a session of its own. It is safe for concurrent use. It is
// advisory, and there is no fence, since there is no newest holder.
type Semaphore struct {
	s      *LiveSession
	prefix string
	o      SemaphoreOptions
	lost   chan struct{}
	stop   context.CancelFunc
	done   chan struct{} // monitor has returned

	mu  sync.Mutex
	err error
}

// holders is the value of PREFIX/.lock.
type holders struct {
	Limit   int
	Holders map[string]bool // by session
}

// AcquireSemaphore takes one of o.Limit places under a prefix. It waits for as long as ctx allows, whatever
// Config.Timeout is. The error is ErrCondition if that was not long enough, or others use another limit.
func (c *Client) AcquireSemaphore(ctx context.Context, prefix string, o SemaphoreOptions) (*Semaphore, error) {
	prefix = strings.TrimSuffix(prefix, "/")
	if o.Limit < 1 || prefix == "" {
		return nil, &Error{Op: "semaphore", Key: prefix, Kind: ErrInvalid, Err: errors.New("it needs a prefix and a limit of at least 1")}
	}
	s, err := c.StartSession(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	m := &Semaphore{s: s, prefix: prefix, o: o, lost: make(chan struct{}), done: make(chan struct{})}
	index, err := m.acquire(ctx)
	if err != nil {
		closing, cancel := c.bounded(context.WithoutCancel(ctx))
		defer cancel()
		_ = m.leave(closing) // if that fails, the session's TTL ends it
		return nil, err
	}
	var monitor context.Context
	monitor, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	go m.monitor(monitor, index)
	return m, nil
}

func (m *Semaphore) fail(kind, err error) error {
	return &Error{Op: "semaphore", Key: m.prefix, Kind: kind, Err: err}
}

func (m *Semaphore) contender() string { return m.prefix + "/" + m.s.id }

// acquire returns the index of a state in which the session holds a place.
func (m *Semaphore) acquire(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.s.ctx, cancel)()
	c := m.s.c
	index := uint64(0)
	var full error // why there was no place
	for enrolled := false; ; {
		var err error
		if !enrolled {
			call, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
			_, err = c.Acquire(call, m.contender(), m.o.Value, m.s.id, WriteOptions{Flags: semaphoreFlags})
			cancel()
			enrolled = err == nil
		}
		var at uint64
		if enrolled {
			var why error
			if at, why, err = m.take(ctx, index); err == nil {
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
		case ctx.Err() != nil && full != nil:
			return 0, m.fail(ErrCondition, full)
		case !again(err) && !errors.Is(err, ErrUnavailable):
			return 0, err
		case pause(ctx, delayRetry/4, 0) != nil:
			return 0, err
		}
	}
}

// take looks at the semaphore, as soon as there is news behind index, and takes a place if there is one. full says why
// there is none; at is the index of what was seen.
func (m *Semaphore) take(ctx context.Context, index uint64) (at uint64, full, err error) {
	for {
		list, meta, err := m.s.c.ListWait(ctx, m.prefix+"/", index, 0, ListOptions{})
		if err != nil {
			return 0, nil, err
		}
		h, lock, err := m.read(list)
		if err != nil {
			return 0, nil, err
		}
		if h.Holders[m.s.id] {
			return meta.Index, nil, nil
		}
		if len(h.Holders) >= m.o.Limit {
			return meta.Index, m.busy(list, h), nil
		}
		h.Holders[m.s.id] = true
		if err = m.write(ctx, lock, h); !errors.Is(err, ErrCondition) {
			return meta.Index, nil, err
		}
		index = 0 // somebody was quicker: look again at once
	}
}

// read is who holds a place, without those whose session has ended, and the entry that says so.
func (m *Semaphore) read(list []Entry) (h holders, lock Entry, err error) {
	h = holders{Limit: m.o.Limit, Holders: map[string]bool{}}
	alive := map[string]bool{}
	for _, e := range list {
		if e.Key == m.prefix+"/"+semaphoreKey {
			lock = e
		} else if e.Session != "" {
			alive[e.Session] = true
		}
	}
	if lock.ModifyIndex == 0 {
		return h, lock, nil
	}
	if lock.Flags != semaphoreFlags || json.Unmarshal(lock.Value, &h) != nil {
		return h, lock, m.fail(ErrCondition, fmt.Errorf("the key %q is there and is no semaphore's", lock.Key))
	}
	if h.Holders == nil {
		h.Holders = map[string]bool{}
	}
	maps.DeleteFunc(h.Holders, func(session string, _ bool) bool { return !alive[session] })
	if h.Limit != m.o.Limit {
		return h, lock, m.fail(ErrCondition, fmt.Errorf("others use it with a limit of %d, not %d", h.Limit, m.o.Limit))
	}
	return h, lock, nil
}

// busy says who holds the places, by the values of their keys.
func (m *Semaphore) busy(list []Entry, h holders) error {
	var who []string
	for _, e := range list {
		if e.Session == "" || !h.Holders[e.Session] {
			continue
		}
		if len(e.Value) > 0 {
			who = append(who, fmt.Sprintf("%q", oneLine(e.Value)))
		} else {
			who = append(who, "session "+e.Session)
		}
	}
	slices.Sort(who)
	return fmt.Errorf("all places are held (%d): %s", m.o.Limit, strings.Join(who, ", "))
}

func (m *Semaphore) write(ctx context.Context, lock Entry, h holders) error {
	ctx, cancel := context.WithTimeout(ctx, m.s.c.cfg.Timeout)
	defer cancel()
	_, err := m.s.c.CAS(ctx, m.prefix+"/"+semaphoreKey, encode(h), lock.ModifyIndex, WriteOptions{Flags: semaphoreFlags})
	return err
}

// Prefix is that of the semaphore's keys.
func (m *Semaphore) Prefix() string { return m.prefix }

// Session is the session that holds the place.
func (m *Semaphore) Session() *LiveSession { return m.s }

// Lost is closed when the place is not held any more, or not for certain, or Release was called.
func (m *Semaphore) Lost() <-chan struct{} { return m.lost }

// Err is nil while the place is held, and then an *Error of kind ErrLost that says why not.
func (m *Semaphore) Err() error {
	if err := m.s.Err(); err != nil {
		m.lose(fmt.Errorf("its session is lost: %w", cause(err)))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Release gives the place free for the next one. If it was lost before, that is an error of kind ErrLost; what is left
// of it is cleared away all the same.
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

// leave takes the session off the list, deletes its key and ends it.
func (m *Semaphore) leave(ctx context.Context) error {
	err := m.signOff(ctx)
	if _, deleteErr := m.s.c.Delete(ctx, m.contender(), WriteOptions{}); err == nil {
		err = deleteErr
	}
	if closeErr := m.s.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

func (m *Semaphore) signOff(ctx context.Context) error {
	var err error
	for range unlockTries {
		var list []Entry
		if list, _, err = m.s.c.List(ctx, m.prefix+"/", ListOptions{}); err != nil {
			return err
		}
		h, lock, readErr := m.read(list)
		if readErr != nil || lock.ModifyIndex == 0 {
			return nil // it is not ours, or gone
		}
		mine := h.Holders[m.s.id]
		delete(h.Holders, m.s.id)
		switch {
		case m.o.RemoveMade && len(h.Holders) == 0:
			_, err = m.s.c.DeleteCAS(ctx, lock.Key, lock.ModifyIndex, WriteOptions{})
		case mine:
			err = m.write(ctx, lock, h)
		default:
			return nil
		}
		if !errors.Is(err, ErrCondition) {
			return err
		}
	}
	return err
}

// monitor loses the place when the session is lost, or the list says that it does not hold one.
func (m *Semaphore) monitor(ctx context.Context, index uint64) {
	defer close(m.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.s.ctx, cancel)()
	for {
		list, meta, err := m.s.c.ListWait(ctx, m.prefix+"/", index, 0, ListOptions{})
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
				m.lose(errors.New("somebody else has taken the place off the list"))
				return
			}
			index = meta.Index
		}
	}
}

// lose ends the tenure here. Doing it again does nothing.
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
