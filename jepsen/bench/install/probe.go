package install

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tenure/api"
	"tenure/jepsen/cluster"
)

const (
	// readKey is in the snapshot, and writeKey is not: an install gives the one a new index and deletes the other.
	readKey  = "probe/read"
	writeKey = "probe/write"
	// probePause lies between two requests of a prober.
	probePause = 2 * time.Millisecond
)

// request is one that was answered. Its revision tells on which side of an install it was.
type request struct {
	began, ended time.Time
	revision     uint64
}

// prober makes requests of one kind to one node, one at a time.
type prober struct {
	method, url, header string

	mu   sync.Mutex
	made []request
	err  error
}

// probes are a writer and a reader for each node.
type probes struct {
	all  []*prober
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func startProbes(ctx context.Context, endpoints []string) *probes {
	ctx, stop := context.WithCancel(ctx)
	p := &probes{stop: stop}
	for _, at := range endpoints {
		p.all = append(p.all,
			&prober{method: http.MethodPut, url: at + api.PathKV + writeKey, header: api.HeaderRevision},
			&prober{method: http.MethodGet, url: at + api.PathKV + readKey, header: api.HeaderIndex})
	}
	for _, one := range p.all {
		p.wg.Go(func() { one.run(ctx) })
	}
	return p
}

// run makes requests until ctx is done or one fails.
func (p *prober) run(ctx context.Context) {
	for ctx.Err() == nil {
		r := request{began: time.Now()}
		_, header, err := exchange(ctx, p.method, p.url, nil)
		r.ended = time.Now()
		_, _ = fmt.Sscan(header.Get(p.header), &r.revision)
		p.mu.Lock()
		if err == nil {
			p.made = append(p.made, r)
		} else if ctx.Err() == nil {
			p.err = err
		}
		stop := p.err != nil
		p.mu.Unlock()
		if stop {
			return
		}
		cluster.Pause(ctx, probePause)
	}
}

// passed waits until every prober has seen the install at revision.
func (p *probes) passed(ctx context.Context, revision uint64) error {
	for _, one := range p.all {
		for !one.saw(revision) {
			if !cluster.Pause(ctx, probePause) {
				return ctx.Err()
			}
		}
	}
	return nil
}

func (p *prober) saw(revision uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.made)
	return p.err != nil || n > 0 && p.made[n-1].revision >= revision
}

// end ends all probers and returns the first error of theirs.
func (p *probes) end() error {
	p.stop()
	p.wg.Wait()
	for _, one := range p.all {
		if one.err != nil {
			return one.err
		}
	}
	return nil
}

// trial sorts what was measured. The probers have ended.
func (p *probes) trial(began, ended time.Time, revision uint64) Trial {
	t := Trial{UploadSeconds: ended.Sub(began).Seconds()}
	for _, one := range p.all {
		at := &t.Reads
		if one.method == http.MethodPut {
			at = &t.Writes
		}
		across := false
		for _, r := range one.made {
			took := r.ended.Sub(r.began).Seconds() * 1000
			switch {
			case r.ended.Before(began):
				at.Quiet = append(at.Quiet, took)
			case r.revision >= revision && !across: // the first that was behind the install
				across = true
				at.Install = append(at.Install, took)
			case r.revision < revision:
				at.Upload = append(at.Upload, took)
			}
		}
	}
	return t
}
