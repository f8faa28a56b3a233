package shorthttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	headBytes     = 4 << 10                // a longer head is net/http's
	lingerTimeout = 500 * time.Millisecond // for a client to read an answer before its connection is closed
	lingerBytes   = 16 << 20               // read of what it still sends, for clients that read only when all is sent
)

// phase is what a connection is doing, and with it what the sweeper holds against it.
type phase = int32

const (
	phaseNew     phase = iota // nothing has come yet
	phaseIdle                 // between requests
	phaseHead                 // part of a head is there
	phaseBody                 // the handler runs and has not got the whole body
	phaseHandler              // the handler runs, or its answer is being sent
	phaseOverdue              // the same, for too long: the connection ends with this answer
	phaseGone                 // ended, or handed over: nobody touches it any more
)

// conn is one connection. Its goroutine runs serve; the sweeper and Listener.Close touch what is atomic, and close it.
type conn struct {
	l      *Listener
	nc     net.Conn
	br     *bufio.Reader
	ctx    context.Context // cancelled when the connection ends, or its client is gone
	cancel context.CancelFunc
	remote string
	phase  atomic.Int32
	since  atomic.Int64 // round of the sweeper in which the phase began; of phaseBody: phaseHead
	until  atomic.Int64 // round by which an answer must be sent

	waiting phase // phaseNew, and after the first request phaseIdle
	body    body
	reply   reply
}

func newConn(l *Listener, nc net.Conn) *conn {
	c := &conn{l: l, nc: nc, br: bufio.NewReaderSize(nc, headBytes), remote: nc.RemoteAddr().String()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.reply.header = http.Header{}
	c.reply.c, c.body.c = c, c
	c.since.Store(l.round.Load())
	return c
}

// enter leaves phase from for p, unless the sweeper or Close did something about from.
func (c *conn) enter(from, p phase) bool {
	c.since.Store(c.l.round.Load())
	return c.phase.CompareAndSwap(from, p)
}

// endIf closes c if it is in phase p, and tells whether it was.
func (c *conn) endIf(p phase) bool {
	if !c.phase.CompareAndSwap(p, phaseGone) {
		return false
	}
	_ = c.nc.Close()
	return true
}

// cut closes c whatever it does.
func (c *conn) cut() {
	c.cancel()
	_ = c.nc.Close()
}

// serve answers requests until one is not for this package, or the connection ends.
func (c *conn) serve() {
	handed := false
	defer func() {
		c.cancel()
		c.l.end(c)
		if !handed {
			_ = c.nc.Close()
			c.l.cfg.Closed()
		}
	}()
	for {
		head, err := c.readHead()
		if err != nil {
			return
		}
		r := c.request(head)
		if r == nil {
			handed = c.handOver()
			return
		}
		if !c.answer(r) {
			return
		}
		select {
		case <-c.l.stopping:
			return
		default:
		}
	}
}

// handOver gives the connection to net/http with all that has been read of it.
func (c *conn) handOver() bool {
	c.phase.Store(phaseGone)
	read, _ := c.br.Peek(c.br.Buffered())
	select {
	case c.l.out <- &handed{Conn: c.nc, read: append([]byte(nil), read...)}:
		return true
	case <-c.l.stopping:
		return false
	}
}

// answer runs the handler and sends what it said. False: the connection ends.
func (c *conn) answer(r *http.Request) (more bool) {
	c.until.Store(c.l.round.Load() + c.l.rounds(c.l.cfg.Response))
	if c.body.left > int64(c.br.Buffered()) {
		c.phase.Store(phaseBody)
	} else {
		c.since.Store(c.l.round.Load())
		c.phase.Store(phaseHandler)
	}
	w := &c.reply
	w.begin(r.Close)
	if !c.handle(w, r) {
		return false
	}
	w.close = !c.body.skip() || w.close
	err := w.end()
	w.release()
	if err != nil {
		return false
	}
	if w.close {
		c.linger()
		return false
	}
	p := c.phase.Load()
	return p != phaseOverdue && c.enter(p, phaseIdle)
}

// handle is false after a panic: then the connection is cut, so that the client takes no part for the whole.
func (c *conn) handle(w *reply, r *http.Request) (whole bool) {
	defer func() {
		p := recover()
		if err, ok := p.(error); p == nil || ok && errors.Is(err, http.ErrAbortHandler) {
			return
		}
		c.l.cfg.Logger.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("HTTP handler panicked")
	}()
	c.l.cfg.Handler.ServeHTTP(w, r)
	return true
}

// linger lets the client read the answer: to close with unread bytes would reset the connection and take it away.
func (c *conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = c.nc.SetReadDeadline(time.Now().Add(lingerTimeout))
	_, _ = io.CopyN(io.Discard, c.nc, lingerBytes)
}

// handed is a connection of which a part has been read.
type handed struct {
	net.Conn
	read []byte
}

func (h *handed) Read(p []byte) (int, error) {
	if len(h.read) == 0 {
		return h.Conn.Read(p)
	}
	n := copy(p, h.read)
	h.read = h.read[n:]
	if len(h.read) == 0 {
		h.read = nil
	}
	return n, nil
}

// CloseWrite is what net/http looks for to close gently.
func (h *handed) CloseWrite() error {
	if half, ok := h.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
