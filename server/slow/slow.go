// Package slow tells where the time of slow requests went, and how long requests took lately.
package slow

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"tenure/server/metrics"
)

// Write is where the time of a write went. The node that takes it from the client knows either all parts, if it is the
// master, or that it had to forward the write.
type Write struct {
	Queue   time.Duration // until the master proposed it
	Journal time.Duration // from then until it was durable on the master's disk; 0 if a quorum was faster
	Quorum  time.Duration // from its proposal, too, until a quorum had it
	Apply   time.Duration // from then until it was applied
	Forward time.Duration // from the arrival at a node that is not the master to the master's answer
}

// Add adds those of another copy of the write.
func (w *Write) Add(o Write) {
	w.Queue += o.Queue
	w.Journal += o.Journal
	w.Quorum += o.Quorum
	w.Apply += o.Apply
	w.Forward += o.Forward
}

// Request is where the time of a request went.
type Request struct {
	Body  time.Duration // until all of it had arrived
	Read  time.Duration // for the state from which it was answered
	Store time.Duration // for its writes, whose parts are in Write
	Write Write
}

// Log tells of requests that took long. Its methods are safe for concurrent use; nil tells nothing.
type Log struct {
	above  time.Duration
	recent Recent
	log    zerolog.Logger
	slow   prometheus.Counter
	phases [len(names)]prometheus.Observer
}

// names are those of the phases, in the order in which a request comes through them.
var names = [...]string{"body", "read", "queue", "forward", "journal", "quorum", "apply", "reply"}

// burst bounds the lines in a second: where everything is slow, some of them say it.
const burst = 10

// New returns a Log that has a line for each request that took longer than above, none with 0. It registers its
// figures.
func New(reg prometheus.Registerer, above time.Duration, log zerolog.Logger) *Log {
	l := &Log{above: above, log: log.Sample(&zerolog.BurstSampler{Burst: burst, Period: time.Second}),
		slow: metrics.Counter(reg, "slow_requests_total",
			"Requests of clients that took longer than --slow-request, without what they waited for changes.")}
	took := metrics.Histograms(reg, "request_phase_seconds",
		"Time of a request of a client, by phase. Quorum and journal begin together; forward has all that the master did.",
		metrics.Latencies, "phase")
	for i, name := range names {
		l.phases[i] = took.WithLabelValues(name)
	}
	return l
}

// Served is told that n requests took so long each.
func (l *Log) Served(n int, took time.Duration) {
	if l != nil {
		l.recent.Add(n, took)
	}
}

// Recent returns the count of the requests that were Served.
func (l *Log) Recent() *Recent { return &l.recent }

// Done is told of a request that took so long in all. Of describes it in the line, if there is one.
func (l *Log) Done(took time.Duration, r *Request, of func(*zerolog.Event)) {
	if l == nil {
		return
	}
	w := &r.Write
	parts := [len(names)]time.Duration{r.Body, r.Read, w.Queue, w.Forward, w.Journal, w.Quorum, w.Apply,
		took - r.Body - r.Read - r.Store}
	for i, d := range parts {
		if d > 0 {
			l.phases[i].Observe(d.Seconds())
		}
	}
	if l.above <= 0 || took < l.above {
		return
	}
	l.slow.Inc()
	e := l.log.Warn()
	if e == nil {
		return
	}
	of(e)
	e.Dur("took_ms", took)
	for i, d := range parts {
		if d > 0 {
			e.Dur(names[i]+"_ms", d)
		}
	}
	e.Msg("slow request")
}
