package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tenure/api"
)

// Mode is what a read promises.
type Mode uint8

// The read modes.
const (
	Default    Mode = iota // linearizable while the nodes' clock rates err by less than the configured drift
	Consistent             // linearizable without that assumption; costs a round of messages between the nodes
	Stale                  // the applied state of the node that answers, however old; works without a master
)

// ReadOptions says how to read. The zero value is a linearizable read.
type ReadOptions struct {
	Mode Mode
}

// ListOptions says what to list under a prefix. The zero value is all of it, linearizable, in key order.
type ListOptions struct {
	Mode    Mode
	Limit   int  // at most so many; 0: no limit
	Reverse bool // falling key order
	// Start is the first key to be listed, itself included, in the direction of the listing; "" is the first of all.
	// It need not exist. To read pages of n, ask for n+1 and start the next page with the last key got.
	Start string
	// Separator (Keys only) checkpoints all keys that agree up to its first appearance behind the prefix into one.
	Separator string
}

// Meta describes the state that a read saw.
type Meta struct {
	Index       uint64        // never 0; of the entry or prefix, see the API
	LastContact time.Duration // age of the node's last word from the master; 0 on the master
	KnownLeader bool
	Revision    uint64 // of the whole store in that state: where a Watch goes on from here. 0: nothing was ever written
}

// Entry is a key with its value. CreateIndex and ModifyIndex are revisions; ModifyIndex is what CAS compares.
type Entry struct {
	Key         string
	Value       []byte
	Flags       uint64
	CreateIndex uint64
	ModifyIndex uint64
	LockIndex   uint64
	Session     string `json:",omitempty"` // ID of the session that holds the lock
	// ExpiresIn is about what was left of the key's life when it was read; 0: it stays. Writes and events do not tell
	// it.
	ExpiresIn time.Duration `json:"-"`
}

