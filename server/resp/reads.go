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

var errLargeRead = errors.New("the reply would be larger than 32 MiB: ask for less at a time")

// read carries out reads of the batch in one state: the first command that has any, and those behind it until there are
// partBytes. The results are those of whole commands.
func (c *conn) read() error {
	first := slices.IndexFunc(c.batch.ops, func(o op) bool { return o.steps > 0 })
	n := c.batch.ops[first].steps
	err := c.readSteps(n, partBytes)
	if errors.Is(err, errLargeRead) { // that is no reason to refuse the commands behind it
		c.results = append(c.results[:0], slices.Repeat([]result{{err: err}}, n)...)
		return nil
	}
	c.results = c.results[:c.batch.wholeOps(len(c.results))]
	return err
}

// readWhole carries out a batch of reads in one state. If it would be larger than maxReadBytes the error is errLargeRead.
func (c *conn) readWhole() error { return c.readSteps(len(c.batch.steps), 0) }

// readSteps reads the first n steps of the batch, and those behind them until all have so many bytes. If the first n have
// more than maxReadBytes the error is errLargeRead.
func (c *conn) readSteps(n, bytes int) error {
	keys := make([]string, len(c.batch.steps))
	for i := range keys {
		keys[i] = c.batch.steps[i].Key
	}
	var passed, kept int
	_, err := c.to.GetMany(c.cfg.ClientTimeout, c.mode, keys, func(i int, e kv.Entry) bool {
		if i == 0 { // it may begin again
			c.results, passed, kept = c.results[:0], 0, 0
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
		return kept <= maxReadBytes && (len(c.results) < n || passed < bytes)
	})
	if err == nil && kept > maxReadBytes && len(c.results) <= n {
		err = errLargeRead
	}
	return err
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
