package web

import (
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
)

// session adds e and reports whether to go on.
func (l *jsonList) session(e kv.Session) bool {
	l.element()
	l.buf = appendSession(l.buf, &e, nil, l.pretty)
	return l.flushed()
}

// maxShownKeys is how many of the keys that a session holds are named.
const maxShownKeys = 100

// sessionDetails is what `details` shows of a session beyond what Consul does.
type sessionDetails struct {
	expiresIn time.Duration // 0: it has no TTL
	held      uint64        // how many keys it has locked that may be read
	keys      []string      // the first maxShownKeys of them
}

// sessionDetails adds e with its details and reports whether to go on.
func (l *jsonList) sessionDetails(e *kv.Session, view *kv.Snapshot) bool {
	d := sessionDetails{expiresIn: e.TTL}
	if l.expiring++; e.TTL > 0 && l.expiring <= maxRemaining {
		if left, runs := l.x.req.Remaining(kv.TimedSession, e.ID); runs {
			d.expiresIn = max(time.Millisecond, left.Round(time.Millisecond))
		}
	}
	view.Held(e.ID, func(key string) bool {
		if !l.x.req.MayKey(key) {
			return true
		}
		if d.held++; d.held <= maxShownKeys {
			d.keys = append(d.keys, key)
		}
		return true
	})
	l.element()
	l.buf = appendSession(l.buf, e, &d, l.pretty)
	return l.flushed()
}

// appendSession writes e as Consul shows it, and then d, if there are details.
func appendSession(b []byte, e *kv.Session, d *sessionDetails, pretty bool) []byte {
	behavior, ttl := api.BehaviorRelease, ""
	if e.Behavior == kv.Delete {
		behavior = api.BehaviorDelete
	}
	if e.TTL != 0 {
		ttl = secondsText(e.TTL)
	}
	b = appendJSONString(appendField(append(b, '{'), pretty, true, "ID"), e.ID)
	b = appendJSONString(appendField(b, pretty, false, "Name"), e.Name)
	b = appendJSONString(appendField(b, pretty, false, "Node"), e.Node)
	b = appendUintField(b, pretty, false, "LockDelay", uint64(e.LockDelay))
	b = appendJSONString(appendField(b, pretty, false, "Behavior"), behavior)
	b = appendJSONString(appendField(b, pretty, false, "TTL"), ttl)
	b = append(appendField(b, pretty, false, "NodeChecks"), nodeChecks(e.ID)...)
	b = append(appendField(b, pretty, false, "ServiceChecks"), "[]"...)
	b = appendUintField(b, pretty, false, "CreateIndex", e.CreateIndex)
	b = appendUintField(b, pretty, false, "ModifyIndex", e.ModifyIndex)
	if d != nil {
		if d.expiresIn > 0 {
			b = appendJSONString(appendField(b, pretty, false, "ExpiresIn"), d.expiresIn.String())
		}
		b = appendUintField(b, pretty, false, "Held", d.held)
		b = append(appendField(b, pretty, false, "Keys"), '[')
		for i, key := range d.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSONString(b, key)
		}
		b = append(b, ']')
	}
	if pretty {
		b = append(b, "\n    "...)
	}
	return append(b, '}')
}

// secondsText writes whole seconds as people give them: 60s, and not 1m0s.
func secondsText(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return d.String()
}
