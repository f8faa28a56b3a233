package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"

	"tenure/api"
)

// MaxKeyBytes is the longest key that a cluster takes.
const MaxKeyBytes = 1024

// WriteOptions goes with a write. The zero value is a plain new write.
type WriteOptions struct {
	// Flags are stored with the entry (Put, CAS, Acquire and Release only).
	Flags uint64
	// TTL is how long the key lives (Put, CAS, Acquire and Release only; elsewhere ErrInvalid). 0: it stays, also if it
	// had a TTL before.
	TTL time.Duration
	// Fence, if its Name is not "", has the write refused with ErrFenced once a larger token was seen (all writes to
	// keys, and transactions).
	Fence Fence
	// Once, if its Key is not "", makes this another try of an earlier write, whose Error.Once it is. The outcome of
	// that earlier try counts as unknown from the start.
	Once Once
}

// Put writes a value and returns the revision of the write, which is the entry's new ModifyIndex.
func (c *Client) Put(ctx context.Context, key string, value []byte, o WriteOptions) (uint64, error) {
	return c.put(ctx, "put", key, value, condition{}, o)
}

// CAS writes a value if the key's ModifyIndex is index, or if index is 0 and the key is absent; else ErrCondition. It
// returns the revision of the write.
func (c *Client) CAS(ctx context.Context, key string, value []byte, index uint64, o WriteOptions) (uint64, error) {
	return c.put(ctx, "cas", key, value, condition{index: &index}, o)
}

// Delete removes a key and returns the store's revision after it. An absent key is no error.
func (c *Client) Delete(ctx context.Context, key string, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "delete", key, condition{}, o)
}

// DeleteCAS removes a key if its ModifyIndex is index; else ErrCondition. An absent key is no error.
func (c *Client) DeleteCAS(ctx context.Context, key string, index uint64, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "delete", key, condition{index: &index}, o)
}

// Prune removes every key that starts with prefix (all keys, if it is empty) in one atomic write. It returns how many
// there were and the revision.
func (c *Client) Prune(ctx context.Context, prefix string, o WriteOptions) (count, revision uint64, err error) {
	q := query{api.QueryRecurse}
	if err := q.write(o, false); err != nil {
		return 0, 0, &Error{Op: "prune", Key: prefix, Kind: ErrInvalid, Err: err}
	}
	r := request{method: http.MethodDelete, path: pathOf(prefix), query: q.String()}
	a, err := c.write(ctx, "prune", prefix, r, o)
	if err != nil {
		return 0, 0, err
	}
	return a.number(api.HeaderCount), a.number(api.HeaderRevision), nil
}

// condition is what a write of one key depends on.
type condition struct {
	index            *uint64
	acquire, release string // the ID of a session
}

func (c *Client) put(ctx context.Context, op, key string, value []byte, when condition, o WriteOptions) (uint64, error) {
	var q query
	q.when(when)
	if o.Flags != 0 {
		q.value(api.QueryFlags, strconv.FormatUint(o.Flags, 10))
	}
	if value == nil {
		value = []byte{}
	}
	return c.writeKey(ctx, op, key, request{method: http.MethodPut, body: value}, q, o, true)
}

func (c *Client) delete(ctx context.Context, op, key string, when condition, o WriteOptions) (uint64, error) {
	var q query
	q.when(when)
	return c.writeKey(ctx, op, key, request{method: http.MethodDelete}, q, o, false)
}

// writeKey sends r for one key and returns the revision. mayExpire tells whether o may have a TTL.
func (c *Client) writeKey(ctx context.Context, op, key string, r request, q query, o WriteOptions, mayExpire bool) (uint64, error) {
	err := checkKey(key)
	if err == nil {
		err = q.write(o, mayExpire)
	}
	if err != nil {
		return 0, &Error{Op: op, Key: key, Kind: ErrInvalid, Err: err}
	}
	r.path, r.query = pathOf(key), q.String()
	a, err := c.write(ctx, op, key, r, o)
	return a.number(api.HeaderRevision), err
}

func (q *query) when(w condition) {
	if w.index != nil {
		q.value(api.QueryCAS, strconv.FormatUint(*w.index, 10))
	}
	if w.acquire != "" {
		q.value(api.QueryAcquire, w.acquire)
	}
	if w.release != "" {
		q.value(api.QueryRelease, w.release)
	}
}

// write adds what of o goes into the query.
func (q *query) write(o WriteOptions, mayExpire bool) error {
	switch {
	case o.TTL < 0:
		return fmt.Errorf("the TTL is %v: it must not be negative", o.TTL)
	case o.TTL > 0 && !mayExpire:
		return errors.New("this write takes no TTL: only those that write a value do, see Expire")
	case o.TTL > 0:
		q.value(api.QueryTTL, o.TTL.String())
	}
	if o.Fence.Name != "" {
		q.value(api.QueryFence, o.Fence.String())
	}
	return nil
}

// checkKey says early what any node would say, because an empty key would turn one request into another.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty: a key has 1 to 1,024 bytes")
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("the key has %d bytes: a key has 1 to 1,024", len(key))
	case !utf8.ValidString(key):
		return errors.New("the key is not UTF-8")
	}
	return nil
}
