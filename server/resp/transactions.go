package resp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

var transactionCommands = []command{
	{name: "multi", arity: 1, immediate: true, stranger: true, ends: true, run: multi},
	{name: "exec", arity: 1, acts: true, immediate: true, stranger: true, ends: true, run: exec,
		refused: func(c *conn, _ [][]byte, text string) string { return c.abort(text) }},
	{name: "discard", arity: 1, immediate: true, stranger: true, ends: true, run: discard},
	{name: "watch", arity: -2, immediate: true, run: watchKeys, refused: notWatched},
	{name: "unwatch", arity: 1, stranger: true, ends: true, run: unwatch},
}

// transaction is what a connection has watched, and what it has queued since MULTI.
type transaction struct {
	open    bool
	broken  bool  // a command was refused when it was queued: EXEC does nothing
	denied  error // the first denial of one
	queued  []queued
	bytes   int // of the arguments in queued
	args    int // in queued
	steps   int // that queued has
	watched []watched
	// unwatched is the keys that a refused WATCH named, and lost is set if they are not known: EXEC does nothing until
	// they are watched after all.
	unwatched []string
	lost      bool
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

// queue keeps a command until EXEC. A command that could not be carried out breaks the transaction now: nothing of it is
// done.
func (t *transaction) queue(c *conn, cmd *command, args [][]byte) {
	steps, refusal := c.batch.tryOut(cmd, args)
	if refusal != "" {
		c.fail(refusal)
		return
	}
	if err := c.exec.mayQueue(cmd, steps, t.denied); err != nil {
		c.fail(errorText(err))
		if t.denied == nil && service.IsDenied(err) {
			t.denied = err
		}
		return
	}
	t.steps += len(steps)
	t.args += len(args)
	for _, a := range args {
		t.bytes += len(a)
	}
	switch most := t.mostBytes(c.cfg.MaxValueBytes); {
	case len(t.queued) == maxQueued, t.args > maxQueuedArgs, t.steps+len(t.watched) > kv.MaxSteps:
		c.fail(fmt.Sprintf("ERR the transaction is too large: it has at most %d commands with %d arguments, and they and "+
			"WATCH name at most %d keys", maxQueued, maxQueuedArgs, kv.MaxSteps))
		return
	case t.bytes > most:
		c.fail(fmt.Sprintf("ERR the transaction is too large: its commands have at most %d bytes together "+
			"(1 MiB more than --max-value-bytes)", most))
		return
	}
	if !c.holds(args) {
		t.queued = nil // EXEC will not need it
		c.queuing.letGo()
		c.to.Bounds.RefuseLate()
		why := fmt.Errorf("%w: send EXEC or DISCARD, and read the replies", c.queuing.tooMuch())
		c.fail(errorText(service.Overloaded(why)))
		return
	}
	q := queued{cmd: cmd, args: make([][]byte, len(args))}
	for i, a := range args {
		q.args[i] = bytes.Clone(a)
	}
	t.queued = append(t.queued, q)
	c.batch.reply(func(w *proto.Writer) { w.Simple("QUEUED") })
}

// holds counts the arguments of a command that is to wait for EXEC. It reports false if all clients together, or those
// of the same source, have too many bytes on this node.
func (c *conn) holds(args [][]byte) bool {
	bytes := 0
	for _, a := range args {
		bytes += argOverhead + len(a)
	}
	return c.queuing.hold(bytes)
}

// argOverhead is what an argument takes in memory beside its bytes.
const argOverhead = 24

// mostBytes bounds the arguments of the commands. With the checks of what is watched they are one sequence of the log,
// whose bound counts the steps too.
func (t *transaction) mostBytes(maxValueBytes int) int {
	most := kv.MaxPartsBytes - (t.steps+len(t.watched))*kv.StepOverhead
	for _, w := range t.watched {
		most -= len(w.key)
	}
	return min(maxBatchBytes+maxValueBytes, most)
}

// endTransaction forgets the transaction and what was watched for it.
func (c *conn) endTransaction() {
	c.tx = transaction{}
	c.queuing.letGo()
}

// abort ends the transaction, if there is one, and returns the reply to an EXEC that was refused with text.
func (c *conn) abort(text string) string {
	if c.tx.open {
		c.endTransaction()
	}
	return aborted(text)
}

// aborted returns the reply to an EXEC whose transaction is discarded.
func aborted(why string) string {
	return "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(why, "ERR ")
}

func multi(c *conn, _ [][]byte) {
	if c.tx.open {
		c.batch.fail("ERR MULTI calls can not be nested") // as in Redis, that breaks nothing
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
	c.endTransaction()
	c.batch.reply((*proto.Writer).OK)
}

// unwatch is queued by a transaction, and then does nothing: EXEC has forgotten what was watched.
func unwatch(c *conn, _ [][]byte) {
	c.tx.watched, c.tx.unwatched, c.tx.lost = nil, nil, false
	if !c.tx.open {
		c.queuing.letGo()
	}
	c.batch.reply((*proto.Writer).OK)
}

// notWatched remembers what a refused WATCH was to watch.
func notWatched(c *conn, args [][]byte, text string) string {
	if c.tx.open {
		return text // it is refused there in any case
	}
	if len(args) == 0 || len(args)-1+len(c.tx.unwatched) > maxWatched {
		c.tx.lost = true
		return text
	}
	for _, a := range args[1:] {
		if kv.ValidateKey(asText(a)) != nil {
			c.tx.lost = true // it cannot be watched after all
			return text
		}
		if !c.holds([][]byte{a}) {
			c.tx.lost = true
			return text
		}
		c.tx.unwatched = append(c.tx.unwatched, string(a))
	}
	return text
}

func (c *conn) failWatch(args [][]byte, text string) { c.fail(notWatched(c, args, text)) }

// watchKeys remembers the revision now: behind the writes that the connection has sent before.
func watchKeys(c *conn, args [][]byte) {
	if c.tx.open {
		c.batch.fail("ERR WATCH inside MULTI is not allowed") // as in Redis, that breaks nothing
		return
	}
	if refusal := severalKeys(args[1:]); refusal != "" {
		c.failWatch(args, refusal)
		return
	}
	c.execute()
	var keys, added []string
	for _, a := range args[1:] {
		key := string(a)
		keys = append(keys, key)
		if !slices.ContainsFunc(c.tx.watched, func(w watched) bool { return w.key == key }) {
			added = append(added, key)
		}
	}
	if len(added)+len(c.tx.watched) > maxWatched {
		c.failWatch(args, "ERR too many keys are watched: a connection watches at most "+strconv.Itoa(maxWatched))
		return
	}
	bytes := 0
	for _, key := range added {
		bytes += argOverhead + len(key)
	}
	if !c.queuing.hold(bytes) {
		c.to.Bounds.RefuseLate()
		c.failWatch(args, errorText(service.Overloaded(c.queuing.tooMuch())))
		return
	}
	revision, err := c.to.GetMany(keys, func(int, kv.Entry) bool { return true })
	if err != nil {
		c.failWatch(args, errorText(err))
		return
	}
	for _, key := range added {
		c.tx.watched = append(c.tx.watched, watched{key: key, revision: revision})
	}
	c.tx.unwatched = slices.DeleteFunc(c.tx.unwatched, func(k string) bool { return slices.Contains(keys, k) })
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
	c.tx = transaction{}
	defer c.queuing.letGo()
	switch {
	case t.broken:
		c.fail("EXECABORT Transaction discarded because of previous errors.")
		return
	case t.lost || len(t.unwatched) > 0:
		c.fail("EXECABORT Transaction discarded because a WATCH before it was refused")
		return
	}
	if err := c.known(); err != nil {
		c.trail.refused("exec", err)
		c.fail(aborted(errorText(err)))
		return
	}
	c.execute()
	b := &c.batch
	checks := len(t.watched)
	for _, w := range t.watched {
		b.steps = append(b.steps, w.check())
	}
	if err := c.collect(t.queued); err != nil {
		c.trail.batch(b, checks, nil, err)
		c.out.Error(aborted(errorText(err)))
		c.exec.forget()
		return
	}
	taken, err := func() {}, c.exec.atomically(checks)
	if err == nil {
		taken, err = c.exec.answering()
	}
	var undone *undoneError
	switch {
	case errors.Is(err, errChanged):
		c.out.NullArray()
	case service.IsDenied(err), errors.As(err, &undone), errors.Is(err, kv.ErrCommand):
		c.out.Error(aborted(errorText(err)))
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

// collect adds queued commands to the batch. An error is why none of them is carried out.
func (c *conn) collect(queued []queued) error {
	b := &c.batch
	for _, q := range queued {
		known := len(b.ready)
		b.name, b.failed = q.cmd.name, ""
		q.cmd.do(c, q.args)
		switch {
		case b.failed != "": // of a command without steps, which could not be tried out when it was queued
			return service.Invalid("%s", strings.TrimPrefix(b.failed, "ERR "))
		case len(b.ready) > maxReadBytes:
			return errLargeRead
		case !c.exec.held.hold(len(b.ready) - known):
			return c.exec.tooMuchUnread()
		}
	}
	return nil
}

// check is the step that holds while nobody has written or deleted the key. To compare its ModifyIndex would not do: one
// that was absent may have been written, read by this client, and deleted.
func (w watched) check() kv.Command {
	return kv.Command{Op: kv.OpCheckUnchanged, Key: w.key, HasIndex: true, Index: w.revision}
}
