package kv

import (
	"time"

	"github.com/tidwall/btree"
)

// times is the times that run for keys: TTLs and lock-delays.
type times struct {
	expiry *btree.Map[string, running] // by key
	delays *btree.Map[string, running] // by key
}

// running is a time that runs: a TTL or a lock-delay.
type running struct {
	arm   uint64 // revision at which it was set
	after time.Duration
}

func newTimes() times {
	return times{expiry: btree.NewMap[string, running](0), delays: btree.NewMap[string, running](0)}
}

func (t *times) copy() times { return times{expiry: t.expiry.Copy(), delays: t.delays.Copy()} }

// mayExpire reports whether there is space for a key to get a TTL. was is its TTL so far.
func (t *times) mayExpire(was, ttl time.Duration, limit int) bool {
	return ttl == 0 || was > 0 || t.expiry.Len() < limit
}

// setExpiry makes ttl, from revision on, the time of key, or ends it if ttl is 0. was is its time so far. It returns
// what runs now, or has ended.
func (t *times) setExpiry(key string, was, ttl time.Duration, revision uint64, c *changes) Timed {
	switch {
	case ttl > 0:
		r := running{arm: revision, after: ttl}
		t.expiry.Set(key, r)
		c.set(KindExpiry, key, appendRunning(nil, r))
		return Timed{Kind: TimedKey, Name: key, Arm: r.arm, After: ttl}
	case was > 0:
		r, _ := t.expiry.Delete(key)
		c.set(KindExpiry, key, nil)
		return Timed{Kind: TimedKey, Name: key, Arm: r.arm}
	}
	return Timed{}
}

// setDelay begins the lock-delay of key at revision.
func (t *times) setDelay(key string, delay time.Duration, revision uint64, c *changes) Timed {
	r := running{arm: revision, after: delay}
	t.delays.Set(key, r)
	c.set(KindDelay, key, appendRunning(nil, r))
	return Timed{Kind: TimedDelay, Name: key, Arm: r.arm, After: delay}
}

// endDelay carries out OpEndDelay. It ends the lock-delay of c's key if it is the one that c means.
func (t *times) endDelay(c *Command, ch *changes, l *ledger) Result {
	r, runs := t.delays.Get(c.Key)
	if !runs || r.arm != c.Arm {
		return l.unchanged(CodeCondition)
	}
	t.delays.Delete(c.Key)
	ch.set(KindDelay, c.Key, nil)
	l.notes.time(Timed{Kind: TimedDelay, Name: c.Key, Arm: r.arm})
	return l.unchanged(CodeDone)
}