// decodeEntries decodes a listing.
func decodeEntries(a answer) ([]Entry, error) {
	var wire []api.Entry
	if err := decodeJSON(a, &wire); err != nil || len(wire) == 0 {
		return nil, err
	}
	entries := make([]Entry, len(wire))
	for i := range wire {
		var err error
		if entries[i], err = entryOf(&wire[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// entryOf is w as callers see it.
func entryOf(w *api.Entry) (Entry, error) {
	e := Entry{
		Key: w.Key, Value: w.Value, Flags: w.Flags, Session: w.Session,
		CreateIndex: w.CreateIndex, ModifyIndex: w.ModifyIndex, LockIndex: w.LockIndex,
	}
	if w.ExpiresIn == "" {
		return e, nil
	}
	d, err := time.ParseDuration(w.ExpiresIn)
	if err != nil {
		return e, errNotUnderstood
	}
	e.ExpiresIn = max(d, 1) // 0 would say that it stays
	return e, nil
}

// Get reads one key; ErrNotFound if it is absent (Meta is valid then too).
func (c *Client) Get(ctx context.Context, key string, o ReadOptions) (Entry, Meta, error) {
	return c.getKey(ctx, key, o, at{})
}

// List reads the entries whose keys start with prefix, all in one consistent view. None is not an error.
func (c *Client) List(ctx context.Context, prefix string, o ListOptions) ([]Entry, Meta, error) {
	return c.list(ctx, prefix, o, at{})
}

// Keys is List without the values.
func (c *Client) Keys(ctx context.Context, prefix string, o ListOptions) ([]string, Meta, error) {
	return c.keys(ctx, prefix, o, at{})
}

func (c *Client) getKey(ctx context.Context, key string, o ReadOptions, when at) (Entry, Meta, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, Meta{}, &Error{Op: "get", Key: key, Kind: ErrInvalid, Err: err}
	}
	var entries []Entry
	var q query
	q.mode(o.Mode)
	meta, err := c.get(ctx, "get", key, q, when, func(a answer) (err error) {
		if entries, err = decodeEntries(a); err != nil || len(entries) <= 1 {
			return err
		}
		return errNotUnderstood
	})
	if err != nil {
		return Entry{}, meta, err
	}
	if len(entries) == 0 {
		return Entry{}, meta, &Error{Op: "get", Key: key, Kind: ErrNotFound}
	}
	return entries[0], meta, nil
}

func (c *Client) list(ctx context.Context, prefix string, o ListOptions, when at) ([]Entry, Meta, error) {
	var entries []Entry
	q := query{api.QueryRecurse}
	q.list(o)
	meta, err := c.get(ctx, "list", prefix, q, when, func(a answer) (err error) {
		entries, err = decodeEntries(a)
		return err
	})
	return entries, meta, err
}

func (c *Client) keys(ctx context.Context, prefix string, o ListOptions, when at) ([]string, Meta, error) {
	var keys []string
	q := query{api.QueryKeys}
	if o.Separator != "" {
		q.value(api.QuerySeparator, o.Separator)
	}
	q.list(o)
	meta, err := c.get(ctx, "list", prefix, q, when, func(a answer) error {
		keys = nil
		return decodeJSON(a, &keys)
	})
	return keys, meta, err
}

// Count is how many keys start with prefix.
func (c *Client) Count(ctx context.Context, prefix string, o ReadOptions) (uint64, Meta, error) {
	var n uint64
	q := query{api.QueryCount}
	q.mode(o.Mode)
	meta, err := c.get(ctx, "count", prefix, q, at{}, func(a answer) error {
		n = 0
		if a.absent() {
			return nil
		}
		var err error
		if n, err = strconv.ParseUint(strings.TrimSpace(string(a.body)), 10, 64); err != nil {
			return errNotUnderstood
		}
		return nil
	})
	return n, meta, err
}

func (q *query) mode(m Mode) {
	switch m {
	case Consistent:
		q.name(api.QueryConsistent)
	case Stale:
		q.name(api.QueryStale)
	}
}

func (q *query) list(o ListOptions) {
	q.mode(o.Mode)
	if o.Start != "" {
		q.value(api.QueryStart, o.Start)
	}
	if o.Limit > 0 {
		q.value(api.QueryLimit, strconv.Itoa(o.Limit))
	}
	if o.Reverse {
		q.name(api.QueryReverse)
	}
}

// get reads under /v1/kv/, as soon as there is news behind when. decode sees answers of 200, and absent ones.
func (c *Client) get(ctx context.Context, op, key string, q query, when at, decode func(answer) error) (Meta, error) {
	if when.index != 0 {
		return c.await(ctx, op, key, q, when, decode)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	r := request{method: http.MethodGet, path: pathOf(key), query: q.String()}
	a, err := c.read(ctx, op, key, func() request { return r }, decode)
	if err != nil {
		return Meta{}, err
	}
	return a.meta(), nil
}

func (a answer) meta() Meta {
	return Meta{
		Index:       a.number(api.HeaderIndex),
		LastContact: time.Duration(a.number(api.HeaderLastContact)) * time.Millisecond,
		KnownLeader: a.header.Get(api.HeaderKnownLeader) == "true",
		Revision:    a.number(api.HeaderRevision),
	}
}

// read tries request after request until a node gives an answer that decode accepts, one that no other node would give
// differently, or ctx ends. ctx has a deadline. What is not the answer of a node counts as none.
func (c *Client) read(ctx context.Context, op, key string, next func() request, decode func(answer) error) (answer, error) {
	tries := c.rounds()
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return answer{}, &Error{Op: op, Key: key, Kind: ErrUnavailable, Err: err}
		}
		r := next()
		a, _, err := c.exchange(ctx, e, r)
		switch {
		case errors.Is(err, errAnswerTooLarge):
			return answer{}, &Error{Op: op, Key: key, Kind: ErrTooLarge, Err: err}
		case err != nil:
		case !a.ofNode() && !(r.bare && a.status == http.StatusOK):
			err = a.stranger()
		case a.status == http.StatusOK || a.absent():
			if err = decode(a); err == nil {
				tries.answered(e)
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

// decodeJSON decodes 200's body; where nothing is, the listing is empty.
func decodeJSON(a answer, v any) error {
	if a.absent() {
		return nil
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return errNotUnderstood
	}
	return nil
}
