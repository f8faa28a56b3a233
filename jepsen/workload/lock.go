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

// locks: clients take a lock, and while they believe to hold it write what it guards several times, each time in two
// steps: read, then write. Between the two a client is sometimes paused for longer than its session lives, as by a
// garbage collection, and goes on without looking. If fenced, each write carries the token of its lock.
func locks(fenced bool) func(context.Context, Config, *history.Recorder) error {
	return func(ctx context.Context, cfg Config, rec *history.Recorder) error {
		return each(ctx, cfg, rec, func(w *worker) { w.holdOnce(ctx, fmt.Sprintf("lock/%d/", w.id/lockers), fenced) })
	}
}

// holdOnce takes the lock once, with a session of its own.
func (w *worker) holdOnce(ctx context.Context, group string, fenced bool) {
	s := w.createSession(lockTTL, 0, false)
	if s.Outcome != history.OK || !w.take(ctx, group+"lock", s) {
		return
	}
	held := w.look(group + "lock")
	if held.Outcome == history.OK && held.Session == s.Session {
		w.useLock(s, group, held.Index, fenced)
	}
	switch p := w.random.IntN(10); {
	case p < 7:
		w.release(group+"lock", w.word(), s)
		w.destroy(s)
	case p < 9:
		w.destroy(s)
	} // else it is left to its TTL
}

// take tries to acquire until it is done or the session has ended.
func (w *worker) take(ctx context.Context, key string, s history.Op) bool {
	for try := range lockTries {
		a := w.acquire(key, w.word(), s)
		if a.Matched && a.Outcome == history.OK {
			return true
		}
		if a.Absent || ctx.Err() != nil {
			return false
		}
		if try%4 == 3 {
			w.renew(s)
		}
		w.rest(2 * lockRest)
	}
	w.destroy(s)
	return false
}

func (w *worker) useLock(s history.Op, group string, token uint64, fenced bool) {
	for n := range 1 + w.random.IntN(lockWrites) {
		if n%3 == 2 && w.renew(s).Absent {
			return
		}
		w.look(group + "guarded")
		if w.random.IntN(lockPauses) == 0 {
			time.Sleep(sessionGrace*lockTTL + 100*time.Millisecond + time.Duration(w.random.Int64N(int64(lockTTL))))
		}
		if put := w.guarded(group+"guarded", w.word(), client.Fence{Name: "kv/" + group + "lock", Token: token}, fenced); put.Fenced {
			return
		}
		w.rest(lockRest)
	}
}

// rest sleeps for a random time up to d.
func (w *worker) rest(d time.Duration) { time.Sleep(time.Duration(w.random.Int64N(int64(d)))) }
