package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/acl"
	"tenure/server/slow"
)

// Writer has commands applied.
type Writer interface {
	// Write has the command applied once, through the master wherever it is. Its error is one of those of a Backend.
	// c.Value is not used after Write returns, also when it returns early: the caller reads the next body into it.
	// It adds to took where the time went; took may be nil.
	Write(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error)
	// WriteDrawn is Write of a command whose key and base are this node's own: no client has sent it before.
	WriteDrawn(timeout time.Duration, c kv.Command, took *slow.Write) (kv.Result, error)
}

// writes is the common part of all requests that go through the log.
type writes struct {
	store    Writer
	revision func() uint64 // what this node has applied
}

// command returns the command of a request that names no key.
func (w *writes) command(x *exchange, rules *rules, op kv.Op) (kv.Command, error) {
	c := kv.Command{Op: op}
	_, err := parseQuery(x.r.URL.RawQuery, rules)
	if err == nil {
		err = w.identify(x.r.Header, &c)
	}
	return c, err
}

// identify takes the idempotency key and its base from the headers. A key without a base gets this node's revision,
// which protects less: a retry through another node, or a later one through this node, gets a newer base. Then a copy
// that was delayed beyond the memory for keys could be applied again.
func (w *writes) identify(h http.Header, c *kv.Command) error {
	keys, bases := h[api.HeaderIdempotencyKey], h[api.HeaderBase]
	if len(keys) == 0 && len(bases) == 0 {
		w.drawKey(c)
		return nil
	}
	switch {
	case len(keys) == 0:
		return badRequest("%s without %s means nothing: send both", api.HeaderBase, api.HeaderIdempotencyKey)
	case len(keys) > 1 || len(bases) > 1:
		return badRequest("%s or %s is given twice", api.HeaderIdempotencyKey, api.HeaderBase)
	case len(keys[0]) == 0 || len(keys[0]) > api.MaxIdempotencyKeyBytes:
		return badRequest("%s has %d bytes: must have from 1 to %d", api.HeaderIdempotencyKey, len(keys[0]),
			api.MaxIdempotencyKeyBytes)
	}
	c.IdemKey = keys[0]
	if len(bases) == 0 {
		c.Base = w.revision()
		return nil
	}
	base, err := strconv.ParseUint(bases[0], 10, 64)
	if err != nil {
		return badRequest("%s %q: must be a revision, from 0 up", api.HeaderBase, bases[0])
	}
	c.Base = base
	return nil
}

// keyed reports whether the client may send copies of the request: their outcome is that of the first, whatever this node
// thinks of them.
func keyed(x *exchange) bool { return len(x.r.Header[api.HeaderIdempotencyKey]) > 0 }

// drawn refuses an idempotency key for a request in which this node is to draw member: a copy would be another request.
func (x *exchange) drawn(member string) error {
	if !keyed(x) {
		return nil
	}
	return badRequest("%s means nothing here: send %s, which you have drawn, and the same with each retry: nothing was changed",
		api.HeaderIdempotencyKey, member)
}

// drawKey gives a command that locks, unlocks or makes a session a key of this node's own, so that it may be sent again
// when the master changes. Consul's clients send no key, and take an unknown outcome for the loss of their lock. The
// Backend draws the key for a replacement of the whole state. Other writes are too many: each key is remembered.
func (w *writes) drawKey(c *kv.Command) {
	if c.Lock != kv.LockNone || c.Op == kv.OpSessionCreate {
		c.IdemKey, c.Base = uuid.NewString(), w.revision()
	}
}

// apply applies c, and sets the headers of every write. Its error says that the outcome of c is unknown, or that c was
// not proposed.
func (w *writes) apply(x *exchange, c *kv.Command) (kv.Result, error) {
	if err := x.mayWrite(c); err != nil {
		return kv.Result{}, err
	}
	res, err := w.decided(x, c)
	if err != nil {
		return res, inDoubt(err)
	}
	x.trail.revision = res.Revision
	if res.Code == kv.CodeQuota && !x.permit.may(acl.OperatorRead()) {
		res.Body = "" // how much others have under the prefix
	}
	if c.Op == kv.OpTestAndSet && res.Count == 0 {
		x.trail.code = api.CodeCondition
	}
	h := x.w.Header()
	h[api.HeaderRevision] = []string{strconv.FormatUint(res.Revision, 10)}
	if c.Op == kv.OpPrune {
		h[api.HeaderCount] = []string{strconv.FormatUint(res.Count, 10)}
	}
	if res.Dropped {
		h[api.HeaderDropped] = []string{"true"}
	}
	return res, nil
}

// decided has c applied, under what was decided about x.
func (w *writes) decided(x *exchange, c *kv.Command) (kv.Result, error) {
	asked := time.Now()
	defer func() { x.took.Store += time.Since(asked) }()
	s := Sending{To: w.store, Request: x.permit.request, Timeout: x.timeout(), Took: &x.took.Write,
		Drawn: c.IdemKey != "" && len(x.r.Header[api.HeaderIdempotencyKey]) == 0}
	return s.Send(*c)
}

