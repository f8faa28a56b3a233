package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// keyOps are the operations on keys.
type keyOps struct {
	*conn
	consistentOnly bool
	seen           map[string]uint64 // index last read, by key
}

// get reads a key, through a quorum if consistent.
func (k *keyOps) get(key string, consistent bool) history.Op {
	mode, name := k.mode(consistent)
	op := k.do(history.Op{Kind: history.Get, Key: key, Mode: name}, func(ctx context.Context, op *history.Op) error {
		e, _, err := k.client.Get(ctx, key, client.ReadOptions{Mode: mode})
		if errors.Is(err, client.ErrNotFound) {
			op.Absent, err = true, nil
		}
		op.Value, op.Index = string(e.Value), e.ModifyIndex
		return err
	})
	k.seen[key] = op.Index
	return op
}

// mode returns the mode of a read. Only consistent reads promise anything if consistentOnly is set.
func (k *keyOps) mode(consistent bool) (client.Mode, string) {
	if consistent || k.consistentOnly {
		return client.Consistent, "consistent"
	}
	return client.Default, "default"
}

// put writes a key.
func (k *keyOps) put(key, value string) history.Op {
	op := history.Op{Kind: history.Put, Key: key, Value: value}
	return k.do(op, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = k.client.Set(ctx, key, []byte(value), client.WriteOptions{})
		return err
	})
}

// cas writes a key if it is at an index.
func (k *keyOps) cas(key, value string, index uint64) history.Op {
	op := history.Op{Kind: history.CAS, Key: key, Value: value, Index: index, Matched: true}
	return k.do(op, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = k.client.CompareAndSet(ctx, key, []byte(value), index, client.WriteOptions{})
		if errors.Is(err, client.ErrCondition) {
			op.Matched, op.Result, err = false, 0, nil
		}
		return err
	})
}

// delete deletes a key.
func (k *keyOps) delete(key string) history.Op {
	op := history.Op{Kind: history.Delete, Key: key}
	return k.do(op, func(ctx context.Context, op *history.Op) (err error) {
		op.Result, err = k.client.Delete(ctx, key, client.WriteOptions{})
		return err
	})
}

// prune deletes all keys with a prefix.
func (k *keyOps) prune(prefix string) history.Op {
	op := history.Op{Kind: history.Prune, Key: prefix}
	return k.do(op, func(ctx context.Context, op *history.Op) (err error) {
		_, op.Result, err = k.client.Prune(ctx, prefix, client.WriteOptions{})
		return err
	})
}

// list lists all keys with a prefix.
func (k *keyOps) list(prefix string, consistent bool) history.Op {
	mode, name := k.mode(consistent)
	op := history.Op{Kind: history.List, Key: prefix, Mode: name}
	return k.do(op, func(ctx context.Context, op *history.Op) error {
		entries, meta, err := k.client.List(ctx, prefix, client.ListOptions{Mode: mode})
		op.Index = meta.Revision
		op.Entries = seenEntries(entries)
		return err
	})
}

// look reads a key with the session that holds its lock.
func (k *keyOps) look(key string) history.Op {
	op := history.Op{Kind: history.Get, Key: key, Mode: "default"}
	return k.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := k.raw.request(ctx, http.MethodGet, keyPath(key), nil)
		if err != nil {
			return err
		}
		list, err := entries(a)
		if op.Absent = len(list) == 0; err == nil && !op.Absent {
			op.Value, op.Index, op.Session = string(list[0].Value), list[0].ModifyIndex, list[0].Session
		}
		return err
	})
}

// guarded writes a key that a lock or lease guards. It records the token of the fence, but sends it only if fenced.
func (k *keyOps) guarded(key, value string, fence client.Fence, fenced bool) history.Op {
	path, sent := keyPath(key), client.Fence{}
	if fenced {
		sent = fence
		path += "?fence=" + url.QueryEscape(sent.String())
	}
	op := history.Op{Kind: history.Put, Key: key, Value: value, Extra: history.Extra{Token: fence.Token}}
	return k.do(op, func(ctx context.Context, op *history.Op) error {
		if k.typed() {
			return k.typedGuarded(ctx, op, sent)
		}
		a, err := k.raw.request(ctx, http.MethodPut, path, []byte(value))
		switch {
		case err != nil:
			return err
		case a.code() == api.CodeFenced:
			op.Fenced = true
			return fmt.Errorf("%.100s", a.body)
		case a.status != http.StatusOK || !a.is("true"):
			return unexpected(a)
		}
		op.Result = a.number(api.HeaderRevision)
		return nil
	})
}

func (k *keyOps) typedGuarded(ctx context.Context, op *history.Op, fence client.Fence) (err error) {
	op.Result, err = k.client.Set(ctx, op.Key, []byte(op.Value), client.WriteOptions{Fence: fence})
	op.Fenced = errors.Is(err, client.ErrFenced)
	return err
}

// seenEntries returns entries as they are recorded.
func seenEntries(entries []client.Entry) (out []history.Entry) {
	for _, e := range entries {
		out = append(out, history.Entry{
			Key: e.Key, Value: string(e.Value), Create: e.CreateIndex, Modify: e.ModifyIndex,
		})
	}
	return out
}
