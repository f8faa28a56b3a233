package server

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"tenure/api"
	"tenure/server/replica"
	"tenure/storage"
)

// metrics are the node's own figures; the HTTP ones are web's.
type metrics struct {
	writeSeconds      *prometheus.HistogramVec // by outcome
	writes            [replica.Unknown + 1]prometheus.Observer
	commitSeconds     prometheus.Histogram
	checkpointSeconds prometheus.Histogram
	leaseWon          prometheus.Counter
	leaseLate         prometheus.Histogram
	leaseRenewal      prometheus.Histogram
	tenureStarts      *prometheus.CounterVec // by how the tenure before ended
	tenureEnds        *prometheus.CounterVec // by cause
	badFrames         prometheus.Counter
	droppedLease      prometheus.Counter
	crashReleased     prometheus.Counter
	letGo             *prometheus.CounterVec // by reason
}

func newMetrics(reg *prometheus.Registry) *metrics {
	buckets := prometheus.ExponentialBuckets(0.000_1, 2, 16) // 0.1 ms to 3.3 s
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "tenure", Name: name, Help: help})
	}
	m := &metrics{
		writeSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "tenure", Name: "write_seconds",
			Help: "Time from the round in which the log part takes a write to its answer, by outcome.", Buckets: buckets}, []string{"outcome"}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tenure", Name: "log_commit_seconds",
			Help: "Time of a commit of the log, syncs included.", Buckets: buckets}),
		checkpointSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tenure", Name: "checkpoint_seconds",
			Help: "Time of a checkpoint into the state database.", Buckets: buckets}),
		leaseLate: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tenure", Name: "lease_loop_late_seconds",
			Help: "How late the lease loop woke behind its timer.", Buckets: buckets}),
		leaseRenewal: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "tenure", Name: "lease_renewal_seconds",
			Help: "Time from the start of an attempt that won or renewed the master lease to its success.", Buckets: buckets}),
		tenureStarts: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tenure", Name: "mastership_starts_total",
			Help: "Tenures of the master lease that began here, by how the one before ended as far as this node knows."}, []string{"after"}),
		tenureEnds: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tenure", Name: "mastership_ends_total",
			Help: "Tenures of the master lease that ended here, by cause."}, []string{"cause"}),
		leaseWon:      counter("lease_won_total", "Fresh tenures of the master lease that this node has won."),
		badFrames:     counter("peer_frames_malformed_total", "Frames that could not be decoded."),
		droppedLease:  counter("lease_messages_dropped_total", "Lease messages dropped because too many waited."),
		crashReleased: counter("lease_released_after_crash_total", "Live lease records that were cleared here at the word of a dead peer's guardian."),
	}
	m.letGo = prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "tenure", Name: "lease_let_go_total",
		Help: "Times that this node let go of the master lease because it got nowhere, by reason."}, []string{"reason"})
	for _, reason := range []string{replica.ReasonUnready, replica.ReasonStuck, replica.ReasonHung} {
		m.letGo.WithLabelValues(reason)
	}
	for o, name := range map[replica.Outcome]string{replica.Done: "done", replica.Refused: "refused", replica.Unknown: "unknown"} {
		m.writes[o] = m.writeSeconds.WithLabelValues(name)
	}
	for _, c := range replica.Causes() {
		m.tenureEnds.WithLabelValues(c.String())
	}
	for _, e := range replica.Endings() {
		m.tenureStarts.WithLabelValues(e.String())
	}
	reg.MustRegister(m.leaseRenewal, m.tenureStarts, m.tenureEnds)
	reg.MustRegister(m.writeSeconds, m.commitSeconds, m.checkpointSeconds, m.leaseWon, m.leaseLate, m.badFrames, m.droppedLease, m.crashReleased, m.letGo,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observeWrite(r replica.Reply, took time.Duration) {
	m.writes[r.Outcome].Observe(took.Seconds())
}

// registerBuild says which build this is.
func registerBuild(reg *prometheus.Registry, cfg Config) {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "tenure", Name: "build_info",
		Help: "1, with the version, the revision that was built, and the Go version as labels."}, []string{"version", "revision", "goversion"})
	info.WithLabelValues(cfg.Version, cfg.Revision, runtime.Version()).Set(1)
	reg.MustRegister(info)
}

