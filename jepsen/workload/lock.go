package workload

import (
	"context"
	"fmt"
	"time"

	"tenure/client"
	"tenure/jepsen/history"
)

const (
	lockers     = 4 // clients that share a lock
	lockTTL     = 400 * time.Millisecond
	lockTries   = 50
	lockWrites  = 6  // under one lock, at most
	lockPauses  = 12 // one step in so many is interrupted by a pause
	lockRest    = 10 * time.Millisecond
	lockTTLFlag = "--session-ttl-min=200ms"
)

// locks makes clients take a lock. While a client believes that it holds the lock, it reads and then writes the key
// that the lock guards, several times. Between the two it is sometimes paused for longer than its session lives, as by
// a garbage collection, and continues without a check. If fenced, each write carries the token of its lock.
func locks(fenced bool) func(context.Context, Config, *history.Recorder) error {
	return func(ctx context.Context, cfg Config, rec *history.Recorder) error {
		return each(ctx, cfg, rec, func(w *worker) { w.holdOnce(ctx, fmt.Sprintf("lock/%d/", w.id/lockers), fenced) })
	}
}

// holdOnce takes the lock once, with a session of its own.
func (w *worker) holdOnce(ctx context.Context, group string, fenced bool) {
	s := w.sessions.create(lockTTL, 0, false)
	if s.Outcome != history.OK || !w.take(ctx, group+"lock", s) {
		return
	}
	held := w.keys.look(group + "lock")
	if held.Outcome == history.OK && held.Session == s.Session {
		w.useLock(s, group, held.Index, fenced)
	}
	switch p := w.gen.IntN(10); {
	case p < 7:
		w.sessions.release(group+"lock", w.gen.value(), s)
		w.sessions.destroy(s)
	case p < 9:
		w.sessions.destroy(s)
	} // else it expires
}

// take tries to lock the key until it succeeds or the session has ended.
func (w *worker) take(ctx context.Context, key string, s history.Op) bool {
	for try := range lockTries {
		a := w.sessions.acquire(key, w.gen.value(), s)
		if a.Matched && a.Outcome == history.OK {
			return true
		}
		if a.Absent || ctx.Err() != nil {
			return false
		}
		if try%4 == 3 {
			w.sessions.renew(s)
		}
		w.gen.rest(2 * lockRest)
	}
	w.sessions.destroy(s)
	return false
}

// useLock reads and writes the key that the lock guards.
func (w *worker) useLock(s history.Op, group string, token uint64, fenced bool) {
	for n := range 1 + w.gen.IntN(lockWrites) {
		if n%3 == 2 && w.sessions.renew(s).Absent {
			return
		}
		w.keys.look(group + "guarded")
		if w.gen.IntN(lockPauses) == 0 {
			time.Sleep(sessionGrace*lockTTL + 100*time.Millisecond + time.Duration(w.gen.Int64N(int64(lockTTL))))
		}
		fence := client.Fence{Name: "kv/" + group + "lock", Token: token}
		if w.keys.guarded(group+"guarded", w.gen.value(), fence, fenced).Fenced {
			return
		}
		w.gen.rest(lockRest)
	}
}
