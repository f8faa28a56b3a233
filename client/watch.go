package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"tenure/api"
)

// EventKind is what an Event tells.
type EventKind string

// The kinds of Event.
const (
	EventSet       EventKind = "set"       // a key was written
	EventDelete    EventKind = "delete"    // a key was deleted, or has expired
	EventSession   EventKind = "session"   // a session was created or has ended (with the empty prefix only)
	EventCompacted EventKind = "compacted" // changes up to Index may be missing: list again
)

// Event is one change.
type Event struct {
	Kind    EventKind
	Key     string // of EventSet and EventDelete
	Entry   Entry  // of EventSet
	Session string // of EventSession: its ID
	Index   uint64 // revision of the change, which several may share
	// Resume, as the after of another Watch, goes on behind this event, or with the first event that shares its
	// revision if more of them follow.
	Resume uint64
}

const (
	// streamSilence is after how long without a byte a stream is given up. A node says something every 15 s.
	streamSilence = 45 * time.Second
	// steadyStream is how long a stream must have lasted for the next break not to count as one more failure.
	steadyStream = time.Second
	// streamCheck is after how long without news a node must show that it still has a way to the master.
	streamCheck = 10 * time.Second
)

// Revision is the store's newest revision: whatever is acknowledged before the call is at or below it.
func (c *Client) Revision(ctx context.Context) (uint64, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	a, err := c.read(ctx, "revision", "", func() request { return headRequest }, func(answer) error { return nil })
	return a.number(api.HeaderRevision), err
}

// headRequest asks for a linearizable read of a key that need not be there, for the sake of the headers.
var headRequest = request{method: http.MethodHead, path: pathOf("/")}

// Watch tells every change of keys that start with prefix, in order and each once, from behind revision after on: the
// Meta.Revision of a listing, Revision for the present, or an Event.Resume. When a node fails or falls silent it goes
// on with another, and so until ctx ends: then, and when no node will ever take the request, it ends with an error.
//
//	for event, err := range c.Watch(ctx, "jobs/", meta.Revision) {
//
// Nodes remember a bounded number of changes. What is missing is never passed over silently: EventCompacted says that
// changes up to its Index may be missing, and Watch goes on behind that. List again then (the changes that the
// listing shows already may still come: they have an Index at or below Meta.Revision), unless the last state does not
// matter.
//
// It has no goroutine and no buffer of its own: whoever is slow to take the next event holds up the node, which may in
// the end say EventCompacted.
func (c *Client) Watch(ctx context.Context, prefix string, after uint64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		w := watch{c: c, prefix: prefix, after: after, yield: yield}
		if err := w.run(ctx); err != nil {
			yield(Event{}, err)
		}
	}
}

// watch is one Watch. The events of one revision come in the same order from every node, so when a stream breaks within
// a revision, those that were told are left out of the next one.
type watch struct {
	c      *Client
	prefix string
	yield  func(Event, error) bool
	after  uint64 // everything up to it was told
	part   uint64 // the revision behind it of which some was told
	told   int    // how many events of part
}

// errEnough ends a watch whose caller wants no more.
var errEnough = errors.New("enough")

func (w *watch) run(ctx context.Context) error {
	tries := w.c.rounds()
	for {
		e, err := tries.next(ctx)
		if err != nil {
			return &Error{Op: "watch", Key: w.prefix, Kind: ErrUnavailable, Err: err}
		}
		began := time.Now()
		err = w.follow(ctx, e)
		var status *StatusError
		switch {
		case err == errEnough:
			return nil
		case errors.As(err, &status) && kindOfRefusal(status.Code) != nil:
			return &Error{Op: "watch", Key: w.prefix, Kind: kindOfRefusal(status.Code), Err: err}
		}
		tries.failed(e, err)
		if time.Since(began) >= steadyStream {
			tries = w.c.rounds()
		}
	}
}

