package admission

import (
	"errors"
	"time"
)

// Why a request is not taken. Nothing of it was carried out.
var (
	ErrRequests       = errors.New("too many requests are in flight on this node")
	ErrSourceRequests = errors.New("too many requests of this address are in flight on this node")
	ErrWaiting        = errors.New("too many queries of this client wait on this node")
	ErrRate           = errors.New("this client sends requests faster than it may")
	ErrAnswers        = errors.New("too many bytes of answers to this address are on their way from this node")
)

// How long the refusal of a request waits that is one too many of its source or client. A client that asks again at once
// costs the node ten requests a second on each connection then, and not as many as it can answer; and the more refusals
// of its source wait, the longer each does, so that all its connections together get few in a second.
const (
	slowDownFor      = 100 * time.Millisecond
	slowDownMost     = 10 * time.Second
	slowDownTogether = 16 // refusals that wait at a time before they wait longer
)

// SlowDown returns for how long a refusal on conn should wait. done is to be called when it has. conn is nil if the
// request did not come through the listener.
func (c *Conns) SlowDown(conn *Conn) (d time.Duration, done func()) {
	if conn == nil {
		return slowDownFor, func() {}
	}
	n := conn.own.refusing.Add(1)
	return min(slowDownFor*time.Duration(1+n/slowDownTogether), slowDownMost), func() { conn.own.refusing.Add(-1) }
}

// answersOfSource bounds the bytes of large answers that one source has not taken yet: they are in memory.
const answersOfSource = 64 << 20

// Answering counts an answer of so many bytes that is to be sent on conn, until done is called. The error is ErrAnswers:
// its source has too many that are still to be read. Whoever has none may have one of any size.
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

// Begin counts a request in flight, or returns why it must be refused: there are too many. operator says that places
// are kept for such a request, half of them for this machine. conn is nil if it did not come through the listener: then
// no source bounds it.
func (c *Conns) Begin(conn *Conn, operator bool) (Flight, error) {
	if c.inFlight.Add(1) > c.mostRequests(conn, operator) {
		c.inFlight.Add(-1)
		c.reached.requests.Inc()
		return Flight{}, ErrRequests
	}
	f := Flight{conns: c}
	if conn == nil || conn.Client.Free {
		return f, nil
	}
	most := int64(c.limits.RequestsPerSource)
	if operator {
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

// mostRequests returns how many requests may be in flight in all with such a one.
func (c *Conns) mostRequests(conn *Conn, operator bool) int64 {
	kept := c.limits.Reserved
	switch {
	case operator && conn != nil && conn.Source.Loopback():
		kept = 0
	case operator:
		kept -= kept / 2
	}
	return int64(c.limits.Requests - kept)
}

// End says that the request is over, or that it waits from now on, which other bounds are for. Doing it again does
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
