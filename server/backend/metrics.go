package backend

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/server/metrics"
	"tenure/server/runner"
)

// Register registers what the node knows of its members, its guardian and its state.
func (b *Backend) Register(reg prometheus.Registerer) {
	b.Cluster.registerPeers(reg)
	b.Cluster.registerMembers(reg)
	b.KV.register(reg)
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

// registerMembers registers what is known of every member.
func (b *Cluster) registerMembers(reg prometheus.Registerer) {
	for _, m := range b.cfg.Identity.Membership.Members {
		metrics.Flag(reg, "disk_full",
			"1 if the disk of that member has reached its reserve or quota, as this node knows it.",
			prometheus.Labels{"member": strconv.FormatUint(uint64(m.Node), 10)},
			func() bool { return slices.Contains(b.cfg.Log.View().Full, m.Node) })
	}
}

// registerPeers registers what is known of each other member.
func (b *Cluster) registerPeers(reg prometheus.Registerer) {
	for _, m := range b.cfg.Identity.Membership.Members {
		if m.Node == b.cfg.Identity.Node {
			continue
		}
		id := uint64(m.Node)
		gauge := func(name, help string, read func(p api.PeerStatus, v *runner.LogView) float64) {
			metrics.Gauge(reg, name, help, prometheus.Labels{"peer": strconv.FormatUint(id, 10)}, func() float64 {
				v := b.cfg.Log.View()
				peers := b.peers(v, b.cfg.Clock.Now())
				i := slices.IndexFunc(peers, func(p api.PeerStatus) bool { return p.Node == id })
				if i < 0 {
					return math.NaN()
				}
				return read(peers[i], v)
			})
		}
		gauge("peer_connected", "1 if the connections to the peer are up.",
			func(p api.PeerStatus, _ *runner.LogView) float64 {
				if p.Connected {
					return 1
				}
				return 0
			})
		gauge("peer_lag_slots",
			"Slots that are chosen as far as this node knows, and that the peer has not said to have applied.",
			func(p api.PeerStatus, v *runner.LogView) float64 { return float64(max(v.Chosen, p.Chosen) - p.Chosen) })
		gauge("peer_last_heard_seconds",
			"Age of the peer's last message about the log; not a number if there was none in this run.",
			func(p api.PeerStatus, _ *runner.LogView) float64 {
				if p.LastHeardMS < 0 {
					return math.NaN()
				}
				return float64(p.LastHeardMS) / 1000
			})
	}
}
