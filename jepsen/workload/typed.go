package workload

import (
	"context"
	"errors"
	"time"

	"tenure/client"
	"tenure/jepsen/history"
)

// typed tells whether the worker uses the client's calls, which retry, resume and fail over. The others speak HTTP
// themselves, so that what the client does cannot hide what the cluster does.
func (w *worker) typed() bool { return w.id%2 == 1 }

func (w *worker) typedTxn(ctx context.Context, op *history.Op) error {
	var ops []client.TxnOp
	for _, p := range op.Parts {
		ops = append(ops, client.TxnOp{Verb: client.Verb(p.Verb), Key: p.Key, Value: []byte(p.Value), Index: p.Index})
	}
	result, err := w.client.Txn(ctx, ops, client.WriteOptions{})
	if errors.Is(err, client.ErrCondition) {
		return nil
	}
	op.Matched, op.Result = err == nil, result.Revision
	for _, e := range result.Entries {
		op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex})
	}
	return err
}

func (w *worker) typedLock(ctx context.Context, op *history.Op) (err error) {
	if op.Kind == history.Acquire {
		op.Result, err = w.client.Locks().LockKey(ctx, op.Key, []byte(op.Value), op.Session, client.WriteOptions{})
	} else {
		op.Result, err = w.client.Locks().UnlockKey(ctx, op.Key, []byte(op.Value), op.Session, client.WriteOptions{})
	}
	op.Matched = err == nil
	if op.Absent = errors.Is(err, client.ErrNoSession); op.Absent || errors.Is(err, client.ErrCondition) {
		return nil
	}
	return err
}

func (w *worker) typedGuarded(ctx context.Context, op *history.Op, fence client.Fence) (err error) {
	op.Result, err = w.client.Set(ctx, op.Key, []byte(op.Value), client.WriteOptions{Fence: fence})
	op.Fenced = errors.Is(err, client.ErrFenced)
	return err
}

// typedStream is stream by the client's Watch, which goes on through other nodes by itself.
func (w *worker) typedStream(ctx context.Context, op *history.Op, enough func(uint64) bool) error {
	for e, err := range w.client.Watch(ctx, op.Key, op.Index) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case client.EventCompacted:
			op.Gap = e.Index
			return nil
		case client.EventSet:
			op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Entry.Value), Create: e.Entry.CreateIndex, Modify: e.Index, Session: e.Entry.Session})
		default:
			op.Entries = append(op.Entries, history.Entry{Key: e.Key, Modify: e.Index, Session: e.Session})
		}
		if op.Result = e.Resume; enough(op.Result) {
			return nil
		}
	}
	return nil
}

// typedWait is wait by the client's own calls.
func (w *worker) typedWait(ctx context.Context, op *history.Op) error {
	wait, err := time.ParseDuration(watchWait)
	if err != nil {
		return err
	}
	var list []client.Entry
	var meta client.Meta
	if op.Kind == history.List {
		list, meta, err = w.client.ListWait(ctx, op.Key, op.Since, wait, client.ListOptions{})
	} else {
		var e client.Entry
		if e, meta, err = w.client.GetWait(ctx, op.Key, op.Since, wait, client.ReadOptions{}); err == nil {
			list = append(list, e)
		} else if errors.Is(err, client.ErrNotFound) {
			err = nil
		}
	}
	op.Index, op.Absent = meta.Index, len(list) == 0
	for _, e := range list {
		op.Entries = append(op.Entries, history.Entry{Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex})
	}
	if op.Kind == history.Get && !op.Absent {
		op.Value, op.Entries = op.Entries[0].Value, nil
	}
	return err
}
