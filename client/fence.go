package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"tenure/api"
)

// Fence names a token that goes with writes: the store refuses them once it has seen a larger token of that name. So a
// process that was stopped while it held a lock, and whose successor has written under its own token, cannot write
// over that when it wakes.
type Fence struct {
	Name  string // kv/KEY or lease/NAME
	Token uint64 // from 1; of kv/KEY a ModifyIndex of KEY that was read while its lock was held
}

// String is f as `?fence=` takes it: NAME:TOKEN.
func (f Fence) String() string { return f.Name + ":" + strconv.FormatUint(f.Token, 10) }

// FenceToken is the largest token that the store has seen of a fence. If it keeps none of that name, kept is false, and
// the token is the floor of all such.
func (c *Client) FenceToken(ctx context.Context, name string, o ReadOptions) (token uint64, kept bool, err error) {
	if name == "" {
		return 0, false, &Error{Op: "fence", Kind: ErrInvalid, Err: errNoFence}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	var q query
	q.mode(o.Mode)
	r := request{method: http.MethodGet, path: api.PathFence + name, query: q.String()}
	var out api.Fence
	_, err = c.read(ctx, "fence", name, func() request { return r }, func(a answer) error {
		if a.status != http.StatusOK || json.Unmarshal(a.body, &out) != nil {
			return errNotUnderstood
		}
		return nil
	})
	return out.Token, !out.Floor, err
}

// DropFence has the store forget a fence, for the space that it takes, once nobody will write under it any more. The
// largest token becomes the floor of every fence of its kind that the store does not keep.
func (c *Client) DropFence(ctx context.Context, name string, o WriteOptions) error {
	if name == "" {
		return &Error{Op: "drop fence", Kind: ErrInvalid, Err: errNoFence}
	}
	_, err := c.write(ctx, "drop fence", name, request{method: http.MethodDelete, path: api.PathFence + name}, o)
	return err
}

var errNoFence = errors.New("the fence has no name: it is kv/KEY or lease/NAME")
