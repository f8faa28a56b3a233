package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"tenure/api"
)

// TestAndSet writes value if the key holds test. It returns the value that the key holds now and the store's revision;
// ErrCondition, with that value, if the key holds another (a nil value if that is not remembered any more, see
// ErrDropped), and ErrNotFound if it is absent.
func (c *Client) TestAndSet(ctx context.Context, key string, test, value []byte, o WriteOptions) (now []byte, revision uint64, err error) {
	body := api.Command{Op: api.OpTestAndSet, Test: test, Value: value}
	now = value
	revision, err = c.post(ctx, "test-and-set", key, body, o, func(a answer) (kind, err error, ok bool) {
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
		now = out.Value
		return ErrCondition, errors.New("the key holds another value"), true
	})
	if err != nil && !errors.Is(err, ErrCondition) {
		now = nil
	}
	return now, revision, err
}

// Add adds delta to the decimal number that the key holds, and returns the sum and the revision. ErrNotFound if the key
// is absent; ErrNotNumber if it does not hold a number, or the sum is beyond 64 bits.
func (c *Client) Add(ctx context.Context, key string, delta int64, o WriteOptions) (sum int64, revision uint64, err error) {
	body := api.Command{Op: api.OpAdd, Num: &delta}
	revision, err = c.post(ctx, "add", key, body, o, func(a answer) (kind, err error, ok bool) {
		var out struct{ Value *int64 }
		if json.Unmarshal(a.body, &out) != nil || out.Value == nil {
			return nil, nil, false
		}
		sum = *out.Value
		return nil, nil, true
	})
	return sum, revision, err
}

// Rename moves the key's entry to newKey, overwriting what is there, and returns the revision. ErrNotFound if the key
// is absent; ErrCondition if either key is locked. Onto itself it changes nothing.
func (c *Client) Rename(ctx context.Context, key, newKey string, o WriteOptions) (uint64, error) {
	if err := checkKey(newKey); err != nil {
		return 0, &Error{Op: "rename", Key: key, Kind: ErrInvalid, Err: err}
	}
	body := api.Command{Op: api.OpRename, NewKey: &newKey}
	return c.post(ctx, "rename", key, body, o, nil)
}

// Remove deletes the key and returns the entry that was there, and the revision. ErrNotFound if the key is absent;
// ErrDropped if it was deleted and the entry is not known any more.
func (c *Client) Remove(ctx context.Context, key string, o WriteOptions) (Entry, uint64, error) {
	var old Entry
	body := api.Command{Op: api.OpRemove}
	revision, err := c.post(ctx, "remove", key, body, o, func(a answer) (kind, err error, ok bool) {
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

// Expire has the key deleted when ttl has passed, or with a ttl of 0 makes it stay, and returns the revision. The value
// stays as it is. ErrNotFound if the key is absent.
func (c *Client) Expire(ctx context.Context, key string, ttl time.Duration, o WriteOptions) (uint64, error) {
	if ttl < 0 {
		return 0, &Error{Op: "expire", Key: key, Kind: ErrInvalid, Err: errors.New("the TTL is negative")}
	}
	text := ""
	if ttl > 0 {
		text = ttl.String()
	}
	return c.post(ctx, "expire", key, api.Command{Op: api.OpExpire, TTL: &text}, o, nil)
}

// post runs a command on one key. understand sees answers of 200 only.
func (c *Client) post(
	ctx context.Context, op, key string, body api.Command, o WriteOptions, understand understanding,
) (uint64, error) {
	r := request{method: http.MethodPost, body: encode(body), understand: onlyOK(understand)}
	return c.writeKey(ctx, op, key, r, nil, o, false)
}

func onlyOK(understand understanding) understanding {
	if understand == nil {
		return nil
	}
	return func(a answer) (kind, err error, ok bool) {
		if a.status != http.StatusOK {
			return nil, nil, false
		}
		return understand(a)
	}
}

// encode is v as JSON, which our own plain types always are.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("client: encode a request: " + err.Error())
	}
	return b
}
