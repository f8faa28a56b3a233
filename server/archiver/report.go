package archiver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/server/metrics"
	"tenure/server/wire"
)

// counters are the metrics that an archiver counts up.
type counters struct {
	bytes, segments, gaps prometheus.Counter
}

// register registers the metrics.
func (a *Archiver) register(reg prometheus.Registerer) {
	failures := metrics.Counters(reg, "archive_failures_total", "Failed attempts to write or verify the archive.",
		"what")
	a.metrics = counters{
		bytes: metrics.Counter(reg, "archive_bytes_total", "Bytes of the log and of full copies that were "+
			"archived by this node."),
		segments: metrics.Counter(reg, "archive_segments_total",
			"Segments of the log that were archived by this node."),
		gaps: metrics.Counter(reg, "archive_gaps_total",
			"Times that the log was truncated before it was archived."),
	}
	for _, w := range tasks {
		a.problems.failures[w] = failures.WithLabelValues(string(w))
	}
	metrics.Flag(reg, "archive_active", "1 if this node archives.", nil, a.isActive)
	metrics.Flag(reg, "archive_failing", "1 if something of the archive does not work at this node.", nil,
		func() bool { return a.Status().Problem != "" })
	for name, f := range map[string]struct {
		help string
		read func(s *api.ArchiveStatus) float64
	}{
		"archive_lag_seconds": {"Age of the oldest change that is not archived, as far as this node knows.",
			func(s *api.ArchiveStatus) float64 { return float64(s.LagMS) / 1000 }},
		"archive_lag_slots": {"Slots that are applied here and not archived, as far as this node knows.",
			func(s *api.ArchiveStatus) float64 { return float64(s.LagSlots) }},
		"archive_full_age_seconds": {"Age of the newest full copy; -1: none is known.",
			func(s *api.ArchiveStatus) float64 { return ageOf(s.Full, a.now()) }},
		"archive_verified_age_seconds": {"Age of the newest full copy that was verified; -1: none is known.",
			func(s *api.ArchiveStatus) float64 { return ageOf(s.Verified, a.now()) }},
		"archive_verification_age_seconds": {"Time since a verification has last succeeded; -1: none is known.",
			func(s *api.ArchiveStatus) float64 {
				if s.Verified == nil {
					return -1
				}
				return a.now().Sub(time.UnixMilli(s.Verified.VerifiedMS)).Seconds()
			}},
	} {
		metrics.Gauge(reg, name, f.help, nil, func() float64 { return f.read(a.Status()) })
	}
}

// ageOf returns the age of a full copy in seconds, or -1 if c is nil.
func ageOf(c *api.ArchivedCopy, now time.Time) float64 {
	if c == nil {
		return -1
	}
	return max(0, now.Sub(time.UnixMilli(c.MadeMS)).Seconds())
}

// Status returns the state of the archive as far as this node knows it.
func (a *Archiver) Status() *api.ArchiveStatus {
	slot, _ := a.cfg.State.Point()
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := &api.ArchiveStatus{Target: a.cfg.Target.String(), Active: a.active, Node: uint64(a.teller), Known: a.known,
		Full: copyStatus(a.told.Full), Verified: copyStatus(a.told.Verified)}
	if a.known {
		s.Slot, s.ReachedMS = a.told.Slot, a.told.ReachedMS
		s.LagMS = a.moments.Lag(a.told.Slot, now).Milliseconds()
		s.LagSlots = slot - min(slot, a.told.Slot)
	}
	s.Gap = a.gapStatus()
	s.Problem = a.problems.first()
	return s
}

// gapStatus returns the newest gap known to this node, or nil. It is a coming gap if the log was truncated above the
// last archived slot, else the last gap behind which the archive continued. The caller holds mu.
func (a *Archiver) gapStatus() *api.ArchiveGap {
	gap := a.lost
	if truncated := a.cfg.Log.View().Truncated; a.known && truncated > a.told.Slot {
		gap = api.ArchiveGap{First: a.told.Slot + 1, Last: truncated}
	}
	if gap == (api.ArchiveGap{}) {
		return nil
	}
	return &gap
}

func copyStatus(c wire.Copy) *api.ArchivedCopy {
	if c == (wire.Copy{}) {
		return nil
	}
	return &api.ArchivedCopy{Slot: c.Slot, Revision: c.Revision, MadeMS: c.MadeMS, VerifiedMS: c.WhenMS}
}
