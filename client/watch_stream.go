package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
)

// open asks one node for the stream of changes after w.after and returns its body.
func (w *watch) open(ctx context.Context, e *endpoint) (io.ReadCloser, error) {
	r := request{method: http.MethodGet, path: api.PathWatch}
	r.query.value(api.QueryPrefix, w.prefix)
	r.query.value(api.QueryIndex, strconv.FormatUint(w.after, 10))
	resp, err := w.s.openStream(ctx, e, r, 0)
	if err != nil {
		return nil, w.broken(ctx, e, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMessageBytes))
	if err != nil {
		return nil, w.broken(ctx, e, err)
	}
	return nil, answer{e.String(), resp.StatusCode, resp.Header, body}.failure()
}

// broken returns the error for a stream that ended with err.
func (w *watch) broken(ctx context.Context, e *endpoint, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%s: the stream broke: %w", e, err)
}

// stream is one answer to a watch.
type stream struct {
	*watch
	skip      int // events of partial that are still to be skipped
	lastEvent time.Time
}

// deliver returns the event in m to the caller and records how far the stream has come.
func (s *stream) deliver(m message) error {
	if m.name != "" {
		e, err := decodeEvent(m)
		if err == nil {
			err = s.event(e, m)
		}
		if err != nil {
			return err
		}
		s.lastEvent = time.Now()
	}
	if m.hasID {
		return s.position(m)
	}
	return nil
}

// position records that everything up to the ID of m was returned.
func (s *stream) position(m message) error {
	after, err := strconv.ParseUint(m.id, 10, 64)
	if err != nil {
		return errNotUnderstood
	}
	if after != s.after { // the first ID of a stream repeats where it begins
		s.after, s.partial, s.returned, s.skip = after, 0, 0, 0
	}
	return nil
}

// event returns e to the caller, unless an earlier stream has.
func (s *stream) event(e Event, m message) error {
	if e.Kind == "" {
		return nil // a kind of a newer version
	}
	switch {
	case e.Index == s.partial && s.skip > 0 && e.Kind != EventCompacted:
		s.skip--
		return nil
	case e.Index != s.partial:
		s.partial, s.returned, s.skip = e.Index, 0, 0
	}
	e.Resume = s.after
	if m.hasID || e.Kind == EventCompacted {
		e.Resume = e.Index
	}
	s.returned++
	if !s.yield(e, nil) {
		return errStopped
	}
	return nil
}

// check asks a node that has sent no event for a while for a read that needs the master. A node that has lost the
// others keeps its stream open without ever sending an event.
func (s *stream) check(ctx context.Context, e *endpoint) error {
	if time.Since(s.lastEvent) < streamCheck {
		return nil
	}
	a, _, err := s.s.exchange(ctx, e, newestUnder(s.prefix))
	if err == nil && !a.ofNode() {
		err = a.inconclusive()
	} else if err == nil && a.status != http.StatusOK && !a.absent() {
		err = a.err()
	}
	s.lastEvent = time.Now()
	return err
}

// decodeEvent returns m as an Event, without a Kind if this version does not know it.
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
