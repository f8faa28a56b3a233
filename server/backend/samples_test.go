package backend

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
	"tenure/internal/clock"
	"tenure/server/replica"
	"tenure/server/runner"
	"tenure/server/slow"
)

// A sample counts what came since the one before, and knows how far each peer is behind.
func TestSamples(t *testing.T) {
	view := &runner.LogView{Status: replica.Status{Chosen: 100, Peers: []replica.PeerStatus{
		{Node: 2, Applied: 90}, {Node: 3, Applied: 101}}}}
	recent := new(slow.Recent)
	s := NewSamples(SamplesConfig{Self: 1, Clock: clock.New(), Recent: recent,
		View: func() *runner.LogView { return view }})
	recent.Add(50, time.Millisecond)
	now := s.cfg.Clock.Now()
	s.take(now, 5*time.Second)
	s.take(now, 5*time.Second)
	got := s.History()
	for i := range got.Samples {
		got.Samples[i].AgeMS = 0
	}
	lags := []api.MemberLag{{Node: 2, Slots: 10}, {Node: 3, Slots: 0}}
	want := api.History{Node: 1, EveryMS: 5000, SpanMS: 600000, Samples: []api.HistorySample{
		{RequestsPerS: 10, P99MS: 1.2, Lags: lags}, {Lags: lags}}}
	if got.Samples[0].P99MS < 1 || got.Samples[0].P99MS > 1.3 {
		t.Errorf("99 %% within %v ms", got.Samples[0].P99MS)
	}
	got.Samples[0].P99MS = 1.2
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
