package admission

import (
	"errors"
	"time"
)

// Why a request is not taken, with the flag of the bound. Nothing of it was carried out.
var (
	ErrRequests       = errors.New("too many requests are in flight on this node (--max-requests)")
	ErrSourceRequests = errors.New("too many requests of this address are in flight on this node (--max-requests-per-source)")
	ErrWaiting        = errors.New("too many queries of this client wait on this node (--max-waiting-per-client)")
	ErrRate           = errors.New("this client sends requests faster than it may (--request-rate)")
	ErrAnswers        = errors.New("too many bytes of answers to this address are on their way from this node (64 MiB)")
)

// The delay of a refusal to a source or client beyond its bound. The delay limits a client that asks again at once to
// ten requests a second on each connection. It grows with the waiting refusals of the source, which limits all its
// connections together.
const (
	slowDownFor      = 100 * time.Millisecond
	slowDownMost     = 10 * time.Second
	slowDownTogether = 16 // refusals that wait at a time before they wait longer
)

// SlowDown waits before a refusal on conn is sent, or until one of the channels is closed. conn is nil if the request
// did not come through the listener.
func (c *Conns) SlowDown(conn *Conn, gone, stopping <-chan struct{}) {
	d, done := c.delay(conn)
	defer done()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-gone:
	case <-stopping:
	}
}

// delay returns the delay of a refusal on conn. The caller calls done after the delay.
func (c *Conns) delay(conn *Conn) (d time.Duration, done func()) {
	if conn == nil {
		return slowDownFor, func() {}
	}
	n := conn.own.refusing.Add(1)
	return min(slowDownFor*time.Duration(1+n/slowDownTogether), slowDownMost), func() { conn.own.refusing.Add(-1) }
}

// answersOfSource bounds the bytes of large answers in memory that one source has not read yet.
const answersOfSource = 64 << 20

// Answering counts an answer of that many bytes on conn until done is called. The error is ErrAnswers if the source has
// too many unread bytes. A source without unread bytes may have one answer of any size.
func (c *Conns) Answering(conn *Conn, bytes int64) (done func(), err error) {
	if conn == nil || conn.Client.Free {
		return func() {}, nil
	}
	own := conn.own
	if sum := own.answering.Add(bytes); sum > answersOfSource && sum != bytes {
		own.answering.Add(-bytes)
		c.reached.answers.Inc()
		return nil, ErrAnswers
	}
	return func() { own.answering.Add(-bytes) }, nil
}

// Flight is a request in flight. The zero Flight is one that does not count.
type Flight struct {
	conns *Conns
	own   *source
}

// Priority says which places a request may take besides the ordinary ones.
type Priority uint8

// The priorities.
const (
	Ordinary Priority = iota
	Release           // gives back what others wait for, such as a lock: a few of the reserved places
	Operator          // half of the reserved places, and from this machine all of them
)

// Begin counts a request in flight. It returns ErrRequests or ErrSourceRequests if there are too many. conn is nil if
// the request did not come through the listener: then no bound for each source applies.
func (c *Conns) Begin(conn *Conn, p Priority) (Flight, error) {
	if c.inFlight.Add(1) > c.mostRequests(conn, p) {
		c.inFlight.Add(-1)
		c.reached.requests.Inc()
		return Flight{}, ErrRequests
	}
	f := Flight{conns: c}
	if conn == nil || conn.Client.Free {
		return f, nil
	}
	most := int64(c.limits.RequestsPerSource)
	if p != Ordinary {
		most += reservedPerSource
	}
	if conn.own.inFlight.Add(1) > most {
		conn.own.inFlight.Add(-1)
		c.inFlight.Add(-1)
		c.reached.sourceRequests.Inc()
		return Flight{}, ErrSourceRequests
	}
	f.own = conn.own
	return f, nil
}

// mostRequests returns the bound on all requests in flight for a request on conn.
func (c *Conns) mostRequests(conn *Conn, p Priority) int64 {
	kept := c.limits.Reserved
	switch {
	case p == Operator && conn != nil && conn.Source.Loopback():
		kept = 0
	case p == Operator:
		kept -= kept / 2
	case p == Release:
		kept -= kept / 4
	}
	return int64(c.limits.Requests - kept)
}

// End says that the request is over, or that it waits from now on (which other bounds limit). A second call does
// nothing.
func (f *Flight) End() {
	if f.conns == nil {
		return
	}
	f.conns.inFlight.Add(-1)
	if f.own != nil {
		f.own.inFlight.Add(-1)
	}
	*f = Flight{}
}
