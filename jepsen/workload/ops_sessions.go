package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// sessionOps are the operations on sessions and their locks.
type sessionOps struct{ *conn }

// sessionGrace is the number of its TTLs for which a session lives at least without a renewal, while its master lives.
const sessionGrace = 2

// create creates a session. Its ID is in the operation.
func (s sessionOps) create(ttl, delay time.Duration, deletes bool) history.Op {
	op := history.Op{Kind: history.Create, Extra: history.Extra{TTL: ttl, Delay: delay, Deletes: deletes}}
	behavior := "release"
	if deletes {
		behavior = "delete"
	}
	body := fmt.Sprintf(`{"TTL":%q,"LockDelay":%q,"Behavior":%q}`, ttl, delay, behavior)
	return s.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := s.raw.request(ctx, http.MethodPut, api.PathSessionCreate, []byte(body))
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

// renew restarts the TTL of a session. Absent: it has ended.
func (s sessionOps) renew(of history.Op) history.Op {
	op := history.Op{Kind: history.Renew, Extra: history.Extra{Session: of.Session, TTL: of.TTL}}
	return s.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := s.raw.request(ctx, http.MethodPut, api.PathSessionRenew+op.Session, nil)
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

// destroy ends a session.
func (s sessionOps) destroy(of history.Op) history.Op {
	op := history.Op{Kind: history.Destroy, Extra: history.Extra{Session: of.Session}}
	return s.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := s.raw.request(ctx, http.MethodPut, api.PathSessionDestroy+op.Session, nil)
		if err == nil && a.status != http.StatusOK {
			err = unexpected(a)
		}
		return err
	})
}

// info reads a session. Absent: it has ended.
func (s sessionOps) info(of history.Op) history.Op {
	op := history.Op{Kind: history.SessionInfo, Extra: history.Extra{Session: of.Session}}
	return s.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := s.raw.request(ctx, http.MethodGet, api.PathSessionInfo+op.Session, nil)
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

// acquire writes a key and locks it for a session. Matched: the session holds it.
func (s sessionOps) acquire(key, value string, of history.Op) history.Op {
	return s.lock(history.Acquire, key, value, of)
}

// release writes a key and unlocks it.
func (s sessionOps) release(key, value string, of history.Op) history.Op {
	return s.lock(history.Release, key, value, of)
}

func (s sessionOps) lock(kind history.Kind, key, value string, of history.Op) history.Op {
	op := history.Op{Kind: kind, Key: key, Value: value, Extra: history.Extra{Session: of.Session}}
	return s.do(op, func(ctx context.Context, op *history.Op) error {
		if s.typed() {
			return s.typedLock(ctx, op)
		}
		a, err := s.raw.request(ctx, http.MethodPut, keyPath(key)+"?"+string(kind)+"="+of.Session, []byte(value))
		switch {
		case err != nil:
			return err
		case a.status == http.StatusOK && a.is("true"):
			op.Matched, op.Result = true, a.number(api.HeaderRevision)
		case a.status == http.StatusOK && a.is("false"):
		case a.code() == api.CodeNoSession:
			op.Absent = true
		default:
			return unexpected(a)
		}
		return nil
	})
}

func (s sessionOps) typedLock(ctx context.Context, op *history.Op) (err error) {
	if op.Kind == history.Acquire {
		op.Result, err = s.client.Locks().LockKey(ctx, op.Key, []byte(op.Value), op.Session, client.WriteOptions{})
	} else {
		op.Result, err = s.client.Locks().UnlockKey(ctx, op.Key, []byte(op.Value), op.Session, client.WriteOptions{})
	}
	op.Matched = err == nil
	if op.Absent = errors.Is(err, client.ErrNoSession); op.Absent || errors.Is(err, client.ErrCondition) {
		return nil
	}
	return err
}
