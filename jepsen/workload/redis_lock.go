package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/client"
	"tenure/jepsen/history"
)

// locker is how a client locks a key that expires, and works on what it guards. The token of a lock is its revision.
type locker interface {
	lock(key, mine string) history.Op
	unlock(key string, taken history.Op) history.Op
	look(key string) history.Op
	fenced(key, value, lock string, token uint64) history.Op
}

// holdKey takes the lock once, and works under it. Now and then it is paused for longer than the lock lives, and goes on
// without a check.
func (w *worker) holdKey(ctx context.Context, by locker, group string) {
	lock, guarded := group+"lock", group+"guarded"
	var taken history.Op
	for try := 0; ; try++ {
		taken = by.lock(lock, w.gen.value())
		if taken.Outcome == history.OK && taken.Matched {
			break
		}
		if try == lockTries || ctx.Err() != nil {
			return
		}
		w.gen.rest(2 * lockRest)
	}
	if taken.Token == 0 { // it is not known, since the lock has expired: nothing may be written
		return
	}
	for range 1 + w.gen.IntN(lockWrites) {
		by.look(guarded)
		if w.gen.IntN(lockPauses) == 0 {
			time.Sleep(lockTTL + time.Duration(w.gen.Int64N(int64(lockTTL))))
		}
		if by.fenced(guarded, w.gen.value(), lock, taken.Token).Fenced {
			return
		}
		w.gen.rest(lockRest)
	}
	if w.gen.IntN(10) < 8 { // else it expires
		by.unlock(lock, taken)
	}
}

// keyLock returns the operation that takes a lock: its value stands for the session that it has not.
func keyLock(key, mine string) history.Op {
	return history.Op{Kind: history.Acquire, Key: key, Value: mine, Extra: history.Extra{Session: mine, TTL: lockTTL}}
}

// lock takes the lock with SET NX PX. The two commands behind tell its revision: if the value is still there after it.
func (r *respOps) lock(key, mine string) history.Op {
	return r.do(keyLock(key, mine), func(ctx context.Context, op *history.Op) error {
		px := strconv.FormatInt(lockTTL.Milliseconds(), 10)
		a, err := r.withRevision(ctx, op, []string{"SET", key, mine, "NX", "PX", px})
		if op.Matched = err == nil && !a.null; !op.Matched {
			op.Result = 0
		}
		op.Token = op.Result
		return err
	})
}

// withRevision sends a command that writes op.Value to op.Key. Result is the revision of that, if it could be learned.
func (r *respOps) withRevision(ctx context.Context, op *history.Op, command []string) (respReply, error) {
	a, err := r.ask(ctx, op, command, []string{"TENURE.REVISION", op.Key}, []string{"GET", op.Key})
	switch {
	case len(a) == 0:
		return respReply{}, err
	case a[0].err != nil:
		return a[0], a[0].err
	case len(a) == 3 && a[1].err == nil && a[2].err == nil && a[2].text == op.Value:
		op.Result = uint64(a[1].number)
	}
	return a[0], nil
}

func (r *respOps) unlock(key string, taken history.Op) history.Op {
	op := history.Op{Kind: history.Release, Key: key, Value: taken.Value, Extra: history.Extra{Session: taken.Session}}
	return r.one(op, func(op *history.Op, a respReply) error { op.Matched = a.number == 1; return nil }, "DELIFEQ", key,
		taken.Value)
}

// look reads a key with its revision: that is the value's if it is the same before and after.
func (r *respOps) look(key string) history.Op {
	return r.do(history.Op{Kind: history.Get, Key: key, Mode: r.mode()}, func(ctx context.Context, op *history.Op) error {
		a, err := r.ask(ctx, op, []string{"GET", key}, []string{"TENURE.REVISION", key}, []string{"GET", key})
		if err != nil {
			return err
		}
		for i := range a {
			if a[i].err != nil {
				return a[i].err
			}
		}
		if a[0].null != a[2].null || a[0].text != a[2].text {
			return fmt.Errorf("%w: it changed while it was read", client.ErrNotApplied)
		}
		op.Index = uint64(a[1].number)
		return tookValue(op, a[0])
	})
}

func (r *respOps) fenced(key, value, lock string, token uint64) history.Op {
	op := history.Op{Kind: history.Put, Key: key, Value: value, Extra: history.Extra{Token: token}}
	return r.do(op, func(ctx context.Context, op *history.Op) error {
		fence := client.Fence{Name: "kv/" + lock, Token: token}
		_, err := r.withRevision(ctx, op, []string{"TENURE.FENCE", fence.String(), "SET", key, value})
		op.Fenced = errors.Is(err, errFenced)
		return err
	})
}

// httpLocker does the same over HTTP.
type httpLocker struct{ *keyOps }

func (h httpLocker) lock(key, mine string) history.Op {
	path := keyPath(key) + "?cas=0&ttl=" + lockTTL.String()
	return h.do(keyLock(key, mine), func(ctx context.Context, op *history.Op) error {
		a, err := h.raw.request(ctx, http.MethodPut, path, []byte(mine))
		switch {
		case err != nil:
			return err
		case a.status == http.StatusOK && a.is("true"):
			op.Matched, op.Result = true, a.number(api.HeaderRevision)
			op.Token = op.Result
		case a.status != http.StatusOK || !a.is("false"):
			return unexpected(a)
		}
		return nil
	})
}

func (h httpLocker) unlock(key string, taken history.Op) history.Op {
	op := history.Op{Kind: history.Release, Key: key, Value: taken.Value, Extra: history.Extra{Session: taken.Session}}
	path := fmt.Sprintf("%s?cas=%d", keyPath(key), taken.Result)
	return h.do(op, func(ctx context.Context, op *history.Op) error {
		a, err := h.raw.request(ctx, http.MethodDelete, path, nil)
		if err == nil && a.status != http.StatusOK {
			err = unexpected(a)
		}
		op.Matched = err == nil && a.is("true")
		return err
	})
}

func (h httpLocker) fenced(key, value, lock string, token uint64) history.Op {
	return h.guarded(key, value, client.Fence{Name: "kv/" + lock, Token: token}, true)
}
