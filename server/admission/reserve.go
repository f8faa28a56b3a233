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

// reserve holds the connections beyond the ordinary ones. Half of them are for this machine and half for all other
// sources, so that a remote client cannot take the places of an operator on this machine.
type reserve struct {
	here, others half
}

// half is one of the two halves. A connection without a request gives way to a newer one: honest clients ask within
// milliseconds, so only idle connections are closed.
type half struct {
	max  int
	open int
	idle []*Conn // nothing was asked on them yet; oldest first
}

// place is the place of a reserved connection.
type place struct {
	half  *half
	timer *time.Timer // ends the connection
}

func newReserve(n int) reserve {
	return reserve{here: half{max: n - n/2}, others: half{max: n / 2}}
}

// add takes a place for conn, if need be from an idle connection of its source or half, which it closes. It reports
// whether it found one.
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

// asked notes that conn is no longer idle, and extends its time to reservedFor.
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
