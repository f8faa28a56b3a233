package load

import (
	"context"
	"errors"
	"fmt"

	"tenure/client"
	"tenure/cmd/kvctl/internal/records"
)

// write writes a batch until its outcome is known, and returns the number of skipped records. once is for the first
// try. With Skip it tries again without the records whose keys exist, each time under another idempotency key.
func (r *run) write(ctx context.Context, batch []records.Record, once client.Once) (skipped int, err error) {
	key := once.Key
	for try := 1; len(batch) > 0; try++ {
		failed, err := r.try(ctx, batch, once)
		if err == nil || errors.Is(err, client.ErrDropped) { // ErrDropped: done, but the result is forgotten
			return skipped, nil
		}
		if !errors.Is(err, client.ErrCondition) || len(failed) == 0 {
			return 0, err
		}
		if r.Conflict != Skip {
			return 0, fmt.Errorf("%.60q: %w", batch[failed[0]].Key, ErrExists)
		}
		batch = without(batch, failed)
		skipped += len(failed)
		once.Key = fmt.Sprintf("%s.%d", key, try)
	}
	return skipped, nil
}

// try sends a batch. With ErrCondition it returns the indexes of the records whose keys exist, ascending.
func (r *run) try(ctx context.Context, batch []records.Record, once client.Once) (failed []int, err error) {
	if len(batch) == 1 {
		e := &batch[0]
		o := client.WriteOptions{Flags: e.Flags, TTL: e.TTL, Once: once}
		if r.Conflict == Overwrite {
			_, err = r.Store.Set(ctx, e.Key, e.Value, o)
		} else {
			_, err = r.Store.CompareAndSet(ctx, e.Key, e.Value, 0, o)
		}
		return []int{0}, err
	}
	verb := client.TxnSet
	if r.Conflict != Overwrite {
		verb = client.TxnCAS // at index 0: the key must be absent
	}
	ops := make([]client.TxnOp, len(batch))
	for i, e := range batch {
		ops[i] = client.TxnOp{Verb: verb, Key: e.Key, Value: e.Value, Flags: e.Flags}
	}
	_, err = r.Store.Txn(ctx, ops, client.WriteOptions{Once: once})
	var t *client.TxnError
	if errors.Is(err, client.ErrCondition) && errors.As(err, &t) {
		for _, f := range t.Failed {
			if f.Op < 0 || f.Op >= len(batch) || len(failed) > 0 && f.Op <= failed[len(failed)-1] {
				return nil, err
			}
			failed = append(failed, f.Op)
		}
	}
	return failed, err
}

// without returns a copy of batch without the records at the given indexes, which ascend.
func without(batch []records.Record, places []int) []records.Record {
	out := make([]records.Record, 0, len(batch)-len(places))
	for i, e := range batch {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
			continue
		}
		out = append(out, e)
	}
	return out
}
