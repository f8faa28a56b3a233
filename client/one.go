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
		var ok bool
		if out, ok = decodeValid(a.body, valid); !ok {
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
	r.interpret = onlyOK(func(a answer) (_, _ error, ok bool) {
		out, ok = decodeValid(a.body, valid)
		return nil, nil, ok
	})
	if _, err := s.write(ctx, op, key, r, once); err != nil {
		return none, err
	}
	return out, nil
}

// decodeValid decodes JSON, and reports whether it could and valid accepts it. It always decodes into a new value: JSON
// leaves alone what it does not name, and so would keep members of an earlier answer that was not understood.
func decodeValid[T any](body []byte, valid func(*T) bool) (out T, ok bool) {
	ok = json.Unmarshal(body, &out) == nil && valid(&out)
	return out, ok
}
