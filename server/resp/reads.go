package resp

import (
	"errors"
	"slices"

	"tenure/kv"
)

// The bounds of what reads keep in memory until the client has taken it.
const (
	partBytes    = 1 << 20  // of values: a pipeline of reads is carried out in parts that end here
	maxReadBytes = 32 << 20 // of values, or keys, that one command or one transaction reads
	largeReply   = 64 << 10 // smaller replies fit into what the system buffers, and are not counted
)

var (
	errLargeRead = errors.New("the reply would be larger than 32 MiB: ask for less at a time")
	errUnread    = errors.New("too many bytes of replies wait on this node for clients to read them")
)

// holding counts the bytes that a connection has read and not sent yet. shared.unread bounds these bytes of all
// connections together, whatever their addresses, while they are read. So a refusal costs no memory.
type holding struct {
	counted int64 // in shared.unread
	small   int64 // not yet: less than largeReply
}

// hold counts bytes that were read for a reply. It reports false if all connections together have too many.
func (c *conn) hold(bytes int) bool {
	h := &c.held
	if h.small += int64(bytes); h.small < largeReply {
		return true
	}
	h.counted += h.small
	all := c.unread.Add(h.small)
	h.small = 0
	return all <= c.cfg.MaxUnreadBytes
}

// letGo says that what was held is sent, or dropped.
func (c *conn) letGo() {
	c.unread.Add(-c.held.counted)
	c.held = holding{}
}

// tooMuchUnread returns the error for a read that hold has stopped. Who gets it gets it late.
func (c *conn) tooMuchUnread() error {
	c.limits.slow = true
	return overloaded(errUnread)
}

// read carries out reads of the batch in one state: the first command that has any, and those behind it until there are
// partBytes. The results are those of whole commands.
func (c *conn) read() error {
	first := slices.IndexFunc(c.batch.ops, func(o op) bool { return o.steps > 0 })
	n := c.batch.ops[first].steps
	err := c.readSteps(n, partBytes)
	if errors.Is(err, errLargeRead) { // that is no reason to refuse the commands behind it
		c.dropResults(0)
		c.results = append(c.results, slices.Repeat([]result{{err: err}}, n)...)
		return nil
	}
	c.dropResults(c.batch.wholeOps(len(c.results)))
	return err
}

// readWhole carries out a batch of reads in one state. If it would be larger than maxReadBytes the error is
// errLargeRead.
func (c *conn) readWhole() error { return c.readSteps(len(c.batch.steps), 0) }

// readSteps reads the first n steps of the batch, and those behind them until all have so many bytes. If the first n
// have more than maxReadBytes the error is errLargeRead; it wraps web.ErrOverloaded if too much waits on this node.
func (c *conn) readSteps(n, bytes int) error {
	keys := make([]string, len(c.batch.steps))
	for i := range keys {
		keys[i] = c.batch.steps[i].Key
	}
	var passed, kept int
	fits := true
	_, err := c.to.GetMany(keys, func(i int, e kv.Entry) bool {
		if i == 0 { // it may begin again
			c.dropResults(0)
			passed, kept = 0, 0
		}
		r := result{code: kv.CodeDone}
		if e.ModifyIndex != 0 {
			r.count, r.ttl = 1+uint64(len(e.Value)), e.TTL
			if c.batch.steps[i].Op == kv.OpFetch {
				r.body = asText(e.Value)
			}
		}
		c.results = append(c.results, r)
		passed, kept = passed+len(e.Value), kept+len(r.body)
		fits = c.hold(len(r.body))
		return fits && kept <= maxReadBytes && (len(c.results) < n || passed < bytes)
	})
	switch {
	case err != nil:
		return err
	case !fits:
		return c.tooMuchUnread()
	case kept > maxReadBytes && len(c.results) <= n:
		return errLargeRead
	}
	return nil
}

// wholeOps returns how many of the first n steps belong to commands that have all of theirs among them.
func (b *batch) wholeOps(n int) (steps int) {
	for i := range b.ops {
		if steps+b.ops[i].steps > n {
			break
		}
		steps += b.ops[i].steps
	}
	return steps
}

// answering counts what was read and is about to be sent, until taken is called. The error wraps web.ErrOverloaded: it
// must not be sent, since too much to this client's address is on its way. What a batch with writes came to is told in
// any case.
func (c *conn) answering() (taken func(), err error) {
	bytes := len(c.batch.ready)
	for i := range c.results {
		bytes += len(c.results[i].body)
	}
	if c.batch.writes > 0 || bytes < largeReply {
		return func() {}, nil
	}
	taken, err = c.limits.control.Conns.Answering(c.limits.conn, int64(bytes))
	if err != nil {
		c.limits.slow = true
		return func() {}, overloaded(err)
	}
	return taken, nil
}
