package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"tenure/api"
)

// Set writes a value, whatever the key holds. It returns the revision of the write, which is the new ModifyIndex.
func (c *kv) Set(ctx context.Context, key string, value []byte, o WriteOptions) (uint64, error) {
	return c.set(ctx, "set", key, value, condition{}, o)
}

// CompareAndSet writes a value if the ModifyIndex of the key is index, or if index is 0 and the key is absent;
// otherwise the error is ErrCondition. It returns the revision of the write.
func (c *kv) CompareAndSet(
	ctx context.Context, key string, value []byte, index uint64, o WriteOptions,
) (uint64, error) {
	return c.set(ctx, "compare-and-set", key, value, condition{index: &index}, o)
}

// Delete deletes a key and returns the revision of the store after it. It is no error if the key is absent.
func (c *kv) Delete(ctx context.Context, key string, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "delete", key, condition{}, o)
}

// CompareAndDelete deletes a key if its ModifyIndex is index; otherwise the error is ErrCondition. It is no error if
// the key is absent.
func (c *kv) CompareAndDelete(ctx context.Context, key string, index uint64, o WriteOptions) (uint64, error) {
	return c.delete(ctx, "compare-and-delete", key, condition{index: &index}, o)
}

// Prune deletes every key that starts with prefix (all keys if it is empty) in one atomic write. It returns how many
// keys there were, and the revision.
func (c *kv) Prune(ctx context.Context, prefix string, o WriteOptions) (count, revision uint64, err error) {
	q := query{api.QueryRecurse}
	if err := q.write(o, false); err != nil {
		return 0, 0, &Error{Op: "prune", Key: prefix, Kind: ErrInvalid, Err: err}
	}
	r := request{method: http.MethodDelete, path: pathOf(prefix), query: q}
	a, err := c.s.write(ctx, "prune", prefix, r, o.Once)
	if err != nil {
		return 0, 0, err
	}
	return a.number(api.HeaderCount), a.number(api.HeaderRevision), nil
}

// condition is what a write of one key depends on.
type condition struct {
	index        *uint64
	lock, unlock string // the ID of a session
}

func (c *kv) set(ctx context.Context, op, key string, value []byte, when condition, o WriteOptions) (uint64, error) {
	var q query
	q.when(when)
	if o.Flags != 0 {
		q.value(api.QueryFlags, strconv.FormatUint(o.Flags, 10))
	}
	if value == nil {
		value = []byte{}
	}
	return c.write(ctx, op, key, request{method: http.MethodPut, query: q, body: value}, o, true)
}

func (c *kv) delete(ctx context.Context, op, key string, when condition, o WriteOptions) (uint64, error) {
	var q query
	q.when(when)
	return c.write(ctx, op, key, request{method: http.MethodDelete, query: q}, o, false)
}

// write sends r for one key and returns the revision. takesTTL tells whether o may have a TTL.
func (c *kv) write(ctx context.Context, op, key string, r request, o WriteOptions, takesTTL bool) (uint64, error) {
	err := checkKey(key)
	if err == nil {
		err = r.query.write(o, takesTTL)
	}
	if err != nil {
		return 0, &Error{Op: op, Key: key, Kind: ErrInvalid, Err: err}
	}
	r.path = pathOf(key)
	a, err := c.s.write(ctx, op, key, r, o.Once)
	return a.number(api.HeaderRevision), err
}

// unconditional returns an error if o has a condition, for a write that takes none.
func (o *WriteOptions) unconditional(op, key string) error {
	if o.IfIndex != 0 {
		return &Error{Op: op, Key: key, Kind: ErrInvalid, Err: errNoIfIndex}
	}
	return nil
}

var errNoIfIndex = errors.New("this write takes no IfIndex: only updates and deletions of policies and tokens do")

// when adds the condition of a write.
func (q *query) when(w condition) {
	if w.index != nil {
		q.value(api.QueryCAS, strconv.FormatUint(*w.index, 10))
	}
	if w.lock != "" {
		q.value(api.QueryAcquire, w.lock)
	}
	if w.unlock != "" {
		q.value(api.QueryRelease, w.unlock)
	}
}

// write adds the TTL and the fence of a write.
func (q *query) write(o WriteOptions, takesTTL bool) error {
	switch {
	case o.IfIndex != 0:
		return errNoIfIndex
	case o.TTL < 0:
		return fmt.Errorf("the TTL is %v: it must not be negative", o.TTL)
	case o.TTL > 0 && !takesTTL:
		return errors.New("this write takes no TTL: only those that write a value do, see Expire")
	case o.TTL > 0:
		q.value(api.QueryTTL, o.TTL.String())
	}
	if o.Fence.Name != "" {
		q.value(api.QueryFence, o.Fence.String())
	}
	return nil
}
