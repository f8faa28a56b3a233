package transport

import (
	"errors"
	"net"
	"sync"
	"time"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

var (
	errReplaced = errors.New("replaced by a newer connection")
	errOldRun   = errors.New("the peer was started again")
)

// link is an established connection. The goroutine that made it reads (run); another writes.
type link struct {
	t      *Transport
	peer   *peer
	kind   wire.Kind
	inc    ballot.Incarnation
	nc     net.Conn
	frames *wire.FrameReader
	queue  *queue

	once     sync.Once
	done     chan struct{} // closed when the link is to end
	cause    error         // why; set before done is closed
	finished chan struct{} // closed when the handler is not called for this link any more
}

func (t *Transport) newLink(p *peer, kind wire.Kind, inc ballot.Incarnation, c *conn) *link {
	l := &link{t: t, peer: p, kind: kind, inc: inc, nc: c.nc, frames: c.frames,
		done: make(chan struct{}), finished: make(chan struct{})}
	switch kind {
	case wire.KindLease:
		l.queue = newQueue(leaseQueueFrames, leaseQueueBytes, true)
		l.frames.SetLimit(wire.MaxLeaseBytes)
	case wire.KindNamed:
		l.queue = newQueue(namedQueueFrames, namedQueueBytes, true)
		l.frames.SetLimit(wire.MaxNamedBytes)
	case wire.KindLog:
		l.queue = newQueue(t.cfg.QueueFrames, t.cfg.QueueBytes, false)
		l.frames.SetLimit(t.cfg.MaxLogFrameBytes)
	}
	c.idle.established(t.cfg.IdleTimeout, func(now time.Time) { p.end(kind).heard.Store(int64(now.Sub(t.start)) + 1) })
	return l
}

// run serves the link until it ends, and is why it did.
func (l *link) run(h Handler) error {
	defer close(l.finished)
	end := l.peer.end(l.kind)
	if old := end.link.Swap(l); old != nil {
		old.close(errReplaced)
		<-old.finished
	}
	defer end.link.CompareAndSwap(l, nil)
	defer l.close(ErrClosed)
	for _, k := range wire.Kinds {
		if o := l.peer.end(k).link.Load(); o != nil && o.inc.Restart < l.inc.Restart {
			o.close(errOldRun)
		}
	}
	select {
	case <-l.done: // a newer one was faster
		return l.cause
	default:
	}
	h.Connected(l.peer.node, l.kind)
	defer h.Disconnected(l.peer.node, l.kind)
	var writer sync.WaitGroup
	writer.Go(l.write)
	l.read(h)
	writer.Wait()
	return l.cause
}

// close makes the link end. The first cause stands.
func (l *link) close(cause error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.done)
		l.nc.Close()
		l.queue.close()
	})
}

func (l *link) read(h Handler) {
	end := l.peer.end(l.kind)
	for {
		body, err := l.frames.Next()
		if err != nil {
			l.close(err)
			return
		}
		if wire.IsKeepalive(body) {
			l.keptAlive(end, body)
			continue
		}
		end.received.Add(1)
		switch l.kind {
		case wire.KindLease:
			h.LeaseFrame(l.peer.node, l.inc, body)
		case wire.KindNamed:
			h.NamedFrame(l.peer.node, l.inc, body, l.frames.Ready())
		case wire.KindLog:
			h.LogFrame(l.peer.node, l.inc, body, l.frames.Ready())
		}
	}
}

// keptAlive takes the peer's marks from a keepalive.
func (l *link) keptAlive(end *end, body []byte) {
	m, err := wire.DecodeKeepalive(body)
	if err != nil {
		end.ignored.Add(1)
	} else if m != nil {
		l.t.seen.heard(l.inc, *m)
	}
}

// write sends what is in line, all that is there with one write, and a keepalive now and then. It never holds up
// those who put something in line.
func (l *link) write() {
	var w wire.FrameWriter
	tick := time.NewTicker(l.t.cfg.IdleTimeout / 4)
	defer tick.Stop()
	end := l.peer.end(l.kind)
	var batch [][]byte
	for {
		batch = l.queue.take(batch[:0], flushBytes)
		alive := false
		if len(batch) == 0 {
			select {
			case <-l.queue.ready:
				continue
			case <-l.done:
				return
			case <-tick.C:
				alive = true
			}
		} else {
			select {
			case <-tick.C:
				alive = true
			default:
			}
		}
		if alive {
			w.Add(l.keepalive())
		}
		for _, body := range batch {
			w.Add(body)
		}
		if err := l.flush(&w); err != nil {
			l.close(err)
			return
		}
		l.queue.written()
		end.sent.Add(uint64(len(batch)))
		clear(batch)
	}
}

// flush writes what w has gathered, with one writev if the connection is TCP, and forgets it, also if that fails.
func (l *link) flush(w *wire.FrameWriter) error {
	defer w.Reset()
	most := l.t.cfg.IdleTimeout + time.Duration(w.Buffered())*time.Second/slowestLinkBytes
	if err := l.nc.SetWriteDeadline(time.Now().Add(most)); err != nil {
		return err
	}
	parts := w.Parts()
	if len(parts) == 1 {
		_, err := l.nc.Write(parts[0])
		return err
	}
	buffers := net.Buffers(parts)
	_, err := buffers.WriteTo(l.nc)
	return err
}

// keepalive asks the node for its marks on log connections only: a lease connection must not wait for whatever Hello
// may wait for.
func (l *link) keepalive() []byte {
	if l.kind != wire.KindLog {
		return wire.EncodeKeepalive(nil)
	}
	marks := l.t.cfg.Hello().Marks
	return wire.EncodeKeepalive(&marks)
}

// idleReader gives a connection up when nothing came for a while. Until it is established, deadlines are left to the
// handshake.
type idleReader struct {
	nc    net.Conn
	most  time.Duration
	heard func(time.Time)
	set   time.Time // when the deadline was last moved
}

func (r *idleReader) established(most time.Duration, heard func(time.Time)) {
	r.most, r.heard = most, heard
	heard(time.Now())
}

// Read moves the deadline only when an eighth of it has passed, to save the call.
func (r *idleReader) Read(p []byte) (int, error) {
	if r.heard == nil {
		return r.nc.Read(p)
	}
	if now := time.Now(); now.Sub(r.set) > r.most/8 {
		if err := r.nc.SetReadDeadline(now.Add(r.most)); err != nil {
			return 0, err
		}
		r.set = now
	}
	n, err := r.nc.Read(p)
	if n > 0 {
		r.heard(time.Now())
	}
	return n, err
}
