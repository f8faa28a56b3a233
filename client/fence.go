package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"tenure/api"
)

// Fence is a token that goes with writes. The store refuses a write once it has seen a larger token of the same name. A
// process that was stopped while it held a lock, and whose successor has written with its own fence, therefore cannot
// overwrite what the successor wrote.
type Fence struct {
	Name  string // kv/KEY or lease/NAME
	Token uint64 // from 1; of kv/KEY a ModifyIndex of KEY that was read while its lock was held
}

// String returns NAME:TOKEN, as the query `fence` has it.
func (f Fence) String() string { return f.Name + ":" + strconv.FormatUint(f.Token, 10) }

// Fences reads and forgets the largest tokens that the store has seen. Lock.Fence and Lease.Fence return fences for
// writes.
type Fences struct{ s *sender }

// Token returns the largest token that the store has seen of a fence. If the store keeps none of that name, kept is
// false and token is the floor of all fences of its kind.
func (f *Fences) Token(ctx context.Context, name string, o ReadOptions) (token uint64, kept bool, err error) {
	if name == "" {
		return 0, false, &Error{Op: "fence", Kind: ErrInvalid, Err: errNoFenceName}
	}
	out, _, err := readOne(ctx, f.s, "fence", name, request{path: api.PathFence + name}, o,
		func(*api.Fence) bool { return true })
	return out.Token, !out.Floor, err
}

// Drop makes the store forget a fence, to free its memory, when nobody will write with it any more. Its largest token
// becomes the floor of all fences of its kind that the store does not keep.
func (f *Fences) Drop(ctx context.Context, name string, o WriteOptions) error {
	if name == "" {
		return &Error{Op: "drop fence", Kind: ErrInvalid, Err: errNoFenceName}
	}
	if err := o.unconditional("drop fence", name); err != nil {
		return err
	}
	_, err := f.s.write(ctx, "drop fence", name, request{method: http.MethodDelete, path: api.PathFence + name}, o.Once)
	return err
}

var errNoFenceName = errors.New("the fence has no name: it is kv/KEY or lease/NAME")
