package client

import (
	"context"
	"strconv"
	"strings"

	"tenure/api"
)

// Get reads one key. The error is ErrNotFound if it is absent; Meta is valid then too.
func (c *kv) Get(ctx context.Context, key string, o ReadOptions) (Entry, Meta, error) {
	return c.getKey(ctx, key, o, newerThan{})
}

// List reads the entries whose keys start with prefix, all at one revision. It is no error if there are none.
func (c *kv) List(ctx context.Context, prefix string, o ListOptions) ([]Entry, Meta, error) {
	return c.list(ctx, prefix, o, newerThan{})
}

// Keys is List without the values.
func (c *kv) Keys(ctx context.Context, prefix string, o ListOptions) ([]string, Meta, error) {
	return c.keys(ctx, prefix, o, newerThan{})
}

// KeyDetails is what there is about a key besides its value, or how many keys a name is of.
type KeyDetails = api.KeyDetails

// KeyDetails is Keys with sizes, indexes, locks and times to live, and the number of keys of a name that ends in the
// separator. o.Limit is at most api.MaxKeyDetails; 0 means that.
func (c *kv) KeyDetails(ctx context.Context, prefix string, o ListOptions) ([]KeyDetails, Meta, error) {
	if o.Limit == 0 {
		o.Limit = api.MaxKeyDetails
	}
	q := query{api.QueryKeys}
	q.name(api.QueryDetails)
	if o.Separator != "" {
		q.value(api.QuerySeparator, o.Separator)
	}
	q.list(o)
	var details []KeyDetails
	meta, err := c.read(ctx, "list", prefix, q, newerThan{}, func(a answer) error {
		details = nil
		return decodeJSON(a, &details)
	})
	return details, meta, err
}

// Count returns how many keys start with prefix.
func (c *kv) Count(ctx context.Context, prefix string, o ReadOptions) (uint64, Meta, error) {
	var n uint64
	q := query{api.QueryCount}
	q.mode(o.Mode)
	meta, err := c.read(ctx, "count", prefix, q, newerThan{}, func(a answer) error {
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

func (c *kv) getKey(ctx context.Context, key string, o ReadOptions, when newerThan) (Entry, Meta, error) {
	if err := checkKey(key); err != nil {
		return Entry{}, Meta{}, &Error{Op: "get", Key: key, Kind: ErrInvalid, Err: err}
	}
	var entries []Entry
	var q query
	q.mode(o.Mode)
	meta, err := c.read(ctx, "get", key, q, when, func(a answer) (err error) {
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

func (c *kv) list(ctx context.Context, prefix string, o ListOptions, when newerThan) ([]Entry, Meta, error) {
	var entries []Entry
	q := query{api.QueryRecurse}
	q.list(o)
	meta, err := c.read(ctx, "list", prefix, q, when, func(a answer) (err error) {
		entries, err = decodeEntries(a)
		return err
	})
	return entries, meta, err
}

func (c *kv) keys(ctx context.Context, prefix string, o ListOptions, when newerThan) ([]string, Meta, error) {
	var keys []string
	q := query{api.QueryKeys}
	if o.Separator != "" {
		q.value(api.QuerySeparator, o.Separator)
	}
	q.list(o)
	meta, err := c.read(ctx, "list", prefix, q, when, func(a answer) error {
		keys = nil
		return decodeJSON(a, &keys)
	})
	return keys, meta, err
}

// list adds the options of a listing.
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

// read reads a key or prefix, once its index has passed that of when.
func (c *kv) read(
	ctx context.Context, op, key string, q query, when newerThan, decode func(answer) error,
) (Meta, error) {
	if when.index != 0 {
		return c.await(ctx, op, key, q, when, decode)
	}
	a, err := c.s.get(ctx, op, key, request{path: pathOf(key), query: q, linearizable: !q.stale()}, decode)
	if err != nil {
		return Meta{}, err
	}
	return a.meta(), nil
}
