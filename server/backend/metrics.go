package backend

import (
	"github.com/prometheus/client_golang/prometheus"

	"tenure/server/metrics"
)

// Register registers what the node knows of its members, its guardian and its state.
func (b *Backend) Register(reg prometheus.Registerer) {
	reg.MustRegister(newMemberMetrics(b.Cluster))
	b.KV.register(reg)
	reg.MustRegister(newQuotaMetrics(b.KV.cfg.State.Quotas))
	metrics.Flag(reg, "guardian_up",
		"1 if this node's guardian runs: a crash then costs milliseconds instead of the rest of the lease.",
		nil, func() bool { return b.Cluster.cfg.Guardian().PID != 0 })
}

// register registers figures of the applied state.
func (b *KV) register(reg prometheus.Registerer) {
	keys := &keyCount{count: b.countKeys}
	metrics.Gauge(reg, "keys",
		"Keys, as counted a little while ago: the more there are, the less often they are counted.", nil, keys.read)
	metrics.Gauge(reg, "sessions", "Sessions as applied here.", nil,
		func() float64 { return float64(b.cfg.State.Sessions()) })
}
