package web

import (
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
	case x.op != "":
		return route + "." + x.op
	case acts > 1:
		return route + "." + strings.ToLower(x.r.Method)
	}
	return route
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
