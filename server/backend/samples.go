package backend

import (
	"math"
	"sync"
	"time"

	"tenure/api"
	"tenure/internal/ballot"
	"tenure/internal/clock"
	"tenure/server/history"
	"tenure/server/runner"
	"tenure/server/slow"
)

// SamplesConfig is what a Samples is made of. All fields are required.
type SamplesConfig struct {
	Self   ballot.NodeID
	Clock  *clock.Clock
	Recent *slow.Recent
	View   func() *runner.LogView
}

// Samples remembers how busy this node was in the last minutes.
type Samples struct {
	cfg SamplesConfig

	mu   sync.Mutex // held for moments
	ring history.Ring
}

// NewSamples returns a Samples that has none.
func NewSamples(c SamplesConfig) *Samples { return &Samples{cfg: c} }

// Sample takes a sample now and then, until stop is closed.
func (s *Samples) Sample(stop <-chan struct{}) error {
	tick := time.NewTicker(history.Every)
	defer tick.Stop()
	s.cfg.Recent.Take() // of a run of the node before this one
	for before := s.cfg.Clock.Now(); ; {
		select {
		case <-stop:
			return nil
		case <-tick.C:
		}
		now := s.cfg.Clock.Now()
		s.take(now, now-before)
		before = now
	}
}

// take takes the sample of the time `during` before now.
func (s *Samples) take(now, during time.Duration) {
	n, p99 := s.cfg.Recent.Take()
	x := history.Sample{At: now, Requests: n, For: during, P99: p99}
	v := s.cfg.View()
	for _, p := range v.Peers {
		x.Lags = append(x.Lags, history.Lag{Node: uint64(p.Node), Slots: v.Chosen - min(v.Chosen, p.Applied)})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring.Add(x)
}

// History returns what this node remembers. It never waits.
func (s *Samples) History() api.History {
	now := s.cfg.Clock.Now()
	s.mu.Lock()
	last := s.ring.Last(now)
	s.mu.Unlock()
	out := api.History{Node: uint64(s.cfg.Self), EveryMS: history.Every.Milliseconds(),
		SpanMS: history.Span.Milliseconds(), Samples: make([]api.HistorySample, 0, len(last))}
	for _, x := range last {
		out.Samples = append(out.Samples, shownSample(now, x))
	}
	return out
}

// shownSample returns x as the API has it.
func shownSample(now time.Duration, x history.Sample) api.HistorySample {
	out := api.HistorySample{AgeMS: (now - x.At).Milliseconds(), P99MS: inTenths(x.P99.Seconds() * 1000),
		Lags: make([]api.MemberLag, 0, len(x.Lags))}
	if x.For > 0 {
		out.RequestsPerS = inTenths(float64(x.Requests) / x.For.Seconds())
	}
	for _, l := range x.Lags {
		out.Lags = append(out.Lags, api.MemberLag{Node: l.Node, Slots: l.Slots})
	}
	return out
}

// inTenths rounds x up: what is more than nothing stays so.
func inTenths(x float64) float64 { return math.Ceil(x*10) / 10 }
