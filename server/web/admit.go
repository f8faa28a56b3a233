package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"tenure/api"
	"tenure/server/acl"
	"tenure/server/admission"
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
			return &refusal{status: http.StatusServiceUnavailable, code: api.CodeOverloaded, close: true,
				text: tooManyText}
		}
	}
	if x.flight, err = d.conns.Begin(conn, operator); err != nil {
		if errors.Is(err, admission.ErrSourceRequests) {
			d.waits.slowDown(x)
		}
		return overloaded(err)
	}
	x.client = d.clientOf(x, conn)
	retry, err := d.rates.TakeCost(x.client, admission.Cost(headerLines(x.r.Header)), x.began)
	if err != nil {
		x.flight.End()
		d.waits.slowDown(x)
		return &refusal{status: http.StatusTooManyRequests, code: api.CodeOverloaded,
			retry: max(retry, time.Millisecond),
			text:  fmt.Sprintf("not applied: %v: at most %d a second", err, d.limits.Rate.PerSecond)}
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
	if !e.operator || e.public || d.decider == nil {
		return e.operator
	}
	r, err := x.permit.asker()
	return err == nil && (r.Knows(acl.OperatorRead()) || e.agent && r.Knows(acl.AgentRead(d.metrics.node())))
}

// ambiguous reports whether a proxy in front may see another end of r than this node, so that nothing may be read
// behind r (RFC 9112, 6.1). A chunked request may have had a Content-Length too, and a request of HTTP/1.0 may have had
// chunks, which HTTP/1.0 lacks. net/http drops both headers.
func ambiguous(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }

// clientOf returns the client for whose waits and rate a request counts. Only this function decides it: by the token,
// from any address, else by the address of the connection. Only a token that this node knows names a client: with free
// names a client would have any number of rates. The anonymous token names none, since all clients share it.
func (d *dispatcher) clientOf(x *exchange, conn *admission.Conn) admission.Client {
	client := d.limits.ClientOf(admission.ParseSource(x.r.RemoteAddr))
	if conn != nil {
		client = conn.Client
	}
	if d.decider == nil {
		return client
	}
	if r, err := x.permit.asker(); err == nil {
		if accessor := r.KnownAccessor(); accessor != "" && accessor != api.AnonymousAccessor {
			client = client.Holding(accessor)
		}
	}
	return client
}

// charge charges the client of x for its body and its answer.
func (d *dispatcher) charge(x *exchange) {
	if x.conn == nil || x.client.Key == "" {
		return
	}
	cost, rest := admission.CostOfBytes(x.conn.moved.Swap(0))
	x.conn.moved.Add(rest)
	d.rates.Charge(x.client, cost, time.Now())
}

// overloaded returns the error of a request beyond a limit.
func overloaded(err error) error {
	return fmt.Errorf("%w: %w; try again later, or another node", ErrOverloaded, err)
}

// wait takes a place for x among the waits of its client, to be given back: from now on x is no request in flight.
func (w *waits) wait(x *exchange) (admission.Place, error) {
	place, err := w.places.Take(x.client)
	x.flight.End()
	if err != nil {
		w.slowDown(x)
		return place, overloaded(err)
	}
	return place, nil
}

// slowDown waits before a refusal is sent, unless the client goes or the node stops.
func (w *waits) slowDown(x *exchange) {
	d, done := w.conns.SlowDown(x.admitted())
	defer done()
	t := time.NewTimer(d)
	defer t.Stop()
	began := time.Now()
	select {
	case <-t.C:
	case <-x.r.Context().Done():
	case <-w.stopping:
	}
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
		return nil, overloaded(err)
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
