package backend

import (
	"github.com/prometheus/client_golang/prometheus"

	"tenure/server/metrics"
)

// Register registers what the node knows of its members, its guardian and its state.
func (b *Backend) Register(reg prometheus.Registerer) {
	b.Cluster.register(reg)
	b.KV.register(reg)
}

// register registers what the node knows of its members and its guardian.
func (b *Cluster) register(reg prometheus.Registerer) {
	reg.MustRegister(newMemberMetrics(b))
	metrics.Flag(reg, "guardian_up",
		"1 if this node's guardian runs: a crash then costs milliseconds instead of the rest of the lease.",
		nil, func() bool { return b.cfg.Guardian().PID != 0 })
}

// register registers figures of the applied state.
func (b *KV) register(reg prometheus.Registerer) {
	reg.MustRegister(newQuotaMetrics(b.cfg.State.Quotas))
	metrics.Gauge(reg, "keys",
		"Keys, as counted a little while ago: the more there are, the less often they are counted.", nil, b.keys.read)
	metrics.Gauge(reg, "sessions", "Sessions as applied here.", nil,
		func() float64 { return float64(b.cfg.State.Sessions()) })
}
