package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"tenure/api"
)

// EventKind is what an Event tells.
type EventKind string

// The kinds of Event.
const (
	EventSet     EventKind = "set"     // a key was written
	EventDelete  EventKind = "delete"  // a key was deleted, or has expired
	EventSession EventKind = "session" // a session was created or has ended; with the empty prefix only
	// EventCompacted says that changes up to Index may be missing: list again. If Index is below the index that the
	// watch had reached, another store has taken the place of the first, or its nodes began anew. Events seen before
	// are void then.
	EventCompacted EventKind = "compacted"
)

// Event is one change.
type Event struct {
	Kind    EventKind
	Key     string // of EventSet and EventDelete
	Entry   Entry  // of EventSet
	Session string // of EventSession: its ID
	Index   uint64 // revision of the change; several changes may share it
	// Resume is where another Watch continues after this event. If more events of the same revision follow, that Watch
	// begins with the first of them.
	Resume uint64
}

const (
	// streamSilence is how long a stream may be without a byte. A node sends something every 15 s.
	streamSilence = 45 * time.Second
	// steadyStream is how long a stream must have lasted for the next break not to count as another failure.
	steadyStream = time.Second
	// streamCheck is how long a stream may be without an event before the node must show that it can reach the master.
	streamCheck = 10 * time.Second
)

// Revision returns the newest revision of the store. Every write that was acknowledged before the call is at or below
// it. A token must be allowed to read some key, whichever.
func (c *kv) Revision(ctx context.Context) (uint64, error) {
	ctx, cancel := c.s.bounded(ctx)
	defer cancel()
	a, err := c.s.read(ctx, "revision", "", func() request { return newestUnder("") }, func(answer) error { return nil })
	return a.number(api.HeaderRevision), err
}

// newestUnder asks for a linearizable read, which needs the same permission as a watch of prefix. Only the headers of
// its answer matter.
func newestUnder(prefix string) request {
	return request{method: http.MethodHead, path: pathOf(prefix), query: query{api.QueryKeys, api.QueryLimit + "=1"}}
}

// Watch returns every change of the keys that start with prefix, in order and once, from after the revision on: the
// Meta.Revision of a listing, Client.Revision for the present, or an Event.Resume. When a node fails or is silent,
// Watch continues at another one. It ends with an error when ctx ends, or when no node will ever take the request.
//
//	for event, err := range c.Watch(ctx, "jobs/", meta.Revision) {
//
// Nodes remember a bounded number of changes, and a store that takes the place of another one has none of its changes.
// If some may be missing, an EventCompacted says so and Watch continues after its Index. List again then, unless the
// last state does not matter. Changes that the listing shows may still arrive: their Index is at or below its
// Meta.Revision.
//
// Watch has no goroutine and no buffer of its own. If the caller is slow to take the next event, the node has to wait,
// and may send EventCompacted in the end.
func (c *kv) Watch(ctx context.Context, prefix string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := watch{s: c.s, prefix: prefix, after: after, yield: yield}
		if err := w.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// watch is one call of Watch. The events of one revision come in the same order from every node, so when a stream
// breaks within a revision, the next one skips the events that were returned.
type watch struct {
	s        *sender
	prefix   string
	yield    func(Event, error) bool
	after    uint64 // everything up to it was returned
	partial  uint64 // the revision after it of which some events were returned
	returned int    // how many events of partial
	waits    watchWaits
}

// errStopped ends a watch whose caller wants no more events.
var errStopped = errors.New("stopped")

// run follows one stream after the other.
func (w *watch) run(ctx context.Context) error {
	w.s.findLive(ctx)
	tries := w.s.tries()
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return &Error{Op: "watch", Key: w.prefix, Kind: ErrUnavailable, Err: err}
		}
		began := time.Now()
		err = w.follow(ctx, e)
		var status *StatusError
		switch {
		case err == errStopped:
			return nil
		case errors.As(err, &status) && kindOfRefusal(status.Code) != nil:
			return &Error{Op: "watch", Key: w.prefix, Kind: kindOfRefusal(status.Code), Err: err}
		}
		tries.failed(e, err)
		w.waits.failed(w.s.cfg.WatchWaits, tries.last)
		if time.Since(began) >= steadyStream {
			tries = w.s.tries()
		}
	}
}

// follow returns the events that one node sends, until the stream ends. Its error is never nil.
func (w *watch) follow(ctx context.Context, e *endpoint) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(w.s.cfg.AttemptTimeout, func() {
		cancel(fmt.Errorf("silent: %w", context.DeadlineExceeded))
	})
	defer timer.Stop()
	body, err := w.open(ctx, e)
	if err != nil {
		return err
	}
	defer body.Close()
	w.s.endpoints.prefer(e)
	s := stream{watch: w, skip: w.returned, lastEvent: time.Now()}
	timer.Reset(streamSilence)
	events := newEventReader(&progressReader{body, func() { timer.Reset(streamSilence) }})
	for {
		m, err := events.next()
		if err != nil {
			return w.broken(ctx, e, err)
		}
		timer.Stop() // the caller may take its time
		w.s.learner.answered(e)
		if err = s.deliver(m); err == nil {
			err = s.check(ctx, e)
		}
		if err == errStopped {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: %w", e, err)
		}
		w.waits.goesOn(w.s.cfg.WatchWaits)
		timer.Reset(streamSilence)
	}
}
