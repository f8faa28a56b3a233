package client

import (
	"context"
	"encoding/json"
)

// readOne sends a read whose answer is JSON of type T that valid accepts.
func readOne[T any](
	ctx context.Context, s *sender, op, key string, r request, o ReadOptions, valid func(*T) bool,
) (T, Meta, error) {
	var out, none T
	r.query.mode(o.Mode)
	absent := false
	a, err := s.get(ctx, op, key, r, func(a answer) error {
		if absent = a.absent(); absent {
			return nil
		}
		if json.Unmarshal(a.body, &out) != nil || !valid(&out) {
			return errNotUnderstood
		}
		return nil
	})
	if err == nil && absent {
		err = &Error{Op: op, Key: key, Kind: ErrNotFound}
	}
	if err != nil {
		return none, Meta{}, err
	}
	return out, a.meta(), nil
}

// writeOne sends a write whose answer is JSON of type T that valid accepts.
func writeOne[T any](
	ctx context.Context, s *sender, op, key string, r request, once Once, valid func(*T) bool,
) (T, error) {
	var out, none T
	r.interpret = onlyOK(func(a answer) (_, err error, ok bool) {
		return nil, nil, json.Unmarshal(a.body, &out) == nil && valid(&out)
	})
	if _, err := s.write(ctx, op, key, r, once); err != nil {
		return none, err
	}
	return out, nil
}
