package runner

import (
	"github.com/prometheus/client_golang/prometheus"

	"tenure/server/metrics"
	"tenure/server/replica/elector"
)

// electorMetrics are what the elector counts and measures.
type electorMetrics struct {
	late          prometheus.Histogram
	renewal       prometheus.Histogram
	won           prometheus.Counter
	dropped       prometheus.Counter
	crashReleased prometheus.Counter
	starts        *prometheus.CounterVec // by how the tenure before ended
	ends          *prometheus.CounterVec // by cause
	letGo         *prometheus.CounterVec // by reason
}

func newElectorMetrics(reg prometheus.Registerer) *electorMetrics {
	m := &electorMetrics{
		late: metrics.Histogram(reg, "lease_loop_late_seconds", "How late the lease loop woke behind its timer.",
			metrics.Latencies),
		renewal: metrics.Histogram(reg, "lease_renewal_seconds",
			"Time from the start of an attempt that won or renewed the master lease to its success.", metrics.Latencies),
		won:     metrics.Counter(reg, "lease_won_total", "Fresh tenures of the master lease that this node has won."),
		dropped: metrics.Counter(reg, "lease_messages_dropped_total", "Lease messages dropped because too many waited."),
		crashReleased: metrics.Counter(reg, "lease_released_after_crash_total",
			"Live lease records that were cleared here because a dead peer's guardian said so."),
		starts: metrics.Counters(reg, "mastership_starts_total",
			"Tenures of the master lease that began here, by how the one before ended as far as this node knows.", "after"),
		ends: metrics.Counters(reg, "mastership_ends_total", "Tenures of the master lease that ended here, by cause.",
			"cause"),
		letGo: metrics.Counters(reg, "lease_let_go_total",
			"Times that this node let go of the master lease because it got nowhere, by reason.", "reason"),
	}
	for _, reason := range elector.LetGoReasons() {
		m.letGo.WithLabelValues(reason)
	}
	for _, c := range elector.Causes() {
		m.ends.WithLabelValues(c.String())
	}
	for _, e := range elector.Endings() {
		m.starts.WithLabelValues(e.String())
	}
	return m
}

// registerGauges registers what is read from published values when somebody asks for it.
func (e *Elector) registerGauges() {
	metrics.Gauge(e.cfg.Registry, "lease_remaining_seconds", "What is left of the master lease, if this node holds it.",
		nil, func() float64 {
			p, now := e.cfg.Mastership.Load(), e.cfg.Clock.Now()
			if !p.Held(now) {
				return 0
			}
			return (p.Deadline - now).Seconds()
		})
	metrics.Flag(e.cfg.Registry, "master_ready", "1 if this node is the master and ready.", nil,
		func() bool { return e.cfg.Mastership.Serves(e.cfg.Clock.Now()) })
}
