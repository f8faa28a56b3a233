package resp

import (
	"net"

	"tenure/server/admission"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// conn is one client's connection. All of it belongs to the goroutine that serves it.
type conn struct {
	net net.Conn
	in  *proto.Reader
	out sender
	cfg *Config
	to  store
	id  int64
	*shared
	name    string // that the client gave itself
	arrived arrival

	subs  subscriptions
	track tracking
	batch batch
	exec  executor
	tx    transaction
	// queuing counts what tx has queued.
	queuing holding
	trail   trail
}

// arrival is what the commands that have arrived together have in common.
type arrival struct {
	begun   bool  // there are such: they are one request in flight, as which they go to the log
	refusal error // why none of them is carried out any more
	// released: those of them that release something are, from the reserve.
	released bool
	nobody   error // why the client is nobody
}

// newConn returns the connection nc, which was admitted. It is not served yet.
func newConn(nc net.Conn, s *Server, as *admission.Conn) *conn {
	cfg, shared := &s.cfg, &s.shared
	counted := &metered{Conn: nc, patience: cfg.SendTimeout, stopping: shared.stopping}
	c := &conn{net: nc, in: proto.NewReader(counted, cfg.limits()), cfg: cfg, shared: shared}
	c.in.Stranger, counted.in = c.to.KnownStranger, c.in
	c.out = sender{net: counted, timeout: cfg.SendTimeout, mu: &c.subs.mu}
	c.to = store{service: s.service, timeout: cfg.ClientTimeout, listing: cfg.ListingTimeout}
	s.service.Begin(&c.to.Request, service.End{Addr: nc.RemoteAddr().String(), Conn: as, Moved: &counted.moved})
	c.subs = subscriptions{net: nc, cfg: cfg, to: &c.to, shared: shared}
	c.trail = trail{client: &c.to}
	c.batch = batch{noFlush: cfg.RefuseFlush, maxValueBytes: cfg.MaxValueBytes, left: c.to.left}
	c.exec = executor{batch: &c.batch, to: &c.to, trail: &c.trail, slow: cfg.Slow}
	c.exec.held = holding{all: &shared.unread, own: shared.sources.join(as), admitted: as, most: cfg.MaxUnreadBytes}
	c.queuing = c.exec.held
	return c
}

// serve answers commands until the connection ends.
func (c *conn) serve() {
	defer c.end()
	defer c.survive()
	if handshake(c.net, c.cfg.SendTimeout) != nil {
		return
	}
	c.to.begin(provenOf(c.net))
	c.changed()
	for !c.out.closing {
		err := c.readBatch()
		c.execute()
		if err != nil {
			c.out.refuse(err)
		}
		c.endArrival()
		failed := c.out.send()
		c.track.yield()
		if failed != nil || err != nil {
			return
		}
	}
}

// end closes the connection, and ends what tells it of changes.
func (c *conn) end() {
	_ = c.net.Close()
	c.to.Bounds.Leave() // a fault may have ended it in the middle of a request
	c.track.off()
	c.subs.stopTelling()
	c.subs.leaveAll()
	c.exec.held.letGo()
	c.queuing.letGo()
	c.sources.leave(c.exec.held.admitted)
}

// readBatch waits for a command and adds it to the batch, with all that have arrived behind it.
func (c *conn) readBatch() error {
	for {
		args, err := c.in.Next()
		large, tooLarge := err.(*proto.TooLarge)
		if err != nil && !tooLarge {
			return err
		}
		c.track.begin()
		c.beginArrival()
		if tooLarge {
			c.tooLarge(large)
		} else {
			c.run(args)
		}
		if c.out.closing || c.batch.full() || !c.in.Ready() {
			return nil
		}
	}
}

// execute carries out the batch and writes the replies.
func (c *conn) execute() {
	b := &c.batch
	for len(b.ops) > 0 && !c.out.Lost() { // reads in parts
		taken, err := func() {}, c.exec.carryOut()
		c.trail.batch(b, 0, c.exec.results, err)
		if err == nil {
			taken, err = c.exec.answering()
		}
		c.out.answer(func() { b.drop(b.replies(&c.out.Writer, c.exec.results, err)) })
		taken()
		c.exec.held.letGo()
	}
	c.exec.forget()
}

// run runs one command: it adds to the batch.
func (c *conn) run(args [][]byte) {
	cmd := lookup(args[0])
	refusal := c.admit(cmd, args)
	switch {
	case refusal != nil:
		c.turnAway(cmd, args, refusal)
	case cmd == nil:
		c.fail(unknownCommand(args))
	case !cmd.takes(len(args)):
		c.refuse(cmd, args, "ERR wrong number of arguments for '"+cmd.name+"' command")
	case !cmd.subscriber && !c.out.V3 && c.subs.told():
		c.refuse(cmd, args, "ERR Can't execute '"+cmd.name+"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET "+
			"are allowed in this context")
	case c.tx.open && cmd.isAlone(args):
		c.fail("ERR " + cmd.name + " is not possible in a transaction")
	case c.tx.open && !cmd.immediate:
		c.tx.queue(c, cmd, args)
	default:
		if cmd.isAlone(args) || !c.batch.fits(args) || c.parted(cmd, args) {
			c.execute()
		}
		c.batch.name = cmd.name
		cmd.do(c, args)
	}
}

// parted reports whether a command cannot be one sequence with the batch because reads are stale: those are answered
// also when nobody can write.
func (c *conn) parted(cmd *command, args [][]byte) bool {
	b := &c.batch
	return c.to.mode == service.Stale && len(b.steps) > 0 && b.writes > 0 != cmd.changes(args)
}

// refuse replies that a command is not begun.
func (c *conn) refuse(cmd *command, args [][]byte, text string) {
	if cmd != nil && cmd.refused != nil {
		text = cmd.refused(c, args, text)
	}
	c.fail(text)
}

// fail replies an error to the command that is being run.
func (c *conn) fail(text string) {
	if c.tx.open {
		c.tx.broken = true
	}
	c.batch.fail(text)
}
