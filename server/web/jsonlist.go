package web

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tenure/api"
	"tenure/kv"
	"tenure/server/service"
)

const (
	listFlushBytes   = 16 << 10 // sent on once so much is gathered
	listPooledBytes  = 64 << 10 // larger buffers are left to the garbage collector
	base64PieceBytes = 12 << 10 // of a value, encoded at once; a multiple of 3, so that pieces join without padding
)

// jsonList writes a JSON array to the client while it is being listed. Nothing is sent before the first flush, so an
// earlier error still gets its status code. An answer that fits the buffer is sent with its length.
type jsonList struct {
	x      *exchange
	index  uint64
	meta   service.ReadMeta
	pretty bool
	n      int // elements
	// expiring counts the elements that have a TTL.
	expiring int
	sent     bool  // the answer has begun
	err      error // why nothing more can be sent
	// begin, if set, is called before the first byte is sent, while something can still be put right.
	begin func() error
	// filtered, if set, reports whether the answer leaves out what may not be read. It is called before the first byte is
	// sent.
	filtered func() (bool, error)
	// over, if set, is asked before each piece is sent: an error ends the answer.
	over func() error
	// stall is how long the client may take for a piece; it holds a snapshot meanwhile.
	stall time.Duration
	buf   []byte
}

var jsonLists = sync.Pool{New: func() any { return &jsonList{buf: make([]byte, 0, 4<<10)} }}

// newList begins an answer of that index. Its end gives it back.
func newList(x *exchange, index uint64, meta service.ReadMeta, pretty bool) *jsonList {
	l := jsonLists.Get().(*jsonList)
	*l = jsonList{x: x, index: index, meta: meta, pretty: pretty, stall: x.timeouts.stall,
		buf: append(l.buf[:0], '[')}
	return l
}

// release gives l's buffer back. A list that panicked is not released.
func (l *jsonList) release() {
	if cap(l.buf) <= listPooledBytes {
		*l = jsonList{buf: l.buf[:0]}
		jsonLists.Put(l)
	}
}

// element starts one more element.
func (l *jsonList) element() {
	if l.n > 0 {
		l.buf = append(l.buf, ',')
	}
	if l.pretty {
		l.buf = append(l.buf, "\n    "...)
	}
	l.n++
}

// key adds a name and reports whether to go on.
func (l *jsonList) key(name string) bool {
	l.element()
	l.buf = appendJSONString(l.buf, name)
	return l.flushed()
}

// entry adds e as Consul shows it and reports whether to go on. An empty value is null.
func (l *jsonList) entry(e kv.Entry) bool {
	l.element()
	b := appendUintField(append(l.buf, '{'), l.pretty, true, "LockIndex", e.LockIndex)
	b = appendJSONString(appendField(b, l.pretty, false, "Key"), e.Key)
	b = appendUintField(b, l.pretty, false, "Flags", e.Flags)
	l.buf = appendField(b, l.pretty, false, "Value")
	if !l.value(e.Value) {
		return false
	}
	b = l.buf
	if e.Session != "" {
		b = appendJSONString(appendField(b, l.pretty, false, "Session"), e.Session)
	}
	b = appendUintField(b, l.pretty, false, "CreateIndex", e.CreateIndex)
	b = appendUintField(b, l.pretty, false, "ModifyIndex", e.ModifyIndex)
	if e.TTL != 0 {
		b = appendJSONString(appendField(b, l.pretty, false, "ExpiresIn"), l.expiresIn(&e).String())
	}
	if l.pretty {
		b = append(b, "\n    "...)
	}
	l.buf = append(b, '}')
	return l.flushed()
}

// maxRemaining is how many keys of an answer are asked for what is left of their lives: the log part answers that.
const maxRemaining = 4096

// expiresIn is about what is left of e's life, or all of it where nobody was asked, or knows yet. It is the master's
// clock that counts.
func (l *jsonList) expiresIn(e *kv.Entry) time.Duration {
	if l.expiring++; l.expiring > maxRemaining {
		return e.TTL
	}
	left, runs := l.x.req.Remaining(kv.TimedKey, e.Key)
	if !runs {
		return e.TTL
	}
	return max(0, left).Round(time.Millisecond)
}

func (l *jsonList) value(v []byte) bool {
	if len(v) == 0 {
		l.buf = append(l.buf, "null"...)
		return true
	}
	taken, err := l.x.req.Bounds.Answer(len(v))
	if err != nil {
		l.err = err
		return false
	}
	defer taken()
	l.buf = append(l.buf, '"')
	for len(v) > base64PieceBytes {
		l.buf = base64.StdEncoding.AppendEncode(l.buf, v[:base64PieceBytes])
		v = v[base64PieceBytes:]
		if !l.flushed() {
			return false
		}
	}
	l.buf = append(base64.StdEncoding.AppendEncode(l.buf, v), '"')
	return true
}

// flushed sends what is gathered, if it is enough, and reports whether to go on.
func (l *jsonList) flushed() bool {
	if len(l.buf) >= listFlushBytes {
		l.send()
	}
	return l.err == nil
}

func (l *jsonList) send() {
	if l.err != nil {
		return
	}
	if l.over != nil {
		if l.err = l.over(); l.err != nil {
			return
		}
	}
	if !l.sent {
		if l.begin != nil {
			if l.err = l.begin(); l.err != nil {
				return
			}
		}
		h := l.x.w.Header()
		if l.filtered != nil {
			hidden, err := l.filtered()
			if err != nil {
				l.err = err
				return
			}
			if hidden {
				h[api.HeaderFiltered] = headerTrue
			}
		}
		h["Content-Type"] = jsonType
		setReadMeta(h, l.index, l.meta)
		l.sent = true
		l.x.begin(http.StatusOK)
	}
	if l.over != nil {
		// An error: a test's ResponseWriter that has no deadlines.
		_ = http.NewResponseController(l.x.w).SetWriteDeadline(time.Now().Add(l.stall))
	}
	_, l.err = l.x.w.Write(l.buf)
	l.buf = l.buf[:0]
}

// end closes the array and sends the rest. After err or an earlier failure it only returns that error. l must not be
// used afterwards.
func (l *jsonList) end(err error) error {
	if err == nil && l.err == nil {
		l.close()
	}
	err = firstError(err, l.err)
	l.release()
	return err
}

func (l *jsonList) close() {
	if l.pretty && l.n > 0 {
		l.buf = append(l.buf, '\n')
	}
	l.buf = append(l.buf, ']')
	if l.pretty {
		l.buf = append(l.buf, '\n')
	}
	if !l.sent {
		l.x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(l.buf))}
	}
	l.send()
}