// registerPeers adds what is known of each other member.
func (n *Node) registerPeers(reg *prometheus.Registry) {
	for _, id := range n.peers {
		labels := prometheus.Labels{"peer": strconv.FormatUint(uint64(id), 10)}
		gauge := func(name, help string, read func(p api.PeerStatus, v *logView) float64) {
			reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "tenure", Name: name, Help: help, ConstLabels: labels}, func() float64 {
				v := n.logView.Load()
				for _, p := range n.peerStatus(v, n.clock.Now()) {
					if p.Node == uint64(id) {
						return read(p, v)
					}
				}
				return math.NaN()
			}))
		}
		gauge("peer_connected", "1 if the connections to the peer are up.", func(p api.PeerStatus, _ *logView) float64 {
			if p.Connected {
				return 1
			}
			return 0
		})
		gauge("peer_lag_slots", "Slots that are chosen as far as this node knows, and that the peer has not said to have applied.",
			func(p api.PeerStatus, v *logView) float64 { return float64(max(v.chosen, p.Chosen) - p.Chosen) })
		gauge("peer_last_heard_seconds", "Age of the peer's last message about the log; not a number if there was none in this run.",
			func(p api.PeerStatus, _ *logView) float64 {
				if p.LastHeardMS < 0 {
					return math.NaN()
				}
				return float64(p.LastHeardMS) / 1000
			})
	}
}

