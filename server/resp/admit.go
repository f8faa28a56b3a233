package resp

import (
	"errors"
	"fmt"
	"time"

	"tenure/server/admission"
	"tenure/server/web"
)

// admitted is what a connection has of the limits that bound all clients. Its goroutine alone uses it.
type admitted struct {
	control *admission.Control
	conn    *admission.Conn
	rated   bool // the rate of this client is counted

	flight  admission.Flight // of the commands that have arrived together
	begun   bool             // there are such
	refusal error            // why none of them is carried out any more
	slow    bool             // the client asks for more than it may
}

func newAdmitted(c *admission.Control, conn *admission.Conn) admitted {
	return admitted{control: c, conn: conn, rated: !c.Rates.Unbounded(conn.Client)}
}

// begin counts the commands that have arrived together as one request in flight, as which they go to the log.
func (a *admitted) begin() {
	if a.begun {
		return
	}
	a.begun = true
	var err error
	if a.flight, err = a.control.Conns.Begin(a.conn, false); err != nil {
		a.refusal = overloaded(err)
		a.slow = errors.Is(err, admission.ErrSourceRequests)
	}
}

// end is called when the commands are carried out, before their replies are sent. A client beyond its bounds gets the
// replies later, so that it does not ask again at once.
func (a *admitted) end() {
	a.flight.End()
	if a.slow {
		time.Sleep(slowDownFor)
	}
	a.begun, a.refusal, a.slow = false, nil, false
}

// slowDownFor is as long as over HTTP.
const slowDownFor = 100 * time.Millisecond

// count counts a command for the rate of the client, and returns why it is refused. Each command of a pipeline counts.
func (a *admitted) count() error {
	if !a.rated {
		return nil
	}
	if _, err := a.control.Rates.Take(a.conn.Client, time.Now()); err != nil {
		a.slow = true
		return fmt.Errorf("%w: %w: at most %d a second", web.ErrOverloaded, err, a.control.Limits.Rate.PerSecond)
	}
	return nil
}

// wait takes a place among the waits of the client, to be given back.
func (a *admitted) wait() (admission.Place, error) {
	place, err := a.control.Places.Take(a.conn.Client)
	a.slow = a.slow || err != nil
	return place, err
}

// tooMuchUnread returns the error for a read that holding.hold has stopped. Who gets it gets it late.
func (a *admitted) tooMuchUnread() error {
	a.slow = true
	return overloaded(errUnread)
}

func overloaded(err error) error {
	return fmt.Errorf("%w: %w; try again later, or another node", web.ErrOverloaded, err)
}

// admit returns why a command is not even looked at. cmd is nil if there is no such command.
func (c *conn) admit(cmd *command) error {
	if err := c.limits.count(); err != nil {
		return err
	}
	if cmd != nil && cmd.stranger {
		return nil
	}
	if c.limits.refusal == nil {
		c.limits.refusal = c.to.known() // for all that have arrived: a pipeline asks the master once
	}
	return c.limits.refusal
}

// turnAway replies that a command is not looked at.
func (c *conn) turnAway(cmd *command, why error) {
	if cmd != nil && cmd.acts {
		c.trail.refused(cmd.name, why)
	}
	c.fail(errorText(why))
}
