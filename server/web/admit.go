package web

import (
	"errors"
	"net/http"
	"time"

	"tenure/api"
	"tenure/server/acl"
	"tenure/server/admission"
	"tenure/server/service"
)

// admit counts the request as one in flight and for its client's rate, or returns its refusal.
func (d *dispatcher) admit(x *exchange, e *endpoint) (err error) {
	if x.conn = connOf(x.r); x.conn != nil {
		x.conn.describe(x.r)
	}
	conn := x.admitted()
	if ambiguous(x.r) {
		x.w.Header()["Connection"] = closeConn
	}
	operator := d.forOperator(x, e)
	if conn != nil && conn.Reserved() {
		x.w.Header()["Connection"] = closeConn
		if !operator {
			return &refusal{code: api.CodeOverloaded, close: true,
				text: tooManyText}
		}
	}
	if x.flight, err = d.conns.Begin(conn, operator); err != nil {
		if errors.Is(err, admission.ErrSourceRequests) {
			d.waits.slowDown(x)
		}
		return service.Overloaded(err)
	}
	d.identify(x)
	at := d.limits.ClientOf(admission.ParseSource(x.r.RemoteAddr))
	if conn != nil {
		at = conn.Client
	}
	x.client = x.req.Client(at)
	retry, err := d.rates.TakeCost(x.client, admission.Cost(headerLines(x.r.Header)), x.began)
	if err != nil {
		x.flight.End()
		d.waits.slowDown(x)
		return &refusal{status: http.StatusTooManyRequests, code: api.CodeOverloaded,
			retry: max(retry, time.Millisecond),
			text:  service.TooFast(err, d.limits.Rate.PerSecond).Error()}
	}
	return nil
}

// headerLines returns how many lines the headers of a request had.
func headerLines(h http.Header) (n int) {
	for _, values := range h {
		n += len(values)
	}
	return n
}

// forOperator reports whether x may take a place reserved for operators: it is for one of their routes, and with tokens
// the route is public or x's token has operator:read (for /metrics also agent:read). It decides by this node's present
// state: asking the master could take longer than the operator has.
func (d *dispatcher) forOperator(x *exchange, e *endpoint) bool {
	switch {
	case e.use&(mends|public|scraped) == 0:
		return false
	case e.use&public != 0 || d.decider == nil:
		return true
	}
	d.identify(x)
	return x.req.Knows(acl.OperatorRead()) || e.use&scraped != 0 && x.req.Knows(acl.AgentRead(d.metrics.node()))
}

// ambiguous reports whether a proxy in front may see another end of r than this node, so that nothing may be read
// behind r (RFC 9112, 6.1). A chunked request may have had a Content-Length too, and a request of HTTP/1.0 may have had
// chunks, which HTTP/1.0 lacks. net/http drops both headers.
func ambiguous(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }

// charge charges the client of x for its body and its answer.
func (d *dispatcher) charge(x *exchange) {
	if x.conn == nil || x.client.Key == "" {
		return
	}
	cost, rest := admission.CostOfBytes(x.conn.moved.Swap(0))
	x.conn.moved.Add(rest)
	d.rates.Charge(x.client, cost, time.Now())
}

// wait takes a place for x among the waits of its client, to be given back: from now on x is no request in flight.
func (w *waits) wait(x *exchange) (admission.Place, error) {
	place, err := w.places.Take(x.client)
	x.flight.End()
	if err != nil {
		w.slowDown(x)
		return place, service.Overloaded(err)
	}
	return place, nil
}

// slowDown waits before a refusal is sent, unless the client goes or the node stops.
func (w *waits) slowDown(x *exchange) {
	began := time.Now()
	w.conns.SlowDown(x.admitted(), x.r.Context().Done(), w.stopping)
	x.waited += time.Since(began)
}

// largeValue is the size in bytes from which a value counts while it is sent: smaller values fit into the system's
// buffers.
const largeValue = 64 << 10

// answering counts a value that is about to be sent, until taken is called, or returns why the answer must not be sent.
// Only reads call it, so its error is never the outcome of a write.
func (x *exchange) answering(value []byte) (taken func(), err error) {
	if len(value) < largeValue {
		return func() {}, nil
	}
	taken, err = x.conns.Answering(x.admitted(), int64(len(value)))
	if err != nil {
		return nil, service.Overloaded(err)
	}
	return taken, nil
}

// admitted returns the connection of x as it was let in, nil if x did not come through our listener.
func (x *exchange) admitted() *admission.Conn {
	if x.conn == nil {
		return nil
	}
	return x.conn.admitted
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
