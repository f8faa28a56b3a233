package web

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tenure/api"
	"tenure/server/watch"
)

// metrics are the server's own; the node registers others in the same registry.
type metrics struct {
	inFlight atomic.Int64
	conns    atomic.Int64
	waiting  atomic.Int64
	streams  atomic.Int64
	refused  prometheus.Counter
	panics   prometheus.Counter
	requests *prometheus.HistogramVec
	body     prometheus.Observer
	backend  [3]prometheus.Observer // by stage
	handler  func(*exchange)
}

// stage is the part of a request that waits for the Backend.
type stage int

const (
	stageRead stage = iota
	stageWrite
	stageSnapshot
)

var seconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics(r *prometheus.Registry, hub *watch.Hub) (*metrics, error) {
	m := &metrics{
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_http_connections_refused_total",
			Help: "Connections closed because too many were open."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_http_panics_total",
			Help: "Requests whose handler panicked."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tenure_http_request_duration_seconds",
			Help: "From the headers of a request to the end of its handler, without what it waited for changes.", Buckets: seconds}, []string{"route", "method", "code"}),
	}
	stages := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tenure_http_stage_duration_seconds",
		Help: "Parts of a request: body is its arrival; read, write and snapshot wait for the node.", Buckets: seconds}, []string{"stage"})
	m.body = stages.WithLabelValues("body")
	m.backend = [3]prometheus.Observer{stages.WithLabelValues("read"), stages.WithLabelValues("write"), stages.WithLabelValues("snapshot")}
	gauge := func(name, help string, v *atomic.Int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(v.Load()) })
	}
	held := func(name, help string, read func(watch.Stats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return read(hub.Stats()) })
	}
	for _, c := range []prometheus.Collector{m.refused, m.panics, m.requests, stages,
		gauge("tenure_http_requests_in_flight", "Requests being handled.", &m.inFlight),
		gauge("tenure_http_connections", "Open client connections.", &m.conns),
		gauge("tenure_http_waiting", "Blocking queries and event streams that wait for a change now.", &m.waiting),
		gauge("tenure_http_streams", "Open event streams.", &m.streams),
		held("tenure_watch_waiters", "Places taken by blocking queries and event streams.", func(st watch.Stats) float64 { return float64(st.Waiting) }),
		held("tenure_watch_history_events", "Changes remembered for event streams.", func(st watch.Stats) float64 { return float64(st.Events) }),
		held("tenure_watch_history_bytes", "About what they take.", func(st watch.Stats) float64 { return float64(st.Bytes) }),
		held("tenure_watch_history_oldest_revision", "Event streams can be resumed behind this revision.", func(st watch.Stats) float64 { return float64(st.Oldest) }),
	} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("web: register HTTP metrics: %w", err)
		}
	}
	page := promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
	m.handler = func(x *exchange) { page.ServeHTTP(&coded{ResponseWriter: x.w, x: x}, x.r) }
	return m, nil
}

// coded gives the failures of a handler that is not ours, promhttp's, a code: too many requests at once, a collection
// that takes too long or fails.
type coded struct {
	http.ResponseWriter
	x *exchange
}

func (c *coded) WriteHeader(status int) {
	switch {
	case status == http.StatusServiceUnavailable:
		c.x.fails(status, api.CodeOverloaded)
	case status >= http.StatusBadRequest:
		c.x.fails(status, api.CodeInternal)
	default:
		c.ResponseWriter.WriteHeader(status)
	}
}

func (s *Server) showMetrics(x *exchange) {
	if !x.probed() {
		return
	}
	x.status = http.StatusOK
	s.metrics.handler(x)
}

// The label values that are resolved once. Others fall under "other", so that no client can make series.
var (
	methodTexts = [...]string{"GET", "PUT", "DELETE", "POST", "HEAD", "other"}
	codeValues  = [...]int{200, 400, 403, 404, 405, 409, 413, 500, 503, 504, 507}
)

// methodLatency is one route's latency by method and code. Series appear when first used, and are looked up once.
type methodLatency struct {
	vec    *prometheus.HistogramVec
	route  string
	series [len(methodTexts)][len(codeValues) + 1]atomic.Pointer[series]
}

type series struct{ prometheus.Observer }

func (l *methodLatency) observe(method string, code int, d time.Duration) {
	m := 0
	for m < len(methodTexts)-1 && methodTexts[m] != method {
		m++
	}
	c := 0
	for c < len(codeValues) && codeValues[c] != code {
		c++
	}
	s := l.series[m][c].Load()
	if s == nil {
		text := "other"
		if c < len(codeValues) {
			text = strconv.Itoa(code)
		}
		s = &series{l.vec.WithLabelValues(l.route, methodTexts[m], text)}
		l.series[m][c].Store(s)
	}
	s.Observe(d.Seconds())
}
