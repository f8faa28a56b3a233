package web

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
)

// kvPut writes one key: `cas=0` only creates, `cas=N` replaces what has ModifyIndex N, `acquire` and `release` write it
// together with its lock.
func (s *Server) kvPut(x *exchange) {
	c, ok := s.command(x, kv.OpSet, &putRules)
	if !ok {
		return
	}
	p := bodies.Get().(*[]byte)
	value, err := s.readBody(x, p, s.cfg.MaxValueBytes)
	if err == nil {
		c.Value = value
		s.write(x, c)
	} else {
		x.fail(err, false)
	}
	putBody(p)
}

// kvDelete deletes one key, or with `recurse` all that start with it.
func (s *Server) kvDelete(x *exchange) {
	if c, ok := s.command(x, kv.OpDelete, &deleteRules); ok {
		s.write(x, c)
	}
}

// command builds what the request's line and headers ask for, or answers what is wrong with them.
func (s *Server) command(x *exchange, op kv.Op, rules *rules) (kv.Command, bool) {
	q, err := parseQuery(x.r.URL.RawQuery, rules)
	c := kv.Command{Op: op, Key: keyOf(x.r), Flags: q.flags, HasIndex: q.has(nCas), Index: q.cas}
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
		err = s.onceOnly(x.r.Header, &c)
	}
	if err != nil {
		x.fail(err, false)
	}
	return c, err == nil
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
		return noSession(q.session)
	}
	return nil
}

// onceOnly takes the idempotency key and its base from the headers. A key without a base gets this node's revision,
// which protects less: a retry through another node, or a later one through this node, gets a newer base, so a copy
// that was delayed for longer than keys are remembered could be applied again.
func (s *Server) onceOnly(h http.Header, c *kv.Command) error {
	keys, bases := h[api.HeaderIdempotencyKey], h[api.HeaderBase]
	if len(keys) == 0 && len(bases) == 0 {
		s.ownKey(c)
		return nil
	}
	switch {
	case len(keys) == 0:
		return badRequest("%s without %s means nothing: send both", api.HeaderBase, api.HeaderIdempotencyKey)
	case len(keys) > 1 || len(bases) > 1:
		return badRequest("%s or %s is given twice", api.HeaderIdempotencyKey, api.HeaderBase)
	case len(keys[0]) == 0 || len(keys[0]) > kv.MaxIdemKeyBytes:
		return badRequest("%s has %d bytes: must have from 1 to %d", api.HeaderIdempotencyKey, len(keys[0]), kv.MaxIdemKeyBytes)
	}
	c.IdemKey = keys[0]
	if len(bases) == 0 {
		c.Base = s.backend.Status().Revision
		return nil
	}
	base, err := strconv.ParseUint(bases[0], 10, 64)
	if err != nil {
		return badRequest("%s %q: must be a revision, from 0 up", api.HeaderBase, bases[0])
	}
	c.Base = base
	return nil
}

// ownKey gives what locks and unlocks, and what makes a session, a key of this node's own, so that it may be sent on
// again when the master changes. Consul's clients send none, and take an answer of unknown outcome for the loss of
// their lock. Other writes are too many: each key is remembered.
func (s *Server) ownKey(c *kv.Command) {
	if c.Lock != kv.LockNone || c.Op == kv.OpSessionCreate {
		c.IdemKey, c.Base = uuid.NewString(), s.backend.Status().Revision
	}
}

// write has c applied and tells how it ended.
func (s *Server) write(x *exchange, c kv.Command) {
	res, ok := s.apply(x, &c)
	if !ok {
		return
	}
	switch res.Code {
	case kv.CodeDone:
		x.json(bodyTrue)
	case kv.CodeCondition:
		x.json(bodyFalse)
	default:
		x.fail(refusedAtApply(&c, res.Code), true)
	}
}

