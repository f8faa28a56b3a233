package kv

import (
	"fmt"
	"time"
)

// TimedKind says what happens when the time of a Timed has passed.
type TimedKind uint8

// The kinds of Timed.
const (
	TimedSession TimedKind = 1 // Name is a session's ID
	TimedKey     TimedKind = 2 // Name is a key that expires
	TimedDelay   TimedKind = 3 // Name is a key in lock-delay
	TimedQuota   TimedKind = 4 // Name is a prefix whose keys are counted for its quota: the next step is due
	TimedUpload  TimedKind = 5 // Name is an upload that nobody goes on with
	TimedToken   TimedKind = 6 // Name is the accessor of a token that expires
)

// Timed is a time that runs. The state has no clock: the master measures After, and then logs the command that ends it.
// It measures from when it learned of this very Arm, or from when it became master, whichever is later.
type Timed struct {
	Kind  TimedKind
	Name  string
	Arm   uint64
	After time.Duration // 0: it has ended, or was ended; forget it
}

// End returns the command that the master logs when t has passed. For a TimedQuota it is the next step of the count.
func (t Timed) End() Command {
	c := Command{Arm: t.Arm}
	switch t.Kind {
	case TimedSession:
		c.Op, c.Session.ID = OpEndSession, t.Name
	case TimedKey:
		c.Op, c.Key = OpEndKey, t.Name
	case TimedDelay:
		c.Op, c.Key = OpEndDelay, t.Name
	case TimedQuota:
		c.Op, c.Key = OpQuota, t.Name
	case TimedToken:
		c.Op, c.Value = OpEndToken, []byte(t.Name)
	case TimedUpload:
		c.Op, c.Session.ID = OpDropStaged, t.Name
	default:
		panic(fmt.Sprintf("kv: a time of kind %d runs", t.Kind))
	}
	return c
}

// Timed calls fn with everything that runs now: sessions, keys, lock-delays, counts of quotas, tokens, each in order,
// and an upload.
func (s *State) Timed(fn func(Timed)) {
	reg := &s.exec.reg
	reg.sessions.byID.Scan(func(id string, e *Session) bool {
		if e.TTL > 0 {
			fn(Timed{Kind: TimedSession, Name: id, Arm: e.Renewals, After: e.TTL})
		}
		return true
	})
	reg.times.expiry.Scan(func(key string, t running) bool {
		fn(Timed{Kind: TimedKey, Name: key, Arm: t.arm, After: t.after})
		return true
	})
	reg.times.delays.Scan(func(key string, t running) bool {
		fn(Timed{Kind: TimedDelay, Name: key, Arm: t.arm, After: t.after})
		return true
	})
	reg.quotas.byPrefix.Scan(func(_ string, q *quota) bool {
		if q.Counting {
			fn(q.timed(countPause))
		}
		return true
	})
	reg.acl.tokens.Scan(func(_ string, t *Token) bool {
		if t.TTL > 0 {
			fn(t.timed(t.TTL))
		}
		return true
	})
	if reg.staged.id != "" {
		fn(reg.staged.timed())
	}
}
