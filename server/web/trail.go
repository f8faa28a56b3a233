package web

import (
	"cmp"
	"net/http"
	"strings"

	"tenure/api"
	"tenure/kv"
)

// isAct reports whether a request with that method, to that endpoint, is one for the audit log.
func (e *endpoint) isAct(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return method == http.MethodGet && e.use&exported != 0
	}
	return e.handlers[method] != nil && e.use&asks == 0
}

// actVerbs are what methods do at the routes that are named for a thing. The names of other routes end with a verb.
var actVerbs = map[string]map[string]string{
	"kv":         {http.MethodPut: "set", http.MethodDelete: "delete", http.MethodPost: "post"},
	"txn":        {http.MethodPut: "apply"},
	"acl-token":  {http.MethodPut: "update", http.MethodDelete: "delete"},
	"acl-policy": {http.MethodPut: "update", http.MethodDelete: "delete"},
	"fence":      {http.MethodDelete: "delete"},
	"quota":      {http.MethodPut: "set", http.MethodDelete: "delete"},
	"backup":     {http.MethodGet: "create"},
	"snapshot":   {http.MethodGet: "save", http.MethodPut: "restore"},
}

// actOf returns the name of a request's act: a thing and what is done to it, as in "acl.token.update".
func (e *endpoint) actOf(x *exchange) string {
	route := e.latency.route
	act := strings.ReplaceAll(route, "-", ".")
	if verb := cmp.Or(x.op, actVerbs[route][x.r.Method]); verb != "" {
		act += "." + verb
	}
	return act
}

// record adds the request to the audit log, if it belongs there.
func (d *dispatcher) record(x *exchange, e *endpoint, whole bool) {
	if !x.req.Line.Owed() {
		return
	}
	if !whole {
		x.req.Line.Unknown()
	}
	d.identify(x)
	x.req.Record(&x.req.Line, e.actOf(x), x.began)
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

// aboutIDIn notes the ID of a token or policy in a path, as idAt reads it. That of no token may be the secret of one.
func (x *exchange) aboutIDIn(path string) {
	for part := range strings.SplitSeq(path, "/") {
		id := strings.ToLower(part)
		switch {
		case kv.ValidateSessionID(id) != nil:
		case strings.HasPrefix(path, api.PathACLTokens):
			x.req.AboutToken(id)
		default:
			x.req.Line.About(id)
		}
	}
}
