package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The keys of a semaphore are those of Consul's, so both may use one together: each contender locks PREFIX/SESSION, and
// PREFIX/.lock lists the holders and is written by compare-and-set.
const (
	semaphoreFlags = 0xe0f69a2baa414de0
	semaphoreKey   = ".lock"
)

// holders is the value of PREFIX/.lock.
type holders struct {
	Limit   int
	Holders map[string]bool // by session
}

// contender returns the key of this contender.
func (m *Semaphore) contender() string { return m.prefix + "/" + m.s.id }

// enroll locks the key of this contender.
func (m *Semaphore) enroll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.kv.s.cfg.Timeout)
	defer cancel()
	_, err := m.kv.lock(ctx, m.contender(), m.o.Value, m.s.id, WriteOptions{Flags: semaphoreFlags})
	return err
}

// tryPlace reads the semaphore when it has changed since index, and takes a place if one is free. full says why none is;
// at is the index of what was read.
func (m *Semaphore) tryPlace(ctx context.Context, index uint64) (at uint64, full, err error) {
	for {
		list, meta, err := m.kv.ListWait(ctx, m.prefix+"/", index, 0, ListOptions{})
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
		index = 0 // somebody else has written first: read again at once
	}
}

// read returns the holders, without those whose session has ended, and the entry of PREFIX/.lock.
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
	h = holders{} // what the value does not name must not come from here
	if lock.Flags != semaphoreFlags || json.Unmarshal(lock.Value, &h) != nil {
		return h, lock, m.fail(ErrCondition, fmt.Errorf("the key %q exists and is not that of a semaphore", lock.Key))
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

// busy returns the error that says who holds the places, by the values of their keys.
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

// write writes the holders, if lock is still the newest entry.
func (m *Semaphore) write(ctx context.Context, lock Entry, h holders) error {
	ctx, cancel := context.WithTimeout(ctx, m.kv.s.cfg.Timeout)
	defer cancel()
	o := WriteOptions{Flags: semaphoreFlags}
	_, err := m.kv.CompareAndSet(ctx, m.prefix+"/"+semaphoreKey, encode(h), lock.ModifyIndex, o)
	return err
}

// leave removes the session from the holders, deletes its key and ends it.
func (m *Semaphore) leave(ctx context.Context) error {
	err := m.signOff(ctx)
	if _, deleteErr := m.kv.Delete(ctx, m.contender(), WriteOptions{}); err == nil {
		err = deleteErr
	}
	if closeErr := m.s.Close(ctx); err == nil {
		err = closeErr
	}
	return err
}

// signOff removes the session from the holders.
func (m *Semaphore) signOff(ctx context.Context) error {
	var err error
	for range unlockTries {
		var list []Entry
		if list, _, err = m.kv.List(ctx, m.prefix+"/", ListOptions{}); err != nil {
			return err
		}
		h, lock, readErr := m.read(list)
		if readErr != nil || lock.ModifyIndex == 0 {
			return nil // it is absent, or not that of this semaphore
		}
		holds := h.Holders[m.s.id]
		delete(h.Holders, m.s.id)
		switch {
		case m.o.RemoveMade && len(h.Holders) == 0:
			_, err = m.kv.CompareAndDelete(ctx, lock.Key, lock.ModifyIndex, WriteOptions{})
		case holds:
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
