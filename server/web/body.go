package web

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"tenure/api"
)

const (
	firstBodyBytes  = 4 << 10  // allocated on a declared length alone; more only as bytes arrive
	pooledBodyBytes = 64 << 10 // larger buffers are left to the garbage collector
)

// Bodies are read into pooled buffers: a command's value belongs to the exchange again once Writer.Write returns.
var bodyBuffers = sync.Pool{New: func() any { return new([]byte) }}

func putBody(p *[]byte) {
	if cap(*p) <= pooledBodyBytes {
		bodyBuffers.Put(p)
	}
}

// bodies reads the bodies of requests.
type bodies struct {
	timeout  time.Duration // of headers and body together, for messages
	maxValue int           // --max-value-bytes
}

// read reads the whole body into *p, at most limit bytes. A declared length over the limit is refused before anything
// is read, one that lies costs no more memory than bytes came. After an error nothing may be applied.
func (b *bodies) read(x *exchange, p *[]byte, limit int) ([]byte, error) {
	declared := x.r.ContentLength
	if declared == 0 {
		return nil, nil
	}
	if declared > int64(limit) {
		return nil, b.tooLarge("the request body", limit)
	}
	space := firstBodyBytes
	if declared > 0 {
		space = min(space, int(declared)+1) // one more, so that a Read can say EOF
	}
	buf := (*p)[:0]
	if cap(buf) < space {
		buf = make([]byte, 0, space)
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
			return nil, b.tooLarge("the request body", limit)
		case err == io.EOF:
			x.bodyRead = true
			x.took.Body = time.Since(x.began)
			return buf, nil
		case err != nil:
			return nil, b.broken(err)
		}
	}
}

// broken refuses a body that did not come whole: a chunk that is none, fewer bytes than declared, or too slow.
func (b *bodies) broken(err error) error {
	text := "the request body is broken (" + err.Error() + "): nothing was changed: send it again"
	if errors.Is(err, os.ErrDeadlineExceeded) {
		text = "the request body did not arrive within " + b.timeout.String() + ": nothing was changed"
	}
	return &refusal{code: api.CodeInvalid, close: true, text: text}
}

const (
	drainTimeout = 500 * time.Millisecond // for a client to send the rest of a body that nobody wants
	drainBytes   = 16 << 20               // of it; a longer rest is cut off
)

// unread reports whether the handler has left some of the request's body.
func (x *exchange) unread() bool { return x.r.ContentLength != 0 && !x.bodyRead }

// drain sends the answer, and then reads the rest of the body that the handler has not read. Many clients send the
// whole body before they read, and would not see the answer if the connection ended first. Without drain net/http would
// send it only after up to 256 KiB of the rest. If the rest is late or long, drain returns false, and the connection is
// cut.
func drain(w http.ResponseWriter, r *http.Request) bool {
	c := http.NewResponseController(w)
	if c.EnableFullDuplex() != nil || c.Flush() != nil || c.SetReadDeadline(time.Now().Add(drainTimeout)) != nil {
		return true // not on a connection, or it has failed
	}
	_, err := io.CopyN(io.Discard, r.Body, drainBytes)
	// ErrBodyReadAfterClose: net/http has read it, for a long answer.
	return err == io.EOF || errors.Is(err, http.ErrBodyReadAfterClose)
}
