package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/watch"
)

// watch streams the changes under a prefix as server-sent events, from behind a revision on: that of Last-Event-ID,
// else `index`, else the newest one.
//
//	event: set       data: the entry, as in a listing
//	event: delete    data: {"Key","ModifyIndex"}
//	event: session   data: {"Session","ModifyIndex"}: it was created or ended; with the empty prefix only
//	event: compacted data: {"Index"}: changes up to Index may be missing: list again
//
// The id is the revision. Only the last event of a revision has one, so whoever resumes after an id has seen all of it.
// While nothing happens a block with an id alone says how far the stream has come; no client takes that for an event.
//
// What was applied long ago is not remembered (watch.Limits). A stream that is asked to begin there does, if nothing
// has changed under the prefix since; else it says compacted, and goes on behind Index. One whose client is too slow to
// read falls behind the memory: it says compacted, and ends.
func (s *Server) watch(x *exchange) {
	q, err := parseQuery(x.r.URL.RawQuery, &watchRules)
	if err == nil && kv.ValidatePrefix(q.prefix) != nil {
		err = badRequest("the prefix must be UTF-8 of at most %d bytes", kv.MaxKeyBytes)
	}
	if err == nil {
		err = q.resume(x.r.Header)
	}
	if err != nil {
		x.fail(err, false)
		return
	}
	w, err := s.cfg.Hub.Prefix(q.prefix)
	if err != nil {
		x.fail(waitRefused(err), false)
		return
	}
	defer w.Close()
	e := eventStream{s: s, x: x, prefix: q.prefix, rc: http.NewResponseController(x.w)}
	from, missed, err := s.begin(&q)
	if err == nil {
		e.cursor, err = s.cfg.Hub.Cursor(q.prefix, from)
	}
	if err != nil {
		x.fail(fmt.Errorf("%w: %w; try again", ErrNotApplied, err), false)
		return
	}
	s.metrics.streams.Add(1)
	defer s.metrics.streams.Add(-1)
	e.head()
	if missed {
		e.compacted(from)
	} else {
		e.position(from)
	}
	if x.r.Method != http.MethodHead {
		e.run(w)
	}
}

// resume takes the position of a stream that was broken off, which browsers send by themselves.
func (q *query) resume(h http.Header) error {
	v := h[api.HeaderLastEventID]
	if len(v) == 0 || v[0] == "" {
		return nil
	}
	index, err := strconv.ParseUint(v[0], 10, 64)
	if err != nil {
		return badRequest("Last-Event-ID %q: must be the id of an event of this stream", v[0])
	}
	q.index, q.seen = index, q.seen|nIndex
	return nil
}

// begin decides behind which revision a stream starts, and whether that leaves changes out that its client asked for.
func (s *Server) begin(q *query) (from uint64, missed bool, err error) {
	if !q.has(nIndex) {
		from, err = s.cfg.Hub.Newest()
		return from, false, err
	}
	_, err = s.cfg.Hub.Cursor(q.prefix, q.index)
	if !errors.Is(err, watch.ErrLost) {
		return q.index, false, err
	}
	// The history says nothing of so long ago. What is applied here does.
	view, _, err := s.backend.Snapshot(s.cfg.ClientTimeout, Stale)
	if err != nil {
		return 0, false, err
	}
	defer view.Close()
	newest, _, err := view.Newest(q.prefix, nil)
	if newest = max(newest, view.Deleted(q.prefix)); q.prefix == "" {
		newest = max(newest, view.SessionsIndex())
	}
	return view.Revision(), newest > q.index, err
}

// eventStream is one answer to a watch.
type eventStream struct {
	s      *Server
	x      *exchange
	prefix string
	cursor *watch.Cursor
	rc     *http.ResponseController
	buf    []byte
	events [eventsAtOnce]watch.Event
}

const (
	eventsAtOnce     = 16
	eventPooledBytes = 64 << 10 // a larger buffer is not kept while waiting
)

func (e *eventStream) head() {
	h := e.x.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["Cache-Control"] = []string{"no-store"}
	h["X-Content-Type-Options"] = noSniff
	e.x.status = http.StatusOK
	e.x.w.WriteHeader(e.x.status)
}

// run sends until the client goes, the node stops, or the history has moved on.
func (e *eventStream) run(w *watch.Waiter) {
	beat := time.NewTimer(e.s.cfg.Heartbeat)
	defer beat.Stop()
	for {
		w.Arm()
		if !e.catchUp() || !e.flush() {
			return
		}
		switch e.s.await(e.x, w, beat) {
		case timeOut:
			e.position(e.cursor.Passed())
		case clientGone, nodeStops:
			return
		}
		beat.Reset(e.s.cfg.Heartbeat)
	}
}

// catchUp sends what there is, and tells whether to go on.
func (e *eventStream) catchUp() bool {
	for more := true; more; {
		var events []watch.Event
		var err error
		if events, more, err = e.cursor.Next(e.events[:0]); err != nil {
			if from, err := e.s.cfg.Hub.Newest(); err == nil {
				e.compacted(from)
				e.flush()
			}
			return false
		}
		for i := range events {
			e.event(&events[i])
		}
		clear(events) // the values go with the history
		if len(e.buf) > streamFlushBytes && !e.flush() {
			return false
		}
	}
	return true
}

// event adds one change. Data is one line: JSON has no line ends but where it is pretty.
func (e *eventStream) event(c *watch.Event) {
	switch {
	case c.Session != "":
		e.buf = appendJSONString(append(e.buf, "event: session\ndata: {\"Session\":"...), c.Session)
		e.buf = append(appendUintField(e.buf, false, false, "ModifyIndex", c.Revision), '}')
	case c.Entry == nil:
		e.buf = appendJSONString(append(e.buf, "event: delete\ndata: {\"Key\":"...), c.Key)
		e.buf = append(appendUintField(e.buf, false, false, "ModifyIndex", c.Revision), '}')
	default:
		e.buf = appendEntry(append(e.buf, "event: set\ndata: "...), c.Entry, true)
	}
	e.buf = append(e.buf, '\n')
	if c.Whole {
		e.id(c.Revision)
	}
	e.buf = append(e.buf, '\n')
}

func (e *eventStream) id(revision uint64) {
	e.buf = append(strconv.AppendUint(append(e.buf, "id: "...), revision, 10), '\n')
}

// position says how far the stream has come.
func (e *eventStream) position(revision uint64) {
	e.id(revision)
	e.buf = append(e.buf, '\n')
}

func (e *eventStream) compacted(revision uint64) {
	e.buf = strconv.AppendUint(append(e.buf, "event: compacted\ndata: {\"Index\":"...), revision, 10)
	e.buf = append(e.buf, "}\n"...)
	e.position(revision)
}

// flush sends what was added, and tells whether the client took it in time.
func (e *eventStream) flush() bool {
	if len(e.buf) == 0 {
		return true
	}
	// An error: a test's answer that has no deadlines.
	_ = e.rc.SetWriteDeadline(time.Now().Add(e.s.cfg.EventTimeout))
	_, err := e.x.w.Write(e.buf)
	if err == nil {
		err = e.rc.Flush()
	}
	if e.buf = e.buf[:0]; cap(e.buf) > eventPooledBytes {
		e.buf = nil
	}
	return err == nil
}
