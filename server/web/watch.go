package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
	"tenure/server/watch"
)

// watchHandler answers those who follow the changes.
type watchHandler struct {
	waits     *waits
	open      *atomic.Int64 // streams
	heartbeat time.Duration // how often a stream that has nothing to tell says so
	timeout   time.Duration // for a client to take what it is sent
}

// stream sends the changes under a prefix as server-sent events, from behind a revision on: that of Last-Event-ID,
// else `index`, else the newest one.
//
//	event: set       data: the entry, as in a listing
//	event: delete    data: {"Key","ModifyIndex"}
//	event: session   data: {"Session","ModifyIndex"}: it was created or ended; with the empty prefix only
//	event: compacted data: {"Index"}: changes up to Index may be missing: list again
//
// The id is the revision. Only the last event of a revision has an id, so a client that resumes after an id has seen
// the whole revision. Without changes, a block with only an id gives the stream's position; clients do not treat that
// as an event.
//
// Changes of unreadable keys are left out, and so are sessions unless all of them may be read. The stream ends with its
// token, or when no key below the prefix may be read any longer.
//
// Old changes are forgotten (watch.Limits). A stream that should begin at a forgotten change does so if nothing has
// changed under the prefix since. Else it sends compacted, and continues behind Index. So does a stream that should
// begin behind an index of another store. A stream whose client reads too slowly falls behind the history: it sends
// compacted, and ends.
func (h *watchHandler) stream(x *exchange) error {
	q, err := parseQuery(x.r.URL.RawQuery, &watchRules)
	if err == nil && kv.ValidatePrefix(q.prefix) != nil {
		err = service.Invalid("the prefix must be UTF-8 of at most %d bytes", api.MaxKeyBytes)
	}
	if err == nil {
		err = q.resume(x.r.Header)
	}
	if err == nil {
		err = x.req.NeedSomeKey(q.prefix)
	}
	if err != nil {
		return err
	}
	w, err := h.waits.hub.Prefix(q.prefix)
	if err != nil {
		return service.Overloaded(err)
	}
	defer w.Close()
	place, err := x.req.Bounds.TakePlace()
	if err != nil {
		return err
	}
	defer place.Give()
	x.req.Bounds.Leave()
	e := eventStream{x: x, waits: h.waits, heartbeat: h.heartbeat, timeout: h.timeout,
		rc: http.NewResponseController(x.w)}
	from, missed, err := h.waits.ofAnotherStore(q.index, x.timeout())
	if err != nil {
		return fmt.Errorf("this node has not applied revision %d: %w", q.index, err)
	}
	if !missed {
		from, missed, err = h.begin(x, &q)
	}
	if err == nil {
		e.cursor, err = h.waits.hub.Cursor(q.prefix, from)
	}
	if err != nil {
		return fmt.Errorf("%w: %w; try again", service.ErrNotApplied, err)
	}
	h.open.Add(1)
	defer h.open.Add(-1)
	e.head()
	if missed {
		e.compacted(from)
	} else {
		e.position(from)
	}
	if x.r.Method != http.MethodHead {
		e.run(w)
	}
	return nil
}

// resume takes the position of a stream that was broken off, which browsers send by themselves.
func (q *query) resume(h http.Header) error {
	v := h[api.HeaderLastEventID]
	if len(v) == 0 || v[0] == "" {
		return nil
	}
	index, err := strconv.ParseUint(v[0], 10, 64)
	if err != nil {
		return service.Invalid("Last-Event-ID %q: must be the id of an event of this stream", v[0])
	}
	q.index, q.seen = index, q.seen|nIndex
	return nil
}

// begin decides behind which revision a stream starts, and whether that leaves changes out that its client asked for.
func (h *watchHandler) begin(x *exchange, q *query) (from uint64, missed bool, err error) {
	if !q.has(nIndex) {
		from, err = h.waits.hub.Newest()
		return from, false, err
	}
	_, err = h.waits.hub.Cursor(q.prefix, q.index)
	if !errors.Is(err, watch.ErrLost) {
		return q.index, false, err
	}
	// The history says nothing of so long ago. What is applied here does.
	view, _, err := readView(x, service.Stale)
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
