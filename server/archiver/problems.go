package archiver

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
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

// problems is the tasks that fail at this node. It is safe for concurrent use.
type problems struct {
	log      zerolog.Logger
	target   string
	now      func() time.Time
	failures map[task]prometheus.Counter

	mu   sync.Mutex
	last map[task]problem
}

// failed records a failure of a task. It is logged the first time, and then every complainEvery.
func (p *problems) failed(w task, err error) {
	p.failures[w].Inc()
	now := p.now()
	p.mu.Lock()
	last := p.last[w]
	last.text = err.Error()
	complain := now.Sub(last.logged).Abs() >= complainEvery
	if complain {
		last.logged = now
	}
	p.last[w] = last
	p.mu.Unlock()
	if complain {
		p.log.Error().Err(err).Str("what", string(w)).Str("target", p.target).
			Msg("archiving fails")
	}
}

// succeeded ends the problem of a task.
func (p *problems) succeeded(w task) {
	p.mu.Lock()
	_, failed := p.last[w]
	delete(p.last, w)
	p.mu.Unlock()
	if failed {
		p.log.Info().Str("what", string(w)).Msg("archiving works again")
	}
}

// clear forgets the problems.
func (p *problems) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.last)
}

// first returns the problem of the first task that has one, for people; "" if none has.
func (p *problems) first() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range tasks {
		if last, ok := p.last[w]; ok {
			return string(w) + ": " + last.text
		}
	}
	return ""
}
