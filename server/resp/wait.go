package resp

import (
	"tenure/server/resp/proto"
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
	if n := c.nodes(); n.voters > 0 && !c.exec.doubtful {
		known = int64(n.voters / 2) // a majority, less one
	}
	c.batch.reply(func(w *proto.Writer) { w.Int(known) })
}