// follow tells what one node streams, until it ends. Its error is never nil.
func (w *watch) follow(ctx context.Context, endpoint int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	base := w.c.endpoints[endpoint]
	silence := w.c.cfg.AttemptTimeout
	timer := time.AfterFunc(silence, func() { cancel(fmt.Errorf("silent: %w", context.DeadlineExceeded)) })
	defer timer.Stop()
	r := request{method: http.MethodGet, path: api.PathWatch}
	var q query
	q.value(api.QueryPrefix, w.prefix)
	q.value(api.QueryIndex, strconv.FormatUint(w.after, 10))
	r.query = q.String()
	resp, err := w.c.transport.RoundTrip(r.http(base, func() {}).WithContext(ctx))
	if err != nil {
		return w.broken(ctx, base, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessageBytes))
		if err != nil {
			return w.broken(ctx, base, err)
		}
		a := answer{base.String(), resp.StatusCode, resp.Header, body}
		if !a.ofNode() {
			return a.stranger()
		}
		return a.err()
	}
	w.c.prefer.Store(int32(endpoint))
	s := stream{watch: w, skip: w.told, news: time.Now()}
	timer.Reset(streamSilence)
	events := newEventReader(&progressReader{resp.Body, func() { timer.Reset(streamSilence) }})
	for {
		m, err := events.next()
		if err != nil {
			return w.broken(ctx, base, err)
		}
		timer.Stop() // the caller may take its time
		if err = s.take(m); err == nil {
			err = s.check(ctx, endpoint)
		}
		if err == errEnough {
			return err
		} else if err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		timer.Reset(streamSilence)
	}
}

func (w *watch) broken(ctx context.Context, base *url.URL, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: the stream broke: %w", base, err)
}

// stream is one answer to a watch.
type stream struct {
	*watch
	skip int // events of part yet to leave out
	news time.Time
}

// take tells what m says and notes how far the stream has come.
func (s *stream) take(m message) error {
	if m.name != "" {
		e, err := decodeEvent(m)
		if err == nil {
			err = s.tell(e, m)
		}
		if err != nil {
			return err
		}
		s.news = time.Now()
	}
	if m.hasID {
		return s.position(m)
	}
	return nil
}

// position notes that everything up to the id was told.
func (s *stream) position(m message) error {
	after, err := strconv.ParseUint(m.id, 10, 64)
	if err != nil {
		return errNotUnderstood
	}
	if after != s.after { // a stream begins by saying where: that changes nothing
		s.after, s.part, s.told, s.skip = after, 0, 0, 0
	}
	return nil
}

func (s *stream) tell(e Event, m message) error {
	if e.Kind == "" {
		return nil // of a newer version
	}
	switch {
	case e.Index == s.part && s.skip > 0 && e.Kind != EventCompacted:
		s.skip--
		return nil
	case e.Index != s.part:
		s.part, s.told, s.skip = e.Index, 0, 0
	}
	e.Resume = s.after
	if m.hasID || e.Kind == EventCompacted {
		e.Resume = e.Index
	}
	s.told++
	if !s.yield(e, nil) {
		return errEnough
	}
	return nil
}

// check asks a node that has had no news for a while for a read that takes the master. One that has lost the others
// streams on without ever having any.
func (s *stream) check(ctx context.Context, endpoint int) error {
	if time.Since(s.news) < streamCheck {
		return nil
	}
	a, _, err := s.c.exchange(ctx, endpoint, headRequest)
	if err == nil && !a.ofNode() {
		err = a.stranger()
	} else if err == nil && a.status != http.StatusOK && !a.absent() {
		err = a.err()
	}
	s.news = time.Now()
	return err
}

// decodeEvent is m as an Event, without a Kind if this version does not know it.
func decodeEvent(m message) (Event, error) {
	e := Event{Kind: EventKind(m.name)}
	var err error
	switch e.Kind {
	case EventSet:
		var w api.Entry
		if err = json.Unmarshal(m.data, &w); err == nil {
			e.Entry, err = entryOf(&w)
			e.Key, e.Index = e.Entry.Key, e.Entry.ModifyIndex
		}
	case EventDelete, EventSession:
		var w struct {
			Key, Session string
			ModifyIndex  uint64
		}
		err = json.Unmarshal(m.data, &w)
		e.Key, e.Session, e.Index = w.Key, w.Session, w.ModifyIndex
	case EventCompacted:
		var w struct{ Index uint64 }
		err = json.Unmarshal(m.data, &w)
		e.Index = w.Index
	default:
		return Event{}, nil
	}
	if err != nil {
		return Event{}, errNotUnderstood
	}
	return e, nil
}
