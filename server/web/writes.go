package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

// writes is the common part of all requests that go through the log.
type writes struct {
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
		return service.Invalid("%s without %s means nothing: send both", api.HeaderBase, api.HeaderIdempotencyKey)
	case len(keys) > 1 || len(bases) > 1:
		return service.Invalid("%s or %s is given twice", api.HeaderIdempotencyKey, api.HeaderBase)
	case len(keys[0]) == 0 || len(keys[0]) > api.MaxIdempotencyKeyBytes:
		return service.Invalid("%s has %d bytes: must have from 1 to %d", api.HeaderIdempotencyKey, len(keys[0]),
			api.MaxIdempotencyKeyBytes)
	}
	c.IdemKey = keys[0]
	if len(bases) == 0 {
		c.Base = w.revision()
		return nil
	}
	base, err := strconv.ParseUint(bases[0], 10, 64)
	if err != nil {
		return service.Invalid("%s %q: must be a revision, from 0 up", api.HeaderBase, bases[0])
	}
	c.Base = base
	return nil
}

// keyed reports whether the client may send copies of the request: their outcome is that of the first, whatever this node
// thinks of them.
func keyed(x *exchange) bool { return len(x.r.Header[api.HeaderIdempotencyKey]) > 0 }

// refuseKeyFor refuses an idempotency key of a request in which this node is to draw member: a copy would be another
// request.
func (x *exchange) refuseKeyFor(member string) error {
	if !keyed(x) {
		return nil
	}
	return service.Invalid("%s means nothing here: send %s, which you have drawn, and the same with each retry: nothing was changed",
		api.HeaderIdempotencyKey, member)
}

// drawKey draws a key for a command that locks, unlocks or makes a session. So the node may send the command again when
// the master changes: Consul's clients send no key, and take an unknown outcome for the loss of their lock. Other
// writes, and transactions, are too many: each key is remembered.
func (w *writes) drawKey(c *kv.Command) {
	if c.Lock != kv.LockNone || c.Op == kv.OpSessionCreate {
		c.IdemKey, c.Base = uuid.NewString(), w.revision()
	}
}

// apply applies c, and sets the headers of every write. Its error says that c was not applied and never will be, or
// that its outcome is unknown.
func (w *writes) apply(x *exchange, c *kv.Command) (kv.Result, error) {
	asked := time.Now()
	res, err := x.req.Write(*c, c.IdemKey != "" && !keyed(x), &x.took.Write)
	x.took.Store += time.Since(asked)
	if err != nil {
		return res, err
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

// nothingToDo sets the headers of a write for which no command was needed.
func (w *writes) nothingToDo(x *exchange) {
	revision := w.revision()
	x.req.Line.At(revision)
	x.w.Header()[api.HeaderRevision] = []string{strconv.FormatUint(revision, 10)}
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
		x.json(bodyFalse)
	default:
		return service.NotDone(&c, &res)
	}
	return nil
}
