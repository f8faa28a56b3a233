package soak

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"tenure/jepsen/cluster"
	"tenure/jepsen/scrape"
)

// Sample is the disk use of the nodes, in bytes, at one time.
type Sample struct {
	At      time.Duration `json:"at_ns"` // since the first sample
	Nodes   []int64       `json:"node_bytes"`
	Archive int64         `json:"archive_bytes,omitempty"`
	Lag     float64       `json:"archive_lag_s,omitempty"` // in seconds, at the node that archives
}

// sampler takes a Sample every sampleEvery.
type sampler struct {
	m       *measurement
	stop    context.CancelFunc
	done    chan struct{}
	mu      sync.Mutex // guards samples
	samples []Sample
	files   map[string]int64 // largest disk use of a file of that name at any node
}

func (m *measurement) startSampling(ctx context.Context) (*sampler, error) {
	ctx, stop := context.WithCancel(ctx)
	s := &sampler{m: m, stop: stop, done: make(chan struct{}), files: map[string]int64{}}
	begin := time.Now()
	if err := s.take(ctx, begin); err != nil {
		stop()
		return nil, err
	}
	go func() {
		defer close(s.done)
		for {
			if !cluster.Pause(ctx, sampleEvery) {
				return
			}
			if err := s.take(ctx, begin); err != nil && ctx.Err() == nil {
				m.say("a sample: %v", err)
			}
		}
	}()
	return s, nil
}

// end stops the sampler and returns the samples and the largest files.
func (s *sampler) end() ([]Sample, map[string]int64) {
	s.stop()
	<-s.done
	return s.samples, s.files
}

// newest returns the newest sample.
func (s *sampler) newest() Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.samples[len(s.samples)-1]
}

func (s *sampler) take(ctx context.Context, begin time.Time) error {
	now := Sample{At: time.Since(begin)}
	for _, n := range s.m.nodes.Nodes() {
		total := int64(0)
		for name, bytes := range used(n.Data) {
			total += bytes
			s.files[name] = max(s.files[name], bytes)
		}
		now.Nodes = append(now.Nodes, total)
	}
	if s.m.cfg.Archive {
		for _, bytes := range used(s.m.archive) {
			now.Archive += bytes
		}
		lag, err := s.lag(ctx)
		if err != nil {
			return err
		}
		now.Lag = lag
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, now)
	return nil
}

// used returns the disk use in bytes of each file below dir, by its path relative to dir. Files that vanish meanwhile
// are ignored.
func used(dir string) map[string]int64 {
	files := map[string]int64{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		var st syscall.Stat_t
		if syscall.Stat(path, &st) == nil {
			name, _ := filepath.Rel(dir, path)
			files[name] = st.Blocks * 512
		}
		return nil
	})
	return files
}

// lagMetric is the metric of an archive's lag; the space ends its name.
const lagMetric = "tenure_archive_lag_seconds "

// lag returns the largest lag of the archive that a node reports, in seconds. It fails if no node reports one.
func (s *sampler) lag(ctx context.Context) (float64, error) {
	lag, found := 0.0, false
	for _, n := range s.m.nodes.Nodes() {
		text, err := scrape.Get(ctx, http.DefaultClient, "http://"+n.Client+"/metrics", "")
		if err != nil {
			return 0, err
		}
		lags, err := scrape.Numbers(text, lagMetric)
		if err == nil {
			lag, found = max(lag, slices.Max(lags)), true
		}
	}
	if !found {
		return 0, fmt.Errorf("no node has the metric %s", strings.TrimSpace(lagMetric))
	}
	return lag, nil
}

// archived waits until the archive has no lag, for at most archiveGrace.
func (m *measurement) archived(ctx context.Context, s *sampler) error {
	for began := time.Now(); ; {
		if s.newest().Lag == 0 {
			return nil
		}
		if time.Since(began) > archiveGrace {
			return fmt.Errorf("%v after the load the archive lags by %.1f s", archiveGrace, s.newest().Lag)
		}
		if !cluster.Pause(ctx, sampleEvery) {
			return ctx.Err()
		}
	}
}
