package resp

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tenure/api"
	"tenure/server/admission"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// admitted is what a connection has of the limits that bound all clients. Its goroutine alone uses it.
type admitted struct {
	control *admission.Control
	conn    *admission.Conn
	client  admission.Client // whose rate and waits count, and who has entries in the tables that clients share
	rated   bool             // the rate of this client is counted

	moved    *atomic.Int64   // metered.moved
	stopping <-chan struct{} // closed when the server stops

	flight  admission.Flight // of the commands that have arrived together
	begun   bool             // there are such
	refusal error            // why none of them is carried out any more
	slow    bool             // the client asks for more than it may
}

func newAdmitted(c *admission.Control, conn *admission.Conn, moved *atomic.Int64, stopping <-chan struct{}) admitted {
	return admitted{control: c, conn: conn, client: conn.Client, rated: !c.Rates.Unbounded(conn.Client), moved: moved,
		stopping: stopping}
}

// begin counts the commands that have arrived together as one request in flight, as which they go to the log.
func (a *admitted) begin() {
	if a.begun {
		return
	}
	a.begun = true
	var err error
	if a.flight, err = a.control.Conns.Begin(a.conn, false); err != nil {
		a.refusal = service.Overloaded(err)
		a.slow = errors.Is(err, admission.ErrSourceRequests)
	}
}

// end is called when the commands are carried out, before their replies are sent. A client beyond its bounds gets the
// replies later, as over HTTP, so that it does not ask again at once.
func (a *admitted) end() {
	a.flight.End()
	a.charge()
	if a.slow {
		a.control.Conns.SlowDown(a.conn, nil, a.stopping)
	}
	a.begun, a.refusal, a.slow = false, nil, false
}

// charge charges the client for the bytes of its commands and replies so far.
func (a *admitted) charge() {
	if !a.rated {
		return
	}
	cost, rest := admission.CostOfBytes(a.moved.Swap(0))
	a.moved.Add(rest)
	if cost > 0 {
		a.control.Rates.Charge(a.client, cost, time.Now())
	}
}

// count counts a command for the rate of the client, and returns why it is refused. Each command of a pipeline counts.
func (a *admitted) count() error {
	if !a.rated {
		return nil
	}
	if _, err := a.control.Rates.Take(a.client, time.Now()); err != nil {
		a.slow = true
		return service.TooFast(err, a.control.Limits.Rate.PerSecond)
	}
	return nil
}

// wait takes a place among the waits of the client, to be given back.
func (a *admitted) wait() (admission.Place, error) {
	place, err := a.control.Places.Take(a.client)
	a.slow = a.slow || err != nil
	return place, err
}

// tooMuchUnread returns the error for a read that h.hold has stopped. Who gets it gets it late.
func (a *admitted) tooMuchUnread(h *holding) error {
	a.slow = true
	if h.greedy {
		return service.Overloaded(admission.ErrAnswers)
	}
	return service.Overloaded(errUnread)
}

// admit returns why a command is not even looked at. cmd is nil if there is no such command.
func (c *conn) admit(cmd *command) error {
	err := c.limits.count()
	switch {
	case cmd != nil && cmd.ends:
		return nil
	case err != nil:
		return err
	case cmd != nil && cmd.stranger:
		return nil
	case c.limits.refusal != nil:
		return c.limits.refusal
	}
	return c.known()
}

// known returns nil if the client's token, if it has one, still exists. A pipeline asks the master once.
func (c *conn) known() error {
	if c.nobody == nil {
		c.nobody = c.to.known()
	}
	return c.nobody
}

// turnAway replies that a command is not looked at. args are nil if they were too large.
func (c *conn) turnAway(cmd *command, args [][]byte, why error) {
	if cmd != nil && cmd.acts {
		c.trail.refused(cmd.name, why)
	}
	c.refuse(cmd, args, errorText(why))
}

// sizeError is why a command was not looked at that is too large.
type sizeError struct{ text string }

func (e *sizeError) Error() string { return e.text + ": nothing was changed" }

// APICode returns api.CodeTooLarge.
func (e *sizeError) APICode() api.Code { return api.CodeTooLarge }

// tooLarge answers a command that was dropped because it is too large.
func (c *conn) tooLarge(e *proto.TooLarge) {
	cmd := lookup(e.Name)
	if err := c.admit(cmd); err != nil {
		c.turnAway(cmd, nil, err)
		return
	}
	text := fmt.Sprintf("an argument of '%.32s' has %d bytes: at most %d are accepted (--max-value-bytes)", e.Name, e.Bytes,
		e.Limit)
	switch {
	case e.Args > 0:
		text = fmt.Sprintf("'%.32s' has %d arguments: at most %d are accepted: use several commands", e.Name, e.Args, e.Limit)
	case e.Whole:
		text = fmt.Sprintf("the arguments of '%.32s' have %d bytes together: at most %d are accepted (1 MiB, or twice "+
			"--max-value-bytes): use several commands", e.Name, e.Bytes, e.Limit)
	}
	c.turnAway(cmd, nil, &sizeError{text})
}
