package web

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tenure/kv"
)

const (
	streamFlushBytes  = 16 << 10 // sent on once so much is gathered
	streamPooledBytes = 64 << 10 // larger buffers are left to the garbage collector
	base64PieceBytes  = 12 << 10 // of a value, encoded at once; a multiple of 3, so that pieces join without padding
)

// stream writes a JSON array to the client while it is being listed. Nothing is sent before the first flush, so an
// error until then still gets its status code; an answer that fits the buffer is sent with its length.
type stream struct {
	x      *exchange
	local  Local
	index  uint64
	meta   ReadMeta
	pretty bool
	n      int // elements
	// expiring counts the elements that have a TTL.
	expiring int
	sent     bool
	failed   bool // the client cannot be reached any more, or begin failed
	// begin, if set, is called before the first byte is sent, while something can still be put right; false: send
	// nothing.
	begin func() bool
	buf   []byte
}

var streams = sync.Pool{New: func() any { return &stream{buf: make([]byte, 0, 4<<10)} }}

func (s *Server) openStream(x *exchange, index uint64, meta ReadMeta, pretty bool) *stream {
	st := streams.Get().(*stream)
	*st = stream{x: x, local: s.backend, index: index, meta: meta, pretty: pretty, buf: append(st.buf[:0], '[')}
	return st
}

// release gives st's buffer back. A stream that panicked is not released.
func (st *stream) release() {
	if cap(st.buf) <= streamPooledBytes {
		*st = stream{buf: st.buf[:0]}
		streams.Put(st)
	}
}

// element starts one more element.
func (st *stream) element() {
	if st.n > 0 {
		st.buf = append(st.buf, ',')
	}
	if st.pretty {
		st.buf = append(st.buf, "\n    "...)
	}
	st.n++
}

// key adds a name and tells whether to go on.
func (st *stream) key(name string) bool {
	st.element()
	st.buf = appendJSONString(st.buf, name)
	return st.flushed()
}

// entry adds e as Consul shows it and tells whether to go on. An empty value is null.
func (st *stream) entry(e kv.Entry) bool {
	st.element()
	b := appendUintField(append(st.buf, '{'), st.pretty, true, "LockIndex", e.LockIndex)
	b = appendJSONString(appendField(b, st.pretty, false, "Key"), e.Key)
	b = appendUintField(b, st.pretty, false, "Flags", e.Flags)
	st.buf = appendField(b, st.pretty, false, "Value")
	if !st.value(e.Value) {
		return false
	}
	b = st.buf
	if e.Session != "" {
		b = appendJSONString(appendField(b, st.pretty, false, "Session"), e.Session)
	}
	b = appendUintField(b, st.pretty, false, "CreateIndex", e.CreateIndex)
	b = appendUintField(b, st.pretty, false, "ModifyIndex", e.ModifyIndex)
	if e.TTL != 0 {
		b = appendJSONString(appendField(b, st.pretty, false, "ExpiresIn"), st.expiresIn(&e).String())
	}
	if st.pretty {
		b = append(b, "\n    "...)
	}
	st.buf = append(b, '}')
	return st.flushed()
}

// maxRemaining is how many keys of an answer are asked for what is left of their lives: the log part answers that.
const maxRemaining = 4096

// expiresIn is about what is left of e's life, or all of it where nobody was asked, or knows yet. It is the master's
// clock that counts.
func (st *stream) expiresIn(e *kv.Entry) time.Duration {
	if st.expiring++; st.expiring > maxRemaining {
		return e.TTL
	}
	left, runs := st.local.Remaining(kv.TimedKey, e.Key)
	if !runs {
		return e.TTL
	}
	return max(0, left).Round(time.Millisecond)
}

func (st *stream) value(v []byte) bool {
	if len(v) == 0 {
		st.buf = append(st.buf, "null"...)
		return true
	}
	st.buf = append(st.buf, '"')
	for len(v) > base64PieceBytes {
		st.buf = base64.StdEncoding.AppendEncode(st.buf, v[:base64PieceBytes])
		v = v[base64PieceBytes:]
		if !st.flushed() {
			return false
		}
	}
	st.buf = append(base64.StdEncoding.AppendEncode(st.buf, v), '"')
	return true
}

// flushed sends what is gathered, if it is enough.
func (st *stream) flushed() bool {
	if len(st.buf) < streamFlushBytes {
		return true
	}
	st.send()
	return !st.failed
}

// head sets the headers of a read that found something.
func (st *stream) head() {
	h := st.x.w.Header()
	h["Content-Type"] = jsonType
	setReadMeta(h, st.index, st.meta)
}

func (st *stream) send() {
	if !st.sent {
		if st.begin != nil && !st.begin() {
			st.failed = true
			return
		}
		st.head()
		st.sent = true
		st.x.status = http.StatusOK
	}
	_, err := st.x.w.Write(st.buf)
	st.failed = st.failed || err != nil
	st.buf = st.buf[:0]
}

// end closes the array and sends the rest.
func (st *stream) end() {
	if st.pretty {
		if st.n > 0 {
			st.buf = append(st.buf, '\n')
		}
		st.buf = append(st.buf, ']', '\n')
	} else {
		st.buf = append(st.buf, ']')
	}
	if !st.sent {
		st.x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(st.buf))}
	}
	st.send()
}
