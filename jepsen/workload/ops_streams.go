package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// streamOps are the operations that wait for changes.
type streamOps struct{ *conn }

// follow follows the changes under a prefix from after a revision on, through one node. It ends when ctx does, when the
// node breaks off or says that changes are missing, or when enough returns true for the position. It records and
// returns what was seen.
func (s streamOps) follow(ctx context.Context, prefix string, from uint64, enough func(uint64) bool) history.Op {
	op := history.Op{
		Client: s.id, Kind: history.Stream, Key: prefix, Index: from, Result: from,
		Call: s.rec.Now(), Outcome: history.OK,
	}
	var err error
	if s.typed() {
		err = s.typedFollow(ctx, &op, enough)
	} else {
		where := fmt.Sprintf("%s/v1/watch?prefix=%s&index=%d", s.raw.endpoints[s.raw.at], url.QueryEscape(prefix), from)
		err = s.raw.follow(ctx, where, func(m message) bool { return take(&op, m) && !enough(op.Result) })
	}
	if err != nil {
		op.Error = errorText(err)
	}
	op.Return = s.rec.Now()
	s.rec.Add(op)
	return op
}

// typedFollow is follow through client.Watch, which continues at other nodes by itself.
func (s streamOps) typedFollow(ctx context.Context, op *history.Op, enough func(uint64) bool) error {
	for e, err := range s.client.Watch(ctx, op.Key, op.Index) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case client.EventCompacted:
			op.Gap = e.Index
			return nil
		case client.EventSet:
			op.Entries = append(op.Entries, history.Entry{
				Key: e.Key, Value: string(e.Entry.Value), Create: e.Entry.CreateIndex, Modify: e.Index,
				Session: e.Entry.Session,
			})
		default:
			op.Entries = append(op.Entries, history.Entry{Key: e.Key, Modify: e.Index, Session: e.Session})
		}
		if op.Result = e.Resume; enough(op.Result) {
			return nil
		}
	}
	return nil
}

// wait reads a key or a prefix, once it has changed since the index, through one node. Only answers are recorded.
func (s streamOps) wait(ctx context.Context, kind history.Kind, key string, since uint64) (history.Op, error) {
	op := history.Op{
		Client: s.id, Kind: kind, Key: key, Mode: "waiting", Call: s.rec.Now(), Extra: history.Extra{Since: since},
	}
	wait := s.rawWait
	if s.typed() {
		wait = s.typedWait
	}
	list, err := wait(ctx, &op)
	if op.Return = s.rec.Now(); err != nil {
		return op, err
	}
	op.Outcome, op.Absent = history.OK, len(list) == 0
	if op.Kind == history.Get && !op.Absent {
		op.Value = list[0].Value
	} else {
		op.Entries = list
	}
	s.rec.Add(op)
	return op, nil
}

// rawWait is wait by plain HTTP.
func (s streamOps) rawWait(ctx context.Context, op *history.Op) (out []history.Entry, err error) {
	path := fmt.Sprintf("%s%s?wait=%ds&index=%d",
		s.raw.endpoints[s.raw.at], keyPath(op.Key), watchWait/time.Second, op.Since)
	if op.Kind == history.List {
		path += "&recurse"
	}
	a, err := s.raw.once(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	list, err := entries(a)
	op.Index = a.number(api.HeaderIndex)
	for _, e := range list {
		out = append(out, e.seen())
	}
	return out, err
}

// typedWait is wait through package client.
func (s streamOps) typedWait(ctx context.Context, op *history.Op) ([]history.Entry, error) {
	if op.Kind == history.List {
		list, meta, err := s.client.ListWait(ctx, op.Key, op.Since, watchWait, client.ListOptions{})
		op.Index = meta.Index
		return seenEntries(list), err
	}
	e, meta, err := s.client.GetWait(ctx, op.Key, op.Since, watchWait, client.ReadOptions{})
	op.Index = meta.Index
	switch {
	case errors.Is(err, client.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return seenEntries([]client.Entry{e}), nil
}
