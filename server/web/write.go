package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/kv"
)

// kvPut writes one key: `cas=0` only creates, `cas=N` replaces what has ModifyIndex N.
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
	if err == nil {
		err = s.onceOnly(x.r.Header, &c)
	}
	if err != nil {
		x.fail(err, false)
	}
	return c, err == nil
}

// onceOnly takes the idempotency key and its base from the headers. A key without a base gets this node's revision,
// which protects less: a retry through another node, or a later one through this node, gets a newer base, so a copy
// that was delayed for longer than keys are remembered could be applied again.
func (s *Server) onceOnly(h http.Header, c *kv.Command) error {
	keys, bases := h[headIdemKey], h[headBase]
	if len(keys) == 0 && len(bases) == 0 {
		return nil
	}
	switch {
	case len(keys) == 0:
		return badRequest("%s without %s means nothing: send both", headBase, headIdemKey)
	case len(keys) > 1 || len(bases) > 1:
		return badRequest("%s or %s is given twice", headIdemKey, headBase)
	case len(keys[0]) == 0 || len(keys[0]) > kv.MaxIdemKeyBytes:
		return badRequest("%s has %d bytes: must have from 1 to %d", headIdemKey, len(keys[0]), kv.MaxIdemKeyBytes)
	}
	c.IdemKey = keys[0]
	if len(bases) == 0 {
		c.Base = s.backend.Status().Revision
		return nil
	}
	base, err := strconv.ParseUint(bases[0], 10, 64)
	if err != nil {
		return badRequest("%s %q: must be a revision, from 0 up", headBase, bases[0])
	}
	c.Base = base
	return nil
}

// write has c applied and tells how it ended.
func (s *Server) write(x *exchange, c kv.Command) {
	asked := time.Now()
	res, err := s.backend.Write(s.patience(x.r), c)
	s.metrics.backend[stageWrite].Observe(time.Since(asked).Seconds())
	if err != nil {
		x.fail(err, true)
		return
	}
	h := x.w.Header()
	h[headRevision] = []string{strconv.FormatUint(res.Revision, 10)}
	if c.Op == kv.OpPrune {
		h[headCount] = []string{strconv.FormatUint(res.Count, 10)}
	}
	switch res.Code {
	case kv.CodeDone:
		x.json(bodyTrue)
	case kv.CodeCondition:
		x.json(bodyFalse)
	default:
		x.fail(refusedAtApply(res.Code), true)
	}
}

// refusedAtApply is the answer for a command that came through the log and was not applied.
func refusedAtApply(c kv.Code) *refusal {
	switch c {
	case kv.CodeKeyReused:
		return &refusal{code: http.StatusConflict, text: headIdemKey + " was used by another write: nothing was changed: use a new key for each write, and the same only to retry it unchanged"}
	case kv.CodeKeyTooOld:
		return &refusal{code: http.StatusGatewayTimeout, text: "key too old: outcome unknown: this copy was not applied, but an earlier one with this " + headIdemKey + " may have been: read the key to see, then write with a new key and base"}
	case kv.CodeBaseAhead:
		return badRequest("%s is above the store's revision, so it was never seen here: nothing was changed: send a revision that this cluster answered", headBase)
	case kv.CodeTooMany:
		return &refusal{code: http.StatusRequestEntityTooLarge, text: "prune too large: too many keys start with this: nothing was changed: prune longer prefixes one after another"}
	}
	return &refusal{code: http.StatusInternalServerError, text: "the cluster's nodes do not know this command: nothing was changed: bring all nodes to the same version"}
}

// json answers 200 with a body that is JSON already.
func (x *exchange) json(body []byte) {
	x.w.Header()["Content-Type"] = jsonType
	x.code = http.StatusOK
	_, _ = x.w.Write(body) // a client that went away learns nothing
}
