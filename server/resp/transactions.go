package resp

import (
	"bytes"
	"errors"
	"slices"

	"tenure/kv"
	"tenure/server/resp/proto"
)

var transactionCommands = []command{
	{name: "multi", arity: 1, immediate: true, run: multi},
	{name: "exec", arity: 1, immediate: true, run: exec},
	{name: "discard", arity: 1, immediate: true, run: discard},
	{name: "watch", arity: -2, immediate: true, run: watchKeys},
	{name: "unwatch", arity: 1, run: unwatch},
}

// transaction is what a connection has watched, and what it has queued since MULTI.
type transaction struct {
	open    bool
	broken  bool // a command was refused when it was queued: EXEC does nothing
	denied  bool // because it is not allowed
	queued  []queued
	bytes   int // of the arguments in queued
	watched []watched
}

// queued is a command that waits for EXEC. Its arguments are copies.
type queued struct {
	cmd  *command
	args [][]byte
}

// watched is a key, and the revision of the store at which it was watched.
type watched struct {
	key      string
	revision uint64
}

// queue keeps a command until EXEC.
func (t *transaction) queue(c *conn, cmd *command, args [][]byte) {
	if err := c.exec.mayQueue(cmd, args, t.denied); err != nil {
		c.fail(errorText(err))
		t.denied = t.denied || isDenied(err)
		return
	}
	for _, a := range args {
		t.bytes += len(a)
	}
	if len(t.queued) == maxQueued || t.bytes > maxBatchBytes+c.cfg.MaxValueBytes {
		c.fail("ERR the transaction is too large")
		return
	}
	q := queued{cmd: cmd, args: make([][]byte, len(args))}
	for i, a := range args {
		q.args[i] = bytes.Clone(a)
	}
	t.queued = append(t.queued, q)
	c.batch.reply(func(w *proto.Writer) { w.Simple("QUEUED") })
}

// end forgets the transaction and what was watched for it.
func (t *transaction) end() { *t = transaction{} }

func multi(c *conn, _ [][]byte) {
	if c.tx.open {
		c.fail("ERR MULTI calls can not be nested")
		c.tx.broken = false // Redis goes on with the transaction
		return
	}
	c.tx.open = true
	c.batch.reply((*proto.Writer).OK)
}

func discard(c *conn, _ [][]byte) {
	if !c.tx.open {
		c.fail("ERR DISCARD without MULTI")
		return
	}
	c.tx.end()
	c.batch.reply((*proto.Writer).OK)
}

func unwatch(c *conn, _ [][]byte) {
	c.tx.watched = nil
	c.batch.reply((*proto.Writer).OK)
}

// watchKeys remembers the revision now: behind the writes that the connection has sent before.
func watchKeys(c *conn, args [][]byte) {
	if c.tx.open {
		c.fail("ERR WATCH inside MULTI is not allowed")
		c.tx.broken = false
		return
	}
	if !c.batch.several(args[1:]) {
		return
	}
	c.execute()
	var keys []string
	for _, a := range args[1:] {
		key := string(a)
		if !slices.ContainsFunc(c.tx.watched, func(w watched) bool { return w.key == key }) {
			keys = append(keys, key)
		}
	}
	if len(keys)+len(c.tx.watched) > maxWatched {
		c.fail("ERR too many keys are watched")
		return
	}
	revision, err := c.to.GetMany(keys, func(int, kv.Entry) bool { return true })
	if err != nil {
		c.fail(errorText(err))
		return
	}
	for _, key := range keys {
		c.tx.watched = append(c.tx.watched, watched{key: key, revision: revision})
	}
	c.batch.reply((*proto.Writer).OK)
}

// maxWatched bounds the keys that one connection watches: the checks and the commands of a transaction are one sequence.
const maxWatched = kv.MaxSteps / 4

// exec carries out the queued commands, as one sequence behind checks of the watched keys.
func exec(c *conn, _ [][]byte) {
	t := c.tx
	if !t.open {
		c.fail("ERR EXEC without MULTI")
		return
	}
	c.tx.end()
	if t.broken {
		c.fail("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.execute()
	b := &c.batch
	checks := len(t.watched)
	for _, w := range t.watched {
		b.steps = append(b.steps, w.check())
	}
	for _, q := range t.queued {
		b.name = q.cmd.name
		q.cmd.do(c, q.args)
	}
	taken, err := func() {}, c.exec.atomically(checks)
	if err == nil {
		taken, err = c.exec.answering()
	}
	switch {
	case errors.Is(err, errChanged):
		c.out.NullArray()
	case isDenied(err):
		c.out.Error("EXECABORT Transaction discarded because of: " + errorText(err))
	case err != nil:
		c.out.Error(errorText(err))
	default:
		c.out.answer(func() {
			c.out.Array(len(b.ops))
			b.replies(&c.out.Writer, c.exec.results, nil)
		})
	}
	taken()
	c.exec.forget()
}

// check is the step that holds while nobody has written or deleted the key. To compare its ModifyIndex would not do: one
// that was absent may have been written, read by this client, and deleted.
func (w watched) check() kv.Command {
	return kv.Command{Op: kv.OpCheckUnchanged, Key: w.key, HasIndex: true, Index: w.revision}
}
