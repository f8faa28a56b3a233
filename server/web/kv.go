package web

import (
	"strings"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// kvHandler answers requests about keys.
type kvHandler struct {
	writes        *writes
	waits         *waits
	bodies        *bodies
	maxValueBytes int
}

// put writes one key: `cas=0` only creates, `cas=N` replaces what has ModifyIndex N, `acquire` and `release` write it
// together with its lock.
func (h *kvHandler) put(x *exchange) error {
	c, err := h.command(x, kv.OpSet, &putRules)
	if err != nil {
		return err
	}
	p := bodyBuffers.Get().(*[]byte)
	if c.Value, err = h.bodies.read(x, p, h.maxValueBytes); err == nil {
		x.op = opName(&c)
		err = h.writes.run(x, c)
	}
	putBody(p)
	return err
}

// delete deletes one key, or with `recurse` all that start with it.
func (h *kvHandler) delete(x *exchange) error {
	c, err := h.command(x, kv.OpDelete, &deleteRules)
	if err != nil {
		return err
	}
	x.op = opName(&c)
	return h.writes.run(x, c)
}

// command returns the command that the request's line and headers ask for.
func (h *kvHandler) command(x *exchange, op kv.Op, rules *rules) (kv.Command, error) {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	c := kv.Command{Op: op, Key: x.key(), Flags: q.flags, HasIndex: q.has(nCas), Index: q.cas}
	if q.has(nRecurse) {
		c.Op = kv.OpPrune
	}
	if err == nil {
		err = rules.checkKey(c.Key, &q)
	}
	if err == nil && q.has(nAcquire|nRelease|nTTL|nFence) {
		err = q.extend(&c)
	}
	if err == nil {
		err = h.writes.identify(x.r.Header, &c)
	}
	return c, err
}

// extend puts into c what few writes have.
func (q *query) extend(c *kv.Command) error {
	c.Fence, c.Token = q.fence, q.token
	if q.has(nTTL) {
		c.TTL = q.duration
	}
	switch {
	case q.has(nAcquire):
		c.Lock = kv.LockAcquire
	case q.has(nRelease):
		c.Lock = kv.LockRelease
	default:
		return nil
	}
	c.Session.ID = strings.ToLower(q.session)
	if kv.ValidateSessionID(c.Session.ID) != nil {
		return service.NoSession(q.session)
	}
	return nil
}

// key returns what follows /v1/kv/ in the path, which net/url has decoded once: a%2Fb is a/b, %252F is the text %2F,
// and // and .. mean themselves.
func (x *exchange) key() string {
	if x.r.URL.Path == keysPath {
		return ""
	}
	return x.behind(api.PathKV)
}