// registerGauges adds the figures that are read from published values when somebody asks for them.
func (n *Node) registerGauges(reg *prometheus.Registry) {
	gauge := func(name, help string, read func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "tenure", Name: name, Help: help}, read))
	}
	view := func(name, help string, read func(v *logView) float64) {
		gauge(name, help, func() float64 { return read(n.logView.Load()) })
	}
	gauge("lease_remaining_seconds", "What is left of the master lease, if this node holds it.", func() float64 {
		p, now := n.gate.load(), n.clock.Now()
		if !p.Held(now) {
			return 0
		}
		return (p.Deadline - now).Seconds()
	})
	gauge("master_ready", "1 if this node is the master and ready.", func() float64 {
		if p := n.gate.load(); p.Held(n.clock.Now()) && p.Ready == p.Tenure {
			return 1
		}
		return 0
	})
	gauge("able", "1 if this node could serve as master: its disk answers, it has space, and it does not stand back.", func() float64 {
		if n.standing.Load().Able {
			return 1
		}
		return 0
	})
	gauge("standing_back_seconds", "For how long this node makes way for others, having let go of the master lease.", func() float64 {
		return n.standing.Load().StandBack.Seconds()
	})
	gauge("disk_silent_seconds", "For how long the disk has not answered a sync that it owes.", func() float64 { return n.standing.Load().DiskSilent.Seconds() })
	gauge("guardian_up", "1 if this node's guardian runs: a crash then costs milliseconds instead of the rest of the lease.", func() float64 {
		if n.guard.status().PID != 0 {
			return 1
		}
		return 0
	})
	view("master_node", "Node id of the master as known here, 0 if unknown.", func(v *logView) float64 { return float64(v.master) })
	view("epoch", "Slot of the barrier entry of the newest mastership known here.", func(v *logView) float64 { return float64(v.epoch) })
	view("log_chosen_slot", "Slots up to this one are chosen.", func(v *logView) float64 { return float64(v.chosen) })
	view("log_applied_slot", "Slots up to this one are applied.", func(v *logView) float64 { return float64(v.applied) })
	view("log_checkpointed_slot", "Slots up to this one are in the durable state database.", func(v *logView) float64 { return float64(v.checkpointed) })
	view("log_truncated_slot", "Slots up to this one are gone from the log.", func(v *logView) float64 { return float64(v.truncated) })
	view("revision", "Revision of the state.", func(v *logView) float64 { return float64(v.revision) })
	view("table_bytes", "Applied changes that are not yet checkpointed.", func(v *logView) float64 { return float64(v.tableBytes) })
	view("queued_writes", "Writes that wait to be proposed, forwarded or answered by the master.", func(v *logView) float64 { return float64(v.queued) })
	view("inflight_slots", "Slots proposed and not yet applied.", func(v *logView) float64 { return float64(v.inFlight) })
	gauge("keys", "Keys, as counted a little while ago: the more there are, the less often they are counted.", n.counted.read)
	gauge("sessions", "Sessions as applied here.", func() float64 {
		n.stateMu.RLock()
		defer n.stateMu.RUnlock()
		return float64(n.state.SessionCount())
	})
	gauge("named_leases", "Names of leases that this node's acceptor remembers, live or not.", func() float64 { return float64(n.named.view.Load().Records) })
	gauge("named_lease_requests", "Requests about named leases under way on this node.", func() float64 { return float64(n.named.view.Load().Attempts) })
	gauge("named_lease_waiting", "Requests that wait for a busy name on this node.", func() float64 { return float64(n.named.view.Load().Waiting) })
	gauge("named_lease_era", "Era of this run's fencing tokens, 0 without one.", func() float64 { return float64(n.leasesStatus(n.clock.Now()).Era) })
	counter := func(name, help string, read func(storage.Stats) uint64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "tenure", Name: name, Help: help},
			func() float64 { return float64(read(n.store.Stats())) }))
	}
	counter("journal_syncs_total", "Commits that became durable by a sync of the journal.", func(s storage.Stats) uint64 { return s.JournalSyncs })
	counter("journal_waits_total", "Commits that waited for space in the journal.", func(s storage.Stats) uint64 { return s.JournalWaits })
	counter("journal_flushes_total", "Transactions that moved commits to log.db.", func(s storage.Stats) uint64 { return s.Flushes })
	ignored := prometheus.CounterOpts{Namespace: "tenure", Name: "peer_frames_ignored_total",
		Help: "Frames of a type that this version does not know."}
	reg.MustRegister(prometheus.NewCounterFunc(ignored, func() float64 { return float64(n.transport.Stats().Ignored) }))
	gauge("journal_pending_bytes", "What the journal holds and log.db does not.", func() float64 { return float64(n.store.Stats().PendingBytes) })
	gauge("disk_log_bytes", "Bytes in use in log.db, and pending for it.", func() float64 { return float64(n.store.Usage().LogBytes) })
	gauge("disk_state_bytes", "Size of state.db.", func() float64 { return float64(n.store.Usage().StateBytes) })
	gauge("disk_reserve_bytes", "Space at which this node counts as full.", func() float64 { return float64(n.store.Usage().ReserveBytes) })
	gauge("disk_held_bytes", "Space that the reserve file holds: it is not free for others.", func() float64 { return float64(n.store.Usage().HeldBytes) })
	for _, m := range n.membership.Members {
		full := prometheus.GaugeOpts{Namespace: "tenure", Name: "disk_full", Help: "1 if the disk of that member has reached its reserve or quota, as this node knows it.",
			ConstLabels: prometheus.Labels{"member": strconv.FormatUint(uint64(m.Node), 10)}}
		reg.MustRegister(prometheus.NewGaugeFunc(full, func() float64 {
			if slices.Contains(n.logView.Load().full, m.Node) {
				return 1
			}
			return 0
		}))
	}
	gauge("disk_free_bytes", "Free space of the data directory's file system.", func() float64 { return float64(n.store.Usage().FreeBytes) })
}
