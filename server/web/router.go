package web

import (
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/mux"

	"tenure/api"
)

// exchange is one request and what has been answered so far. It lives on one goroutine until its handler returns.
type exchange struct {
	w      http.ResponseWriter
	r      *http.Request
	began  time.Time
	node   []string // value of api.HeaderNode
	status int      // of the answer; 0 until it is chosen
	// bodyRead is set once the end of the request's body was seen.
	bodyRead bool
	// waited is how long a blocking query or a stream waited for changes: that is not the time it took.
	waited time.Duration
}

type handler func(*Server, *exchange)

// endpoint is the resource behind one route: a handler for each method it has.
type endpoint struct {
	path    string // as openapi.json has it
	name    string // in metrics
	methods map[string]handler
	allow   string // value of Allow: the methods, sorted
	latency methodLatency
}

// routes is the API. Nearly all routes match by path alone: the endpoint knows its methods, so that a 405 can name them
// all.
func (s *Server) routes() *mux.Router {
	m := mux.NewRouter().SkipClean(true) // keys hold // and .. as they are
	m.NotFoundHandler = s.handle(s.nowhere)
	keys := s.route(m, api.PathKV+"{key}", "kv", map[string]handler{
		"GET": (*Server).kvGet, "PUT": (*Server).kvPut, "DELETE": (*Server).kvDelete, "POST": (*Server).kvPost})
	m.Path(strings.TrimSuffix(api.PathKV, "/")).Handler(s.handle(keys))
	s.routeLeases(m)
	get := func(path, name string, h handler) { s.route(m, path, name, map[string]handler{"GET": h}) }
	put := func(path, name string, h handler) { s.route(m, path, name, map[string]handler{"PUT": h}) }
	put(api.PathTxn, "txn", (*Server).txn)
	put(api.PathSessionCreate, "session-create", (*Server).sessionCreate)
	put(api.PathSessionDestroy+"{id}", "session-destroy", (*Server).sessionDestroy)
	put(api.PathSessionRenew+"{id}", "session-renew", (*Server).sessionRenew)
	get(api.PathSessionInfo+"{id}", "session-info", (*Server).sessionInfo)
	get(api.PathSessionNode+"{node}", "session-node", (*Server).sessionNode)
	get(api.PathSessionList, "session-list", (*Server).sessionList)
	s.route(m, api.PathFence+"{name}", "fence", map[string]handler{
		"GET": (*Server).fenceGet, "DELETE": (*Server).fenceDrop})
	get(api.PathWatch, "watch", (*Server).watch)
	get(api.PathStatus, "status", (*Server).status)
	get(api.PathStatusLeader, "status-leader", (*Server).statusLeader)
	get(api.PathStatusPeers, "status-peers", (*Server).statusPeers)
	get(api.PathAgentSelf, "agent-self", (*Server).agentSelf)
	get(api.PathOpenAPI, "openapi", (*Server).openAPI)
	get(api.PathHealthLive, "health-live", (*Server).healthLive)
	get(api.PathHealthReady, "health-ready", (*Server).healthReady)
	get(api.PathMetrics, "metrics", (*Server).showMetrics)
	get(api.PathLeases, "leases-list", (*Server).leasesList)
	s.route(m, api.PathLeasesRenew, "leases-renew", map[string]handler{"POST": (*Server).leasesRenew})
	s.route(m, api.PathTransfer, "master-transfer", map[string]handler{"POST": (*Server).masterTransfer})
	return m
}

// route adds an endpoint. A path that ends in a name in braces stands for everything that begins with what is before
// it.
func (s *Server) route(m *mux.Router, path, name string, methods map[string]handler) *endpoint {
	e := s.listed(path, name, methods)
	if fixed, _, rest := strings.Cut(path, "{"); rest {
		m.PathPrefix(fixed).Handler(s.handle(e))
	} else {
		m.Path(path).Handler(s.handle(e))
	}
	return e
}

// listed is an endpoint that the description of the API must have.
func (s *Server) listed(path, name string, methods map[string]handler) *endpoint {
	e := s.endpoint(name, methods)
	e.path = path
	s.endpoints = append(s.endpoints, e)
	return e
}

// rest is what follows prefix in the path.
func (x *exchange) rest(prefix string) string { return strings.TrimPrefix(x.r.URL.Path, prefix) }

// handle returns the handler of the requests to e.
func (s *Server) handle(e *endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchanges.Get().(*exchange)
		*x = exchange{w: w, r: r, began: time.Now(), node: s.node}
		s.metrics.inFlight.Add(1)
		defer func() { s.finish(x, e, recover()) }()
		s.dispatch(x, e)
	})
}

var exchanges = sync.Pool{New: func() any { return new(exchange) }}

func (s *Server) dispatch(x *exchange, e *endpoint) {
	method := x.r.Method
	if method == http.MethodHead {
		method = http.MethodGet // net/http keeps the body back
	}
	h := e.methods[method]
	switch {
	case len(x.r.RequestURI) > MaxURLBytes:
		x.fail(badRequest("the URL has %d bytes: at most %d are accepted", len(x.r.RequestURI), MaxURLBytes), false)
	case e == s.nowhere:
		x.refuse(http.StatusNotFound, api.CodeInvalid, "no such endpoint: keys are under "+api.PathKV+
			", the node's state under "+api.PathStatus+", and a description of all under "+api.PathOpenAPI)
	case h == nil:
		x.fail(&refusal{status: http.StatusMethodNotAllowed, code: api.CodeInvalid, allow: e.allow,
			text: "method " + x.r.Method + " is not allowed here, only " + e.allow + misspeltVerb(x.r.Method, x.r.URL.Path)}, false)
	case method == http.MethodPost && s.crossOrigin.Check(x.r) != nil:
		// The one method that a page of another origin may send without asking first.
		x.refuse(http.StatusForbidden, api.CodeForbidden, "refused: sent by a browser from a page of another origin")
	default:
		h(s, x)
	}
}

// finish counts the request, deals with a panic of its handler, and reads what that left of the body. If an answer had
// been started before a panic, cutting the connection is the only way left to tell the client that it is not whole.
func (s *Server) finish(x *exchange, e *endpoint, panicked any) {
	s.metrics.inFlight.Add(-1)
	if panicked != nil && panicked != http.ErrAbortHandler {
		s.metrics.panics.Inc()
		s.cfg.Logger.Error().Interface("panic", panicked).Str("method", x.r.Method).Str("path", x.r.URL.Path).
			Bytes("stack", debug.Stack()).Msg("request handler panicked")
		if x.status == 0 {
			x.fail(&refusal{status: http.StatusInternalServerError, code: api.CodeInternal, close: true,
				text: "internal error: a write may have been applied; see the node's log"}, false)
			panicked = nil
		}
	}
	e.latency.observe(x.r.Method, x.status, time.Since(x.began)-x.waited)
	w, r, unread := x.w, x.r, x.unread()
	*x = exchange{}
	exchanges.Put(x)
	if panicked != nil {
		panic(http.ErrAbortHandler)
	}
	if unread {
		drain(w, r)
	}
}
