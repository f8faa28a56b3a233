package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"tenure/api"
	"tenure/server/admission"
	"tenure/server/watch"
)

// metrics are the server's own; the node registers others in the same registry.
type metrics struct {
	inFlight atomic.Int64
	conns    atomic.Int64
	waiting  atomic.Int64
	streams  atomic.Int64
	// backupSent is when a client had a whole backup last, in nanoseconds since 1970.
	backupSent          atomic.Int64
	refused             prometheus.Counter
	panics              prometheus.Counter
	requests            *prometheus.HistogramVec
	admission           *admission.Metrics
	page                http.Handler  // all metrics of the registry
	pageWithoutPrefixes http.Handler  // those that name no prefix of keys
	node                func() string // the name of the node
}

var seconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics(r *prometheus.Registry, hub *watch.Hub) (*metrics, error) {
	m := &metrics{
		refused: prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_http_connections_refused_total",
			Help: "Connections closed because too many were open."}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "tenure_http_panics_total",
			Help: "Requests whose handler panicked."}),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tenure_http_request_duration_seconds",
			Help:    "From the headers of a request to the end of its handler, without what it waited for changes.",
			Buckets: seconds}, []string{"route", "method", "code"}),
	}
	m.admission = admission.NewMetrics()
	for _, c := range slices.Concat([]prometheus.Collector{m.refused, m.panics, m.requests}, m.gauges(hub),
		m.admission.Collectors()) {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("web: register HTTP metrics: %w", err)
		}
	}
	m.page, m.pageWithoutPrefixes = pageOf(r, clientPages), pageOf(withoutPrefixes(r), clientPages)
	return m, nil
}

// clientPages is how many requests of clients gather the metrics at a time.
const clientPages = 4

// pageOf shows the metrics of g, to so many at a time.
func pageOf(g prometheus.Gatherer, atOnce int) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{MaxRequestsInFlight: atOnce, Timeout: 10 * time.Second})
}

// withoutPrefixes gathers what g does, without what names prefixes of keys.
func withoutPrefixes(g prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		all, err := g.Gather()
		return slices.DeleteFunc(all, namesPrefixes), err
	})
}

// namesPrefixes reports whether a metric is of quotas, whose labels are prefixes of keys.
func namesPrefixes(f *dto.MetricFamily) bool { return strings.HasPrefix(f.GetName(), "tenure_quota_") }

// gauges returns what is read when the metrics are shown.
func (m *metrics) gauges(hub *watch.Hub) []prometheus.Collector {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read)
	}
	count := func(name, help string, n *atomic.Int64) prometheus.Collector {
		return gauge(name, help, func() float64 { return float64(n.Load()) })
	}
	return []prometheus.Collector{
		count("tenure_http_requests_in_flight", "Requests being handled.", &m.inFlight),
		count("tenure_http_connections", "Open client connections.", &m.conns),
		count("tenure_http_waiting", "Blocking queries and event streams that wait for a change now.", &m.waiting),
		count("tenure_http_streams", "Open event streams.", &m.streams),
		gauge("tenure_backup_sent_timestamp_seconds", "When this node has last sent a whole backup to a client, in seconds "+
			"since 1970; 0 if it has sent none in this run.",
			func() float64 { return float64(m.backupSent.Load()) / 1e9 }),
		gauge("tenure_watch_waiters", "Places taken by blocking queries and event streams.",
			func() float64 { return float64(hub.Stats().Waiting) }),
		gauge("tenure_watch_history_events", "Changes remembered for event streams.",
			func() float64 { return float64(hub.Stats().Events) }),
		gauge("tenure_watch_history_bytes", "Memory that the changes remembered for event streams take, about.",
			func() float64 { return float64(hub.Stats().Bytes) }),
		gauge("tenure_watch_history_oldest_revision", "Event streams can be resumed behind this revision.",
			func() float64 { return float64(hub.Stats().Oldest) }),
	}
}

// show answers with all metrics.
func (m *metrics) show(x *exchange) error {
	if _, err := parseQuery(x.r.URL.RawQuery, &probeRules); err != nil {
		return err
	}
	if err := x.req.NeedAgent(m.node()); err != nil {
		return err
	}
	x.begin(http.StatusOK)
	page := m.page
	if !x.req.MayOperator() {
		page = m.pageWithoutPrefixes
	}
	page.ServeHTTP(&metricsWriter{ResponseWriter: x.w, x: x}, x.r)
	return nil
}

// metricsWriter gives a code to the failures of promhttp: too many requests at once, a collection that takes too long
// or fails.
type metricsWriter struct {
	http.ResponseWriter
	x *exchange
}

func (w *metricsWriter) WriteHeader(status int) {
	var code api.Code
	switch {
	case status == http.StatusServiceUnavailable:
		code = api.CodeOverloaded
	case status >= http.StatusBadRequest:
		code = api.CodeInternal
	}
	w.x.head(status, code)
}

// The label values that are resolved once. Others fall under "other", so that no client can make series.
var (
	methodTexts = [...]string{"GET", "PUT", "DELETE", "POST", "HEAD", "other"}
	codeValues  = [...]int{200, 400, 403, 404, 405, 409, 413, 429, 500, 503, 504, 507}
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
