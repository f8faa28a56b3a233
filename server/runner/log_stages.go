package runner

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/internal/ballot"
	"tenure/multipaxos"
	"tenure/server/metrics"
	"tenure/server/replica"
	"tenure/server/slow"
)

// stageMetrics show where the time of a write goes, at the master, batch by batch:
//
//	queued     from the arrival of the batch's first write at the log to its proposal
//	persisted  from the proposal until it is durable on the own disk
//	acked      from the proposal to a peer's acknowledgement, its disk write included; by peer
//	chosen     from the proposal to a quorum
//	applied    from the proposal to the state; the replies leave at once
//
// The stages after queued run beside each other.
type stageMetrics struct {
	queued, persisted, chosen, applied prometheus.Observer
	acked                              prometheus.ObserverVec
	writes, bytes                      prometheus.Histogram
}

func newStages(reg prometheus.Registerer, members *Members) *stages {
	took := metrics.Histograms(reg, "write_stage_seconds",
		"Time of a batch of writes at the master, by stage: queued is before its proposal, the others run from it.",
		stageBuckets, "stage", "peer")
	m := stageMetrics{
		queued: took.WithLabelValues("queued", ""), persisted: took.WithLabelValues("persisted", ""),
		chosen: took.WithLabelValues("chosen", ""), applied: took.WithLabelValues("applied", ""),
		acked: took.MustCurryWith(prometheus.Labels{"stage": "acked"}),
		writes: metrics.Histogram(reg, "batch_writes", "Writes in a batch, which is one slot.",
			prometheus.ExponentialBuckets(1, 2, 13)),
		bytes: metrics.Histogram(reg, "batch_bytes", "Bytes of a batch.", prometheus.ExponentialBuckets(64, 4, 10)),
	}
	return &stages{m: m, members: members, acks: map[ballot.NodeID]prometheus.Observer{}}
}

// stageBuckets go from 50 µs to 1.6 s.
var stageBuckets = prometheus.ExponentialBuckets(0.000_05, 2, 16)

// maxTracked bounds the batches that are followed; beyond it, when no quorum answers, new ones are not.
const maxTracked = 256

// tracked is a batch on its way.
type tracked struct {
	slot                       multipaxos.Slot
	seq                        uint64 // of its Persist
	at                         time.Duration
	acks                       int
	persisted, chosen, applied bool
	durable                    time.Duration // how long that took; 0: it is not yet
}

// stages follows the batches of this master. It belongs to the round under way.
type stages struct {
	m       stageMetrics
	members *Members
	acks    map[ballot.NodeID]prometheus.Observer // of the peers that have acknowledged something
	batches []tracked
}

// proposed begins to follow the batches of out; their persists are in it too.
func (s *stages) proposed(now time.Duration, out *replica.Output) {
	for _, p := range out.Proposed {
		s.m.queued.Observe(p.Waited.Seconds())
		s.m.writes.Observe(float64(p.Writes))
		s.m.bytes.Observe(float64(p.Bytes))
		if len(s.batches) < maxTracked {
			s.batches = append(s.batches, tracked{slot: p.Slot, seq: seqOf(out.Persists, p.Slot), at: now})
		}
	}
}

// seqOf returns the number of the Persist that carries slot.
func seqOf(ps []multipaxos.Persist, slot multipaxos.Slot) uint64 {
	for i := range ps {
		if n := len(ps[i].Entries); n > 0 && ps[i].Entries[n-1].Slot >= slot {
			return ps[i].Seq
		}
	}
	return 0
}

// acked takes what a peer has accepted.
func (s *stages) acked(now time.Duration, m *multipaxos.Message) {
	if m.Kind != multipaxos.KindAccepted {
		return
	}
	o := s.acks[m.From]
	if o == nil {
		o = s.m.acked.WithLabelValues(strconv.FormatUint(uint64(m.From), 10))
		s.acks[m.From] = o
	}
	for i := range s.batches {
		if b := &s.batches[i]; b.slot >= m.Slot && b.slot <= m.Through {
			o.Observe((now - b.at).Seconds())
			b.acks++
		}
	}
}

// persisted takes that the own disk has everything up to seq.
func (s *stages) persisted(now time.Duration, seq uint64) {
	for i := range s.batches {
		if b := &s.batches[i]; !b.persisted && b.seq <= seq {
			b.persisted, b.durable = true, now-b.at
			s.m.persisted.Observe((now - b.at).Seconds())
		}
	}
}

// write returns where the time of a write went that came at a time, was applied in the round of a reading, and is
// answered now.
func (s *stages) write(round, now, came time.Duration, r *replica.Reply) (took slow.Write) {
	switch {
	case r.Outcome != replica.Done:
		took.Queue = now - came
		return took
	case r.Slot == 0: // another node has proposed it
		took.Forward = now - came
		return took
	}
	for i := range s.batches {
		if b := &s.batches[i]; b.slot == r.Slot {
			return slow.Write{Queue: b.at - came, Journal: b.durable, Quorum: round - b.at, Apply: now - round}
		}
	}
	return took // too many were under way: this one was not followed
}

// moved takes how far log and state are, and drops the batches of which everybody has told. One whose peer does not
// answer is dropped when maxTracked/2 newer ones are applied.
func (s *stages) moved(now time.Duration, chosen, applied multipaxos.Slot) {
	done := 0
	for i := range s.batches {
		b := &s.batches[i]
		if !b.chosen && b.slot <= chosen {
			b.chosen = true
			s.m.chosen.Observe((now - b.at).Seconds())
		}
		if !b.applied && b.slot <= applied {
			b.applied = true
			s.m.applied.Observe((now - b.at).Seconds())
		}
		whole := b.applied && b.persisted && b.acks >= len(s.members.Others())
		if i == done && (whole || (b.applied && len(s.batches)-i > maxTracked/2)) {
			done++
		}
	}
	s.batches = append(s.batches[:0], s.batches[done:]...)
}

// forget drops all: this node leads no more.
func (s *stages) forget() { s.batches = s.batches[:0] }
