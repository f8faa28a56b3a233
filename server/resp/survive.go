package resp

import (
	"runtime/debug"

	"github.com/rs/zerolog"

	"tenure/server/service"
)

const errInternal = "UNKNOWN outcome: internal error: a write may have been applied; see the node's log"

// survive is deferred by the goroutine that serves a connection. A fault in a command ends its connection and not the
// node. The client is told of it in the place of the replies that it waits for.
func (c *conn) survive() {
	p := recover()
	if p == nil {
		return
	}
	tellPanic(&c.cfg.Logger, p, c.to.Bounds.From())
	// One line is about all commands that were carried out together.
	c.trail.command(c.batch.name, c.batch.steps, nil, service.ErrUnknown)
	if c.subs.mu.TryLock() { // not if the fault left it locked
		defer c.subs.mu.Unlock()
		c.out.Reset()
		c.out.Error(errInternal)
		c.out.sendNow()
	}
}

// survive is deferred by the goroutine of a notifier: a fault ends the connection.
func (n *notifier) survive() {
	if p := recover(); p != nil {
		tellPanic(&n.log, p, n.net.RemoteAddr().String())
		_ = n.net.Close()
	}
}

func tellPanic(log *zerolog.Logger, p any, client string) {
	log.Error().Interface("panic", p).Str("client", client).Bytes("stack", debug.Stack()).
		Msg("what served a client of Redis panicked: its connection ends")
}
