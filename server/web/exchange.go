package web

import (
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"tenure/api"
	"tenure/server/service"
	"tenure/server/slow"
)

// exchange is one request and what has been answered so far. It lives on one goroutine until its handler returns.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	began  time.Time
	node   []string    // value of api.HeaderNode
	master *masterName // nil: the answer does not name the master
	conn   *clientConn // nil: it did not come through our listener
	status int         // of the answer; 0 until its head was sent
	// bodyRead is set once the end of the request's body was seen.
	bodyRead   bool
	identified bool // req says who asks
	req        service.Request
	op         string // of a command on keys, in the audit log
	timeouts   timeouts
	drained    func() bool
	// waited is how long a blocking query or a stream waited for changes: that is not the time it took.
	waited time.Duration
	took   slow.Request
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// behind returns the path without prefix.
func (x *exchange) behind(prefix string) string { return strings.TrimPrefix(x.r.URL.Path, prefix) }

// handler answers a request, or returns an error. Then the error is the answer, or, if an answer has begun, the
// connection is cut, so that the client notices the incomplete answer.
type handler func(*exchange) error

// endpoint is a resource: a handler for each method that it has.
type endpoint struct {
	handlers map[string]handler
	allow    string // value of Allow: the methods, sorted
	use      use    // of its route; that of the endpoint without handlers is paged if the server has the web page
	// none refuses a path that no route has. Only the endpoint without handlers has it.
	none    func(path string) error
	latency methodLatency
}

func newEndpoint(name string, handlers map[string]handler, m *metrics) *endpoint {
	e := &endpoint{handlers: handlers, latency: methodLatency{vec: m.requests, route: name}}
	var allow []string
	for method := range handlers {
		allow = append(allow, method)
		if method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	e.allow = strings.Join(allow, ", ")
	return e
}

// watches reports whether requests to e ask how the node is: they are not what it is there for.
func (e *endpoint) watches() bool { return e.use&(tokenless|scraped|mends) != 0 }

// dispatcher does what all requests have in common: it finds the handler of the method, answers its error, counts the
// request, and survives its panics.
type dispatcher struct {
	node        []string // value of api.HeaderNode
	master      *masterName
	service     *service.Service
	metrics     *metrics
	log         zerolog.Logger
	hosts       Hosts
	crossOrigin *http.CrossOriginProtection
	timeouts    timeouts
	waits       *waits
	drained     func() bool
	slow        *slow.Log
}

// handle returns the handler of the requests to e. An endpoint without handlers is that of requests that no route
// matches.
func (d *dispatcher) handle(e *endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchanges.Get().(*exchange)
		*x = exchange{w: w, r: r, began: time.Now(), node: d.node, timeouts: d.timeouts, drained: d.drained}
		if !e.watches() {
			x.master = d.master
		}
		d.metrics.inFlight.Add(1)
		var whole bool
		defer func() { d.finish(x, e, whole, recover()) }()
		whole = d.answer(x, e)
	})
}

// answer runs the handler of x and reports whether the answer is whole.
func (d *dispatcher) answer(x *exchange, e *endpoint) bool {
	d.begin(x, e)
	err := d.admit(x, e)
	if err == nil {
		var h handler
		if h, err = d.handlerOf(x, e); err == nil {
			if e.use&tokenless != 0 {
				x.req.NeedsNothing()
			}
			err = h(x)
		}
	}
	switch {
	case err == nil:
	case x.status != 0:
		return false
	default:
		x.req.Line.Lacks(err)
		d.waits.delay(x)
		x.fail(err)
	}
	return true
}

func (d *dispatcher) handlerOf(x *exchange, e *endpoint) (handler, error) {
	method := x.r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http keeps the body back
	}
	if err := firstError(spoken(x.r), d.fromBrowser(x.r), d.forCluster(x.r)); err != nil {
		return nil, err
	}
	h := e.handlers[method]
	switch {
	case len(x.r.RequestURI) > api.MaxURLBytes:
		return nil, service.Invalid("the URL has %d bytes: at most %d are accepted",
			len(x.r.RequestURI), api.MaxURLBytes)
	case len(e.handlers) == 0 && e.use&paged != 0 && opensPage(x.r):
		return toPage, nil
	case len(e.handlers) == 0:
		return nil, e.none(x.r.URL.Path)
	case h == nil:
		allow := allowedAt(x.r.URL.Path, e.allow)
		return nil, &refusal{status: http.StatusMethodNotAllowed, code: api.CodeInvalid, allow: allow,
			text: "method " + x.r.Method + " is not allowed here, only " + allow +
				misspeltVerb(x.r.Method, x.r.URL.Path)}
	}
	return h, nil
}

// finish counts the request, answers for a handler that panicked, and reads what was left of the body. An answer that
// is not whole ends with its connection.
func (d *dispatcher) finish(x *exchange, e *endpoint, whole bool, panicked any) {
	d.metrics.inFlight.Add(-1)
	x.req.Bounds.Leave()
	if panicked != nil {
		whole = d.answerPanic(x, panicked)
	}
	took := time.Since(x.began) - x.waited
	e.latency.observe(x.r.Method, x.status, took)
	if !e.watches() {
		d.slow.Served(1, took)
	}
	d.slow.Done(took, &x.took, x.describe)
	x.req.Bounds.Charge()
	d.record(x, e, whole)
	w, r, unread := x.w, x.r, x.unread()
	*x = exchange{}
	exchanges.Put(x)
	if !whole || unread && !drain(w, r) {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection
	}
}

// maxPathShown bounds how much of a path stands in a line of the log.
const maxPathShown = 256

// describe says in a line of the log which request it was.
func (x *exchange) describe(e *zerolog.Event) {
	path := x.r.URL.Path
	e.Str("method", x.r.Method).Str("path", path[:min(len(path), maxPathShown)]).Str("client", x.r.RemoteAddr).
		Int("status", x.status)
}

// answerPanic logs a panic of a handler and answers the request, unless its answer has begun, and reports whether it
// did.
func (d *dispatcher) answerPanic(x *exchange, panicked any) bool {
	d.metrics.panics.Inc()
	d.log.Error().Interface("panic", panicked).Str("method", x.r.Method).Str("path", x.r.URL.Path).
		Bytes("stack", debug.Stack()).Msg("request handler panicked")
	if x.status != 0 {
		return false
	}
	x.fail(&refusal{code: api.CodeInternal, close: true,
		text: "internal error: a write may have been applied; see the node's log"})
	return true
}
