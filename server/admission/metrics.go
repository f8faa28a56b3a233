package admission

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the figures of a listener's admission.
type Metrics struct {
	reached    reached
	conns      atomic.Pointer[Conns]
	rates      atomic.Pointer[Rates]
	pending    atomic.Pointer[Pending]
	collectors []prometheus.Collector
}

// reached counts how often each limit was reached.
type reached struct {
	conns, sourceConns, reserved, requests, sourceRequests, waiting, rate, answers prometheus.Counter
}

// NewMetrics returns new figures. Their Collectors are to be registered.
func NewMetrics() *Metrics {
	m := &Metrics{}
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tenure_http_limit_reached_total",
		Help: "Connections and requests that came when a limit was reached, by limit. They were refused, but for " +
			"connections that were let in as reserved ones, and the rate in permissive mode."}, []string{"limit"})
	for limit, to := range map[string]*prometheus.Counter{
		"connections": &m.reached.conns, "source_connections": &m.reached.sourceConns,
		"reserved_connections": &m.reached.reserved, "requests": &m.reached.requests,
		"source_requests": &m.reached.sourceRequests, "client_waiting": &m.reached.waiting,
		"client_rate": &m.reached.rate, "source_answers": &m.reached.answers,
	} {
		*to = vec.WithLabelValues(limit)
	}
	gauge := func(name, help string, read func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(read()) })
	}
	m.collectors = []prometheus.Collector{vec,
		gauge("tenure_http_sources", "Addresses from which connections are open.",
			func() int { s, _ := m.open(); return s }),
		gauge("tenure_http_reserved_connections",
			"Open connections beyond the ordinary ones: only operators are answered on them.",
			func() int { _, r := m.open(); return r }),
		gauge("tenure_http_rate_clients", "Clients whose rate of requests is known now.", func() int {
			if r := m.rates.Load(); r != nil {
				return r.known()
			}
			return 0
		}),
		gauge("tenure_http_handshakes", "Handshakes of TLS with clients that are under way.", func() int {
			if p := m.pending.Load(); p != nil {
				return p.Len()
			}
			return 0
		}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "tenure_http_handshakes_cut_total",
			Help: "Connections of clients that were closed before their handshake of TLS had ended, in favour of newer ones."},
			func() float64 {
				if p := m.pending.Load(); p != nil {
					return float64(p.Evicted())
				}
				return 0
			}),
	}
	return m
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector { return m.collectors }

func (m *Metrics) watch(c *Conns)      { m.conns.Store(c) }
func (m *Metrics) watchRates(r *Rates) { m.rates.Store(r) }

// open returns how many sources and reserved connections there are.
func (m *Metrics) open() (sources, reserved int) {
	c := m.conns.Load()
	if c == nil {
		return 0, 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.sources), c.reserved.open()
}
