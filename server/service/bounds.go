package service

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/server/admission"
)

// End is the client's end of a connection.
type End struct {
	Addr string          // HOST:PORT
	Conn *admission.Conn // as it was let in; nil: not through a listener
	// Moved has the bytes that came and went and that nobody was charged for. Nil: they are not counted.
	Moved *atomic.Int64
}

// Bounds is what one client takes of the bounds on all clients.
type Bounds struct {
	from    string
	control *admission.Control
	conn    *admission.Conn  // nil: it did not come through a listener
	client  admission.Client // whose rate and waits count; without a Key nobody's yet
	rated   bool             // the rate of this client is counted
	moved   *atomic.Int64
	flight  admission.Flight
	late    bool // the client asks for more than it may: refusals come late
}

func boundsOf(c *admission.Control, at End) Bounds {
	return Bounds{from: at.Addr, control: c, conn: at.Conn, moved: at.Moved}
}

// countFor has waits and rates counted for the holder of a token, from any address, else for the address. Only a token
// that this node knows names a client: with free names a client would have any number of rates. The anonymous token
// names none, since all clients share it.
func (b *Bounds) countFor(who *Permit) {
	if b.conn != nil {
		b.client = b.conn.Client
	} else {
		b.client = b.control.Limits.ClientOf(admission.ParseSource(b.from))
	}
	if accessor := who.Accessor(); cmp.Or(accessor, api.AnonymousAccessor) != api.AnonymousAccessor {
		b.client = b.client.Holding(accessor)
	}
	b.rated = !b.control.Rates.Unbounded(b.client)
}

// Priority says which of the reserved places a request may take.
type Priority = admission.Priority

// The priorities.
const (
	Ordinary = admission.Ordinary
	Release  = admission.Release  // it gives back what others wait for, such as a lock
	Operator = admission.Operator // it is one of those who watch over the cluster
)

// Enter counts a request in flight, or what of Redis's has arrived together. The one before is over.
func (b *Bounds) Enter(p Priority) (err error) {
	b.Leave()
	if b.flight, err = b.control.Conns.Begin(b.conn, p); err != nil {
		b.late = b.late || errors.Is(err, admission.ErrSourceRequests)
		return Overloaded(err)
	}
	return nil
}

// Ask counts a request with that many lines of headers for the rate of its client. The error is a *TooFastError.
func (b *Bounds) Ask(lines int, p Priority) error {
	if !b.rated {
		return nil
	}
	retry, err := b.control.Rates.Take(b.client, admission.Cost(lines), p, time.Now())
	if err == nil {
		return nil
	}
	b.late = true
	return &TooFastError{Retry: max(retry, time.Millisecond),
		err: fmt.Errorf("%w: %w: at most %d a second", ErrOverloaded, err, b.control.Limits.Rate.PerSecond)}
}

// TooFastError is an ErrOverloaded: the client asks more often than it may.
type TooFastError struct {
	Retry time.Duration // when it may ask again
	err   error
}

// Error returns the text.
func (e *TooFastError) Error() string { return e.err.Error() }

// Unwrap returns an ErrOverloaded.
func (e *TooFastError) Unwrap() error { return e.err }

// Charge charges the client for the bytes that came and went.
func (b *Bounds) Charge() {
	if !b.rated || b.moved == nil {
		return
	}
	cost, rest := admission.CostOfBytes(b.moved.Swap(0))
	b.moved.Add(rest)
	if cost > 0 {
		b.control.Rates.Charge(b.client, cost, time.Now())
	}
}

// TakePlace takes a place among the waits of the client, to be given back. It does not wait.
func (b *Bounds) TakePlace() (admission.Place, error) {
	place, err := b.control.Places.Take(b.client)
	if err != nil {
		b.late = true
		err = Overloaded(err)
	}
	return place, err
}

// largeAnswer is the size in bytes from which an answer counts while it is sent: smaller ones fit into the system's
// buffers.
const largeAnswer = 64 << 10

// Answer counts an answer that is about to be sent, until taken is called, or returns why it must not be sent. Only
// reads call it, so its error is never the outcome of a write.
func (b *Bounds) Answer(bytes int) (taken func(), err error) {
	if bytes < largeAnswer {
		return func() {}, nil
	}
	if taken, err = b.control.Conns.Answering(b.conn, int64(bytes)); err != nil {
		b.late = true
		return func() {}, Overloaded(err)
	}
	return taken, nil
}

// Leave says that the request is over, or waits from now on. A second call does nothing.
func (b *Bounds) Leave() { b.flight.End() }

// RefuseLate has the refusals of the request come late.
func (b *Bounds) RefuseLate() { b.late = true }

// Delay waits before a refusal is sent to a client that asks for more than it may, or until one of the channels is
// closed. The request is no longer in flight.
func (b *Bounds) Delay(gone, stopping <-chan struct{}) {
	b.Leave()
	if b.late {
		b.control.Conns.SlowDown(b.conn, gone, stopping)
		b.late = false
	}
}

// From returns the client's address, as HOST:PORT.
func (b *Bounds) From() string { return b.from }

// Key tells the clients apart that have entries in what all share.
func (b *Bounds) Key() string { return b.client.Key }
