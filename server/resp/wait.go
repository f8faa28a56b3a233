package resp

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/slow"
	"tenure/server/web"
)

// wait replies how many other replicas are known to have the connection's last write on disk. An answered write is on
// the disks of a majority of the voters, and waiting would show nothing more. For a write with unknown outcome the
// reply is 0.
func wait(c *conn, args [][]byte) {
	wanted, ok := integer(args[1])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	timeout, ok := integer(args[2])
	switch {
	case !ok:
		c.fail("ERR timeout is not an integer or out of range")
		return
	case timeout < 0:
		c.fail("ERR timeout is negative")
		return
	case wanted < 0:
		c.fail("ERR value is out of range, must be positive")
		return
	}
	var known int64
	if n := c.nodes(); n.voters > 0 && !c.doubtful {
		known = int64(n.voters / 2) // a majority, less one
	}
	c.batch.reply(func(w *proto.Writer) { w.Int(known) })
}

// apply has a command applied, and notes whether the outcome of the connection's last write is unknown.
func (c *conn) apply(cmd kv.Command) (kv.Result, error) {
	asked := time.Now()
	c.took = slow.Request{}
	r, err := c.to.Write(cmd, &c.took.Write)
	c.took.Store = time.Since(asked)
	c.cfg.Slow.Done(c.took.Store, &c.took, func(e *zerolog.Event) {
		e.Str("redis", c.batch.name).Int("commands", len(c.batch.ops)).Str("client", c.trail.from)
	})
	switch {
	case err == nil:
		c.doubtful = false
	case isDenied(err): // it was not sent, or the log has refused it
	case !errors.Is(err, web.ErrNotApplied) && !errors.Is(err, web.ErrOverloaded) && !errors.Is(err, web.ErrNoSpace):
		c.doubtful = true
	}
	return r, err
}
