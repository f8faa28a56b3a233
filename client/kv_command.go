package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

// TestAndSet writes value if the key holds test. It returns the value that the key holds now, and the revision of the
// store. If the key holds another value, the error is ErrCondition and that value is returned. It is nil only if it is
// not known: an earlier copy, whose answer was lost, found a value too large to be remembered. The error is ErrNotFound
// if the key is absent.
func (c *kv) TestAndSet(
	ctx context.Context, key string, test, value []byte, o WriteOptions,
) (now []byte, revision uint64, err error) {
	body := api.Command{Op: api.OpTestAndSet, Test: test, Value: value}
	now = value
	revision, err = c.command(ctx, "test-and-set", key, body, o, func(a answer) (kind, err error, ok bool) {
		var out struct {
			Success *bool
			Value   []byte
		}
		if json.Unmarshal(a.body, &out) != nil || out.Success == nil {
			return nil, nil, false
		}
		if *out.Success {
			return nil, nil, true
		}
		if now = out.Value; now == nil && a.header.Get(api.HeaderDropped) == "" {
			now = []byte{}
		}
		return ErrCondition, errors.New("the key holds another value"), true
	})
	if err != nil && !errors.Is(err, ErrCondition) {
		now = nil
	}
	return now, revision, err
}

// Add adds delta to the decimal number that the key holds, and returns the sum and the revision. The error is
// ErrNotFound if the key is absent, and ErrNotNumber if it does not hold a number or the sum is beyond 64 bits.
func (c *kv) Add(
	ctx context.Context, key string, delta int64, o WriteOptions,
) (sum int64, revision uint64, err error) {
	body := api.Command{Op: api.OpAdd, Num: &delta}
	revision, err = c.command(ctx, "add", key, body, o, func(a answer) (kind, err error, ok bool) {
		var out struct{ Value *int64 }
		if json.Unmarshal(a.body, &out) != nil || out.Value == nil {
			return nil, nil, false
		}
		sum = *out.Value
		return nil, nil, true
	})
	return sum, revision, err
}

// Rename moves the entry of key to newKey, overwriting what is there, and returns the revision. The error is
// ErrNotFound if the key is absent, and ErrCondition if either key is locked. A key renamed to itself is not changed.
func (c *kv) Rename(ctx context.Context, key, newKey string, o WriteOptions) (uint64, error) {
	if err := checkKey(newKey); err != nil {
		return 0, &Error{Op: "rename", Key: key, Kind: ErrInvalid, Err: err}
	}
	body := api.Command{Op: api.OpRename, NewKey: &newKey}
	return c.command(ctx, "rename", key, body, o, nil)
}

// Remove deletes a key and returns the entry that was there, and the revision. The error is ErrNotFound if the key is
// absent, and ErrDropped if it was deleted and the entry is not known any more.
func (c *kv) Remove(ctx context.Context, key string, o WriteOptions) (Entry, uint64, error) {
	var old Entry
	body := api.Command{Op: api.OpRemove}
	revision, err := c.command(ctx, "remove", key, body, o, func(a answer) (kind, err error, ok bool) {
		if a.header.Get(api.HeaderDropped) != "" {
			return ErrDropped, nil, true
		}
		var w *api.Entry
		if json.Unmarshal(a.body, &w) != nil || w == nil || w.Key != key {
			return nil, nil, false
		}
		old, err = entryOf(w)
		return nil, nil, err == nil
	})
	return old, revision, err
}

// Expire makes the key expire after ttl, or never if ttl is 0, and returns the revision. The value does not change. The
// error is ErrNotFound if the key is absent.
func (c *kv) Expire(ctx context.Context, key string, ttl time.Duration, o WriteOptions) (uint64, error) {
	if ttl < 0 {
		return 0, &Error{Op: "expire", Key: key, Kind: ErrInvalid, Err: errors.New("the TTL is negative")}
	}
	text := ""
	if ttl > 0 {
		text = ttl.String()
	}
	return c.command(ctx, "expire", key, api.Command{Op: api.OpExpire, TTL: &text}, o, nil)
}

// command runs a command on one key. interpret sees answers of 200 only.
func (c *kv) command(
	ctx context.Context, op, key string, body api.Command, o WriteOptions, interpret interpreter,
) (uint64, error) {
	r := request{method: http.MethodPost, body: encode(body), interpret: onlyOK(interpret)}
	return c.write(ctx, op, key, r, o, false)
}
