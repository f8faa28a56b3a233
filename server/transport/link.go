package transport

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"tenure/internal/ballot"
	"tenure/server/wire"
)

var (
	errReplaced = errors.New("replaced by a newer connection")
	errOldRun   = errors.New("the peer was started again")
	errRemoved  = errors.New("the peer is no member any more")
	errOlder    = errors.New("the peer runs a release that does not know the feature level to which the cluster's is raised")
	errNamed    = errors.New("the peer's certificate is not of the name that it has as a member")
)

// link is an established connection. The goroutine that runs it reads; another writes.
type link struct {
	cfg     *Config
	inc     ballot.Incarnation // of the peer
	kind    wire.Kind
	cert    string // the name in the peer's certificate, "" without TLS
	nc      net.Conn
	frames  *wire.FrameReader
	queue   *queue
	traffic *traffic
	history *History // takes the marks in keepalives
	log     zerolog.Logger

	barred   func() bool    // the certificate is that of a removed member, as table.bars
	level    uint64         // feature level that the peer knows
	required *atomic.Uint64 // feature level that it must know, as Transport.RequireLevel

	once     sync.Once
	done     chan struct{} // closed when the link is to end
	cause    error         // why; set before done is closed
	finished chan struct{} // closed when the handler is not called for this link any more
}

// older reports whether the peer does not know the feature level that is required by now.
func (l *link) older() bool { return l.level < l.required.Load() }

func newLink(
	cfg *Config, inc ballot.Incarnation, kind wire.Kind, c *conn, t *traffic, past *History, log zerolog.Logger,
) *link {
	l := &link{
		cfg: cfg, inc: inc, kind: kind, cert: c.cert, nc: c.nc, frames: c.frames, traffic: t, history: past, log: log,
		barred: func() bool { return false }, required: new(atomic.Uint64), done: make(chan struct{}),
		finished: make(chan struct{}),
	}
	switch kind {
	case wire.KindLease:
		l.queue = newQueue(leaseQueueFrames, leaseQueueBytes, true)
		l.frames.SetLimit(wire.MaxLeaseBytes)
	case wire.KindNamed:
		l.queue = newQueue(namedQueueFrames, namedQueueBytes, true)
		l.frames.SetLimit(wire.MaxNamedBytes)
	case wire.KindLog:
		l.queue = newQueue(cfg.QueueFrames, cfg.QueueBytes, false)
		l.frames.SetLimit(cfg.MaxLogFrameBytes)
	}
	c.idle.established(cfg.IdleTimeout, t.hear)
	return l
}

// run reads and writes until the link ends, and returns why it did.
func (l *link) run(h Handler) error {
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
	for {
		body, err := l.frames.Next()
		if err != nil {
			l.close(err)
			return
		}
		switch {
		case wire.IsKeepalive(body):
			l.readKeepalive(body)
			continue
		case !wire.Known(l.kind, body):
			l.ignore(body[0])
			continue
		}
		l.traffic.received.Add(1)
		switch l.kind {
		case wire.KindLease:
			h.LeaseFrame(l.inc.Node, l.inc, body)
		case wire.KindNamed:
			h.NamedFrame(l.inc.Node, l.inc, body, l.frames.Ready())
		case wire.KindLog:
			h.LogFrame(l.inc.Node, l.inc, body, l.frames.Ready())
		}
	}
}

// readKeepalive takes the peer's marks from a keepalive.
func (l *link) readKeepalive(body []byte) {
	m, err := wire.DecodeKeepalive(body)
	if err != nil {
		l.traffic.ignored.Add(1)
	} else if m != nil {
		l.history.raise(l.inc, *m)
	}
}

// ignore counts a frame of a type that this version does not know. A newer version may send such frames as often as it
// likes, so each type is logged once for this kind of connection to the peer.
func (l *link) ignore(typ byte) {
	if l.traffic.ignore(typ) {
		l.log.Info().Uint8("type", typ).
			Msg("ignoring frames of this type: this version does not know it, the peer may be of a newer one")
	}
}

// write sends what is queued, all of it with one write, and a keepalive now and then. It never holds up those who put
// something into the queue.
func (l *link) write() {
	var w wire.FrameWriter
	tick := time.NewTicker(l.cfg.IdleTimeout / 4)
	defer tick.Stop()
	var batch [][]byte
	var alive []byte // the last keepalive; w copies it
	for {
		batch = l.queue.take(batch[:0], flushBytes)
		due := false
		if len(batch) == 0 {
			select {
			case <-l.queue.ready:
				continue
			case <-l.done:
				return
			case <-tick.C:
				due = true
			}
		} else {
			select {
			case <-tick.C:
				due = true
			default:
			}
		}
		if due {
			alive = l.appendKeepalive(alive[:0])
			w.Add(alive)
		}
		for _, body := range batch {
			w.Add(body)
		}
		if err := l.flush(&w); err != nil {
			l.close(err)
			return
		}
		l.queue.written()
		l.traffic.sent.Add(uint64(len(batch)))
		clear(batch)
	}
}

// flush writes what w has gathered, with one writev if the connection is TCP, and resets w, also if that fails.
func (l *link) flush(w *wire.FrameWriter) error {
	defer w.Reset()
	limit := l.cfg.IdleTimeout + time.Duration(w.Buffered())*time.Second/slowestLinkBytes
	if err := l.nc.SetWriteDeadline(time.Now().Add(limit)); err != nil {
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

// appendKeepalive asks the node for its marks on log connections only: a lease connection must not wait for whatever
// Hello may wait for.
func (l *link) appendKeepalive(b []byte) []byte {
	if l.kind != wire.KindLog {
		return wire.AppendKeepalive(b, nil)
	}
	marks := l.cfg.Hello().Marks
	return wire.AppendKeepalive(b, &marks)
}
