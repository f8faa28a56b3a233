package resp

import (
	"fmt"
	"time"

	"tenure/api"
	"tenure/server/admission"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// beginArrival counts the commands that have arrived together as one request in flight.
func (c *conn) beginArrival() {
	a := &c.arrived
	if a.begun {
		return
	}
	a.begun, a.refusal = true, c.to.Bounds.Enter(service.Ordinary)
	if c.to.Recorded() {
		c.trail.began = time.Now()
	}
}

// endArrival is called when the commands are carried out, before their replies are sent. A client beyond its bounds
// gets the replies later, as over HTTP, so that it does not ask again at once.
func (c *conn) endArrival() {
	c.to.Bounds.Charge()
	c.to.Bounds.Delay(nil, c.stopping)
	c.arrived = arrival{}
}

// tooMuchUnread returns the error for a read that held.hold has stopped. Who gets it gets it late.
func (x *executor) tooMuchUnread() error {
	x.to.Bounds.RefuseLate()
	if x.held.greedy {
		return service.Overloaded(admission.ErrAnswers)
	}
	return service.Overloaded(x.held.tooMuch())
}

// admit returns why a command is not even looked at. cmd is nil if there is no such command, and args are if they were
// too large. When the commands that have arrived together are too many, those that release something have a reserve.
func (c *conn) admit(cmd *command, args [][]byte) error {
	p := service.Ordinary
	if cmd != nil && cmd.releases != nil && len(args) > 1 && cmd.releases(args) {
		p = service.Release
	}
	err := c.to.Bounds.Ask(0, p)
	switch {
	case cmd != nil && cmd.ends:
		return nil
	case err != nil:
		return err
	case cmd != nil && cmd.stranger:
		return nil
	case c.arrived.refusal == nil:
	case p == service.Release && !c.arrived.released:
		if err := c.to.Bounds.Enter(p); err != nil {
			return err
		}
		c.arrived.released = true
	case p != service.Release:
		return c.arrived.refusal
	}
	return c.known()
}

// known returns nil if the client's token, if it has one, still exists. A pipeline asks the master once.
func (c *conn) known() error {
	if c.arrived.nobody == nil {
		c.arrived.nobody = c.to.known()
	}
	return c.arrived.nobody
}

// turnAway replies that a command is not looked at. args are nil if they were too large.
func (c *conn) turnAway(cmd *command, args [][]byte, why error) {
	if cmd != nil && cmd.changes(args) && c.to.Recorded() {
		c.trail.turnedAway(cmd.name, c.batch.stepsOf(cmd, args), why)
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
	if err := c.admit(cmd, nil); err != nil {
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
