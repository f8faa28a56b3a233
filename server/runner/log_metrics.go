package runner

import (
	"github.com/prometheus/client_golang/prometheus"

	"tenure/server/metrics"
	"tenure/server/replica"
)

// logMetrics are what the log measures; the stages of a write are in log_stages.go.
type logMetrics struct {
	writes            [replica.Unknown + 1]prometheus.Observer // by outcome
	commitSeconds     prometheus.Observer
	checkpointSeconds prometheus.Observer
}

func newLogMetrics(reg prometheus.Registerer) *logMetrics {
	m := &logMetrics{
		commitSeconds: metrics.Histogram(reg, "log_commit_seconds",
			"Time of a commit of the log, syncs included.", metrics.Latencies),
		checkpointSeconds: metrics.Histogram(reg, "checkpoint_seconds",
			"Time of a checkpoint into the state database.", metrics.Latencies),
	}
	writes := metrics.Histograms(reg, "write_seconds",
		"Time from the round in which the log part takes a write to its answer, by outcome.", metrics.Latencies, "outcome")
	for o, name := range map[replica.Outcome]string{
		replica.Done: "done", replica.Refused: "refused", replica.Unknown: "unknown",
	} {
		m.writes[o] = writes.WithLabelValues(name)
	}
	return m
}

// registerGauges registers what is read from published values when somebody asks for it.
func (l *Log) registerGauges() {
	view := func(name, help string, read func(v *LogView) float64) {
		metrics.Gauge(l.cfg.Registry, name, help, nil, func() float64 { return read(l.view.Load()) })
	}
	view("master_node", "Node id of the master as known here, 0 if unknown.",
		func(v *LogView) float64 { return float64(v.Master) })
	view("epoch", "Slot of the barrier entry of the newest mastership known here.",
		func(v *LogView) float64 { return float64(v.Epoch) })
	view("log_chosen_slot", "Slots up to this one are chosen.", func(v *LogView) float64 { return float64(v.Chosen) })
	view("log_applied_slot", "Slots up to this one are applied.", func(v *LogView) float64 { return float64(v.Applied) })
	view("log_checkpointed_slot", "Slots up to this one are in the durable state database.",
		func(v *LogView) float64 { return float64(v.Checkpointed) })
	view("log_truncated_slot", "Slots up to this one are gone from the log.",
		func(v *LogView) float64 { return float64(v.Truncated) })
	view("revision", "Revision of the state.", func(v *LogView) float64 { return float64(v.Revision) })
	view("feature_level", "The cluster's feature level, as applied here.",
		func(v *LogView) float64 { return float64(v.Level.Cluster) })
	view("feature_level_known", "The highest feature level that this node knows.",
		func(v *LogView) float64 { return float64(v.Level.Newest) })
	view("table_bytes", "Applied changes that are not yet checkpointed.",
		func(v *LogView) float64 { return float64(v.TableBytes) })
	view("queued_writes", "Writes that wait to be proposed, forwarded or answered by the master.",
		func(v *LogView) float64 { return float64(v.Queued) })
	view("inflight_slots", "Slots proposed and not yet applied.", func(v *LogView) float64 { return float64(v.InFlight) })
	view("digest_slot", "Slot of the newest digest of the state that this node has told the others; 0 if there is "+
		"none.",
		func(v *LogView) float64 { return float64(v.Compared) })
	view("digest_agreed_slot", "Newest slot at which a majority of the voters had the same digest as this node.",
		func(v *LogView) float64 { return float64(v.Agreed) })
	metrics.CounterFunc(l.cfg.Registry, "log_hurried_total",
		"Times that a voter which is asked first answered late, so that all others were sent at once what they get soon.",
		func() float64 { return float64(l.view.Load().Hurried) })
	metrics.Flag(l.cfg.Registry, "replicas_differ",
		"1 if digests of voters differ and no majority tells which of them is right: nothing is truncated or backed "+
			"up.",
		nil, func() bool { return l.view.Load().Dispute.Slot != 0 })
	metrics.Flag(l.cfg.Registry, "able",
		"1 if this node has just shown that it could serve as master: its disk has answered within the last seconds, and "+
			"it does not stand back. Where nothing is written and the master gets on, nobody tries, and it is 0.",
		nil, func() bool { return l.cfg.Health.Standing().Able })
	metrics.Gauge(l.cfg.Registry, "standing_back_seconds",
		"For how long this node makes way for others, having let go of the master lease.",
		nil, func() float64 { return l.cfg.Health.Standing().StandBack.Seconds() })
	metrics.Gauge(l.cfg.Registry, "disk_silent_seconds", "For how long the disk has not answered a sync that it owes.",
		nil, func() float64 { return l.cfg.Health.Standing().DiskUnanswered.Seconds() })
}
