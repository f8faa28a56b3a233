package workload

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// sessionGrace is how many of its TTLs a session lives at least without a renewal, while its master lives.
const sessionGrace = 2

// createSession makes a session; its ID is in the operation.
func (w *worker) createSession(ttl, delay time.Duration, deletes bool) history.Op {
	op := history.Op{Kind: history.Create, Extra: history.Extra{TTL: ttl, Delay: delay, Deletes: deletes}}
	behavior := "release"
	if deletes {
		behavior = "delete"
	}
	body := fmt.Sprintf(`{"TTL":%q,"LockDelay":%q,"Behavior":%q}`, ttl, delay, behavior)
	return w.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := w.raw.request(ctx, http.MethodPut, api.PathSessionCreate, []byte(body))
		if err != nil {
			return err
		}
		var said struct{ ID string }
		if a.status != http.StatusOK || json.Unmarshal(a.body, &said) != nil {
			return unexpected(a)
		}
		op.Session = said.ID
		return nil
	})
}

// renew starts the session's TTL anew. Absent: it has ended.
func (w *worker) renew(s history.Op) history.Op {
	return w.do(history.Op{Kind: history.Renew, Extra: history.Extra{Session: s.Session, TTL: s.TTL}}, func(ctx context.Context, op *history.Op) error {
		a, err := w.raw.request(ctx, http.MethodPut, api.PathSessionRenew+op.Session, nil)
		switch {
		case err != nil:
			return err
		case a.code() == api.CodeNoSession:
			op.Absent = true
		case a.status != http.StatusOK:
			return unexpected(a)
		}
		return nil
	})
}

func (w *worker) destroy(s history.Op) history.Op {
	return w.do(history.Op{Kind: history.Destroy, Extra: history.Extra{Session: s.Session}}, func(ctx context.Context, op *history.Op) error {
		a, err := w.raw.request(ctx, http.MethodPut, api.PathSessionDestroy+op.Session, nil)
		if err == nil && a.status != http.StatusOK {
			err = unexpected(a)
		}
		return err
	})
}

// info reads the session. Absent: it has ended.
func (w *worker) info(s history.Op) history.Op {
	return w.do(history.Op{Kind: history.SessionInfo, Extra: history.Extra{Session: s.Session}}, func(ctx context.Context, op *history.Op) error {
		a, err := w.raw.request(ctx, http.MethodGet, api.PathSessionInfo+op.Session, nil)
		if err != nil {
			return err
		}
		var said []struct{ ID string }
		if a.status != http.StatusOK || json.Unmarshal(a.body, &said) != nil {
			return unexpected(a)
		}
		op.Absent = len(said) == 0
		return nil
	})
}

func (w *worker) acquire(key, value string, s history.Op) history.Op {
	return w.lock(history.Acquire, key, value, s)
}

func (w *worker) release(key, value string, s history.Op) history.Op {
	return w.lock(history.Release, key, value, s)
}

func (w *worker) lock(kind history.Kind, key, value string, s history.Op) history.Op {
	op := history.Op{Kind: kind, Key: key, Value: value, Extra: history.Extra{Session: s.Session}}
	return w.do(op, func(ctx context.Context, op *history.Op) error {
		if w.typed() {
			return w.typedLock(ctx, op)
		}
		a, err := w.raw.request(ctx, http.MethodPut, keyPath(key)+"?"+string(kind)+"="+s.Session, []byte(value))
		switch {
		case err != nil:
			return err
		case a.status == http.StatusOK && a.says("true"):
			op.Matched, op.Result = true, a.number(api.HeaderRevision)
		case a.status == http.StatusOK && a.says("false"):
		case a.code() == api.CodeNoSession:
			op.Absent = true
		default:
			return unexpected(a)
		}
		return nil
	})
}

// look reads one key with the session that holds its lock.
func (w *worker) look(key string) history.Op {
	return w.do(history.Op{Kind: history.Get, Key: key, Mode: "default"}, func(ctx context.Context, op *history.Op) error {
		a, err := w.raw.request(ctx, http.MethodGet, keyPath(key), nil)
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

// guarded writes what a lock or lease guards, under the token that its writer has of it. Only if fenced does it send
// it.
func (w *worker) guarded(key, value string, fence client.Fence, fenced bool) history.Op {
	path, sent := keyPath(key), client.Fence{}
	if fenced {
		sent = fence
		path += "?fence=" + url.QueryEscape(sent.String())
	}
	return w.do(history.Op{Kind: history.Put, Key: key, Value: value, Extra: history.Extra{Token: fence.Token}}, func(ctx context.Context, op *history.Op) error {
		if w.typed() {
			return w.typedGuarded(ctx, op, sent)
		}
		a, err := w.raw.request(ctx, http.MethodPut, path, []byte(value))
		switch {
		case err != nil:
			return err
		case a.code() == api.CodeFenced:
			op.Fenced = true
			return fmt.Errorf("%.100s", a.body)
		case a.status != http.StatusOK || !a.says("true"):
			return unexpected(a)
		}
		op.Result = a.number(api.HeaderRevision)
		return nil
	})
}
