package runner

import (
	"sync"
	"sync/atomic"
)

// Loop is a goroutine of a runner. It returns soon after stop is closed; an error ends the run.
type Loop func(stop <-chan struct{}) error

// Lifecycle is how a run ends: in order, or because something failed. It is safe for concurrent use.
type Lifecycle struct {
	interrupt func()
	stopping  atomic.Bool
	failOnce  sync.Once
	failure   error         // set before failed is closed
	failed    chan struct{} // closed by the first failure
	endOnce   sync.Once
	ended     chan struct{} // closed when the loops end: no reply comes any more
	loops     sync.WaitGroup
}

// NewLifecycle returns the lifecycle of a run. interrupt ends waits that would hold up a loop long after End, for
// example a checkpoint that waits for space. Commits still end as they began.
func NewLifecycle(interrupt func()) *Lifecycle {
	return &Lifecycle{interrupt: interrupt, failed: make(chan struct{}), ended: make(chan struct{})}
}

// Go starts loops.
func (l *Lifecycle) Go(loops []Loop) {
	for _, run := range loops {
		l.loops.Go(func() {
			if err := run(l.ended); err != nil {
				l.Fail(err)
			}
		})
	}
}

// Fail ends the run: nothing may be served or voted from damaged state or after a failed sync. The first error is kept.
func (l *Lifecycle) Fail(err error) {
	l.failOnce.Do(func() {
		l.failure = err
		close(l.failed)
	})
}

// Failed is closed when the run has failed.
func (l *Lifecycle) Failed() <-chan struct{} { return l.failed }

// Err returns what the run has failed of by now, or nil. The run may fail for as long as somebody reads its state: only
// when the loops and all readers have ended is the answer final.
func (l *Lifecycle) Err() error {
	select {
	case <-l.failed:
		return l.failure
	default:
		return nil
	}
}

// Stop notes that the run is being ended in order.
func (l *Lifecycle) Stop() { l.stopping.Store(true) }

// Stopping reports whether Stop was called.
func (l *Lifecycle) Stopping() bool { return l.stopping.Load() }

// End tells the loops to end, and everybody who waits for them to wait no longer.
func (l *Lifecycle) End() {
	l.endOnce.Do(func() {
		close(l.ended)
		l.interrupt()
	})
}

// Ended is closed by End.
func (l *Lifecycle) Ended() <-chan struct{} { return l.ended }

// Wait waits, after End, until all loops have ended.
func (l *Lifecycle) Wait() { l.loops.Wait() }
