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

// admit counts the request as one in flight, and for the rate of who asks, or returns why it must be refused.
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

// forOperator reports whether x may take a place that is kept for operators: it asks for one of their routes, and where
// there are tokens the route needs none, or that of x lets it see how the cluster is run. That is decided by what this
// node knows: to ask the master could take longer than the operator has.
func (d *dispatcher) forOperator(x *exchange, e *endpoint) bool {
	if !e.operator || e.public || d.decider == nil {
		return e.operator
	}
	r, err := x.asker()
	return err == nil && (r.Knows(acl.OperatorRead()) || e.agent && r.Knows(acl.AgentRead(d.metrics.node())))
}

// ambiguous reports whether a proxy in front may differ from this node about the end of r, so that nothing may be read
// behind it (RFC 9112, 6.1). A request in chunks may have had a Content-Length too, and one of HTTP/1.0 chunks, which
// are none there; net/http drops both headers.
func ambiguous(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }

// clientOf returns whose waits and rate a request counts for. It is the one place that decides it: its token's, from
// whichever address it comes, else those of the address of the connection. Only a token that this node knows names a
// client, and the anonymous one is everybody's: who could name anything would have as many rates as names.
func (d *dispatcher) clientOf(x *exchange, conn *admission.Conn) admission.Client {
	client := d.limits.ClientOf(admission.ParseSource(x.r.RemoteAddr))
	if conn != nil {
		client = conn.Client
	}
	if d.decider == nil {
		return client
	}
	if r, err := x.asker(); err == nil {
		if accessor := r.KnownAccessor(); accessor != "" && accessor != api.AnonymousAccessor {
			client.Key = "token " + accessor
		}
	}
	return client
}

// charge takes from the client of x what it cost to read its body and to send its answer.
func (d *dispatcher) charge(x *exchange) {
	if x.conn == nil || x.client.Key == "" {
		return
	}
	cost, rest := admission.CostOfBytes(x.conn.moved.Swap(0))
	x.conn.moved.Add(rest)
	d.rates.Charge(x.client, cost, time.Now())
}

// overloaded returns the answer to a request for which one of the limits leaves no place.
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

// largeValue is from how many bytes on a value counts while it is sent: smaller ones fit into what the system buffers.
const largeValue = 64 << 10

// answering counts a value that is about to be sent, until taken is called, or returns why the answer must not be sent.
// That is no outcome of a write: only reads ask.
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