// nothingToDo sets the headers of a write for which no command was needed.
func (w *writes) nothingToDo(x *exchange) {
	x.trail.revision = w.revision()
	x.w.Header()[api.HeaderRevision] = []string{strconv.FormatUint(x.trail.revision, 10)}
}

// run has c applied and answers true, or false if its condition did not hold.
func (w *writes) run(x *exchange, c kv.Command) error {
	res, err := w.apply(x, &c)
	if err != nil {
		return err
	}
	switch res.Code {
	case kv.CodeDone:
		x.json(bodyTrue)
	case kv.CodeCondition:
		x.trail.code = api.CodeCondition
		x.json(bodyFalse)
	default:
		return notDone(&c, &res)
	}
	return nil
}

// notDone returns the answer to a command that came through the log and was not applied.
func notDone(c *kv.Command, res *kv.Result) *refusal {
	switch res.Code {
	case kv.CodeKeyReused:
		return refuse(http.StatusConflict, api.CodeKeyReused,
			api.HeaderIdempotencyKey+" was used by another write: "+
				"nothing was changed: use a new key for each write, and the same only to retry it unchanged")
	case kv.CodeKeyTooOld:
		return refuse(http.StatusGatewayTimeout, api.CodeKeyTooOld,
			"key too old: outcome unknown: this copy was not applied, "+
				"but an earlier one with this "+api.HeaderIdempotencyKey+" may have been: "+
				"read the key to see, then write with a new key and base")
	case kv.CodeBaseAhead:
		return badRequest("%s is above the store's revision, so it was never seen here: nothing was changed: "+
			"send a revision that this cluster answered", api.HeaderBase)
	case kv.CodeTooMany:
		return refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
			"prune too large: too many keys start with this: "+
				"nothing was changed: prune longer prefixes one after another")
	case kv.CodeMissing:
		return refuse(http.StatusNotFound, api.CodeNotFound, "there is no such key: nothing was changed")
	case kv.CodeNoSession:
		return noSession(c.Session.ID)
	case kv.CodeNotNumber:
		return refuse(http.StatusConflict, api.CodeNotNumber, "the key does not hold a decimal number, "+
			"or the sum is beyond 64 bits: nothing was changed")
	case kv.CodeFenced:
		return refuse(http.StatusConflict, api.CodeFenced,
			"fenced: a larger token than "+strconv.FormatUint(c.Token, 10)+
				" of "+strconv.Quote(c.Fence)+" was seen: nothing was changed: whoever holds the newer token is the owner")
	case kv.CodeFull:
		return refuse(http.StatusInsufficientStorage, api.CodeNoSpace,
			"no room: as many sessions, locks, expiring keys, fences, quotas, policies or tokens are kept as can be: "+
				"nothing was changed: end some, then try again")
	case kv.CodeQuota:
		return overQuota(res)
	case kv.CodeExists:
		return refuse(http.StatusConflict, api.CodeKeyReused, "a session of this ID exists: use a new "+
			api.HeaderIdempotencyKey+" for each session")
	case kv.CodeTooLarge:
		return refuse(http.StatusRequestEntityTooLarge, api.CodeTooLarge,
			"result too large: the entries that the transaction "+
				"would show have too many bytes: nothing was changed: read fewer of them at a time")
	case kv.CodeDecideAgain:
		return refuse(http.StatusServiceUnavailable, api.CodeNotApplied, "not applied: permissions have changed: try again")
	case kv.CodeDecideInDoubt:
		return refuse(http.StatusGatewayTimeout, api.CodeUnknown, "outcome unknown: "+res.Code.String()+
			": this copy was not applied: read to see")
	case kv.CodeLevel:
		return refuse(http.StatusConflict, api.CodeFeatureLevel,
			"not applied: it needs feature level "+strconv.FormatUint(c.Level(), 10)+
				", and the cluster is at a lower one: upgrade all nodes, then run kvctl upgrade finish")
	}
	return refuse(http.StatusInternalServerError, api.CodeInternal, "the cluster's nodes do not know this command: "+
		"nothing was changed: bring all nodes to the same version")
}

// overQuota refuses what a quota does not allow.
func overQuota(res *kv.Result) *refusal {
	what := "the quota of a prefix does not allow it"
	if o, err := kv.DecodeOverQuota(res.Body); err == nil {
		what = o.String()
	}
	return refuse(http.StatusInsufficientStorage, api.CodeNoSpace, "no space: "+what+
		": nothing was changed: delete keys under that prefix, or have its quota raised, then try again")
}

// noSession is Consul's answer to a lock with a session that is none: its clients look for the first words.
func noSession(id string) *refusal {
	return refuse(http.StatusInternalServerError, api.CodeNoSession, "invalid session "+strconv.Quote(id)+
		": it does not exist, or not any more: nothing was changed: create one")
}
