package web

import (
	"net/http"
	"strconv"
	"time"

	"tenure/server/watch"
)

// eventStream is one answer to a watch.
type eventStream struct {
	x         *exchange
	waits     *waits
	heartbeat time.Duration
	timeout   time.Duration
	cursor    *watch.Cursor
	rc        *http.ResponseController
	buf       []byte
	events    [eventsAtOnce]watch.Event
}

const (
	eventsAtOnce     = 16
	eventPooledBytes = 64 << 10 // a larger buffer is not kept while waiting
)

func (e *eventStream) head() {
	h := e.x.w.Header()
	h["Content-Type"] = eventsType
	h["Cache-Control"] = noStore
	h["X-Content-Type-Options"] = noSniff
	e.x.head(http.StatusOK, "")
}

// run sends until the client goes, the node stops, or the history has moved on.
func (e *eventStream) run(w *watch.Waiter) {
	beat := time.NewTimer(e.heartbeat)
	defer beat.Stop()
	for {
		w.Arm()
		if !e.catchUp() || !e.flush() {
			return
		}
		why, _ := e.waits.await(e.x, w, beat, nil) // a stream that was begun tells no error
		switch why {
		case timeOut:
			e.position(e.cursor.Passed())
		case clientGone, nodeStops, notAllowed:
			return
		}
		beat.Reset(e.heartbeat)
	}
}

// catchUp sends what there is, and reports whether to go on.
func (e *eventStream) catchUp() bool {
	for more := true; more; {
		var events []watch.Event
		var err error
		if events, more, err = e.cursor.Next(e.events[:0]); err != nil {
			if from, err := e.waits.hub.Newest(); err == nil {
				e.compacted(from)
				e.flush()
			}
			return false
		}
		if e.x.req.Again() != nil {
			return false
		}
		for i := range events {
			// Nothing is told of the others, not even when they change. The heartbeat tells how far it has come.
			if e.mayTell(&events[i]) {
				e.event(&events[i])
			}
		}
		clear(events) // the values go with the history
		if len(e.buf) > listFlushBytes && !e.flush() {
			return false
		}
	}
	return true
}

// mayTell reports whether the client may know of c.
func (e *eventStream) mayTell(c *watch.Event) bool {
	if c.Session != "" {
		return e.x.req.MaySessions()
	}
	return e.x.req.MayKey(c.Key)
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

// flush sends what was added, and reports whether the client took it in time.
func (e *eventStream) flush() bool {
	if len(e.buf) == 0 {
		return true
	}
	// An error: a test's answer that has no deadlines.
	_ = e.rc.SetWriteDeadline(time.Now().Add(e.timeout))
	_, err := e.x.w.Write(e.buf)
	if err == nil {
		err = e.rc.Flush()
	}
	if e.buf = e.buf[:0]; cap(e.buf) > eventPooledBytes {
		e.buf = nil
	}
	return err == nil
}
