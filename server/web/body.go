package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

const (
	firstBodyBytes  = 4 << 10  // allocated on a declared length alone; more only as bytes arrive
	pooledBodyBytes = 64 << 10 // larger buffers are left to the garbage collector
)

// Bodies are read into pooled buffers: a command's value belongs to the exchange again once Backend.Write returns.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

func putBody(p *[]byte) {
	if cap(*p) <= pooledBodyBytes {
		bodies.Put(p)
	}
}

// readBody reads the whole body into *p, at most limit bytes. A declared length over the limit is refused before
// anything is read, one that lies costs no more memory than bytes came. After an error nothing may be applied.
func (s *Server) readBody(x *exchange, p *[]byte, limit int) ([]byte, error) {
	declared := x.r.ContentLength
	if declared == 0 {
		return nil, nil
	}
	if declared > int64(limit) {
		return nil, tooLarge(limit)
	}
	room := firstBodyBytes
	if declared > 0 {
		room = min(room, int(declared)+1) // one more, so that a Read can say EOF
	}
	buf := (*p)[:0]
	if cap(buf) < room {
		buf = make([]byte, 0, room)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(2*cap(buf), limit+1)), buf...)
		}
		n, err := x.r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		*p = buf
		switch {
		case len(buf) > limit:
			return nil, tooLarge(limit)
		case err == io.EOF:
			s.metrics.body.Observe(time.Since(x.began).Seconds())
			return buf, nil
		case err != nil:
			return nil, s.broken(err)
		}
	}
}

func tooLarge(limit int) *refusal {
	return &refusal{code: http.StatusRequestEntityTooLarge, close: true, text: "value too large: at most " + byteCount(limit) + " are accepted: nothing was changed"}
}

// broken is a body that did not come whole: a chunk that is none, fewer bytes than declared, or too slow.
func (s *Server) broken(err error) *refusal {
	text := "the request body is broken (" + err.Error() + "): nothing was changed: send it again"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		text = "the request body did not arrive within " + (s.cfg.HeaderTimeout + s.cfg.BodyTimeout).String() + ": nothing was changed"
	}
	return &refusal{code: http.StatusBadRequest, close: true, text: text}
}
