package web

import (
	"net/http"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/audit"
	"tenure/server/members"
	"tenure/server/service"
)

// trail has the fields of a request's audit line that its handler fills in. Handlers add decoded values before anything
// is decided. So the log has the names as the store sees them, however a URL spelt them.
type trail struct {
	on       bool // the request will be in the audit log
	names    audit.Names
	op       string // of a command on keys
	fence    string // under which it writes
	revision uint64
	code     api.Code // why it was not done
	missing  string   // permission
}

// about notes the names of the request's objects.
func (t *trail) about(names ...string) {
	if t.on {
		t.names.Add(names...)
	}
}

// aboutCommand notes what the command changes.
func (t *trail) aboutCommand(c *kv.Command) {
	if c.Fence != "" && c.Op != kv.OpDropFence {
		t.fence = c.Fence + ":" + strconv.FormatUint(c.Token, 10)
	}
	if t.on {
		service.AddNames(&t.names, c)
	}
	switch c.Op {
	case kv.OpSet, kv.OpDelete, kv.OpPrune, kv.OpAdd, kv.OpTestAndSet, kv.OpRemove, kv.OpExpire, kv.OpRename:
		t.op = opName(c)
	}
}

// aboutIDIn notes the ID of a token or policy in a path, as idAt reads it.
func (t *trail) aboutIDIn(path string) {
	for part := range strings.SplitSeq(path, "/") {
		if id := strings.ToLower(part); kv.ValidateSessionID(id) == nil {
			t.about(id)
		}
	}
}

// aboutMember notes which members an operation is about, and its id.
func (t *trail) aboutMember(op *members.Operation) {
	for _, id := range [...]ballot.NodeID{op.Node, op.Member.Node} {
		if id != 0 {
			t.about(nodeText(uint64(id)))
		}
	}
	if op.Member.Name != "" {
		t.about(op.Member.Name)
	}
	t.about(op.ID)
}

// opName returns what a command on a key does.
func opName(c *kv.Command) string {
	switch c.Lock {
	case kv.LockAcquire:
		return "acquire"
	case kv.LockRelease:
		return "release"
	}
	return c.Op.String()
}

// isAct reports whether a request with that method, to that endpoint, is one for the audit log.
func (e *endpoint) isAct(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return method == http.MethodGet && e.use&exported != 0
	}
	return e.handlers[method] != nil
}

// actOf returns the name of a request's act: the route, and the operation if the route has several.
func (e *endpoint) actOf(x *exchange) string {
	route, acts := e.latency.route, 0
	for method := range e.handlers {
		if method != http.MethodGet {
			acts++
		}
	}
	switch {
	case x.trail.op != "":
		return route + "." + x.trail.op
	case acts > 1:
		return route + "." + strings.ToLower(x.r.Method)
	}
	return route
}

// harmless takes the request out of the audit log: it changes nothing, whatever its method.
func (t *trail) harmless() { t.on = false }

// lacks notes the permission that is missing, if err is about one.
func (t *trail) lacks(err error) {
	if t.on && t.missing == "" {
		t.missing = service.MissingIn(err)
	}
}

// writeDown adds the request to the audit log, if it belongs there.
func (d *dispatcher) writeDown(x *exchange, e *endpoint, whole bool) {
	if !x.trail.on {
		return
	}
	r := audit.Record{
		Time: x.began, From: x.r.RemoteAddr, Act: e.actOf(x), Fence: x.trail.fence, Revision: x.trail.revision,
		Outcome: service.OutcomeOf(x.trail.code), Code: string(x.trail.code), Missing: x.trail.missing,
	}
	if !whole {
		r.Outcome = audit.Unknown
	}
	x.trail.names.Put(&r)
	d.identify(x)
	r.Accessor, r.Certificate = x.who()
	d.audit.Add(r)
}
