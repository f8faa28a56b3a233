package admission

import (
	"slices"
	"time"
)

// Bounds of the connections that are kept for operators.
const (
	reservedPerSource = 8                // of one source that is bounded
	askWithin         = 2 * time.Second  // for the handshake of TLS and the headers
	reservedFor       = 20 * time.Second // for all of it
)

// reserve is the connections beyond the ordinary ones. Half of them are for this machine and half for everybody else,
// so that nobody far away can take those of somebody who is logged in here.
type reserve struct {
	here, others half
}

// half is one of the two. A connection on which nothing was asked yet gives way to a newer one: an honest client asks
// within milliseconds, so that it is those who are idle who go.
type half struct {
	max  int
	open int
	idle []*Conn // nothing was asked on them yet; oldest first
}

// place is what a reserved connection has.
type place struct {
	half  *half
	timer *time.Timer // ends the connection
}

func newReserve(n int) reserve {
	return reserve{here: half{max: n - n/2}, others: half{max: n / 2}}
}

// add takes a place for conn, perhaps that of another connection of its source or half, which is closed. It reports
// whether there was one.
func (r *reserve) add(conn *Conn) bool {
	h := &r.others
	if conn.Source.Loopback() {
		h = &r.here
	}
	mine := func(c *Conn) bool { return c.Source == conn.Source }
	switch {
	case !conn.Client.Free && conn.own.reserved >= reservedPerSource:
		if !h.end(mine) {
			return false
		}
	case h.open >= h.max:
		if !h.end(func(*Conn) bool { return true }) {
			return false
		}
	}
	h.open++
	conn.own.reserved++
	h.idle = append(h.idle, conn)
	conn.place = &place{half: h, timer: time.AfterFunc(askWithin, func() { _ = conn.closer.Close() })}
	return true
}

// end closes the oldest idle connection that matches, and reports whether there was one. Its place is free at once,
// although it is released later.
func (h *half) end(match func(*Conn) bool) bool {
	i := slices.IndexFunc(h.idle, match)
	if i < 0 {
		return false
	}
	c := h.idle[i]
	h.forget(c)
	_ = c.closer.Close()
	return true
}

// asked notes that conn is idle no more, and gives it its time.
func (r *reserve) asked(conn *Conn) {
	h := conn.place.half
	if h == nil {
		return
	}
	if i := slices.Index(h.idle, conn); i >= 0 {
		h.idle = slices.Delete(h.idle, i, i+1)
		conn.place.timer.Reset(reservedFor)
	}
}

// remove gives the place of conn back, unless another connection has it already.
func (r *reserve) remove(conn *Conn) {
	conn.place.timer.Stop()
	h := conn.place.half
	if h == nil {
		return
	}
	h.forget(conn)
}

// forget frees the place of c.
func (h *half) forget(c *Conn) {
	c.place.half = nil
	c.own.reserved--
	h.open--
	if i := slices.Index(h.idle, c); i >= 0 {
		h.idle = slices.Delete(h.idle, i, i+1)
	}
}

// open returns how many connections have a place.
func (r *reserve) open() int { return r.here.open + r.others.open }