// apply has c applied, and sets the headers of every write. If nothing is known of how it ended, it answers that.
func (s *Server) apply(x *exchange, c *kv.Command) (kv.Result, bool) {
	asked := time.Now()
	res, err := s.backend.Write(s.patience(x.r), *c)
	s.metrics.backend[stageWrite].Observe(time.Since(asked).Seconds())
	if err != nil {
		x.fail(err, true)
		return res, false
	}
	h := x.w.Header()
	h[api.HeaderRevision] = []string{strconv.FormatUint(res.Revision, 10)}
	if c.Op == kv.OpPrune {
		h[api.HeaderCount] = []string{strconv.FormatUint(res.Count, 10)}
	}
	if res.Dropped {
		h[api.HeaderDropped] = []string{"true"}
	}
	return res, true
}

// refusedAtApply is the answer for a command that came through the log and was not applied.
func refusedAtApply(c *kv.Command, code kv.Code) *refusal {
	switch code {
	case kv.CodeKeyReused:
		return refusalOf(http.StatusConflict, api.CodeKeyReused,
			api.HeaderIdempotencyKey+" was used by another write: "+
				"nothing was changed: use a new key for each write, and the same only to retry it unchanged")
	case kv.CodeKeyTooOld:
		return refusalOf(http.StatusGatewayTimeout, api.CodeKeyTooOld,
			"key too old: outcome unknown: this copy was not applied, "+
				"but an earlier one with this "+api.HeaderIdempotencyKey+" may have been: "+
				"read the key to see, then write with a new key and base")
	case kv.CodeBaseAhead:
		return badRequest("%s is above the store's revision, so it was never seen here: nothing was changed: "+
			"send a revision that this cluster answered", api.HeaderBase)
	case kv.CodeTooMany:
		return refusalOf(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
			"prune too large: too many keys start with this: "+
				"nothing was changed: prune longer prefixes one after another")
	case kv.CodeMissing:
		return refusalOf(http.StatusNotFound, api.CodeNotFound, "there is no such key: nothing was changed")
	case kv.CodeNoSession:
		return noSession(c.Session.ID)
	case kv.CodeNotNumber:
		return refusalOf(http.StatusConflict, api.CodeNotNumber, "the key does not hold a decimal number, "+
			"or the sum is beyond 64 bits: nothing was changed")
	case kv.CodeFenced:
		return refusalOf(http.StatusConflict, api.CodeFenced,
			"fenced: a larger token than "+strconv.FormatUint(c.Token, 10)+
				" of "+strconv.Quote(c.Fence)+" was seen: nothing was changed: whoever holds the newer token is the owner")
	case kv.CodeFull:
		return refusalOf(http.StatusInsufficientStorage, api.CodeNoSpace,
			"no room: as many sessions, locks, expiring keys "+
				"or fences are kept as can be: nothing was changed: end some, then try again")
	case kv.CodeExists:
		return refusalOf(http.StatusConflict, api.CodeKeyReused, "a session of this ID exists: use a new "+
			api.HeaderIdempotencyKey+" for each session")
	case kv.CodeTooLarge:
		return refusalOf(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
			"result too large: the entries that the transaction "+
				"would show have too many bytes: nothing was changed: read fewer of them at a time")
	}
	return refusalOf(http.StatusInternalServerError, api.CodeInternal, "the cluster's nodes do not know this command: "+
		"nothing was changed: bring all nodes to the same version")
}

// noSession is Consul's answer to a lock with a session that is none: its clients look for the first words.
func noSession(id string) *refusal {
	return refusalOf(http.StatusInternalServerError, api.CodeNoSession, "invalid session "+strconv.Quote(id)+
		": it does not exist, or not any more: nothing was changed: create one")
}

// json answers 200 with a body that is JSON already.
func (x *exchange) json(body []byte) {
	h := x.w.Header()
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	x.status = http.StatusOK
	_, _ = x.w.Write(body) // a client that went away learns nothing
}
