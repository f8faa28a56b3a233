package resp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"tenure/internal/certs"
	"tenure/internal/wrongport"
	"tenure/server/admission"
	"tenure/server/resp/proto"
)

// conn is one client's connection. All of it belongs to the goroutine that serves it.
type conn struct {
	net net.Conn
	in  *proto.Reader
	out proto.Writer
	cfg *Config
	to  store
	id  int64
	*shared
	name string // that the client gave itself

	subs    subscriptions
	track   tracking
	batch   batch
	exec    executor
	tx      transaction
	closing bool // after the replies
	limits  admitted
	trail   trail
}

// newConn returns the connection nc, which was admitted. It is not served yet.
func newConn(nc net.Conn, cfg *Config, s *shared, b Backend, as *admission.Conn) *conn {
	c := &conn{net: nc, in: proto.NewReader(nc, cfg.limits()), cfg: cfg, shared: s}
	c.in.Known = true
	c.to = store{backend: b, decider: cfg.Access, timeout: cfg.ClientTimeout}
	c.limits = newAdmitted(cfg.Admission, as)
	c.trail = trail{log: cfg.Audit, from: nc.RemoteAddr().String(), client: &c.to}
	c.batch = batch{maxValueBytes: cfg.MaxValueBytes, left: c.to.left}
	c.exec = executor{batch: &c.batch, held: holding{all: &s.unread, most: cfg.MaxUnreadBytes}, to: &c.to,
		limits: &c.limits, trail: &c.trail, slow: cfg.Slow}
	return c
}

// serve answers commands until the connection ends.
func (c *conn) serve() {
	defer c.end()
	if c.handshake() != nil {
		return
	}
	c.to.begin(c.provenOf())
	c.subs.reader = c.newReader() // nobody else knows of it yet
	for !c.closing {
		err := c.readBatch()
		c.execute()
		if err != nil {
			c.refuse(err)
		}
		c.limits.end()
		if c.send() != nil || err != nil {
			return
		}
	}
}

// end closes the connection, and ends what tells it of changes.
func (c *conn) end() {
	_ = c.net.Close()
	c.track.off()
	c.subs.stopTelling()
	c.leaveAll()
	c.exec.held.letGo()
}

// handshake performs that of TLS, within a time: a connection that says nothing holds a place only so long.
func (c *conn) handshake() error {
	t, secured := c.net.(*certs.ServerConn)
	if !secured {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.cfg.SendTimeout)
	defer cancel()
	err := t.HandshakeContext(ctx)
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil {
		c.withoutTLS(record)
	}
	return err
}

// withoutTLS answers a client that speaks no TLS, where clients must.
func (c *conn) withoutTLS(record tls.RecordHeaderError) {
	answer := []byte("-ERR this port speaks TLS only: connect with TLS, as redis-cli --tls does\r\n")
	if p := wrongport.Of(record.RecordHeader[:]); p == wrongport.HTTP {
		answer = wrongport.Answer(p, wrongport.RESP)
	}
	if record.Conn.SetWriteDeadline(time.Now().Add(c.cfg.SendTimeout)) == nil {
		_, _ = record.Conn.Write(answer)
	}
}

// readBatch waits for a command and adds it to the batch, with all that have arrived behind it.
func (c *conn) readBatch() error {
	for {
		args, err := c.in.Next()
		if err != nil {
			return err
		}
		c.track.begin()
		c.limits.begin()
		c.run(args)
		if c.closing || c.batch.full() || !c.in.Ready() {
			return nil
		}
	}
}

// refuse answers bytes that are no command.
func (c *conn) refuse(err error) {
	var e *proto.Error
	switch {
	case !errors.As(err, &e) || e.Silent:
	case e.Speaks != wrongport.Unknown:
		_, _ = c.net.Write(wrongport.Answer(e.Speaks, wrongport.RESP))
	default:
		c.out.Error("ERR " + e.Text)
	}
}

// send sends the replies in one go.
func (c *conn) send() error {
	defer c.track.yield()
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	return sendAll(c.net, &c.out, c.cfg.SendTimeout)
}

// sendAll sends what is in w, within timeout, and empties it.
func sendAll(to net.Conn, w *proto.Writer, timeout time.Duration) error {
	if w.Len() == 0 {
		return nil
	}
	defer w.Reset()
	if err := to.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	_, err := to.Write(w.Bytes())
	return err
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
		c.answer(func() { b.drop(b.replies(&c.out, c.exec.results, err)) })
		taken()
		c.exec.held.letGo()
	}
	c.exec.forget()
}

// answer runs write, which writes replies. Large ones are sent meanwhile: a pipeline may ask for more than is to be
// kept in memory. What was begun to be sent is sent as a whole: no message comes between.
func (c *conn) answer(write func()) {
	c.subs.mu.Lock()
	defer c.subs.mu.Unlock()
	began := false
	c.out.Full = func() bool {
		began = true
		return c.sendNow()
	}
	write()
	if c.out.Full = nil; began {
		c.sendNow()
	}
}

// run runs one command: it adds to the batch.
func (c *conn) run(args [][]byte) {
	cmd := lookup(args[0])
	refusal := c.admit(cmd)
	switch {
	case refusal != nil:
		c.turnAway(cmd, refusal)
	case cmd == nil:
		c.fail(unknownCommand(args))
	case !cmd.takes(len(args)):
		c.fail("ERR wrong number of arguments for '" + cmd.name + "' command")
	case !cmd.subscriber && !c.out.V3 && c.subs.told():
		c.fail("ERR Can't execute '" + cmd.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are " +
			"allowed in this context")
	case c.tx.open && cmd.isAlone(args):
		c.fail("ERR " + cmd.name + " is not possible in a transaction")
	case c.tx.open && !cmd.immediate:
		c.tx.queue(c, cmd, args)
	default:
		if cmd.isAlone(args) {
			c.execute()
		}
		c.batch.name = cmd.name
		cmd.do(c, args)
	}
}

// fail replies an error to the command that is being run.
func (c *conn) fail(text string) {
	if c.tx.open {
		c.tx.broken = true
	}
	c.batch.fail(text)
}
