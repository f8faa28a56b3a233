package main

import (
	"sync"
	"time"
)

// waitNoteAfter is how long a command waits in silence.
const waitNoteAfter = time.Second

// waitNote reports once, on standard error, what a command waits for, if that takes a while.
type waitNote struct {
	to   *printer
	what string

	mu    sync.Mutex
	why   error
	timer *time.Timer
	ended bool
}

// noteWait returns a waitNote for a command that may wait for what.
func (p *printer) noteWait(what string) *waitNote { return &waitNote{to: p, what: what} }

// on says why the command waits, nil if nobody tells.
func (w *waitNote) on(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = why
	if w.timer == nil {
		w.timer = time.AfterFunc(waitNoteAfter, w.report)
	}
}

func (w *waitNote) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ended:
	case w.why == nil:
		w.to.note("waiting for %s", w.what)
	default:
		w.to.note("waiting for %s: %v", w.what, w.why)
	}
}

// end ends the wait. Nothing is reported after it has returned.
func (w *waitNote) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
