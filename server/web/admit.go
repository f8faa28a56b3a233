package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"tenure/api"
	"tenure/server/service"
)

// begin makes x a request of the client at the other end of its connection.
func (d *dispatcher) begin(x *exchange, e *endpoint) {
	at := service.End{Addr: x.r.RemoteAddr}
	if x.conn = connOf(x.r); x.conn != nil {
		x.conn.describe(x.r)
		at.Conn, at.Moved = x.conn.admitted, &x.conn.moved
	}
	d.service.Begin(&x.req, at)
	if x.req.Recorded() && e.isAct(x.r.Method) {
		x.req.Line = service.NewLine()
	}
}

// admit counts the request as one in flight and for its client's rate, or returns its refusal.
func (d *dispatcher) admit(x *exchange, e *endpoint) error {
	if ambiguous(x.r) {
		x.w.Header()["Connection"] = closeConn
	}
	p := d.priority(x, e)
	if x.conn != nil && x.conn.admitted.Reserved() {
		x.w.Header()["Connection"] = closeConn
		if p != service.Operator {
			return &refusal{code: api.CodeOverloaded, close: true, text: tooManyText}
		}
	}
	if err := x.req.Bounds.Enter(p); err != nil {
		return err
	}
	d.identify(x)
	return x.req.Bounds.Ask(headerLines(x.r.Header), p)
}

// priority says which of the reserved places x may take. A release is known by its route, or as Consul's by its query,
// whose parameters are checked later.
func (d *dispatcher) priority(x *exchange, e *endpoint) service.Priority {
	switch {
	case d.forOperator(x, e):
		return service.Operator
	case e.use&releases != 0, e.use&unlocks != 0 && strings.Contains("&"+x.r.URL.RawQuery, "&"+api.QueryRelease+"="):
		return service.Release
	}
	return service.Ordinary
}

// headerLines returns how many lines the headers of a request had.
func headerLines(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// forOperator reports whether x may take a place reserved for operators: it is for one of their routes, and with tokens
// the route needs none or x's token has operator:read (for /metrics also agent:read). It decides by this node's present
// state: asking the master could take longer than the operator has.
func (d *dispatcher) forOperator(x *exchange, e *endpoint) bool {
	switch {
	case e.use&(mends|scraped) == 0:
		return false
	case e.use&tokenless != 0 || !d.service.HasTokens():
		return true
	}
	d.identify(x)
	if e.use&scraped != 0 {
		return x.req.KnownOperator(d.metrics.node())
	}
	return x.req.KnownOperator("")
}

// ambiguous reports whether a proxy in front may see another end of r than this node, so that nothing may be read
// behind r (RFC 9112, 6.1). A chunked request may have had a Content-Length too, and a request of HTTP/1.0 may have had
// chunks, which HTTP/1.0 lacks. net/http drops both headers.
func ambiguous(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }

// delay waits before a refusal is sent to a client that asks for more than it may, unless it goes or the node stops.
func (w *waits) delay(x *exchange) {
	began := time.Now()
	x.req.Bounds.Delay(x.r.Context().Done(), w.stopping)
	x.waited += time.Since(began)
}

var errHTTP2 = errors.New("HTTP/2 is not spoken here, neither with TLS nor without: use HTTP/1.1")

// spoken refuses the preface of HTTP/2, which net/http leaves to handlers.
func spoken(r *http.Request) error {
	if r.ProtoMajor == 1 {
		return nil
	}
	return &refusal{status: http.StatusHTTPVersionNotSupported, code: api.CodeInvalid, close: true,
		text: errHTTP2.Error()}
}
