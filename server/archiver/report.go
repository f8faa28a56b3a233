package archiver

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenure/api"
	"tenure/server/metrics"
	"tenure/server/wire"
)

// task is a part of an archiver's work that can fail independently. Its text appears in metrics, logs and status.
type task string

// The tasks.
const (
	segments     task = "segment"
	fullCopies   task = "full"
	verification task = "verify"
	retention    task = "retention"
)

var tasks = []task{segments, fullCopies, verification, retention}

// problem is the last failure of a task that has not succeeded since.
type problem struct {
	text   string
	logged time.Time // when it was last logged
}

// complainEvery is the time between two log lines about a lasting problem.
const complainEvery = time.Minute

// counters are the metrics that an archiver counts up.
type counters struct {
	bytes, segments, gaps prometheus.Counter
	failures              map[task]prometheus.Counter
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
		failures: map[task]prometheus.Counter{},
	}
	for _, w := range tasks {
		a.metrics.failures[w] = failures.WithLabelValues(string(w))
	}
	metrics.Flag(reg, "archive_active", "1 if this node archives.", nil, a.isActive)
	metrics.Flag(reg, "archive_failing", "1 if something of the archive does not work at this node, or this node, "+
		"the master, "+
		"does not archive yet.", nil, func() bool { return a.Status().Problem != "" })
	for name, f := range map[string]struct {
		help string
		read func(s *api.ArchiveStatus) float64
	}{
		"archive_lag_seconds": {"Age of the oldest change that is not archived, as far as this node knows.",
			func(s *api.ArchiveStatus) float64 { return float64(s.LagMS) / 1000 }},
		"archive_lag_slots": {"Slots that are applied here and not archived, as far as this node knows.",
			func(s *api.ArchiveStatus) float64 { return float64(s.LagSlots) }},
		"archive_full_age_seconds": {"Age of the newest full copy; -1: none is known.",
			func(s *api.ArchiveStatus) float64 { return a.age(s.Full) }},
		"archive_verified_age_seconds": {"Age of the newest full copy that was verified; -1: none is known.",
			func(s *api.ArchiveStatus) float64 { return a.age(s.Verified) }},
		"archive_last_verified_seconds": {"Time since a verification has last succeeded; -1: none is known.",
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

// age returns the age of a full copy in seconds, or -1 if c is nil.
func (a *Archiver) age(c *api.ArchivedCopy) float64 {
	if c == nil {
		return -1
	}
	return max(0, a.now().Sub(time.UnixMilli(c.MadeMS)).Seconds())
}

// failed records a failure of a task. It is logged the first time, and then every complainEvery.
func (a *Archiver) failed(w task, err error) {
	a.metrics.failures[w].Inc()
	now := a.now()
	a.mu.Lock()
	p := a.problems[w]
	p.text = err.Error()
	complain := now.Sub(p.logged).Abs() >= complainEvery
	if complain {
		p.logged = now
	}
	a.problems[w] = p
	a.mu.Unlock()
	if complain {
		a.cfg.Logger.Error().Err(err).Str("what", string(w)).Str("target", a.cfg.Target.String()).
			Msg("archiving fails")
	}
}

// succeeded ends the problem of a task.
func (a *Archiver) succeeded(w task) {
	a.mu.Lock()
	_, failed := a.problems[w]
	delete(a.problems, w)
	a.mu.Unlock()
	if failed {
		a.cfg.Logger.Info().Str("what", string(w)).Msg("archiving works again")
	}
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
	for _, w := range tasks {
		if p, ok := a.problems[w]; ok {
			s.Problem = string(w) + ": " + p.text
			break
		}
	}
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
