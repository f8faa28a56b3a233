package resp

import (
	"math"
	"strconv"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/proto"
)

var expireCommands = []command{
	expireCommand("expire", time.Second, false),
	expireCommand("pexpire", time.Millisecond, false),
	expireCommand("expireat", time.Second, true),
	expireCommand("pexpireat", time.Millisecond, true),
}

// expireCommand returns the command that gives a key a time to live: of so many units, or until that many units after
// 1970.
func expireCommand(name string, unit time.Duration, at bool) command {
	return command{name: name, arity: -3, acts: true, aloneIf: compares,
		steps: func(b *batch, args [][]byte) {
			if key, ttl, x, ok := b.expiry(args, unit, at); ok && ttl > 0 {
				b.one(kv.Command{Op: kv.OpSetTTL, Key: key, TTL: ttl, Mode: x.mode()}, replyCount)
			} else if ok {
				b.one(kv.Command{Op: kv.OpDelete, Key: key, Mode: x.mode()}, replyCount)
			}
		},
		run: func(c *conn, args [][]byte) {
			if key, ttl, x, ok := c.batch.expiry(args, unit, at); ok {
				c.expireIf(key, ttl, x)
			}
		}}
}

// expiry is when EXPIRE is to do anything. None of it set: always.
type expiry struct {
	untimed bool // NX: only if the key has no time to live
	timed   bool // XX: only if it has one
	later   bool // GT: only if it ends later by that; a key without a time never ends
	earlier bool // LT: only if it ends earlier by that
}

// expiry reads the arguments of an EXPIRE; if they are wrong it replies why.
func (b *batch) expiry(args [][]byte, unit time.Duration, at bool) (key string, ttl time.Duration, x expiry, ok bool) {
	x, refusal := parseExpiry(args[3:])
	if refusal != "" {
		b.fail(refusal)
		return key, ttl, x, false
	}
	n, ok := integer(args[2])
	if !ok {
		b.fail(errNotInteger)
		return key, ttl, x, false
	}
	if ttl, ok = timeToLive(n, unit, at); !ok {
		b.fail(invalidExpire(strings.ToLower(string(args[0])), n, unit))
		return key, ttl, x, false
	}
	if at && ttl <= 0 && b.once {
		ttl = shortest
	}
	key, ok = b.key(args[1])
	return key, ttl, x, ok
}

// invalidExpire is Redis's refusal of n units as a time of a command. A time that Redis would take, in milliseconds, is
// only too long for the store.
func invalidExpire(command string, n int64, unit time.Duration) string {
	text := "ERR invalid expire time in '" + command + "' command"
	if n > 0 && n <= (math.MaxInt64-time.Now().UnixMilli())/int64(unit/time.Millisecond) {
		text += ": more than " + strconv.Itoa(int(kv.MaxTTL/(365*24*time.Hour))) + " years: nothing was changed"
	}
	return text
}

// compares reports whether an EXPIRE has a condition about how much time is left: the log knows how long a time to live
// is, not when it ends. The key is looked at, and the step carried out if it has not changed since.
func compares(args [][]byte) bool {
	x, refusal := parseExpiry(args[3:])
	return refusal == "" && (x.later || x.earlier)
}

// expireIf is an EXPIRE that has to look first.
func (c *conn) expireIf(key string, ttl time.Duration, x expiry) {
	c.changing(key, func(e kv.Entry) (step kv.Command, reply func(*proto.Writer)) {
		timed := e.TTL != 0
		var left time.Duration
		if timed {
			left = c.to.left(key, e.TTL)
		}
		switch {
		case e.ModifyIndex == 0, x.untimed && timed, x.timed && !timed, x.later && (!timed || ttl <= left),
			x.earlier && timed && ttl >= left:
			return kv.Command{}, func(w *proto.Writer) { w.Int(0) }
		}
		step = kv.Command{Op: kv.OpDelete, Key: key}
		if ttl > 0 {
			step = kv.Command{Op: kv.OpSetTTL, Key: key, TTL: ttl}
		}
		return step, func(w *proto.Writer) { w.Int(1) }
	})
}

// mode returns what of x the state machine decides.
func (x expiry) mode() (m kv.Mode) {
	if x.untimed {
		m |= kv.ModeAbsent
	}
	if x.timed {
		m |= kv.ModePresent
	}
	return m
}

// parseExpiry reads the conditions of EXPIRE.
func parseExpiry(args [][]byte) (x expiry, refusal string) {
	for _, a := range args {
		switch strings.ToLower(string(a)) {
		case "nx":
			x.untimed = true
		case "xx":
			x.timed = true
		case "gt":
			x.later = true
		case "lt":
			x.earlier = true
		default:
			return x, "ERR Unsupported option " + string(a)
		}
	}
	switch {
	case x.untimed && (x.timed || x.later || x.earlier):
		return x, "ERR NX and XX, GT or LT options at the same time are not compatible"
	case x.later && x.earlier:
		return x, "ERR GT and LT options at the same time are not compatible"
	}
	return x, ""
}

// shortest is a time to live that ends as soon as the log gets to it.
const shortest = time.Nanosecond

// timeToLive returns a time to live of n units, or with at the time until n units after 1970. It is 0 or less if that
// moment has passed. ok is false if Redis or the store would refuse the value.
func timeToLive(n int64, unit time.Duration, at bool) (ttl time.Duration, ok bool) {
	const millisecond = int64(time.Millisecond)
	each := int64(unit) / millisecond
	if n > math.MaxInt64/each || n < math.MinInt64/each {
		return 0, false // Redis counts in milliseconds
	}
	ms, now := n*each, time.Now()
	if !at && ms > math.MaxInt64-now.UnixMilli() {
		return 0, false
	}
	switch {
	case ms < math.MinInt64/millisecond: // that long ago is no Duration
		return 0, true
	case ms > math.MaxInt64/millisecond:
		return 0, false
	}
	if ttl = time.Duration(ms * millisecond); at {
		ttl = time.UnixMilli(ms).Sub(now)
	}
	return ttl, ttl <= kv.MaxTTL
}
