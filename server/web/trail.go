package web

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/kv"
	"tenure/server/access"
	"tenure/server/audit"
	"tenure/server/members"
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

// aboutCommand notes the names in the command, except those of reads within a transaction.
func (t *trail) aboutCommand(c *kv.Command) {
	if c.Fence != "" && c.Op != kv.OpDropFence {
		t.fence = c.Fence + ":" + strconv.FormatUint(c.Token, 10)
	}
	switch c.Op {
	case kv.OpTransaction:
		for i := range c.Parts {
			t.aboutCommand(&c.Parts[i])
		}
		t.op = ""
	case kv.OpSet, kv.OpDelete, kv.OpPrune, kv.OpAdd, kv.OpTestAndSet, kv.OpRemove, kv.OpExpire:
		t.op = opName(c)
		t.about(c.Key) // empty, of a prune: every key
	case kv.OpRename:
		t.op = opName(c)
		t.about(c.Key, c.NewKey)
	case kv.OpSessionCreate, kv.OpSessionDestroy, kv.OpSessionRenew:
		t.about(c.Session.ID)
	case kv.OpQuota:
		t.about(c.Key)
	case kv.OpDropFence:
		t.about(c.Fence)
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

// exports are the routes whose GET takes everything out of the cluster, which is an administrative act.
var exports = []string{"backup", "snapshot"}

// isAct reports whether a request with that method, to that endpoint, is one for the audit log.
func (e *endpoint) isAct(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return method == http.MethodGet && slices.Contains(exports, e.latency.route)
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
	var denied *access.DeniedError
	if t.on && errors.As(err, &denied) && t.missing == "" {
		t.missing = denied.Missing.String()
	}
}

// writeDown adds the request to the audit log, if it belongs there.
func (d *dispatcher) writeDown(x *exchange, e *endpoint, whole bool) {
	if !x.trail.on {
		return
	}
	r := audit.Record{
		Time: x.began, From: x.r.RemoteAddr, Act: e.actOf(x), Fence: x.trail.fence, Revision: x.trail.revision,
		Outcome: outcomeOf(x.trail.code), Code: string(x.trail.code), Missing: x.trail.missing,
	}
	if !whole {
		r.Outcome = audit.Unknown
	}
	x.trail.names.Put(&r)
	r.Accessor, r.Certificate = x.permit.who()
	d.audit.Add(r)
}

// outcomeOf returns what a code says of an act.
func outcomeOf(code api.Code) audit.Outcome {
	switch code {
	case "":
		return audit.Done
	case api.CodeDenied, api.CodeUnknownToken:
		return audit.Denied
	case api.CodeUnknown, api.CodeKeyTooOld, api.CodeInternal:
		return audit.Unknown
	}
	return audit.NotApplied
}
