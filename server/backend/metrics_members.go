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

// memberMetrics collects what is known of every member. Members come and go, so the series are those of the membership
// at the time of each collection.
type memberMetrics struct {
	cluster                            *Cluster
	full, voter, connected, lag, heard *prometheus.Desc
}

func newMemberMetrics(c *Cluster) *memberMetrics {
	return &memberMetrics{
		cluster: c,
		full: metrics.Desc("disk_full",
			"1 if the disk of that member has reached its reserve or quota, as this node knows it.", "member"),
		voter:     metrics.Desc("member_voter", "1 if that member is a voter, 0 if it only follows the log.", "member"),
		connected: metrics.Desc("peer_connected", "1 if the connections to the peer are up.", "peer"),
		lag: metrics.Desc("peer_lag_slots",
			"Slots that are chosen as far as this node knows, and that the peer has not said to have applied.", "peer"),
		heard: metrics.Desc("peer_last_heard_seconds",
			"Age of the peer's last message about the log; not a number if there was none in this run.", "peer"),
	}
}

// Describe implements prometheus.Collector.
func (m *memberMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.full, m.voter, m.connected, m.lag, m.heard} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *memberMetrics) Collect(to chan<- prometheus.Metric) {
	c := m.cluster
	v, members := c.cfg.Log.View(), c.cfg.Members.Load()
	peers := c.peers(v, c.cfg.Clock.Now())
	for _, x := range members.All() {
		label := strconv.FormatUint(uint64(x.Node), 10)
		gauge := func(d *prometheus.Desc, value float64) {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, label)
		}
		_, votes, _ := members.Find(x.Node)
		gauge(m.full, flag(slices.Contains(v.Full, x.Node)))
		gauge(m.voter, flag(votes))
		if x.Node != c.cfg.Identity.Node {
			m.collectPeer(gauge, v, peers, uint64(x.Node))
		}
	}
}

func (m *memberMetrics) collectPeer(
	gauge func(*prometheus.Desc, float64), v *runner.LogView, peers []api.PeerStatus, node uint64,
) {
	i := slices.IndexFunc(peers, func(p api.PeerStatus) bool { return p.Node == node })
	if i < 0 {
		gauge(m.connected, 0)
		return
	}
	p := &peers[i]
	gauge(m.connected, flag(p.Connected))
	gauge(m.lag, float64(max(v.Chosen, p.Applied)-p.Applied))
	heard := math.NaN()
	if p.LastHeardMS >= 0 {
		heard = float64(p.LastHeardMS) / 1000
	}
	gauge(m.heard, heard)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
