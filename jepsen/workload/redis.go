package workload

import (
	"context"
	"fmt"

	"tenure/jepsen/history"
)

// In each of these workloads two clients of three speak the Redis protocol, and the others HTTP, about the same keys.

const (
	pipelineMost = 8  // commands in one write
	pipelineUses = 40 // pipelines and writes tried on a key before a group goes on to a new one, so that lists stay short
	baseUses     = 20 // increments with one base
	lostReplies  = 8  // one increment in so many loses its connection before the reply
)

// speaksRedis reports whether the client uses the Redis protocol.
func (w *worker) speaksRedis() bool { return w.redis != nil && w.id%3 != 0 }

// redisRegisters is Registers over both protocols.
func redisRegisters(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := registerKeys(cfg)
	return each(ctx, cfg, rec, func(w *worker) {
		if key := rings[w.id].next(); w.speaksRedis() {
			w.redisRegister(key)
		} else {
			w.register(key)
		}
	})
}

// redisRegister does one or two operations on a key.
func (w *worker) redisRegister(key string) {
	switch p := w.gen.IntN(100); {
	case p < 40:
		w.values[key] = w.redis.get(key).Value
	case p < 60:
		w.redis.put(key, w.gen.value())
		if p%2 == 0 {
			w.redis.get(key) // before others have overwritten it
		}
	case p < 80:
		w.redis.swap(key, w.values[key], w.gen.value())
	case p < 97:
		w.redis.watched(key, func(string) string { return w.gen.value() })
	default:
		w.redis.delete(key)
	}
}

// redisCounters makes clients increment by INCR, if once by TENURE.ONCE. Without, an increment whose reply is lost is not
// sent again: whether it was done nobody knows.
func redisCounters(once bool) func(context.Context, Config, *history.Recorder) error {
	return func(ctx context.Context, cfg Config, rec *history.Recorder) error {
		rings := growing(cfg, "counter", counterUses)
		return each(ctx, cfg, rec, func(w *worker) {
			key := rings[w.id/growers].next()
			switch {
			case !w.speaksRedis():
				w.grow(key, oneMore)
			case w.gen.IntN(4) == 0:
				w.redis.get(key)
			case once:
				w.redisOnce(key)
			default:
				w.redis.increment(key)
			}
		})
	}
}

// redisOnce increments once, however often the connection breaks.
func (w *worker) redisOnce(key string) {
	if w.gen.serial%baseUses == 0 {
		if w.base = w.redis.revision(); w.base == 0 {
			w.gen.rest(lockRest)
			return
		}
	}
	w.redis.incrementOnce(key, "i"+w.gen.value(), w.base, func() bool { return w.gen.IntN(lostReplies) == 0 })
}

// redisAppends is appends over both protocols.
func redisAppends(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := growing(cfg, "append", listValues)
	return each(ctx, cfg, rec, func(w *worker) {
		if key := rings[w.id/growers].next(); w.speaksRedis() {
			w.redis.watched(key, func(value string) string { return oneWordMore(w, value) })
		} else {
			w.grow(key, oneWordMore)
		}
	})
}

// redisPipelines makes clients send up to pipelineMost commands in one write: they append to a list and read it. Others
// append to the same list over HTTP.
func redisPipelines(ctx context.Context, cfg Config, rec *history.Recorder) error {
	rings := growing(cfg, "append", pipelineUses)
	return each(ctx, cfg, rec, func(w *worker) {
		key := rings[w.id/growers].next()
		if !w.speaksRedis() {
			w.grow(key, func(w *worker, value string) string { return value + " " + w.gen.value() })
			return
		}
		var ops []history.Op
		var commands [][]string
		for range 1 + w.gen.IntN(pipelineMost) {
			if w.gen.IntN(3) == 0 {
				ops = append(ops, history.Op{Kind: history.Get, Key: key, Mode: w.redis.mode()})
				commands = append(commands, []string{"GET", key})
				continue
			}
			word := " " + w.gen.value()
			ops = append(ops, history.Op{Kind: history.Append, Key: key, Value: word})
			commands = append(commands, []string{"APPEND", key, word})
		}
		w.redis.pipelined(ops, commands)
	})
}

// redisLocks is locks with a fence over both protocols. A lock is a key that is only set while it is absent, and expires.
func redisLocks(ctx context.Context, cfg Config, rec *history.Recorder) error {
	return each(ctx, cfg, rec, func(w *worker) {
		var l locker = httpLocker{w.keys}
		if w.speaksRedis() {
			l = w.redis
		}
		w.holdKey(ctx, l, fmt.Sprintf("lock/%d/", w.id/lockers))
	})
}
