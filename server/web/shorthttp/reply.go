package shorthttp

import (
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	gatherBytes = 64 << 10 // of an answer's body; a longer one is sent as it comes
	keptBytes   = 64 << 10 // larger buffers are left to the garbage collector
)

// buffers are lent for the time of an answer: connections that wait hold none.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct{ body, out []byte }

// reply is an http.ResponseWriter that sends an answer as one write, if it is not a long one.
type reply struct {
	c      *conn
	header http.Header
	code   int // 0 until it is chosen
	close  bool
	err    error
	*buffer
	// parts is set once the answer is being sent as it comes.
	parts io.WriteCloser
}

func (w *reply) begin(last bool) {
	clear(w.header)
	w.code, w.close, w.err, w.parts = 0, last, nil, nil
	w.buffer = buffers.Get().(*buffer)
}

// release gives the buffer back. After a panic nobody does.
func (w *reply) release() {
	b := w.buffer
	w.buffer = nil
	if cap(b.body) > keptBytes || cap(b.out) > keptBytes {
		return
	}
	b.body, b.out = b.body[:0], b.out[:0]
	buffers.Put(b)
}

func (w *reply) Header() http.Header { return w.header }

func (w *reply) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
}

func (w *reply) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil:
		return 0, w.err
	case !hasBody(w.code):
		return 0, http.ErrBodyNotAllowed
	case w.parts == nil && len(w.body)+len(p) <= gatherBytes:
		w.body = append(w.body, p...)
		return len(p), nil
	case w.parts == nil:
		if w.stream(p); w.err != nil {
			return 0, w.err
		}
	}
	n, err := w.parts.Write(p)
	w.err = err
	return n, err
}

// stream sends the head and what is gathered, and then everything as it comes: in chunks, unless the handler said how
// long it will be. What comes next is there to tell its type by.
func (w *reply) stream(next []byte) {
	length, declared := w.header["Content-Length"]
	if declared && len(length) == 1 {
		w.parts = &counted{w: w.c.nc}
		w.parts.(*counted).left, w.err = strconv.ParseInt(length[0], 10, 64)
		w.head("Content-Length", length[0], next)
	} else {
		w.parts = httputil.NewChunkedWriter(w.c.nc)
		w.head("Transfer-Encoding", "chunked", next)
	}
	if w.err == nil {
		_, w.err = w.c.nc.Write(w.out)
	}
	if w.err == nil {
		_, w.err = w.parts.Write(w.body)
	}
}

// counted writes as many bytes as were declared.
type counted struct {
	w    io.Writer
	left int64
}

func (c *counted) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		return 0, http.ErrContentLength
	}
	n, err := c.w.Write(p)
	c.left -= int64(n)
	return n, err
}

func (c *counted) Close() error {
	if c.left > 0 {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// end sends what has not been sent. After an error the connection can't be used any more.
func (w *reply) end() error {
	w.WriteHeader(http.StatusOK)
	if w.parts == nil {
		if hasBody(w.code) {
			w.head("Content-Length", strconv.Itoa(len(w.body)), nil)
		} else {
			w.head("", "", nil)
		}
		w.out = append(w.out, w.body...)
		_, w.err = w.c.nc.Write(w.out)
		return w.err
	}
	if w.err == nil {
		w.err = w.parts.Close()
	}
	if _, chunked := w.parts.(*counted); !chunked && w.err == nil {
		_, w.err = io.WriteString(w.c.nc, "\r\n") // after the last chunk: no trailers
	}
	return w.err
}

func hasBody(code int) bool {
	return code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified
}

// head writes status line and headers into out, with the framing given. The body is what is gathered, then next.
func (w *reply) head(framing, value string, next []byte) {
	b := append(w.out, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.code), 10)
	b = append(append(b, ' '), http.StatusText(w.code)...)
	b = append(append(b, "\r\nDate: "...), *w.c.l.date.Load()...)
	if sniff := w.body; w.header["Content-Type"] == nil && len(sniff)+len(next) > 0 {
		if len(sniff) == 0 {
			sniff = next
		}
		b = appendHeader(b, "Content-Type", http.DetectContentType(sniff))
	}
	for name, values := range w.header {
		switch name {
		case "Content-Length", "Transfer-Encoding", "Date":
		case "Connection":
			w.close = w.close || len(values) == 1 && strings.EqualFold(values[0], "close")
		default:
			for _, v := range values {
				b = appendHeader(b, name, v)
			}
		}
	}
	if w.close {
		b = appendHeader(b, "Connection", "close")
	}
	if framing != "" {
		b = appendHeader(b, framing, value)
	}
	w.out = append(b, headEnd...)
}

func appendHeader(b []byte, name, value string) []byte {
	b = append(append(append(b, "\r\n"...), name...), ": "...)
	if strings.ContainsAny(value, "\r\n") {
		value = oneLine.Replace(value)
	}
	return append(b, value...)
}

// SetWriteDeadline is for http.ResponseController: the answer must be sent by t, to within a round of the sweeper.
func (w *reply) SetWriteDeadline(t time.Time) error {
	w.c.until.Store(w.c.l.round.Load() + w.c.l.rounds(time.Until(t)))
	return nil
}
