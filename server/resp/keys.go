package resp

import (
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/proto"
)

var keyCommands = []command{
	{name: "del", arity: -2, run: func(c *conn, a [][]byte) { c.each(a[1:], kv.OpUnlink) }},
	{name: "unlink", arity: -2, run: func(c *conn, a [][]byte) { c.each(a[1:], kv.OpUnlink) }},
	{name: "delifeq", arity: 3, run: func(c *conn, a [][]byte) { c.deleteIf(a[1], a[2]) }},
	{name: "delex", arity: -2, run: delex},
	{name: "exists", arity: -2, run: func(c *conn, a [][]byte) { c.each(a[1:], kv.OpMeasure) }},
	{name: "touch", arity: -2, run: func(c *conn, a [][]byte) { c.each(a[1:], kv.OpMeasure) }},
	{name: "type", arity: 2, run: typeOf},
	{name: "rename", arity: 3, run: func(c *conn, a [][]byte) { c.rename(a, 0, replyRenamed) }},
	{name: "renamenx", arity: 3, run: func(c *conn, a [][]byte) { c.rename(a, kv.ModeAbsent, replyRenamedIf) }},
	{name: "persist", arity: 2, run: persist},
	{name: "ttl", arity: 2, run: func(c *conn, a [][]byte) { c.ttl(a, time.Second, false) }},
	{name: "pttl", arity: 2, run: func(c *conn, a [][]byte) { c.ttl(a, time.Millisecond, false) }},
	{name: "expiretime", arity: 2, run: func(c *conn, a [][]byte) { c.ttl(a, time.Second, true) }},
	{name: "pexpiretime", arity: 2, run: func(c *conn, a [][]byte) { c.ttl(a, time.Millisecond, true) }},
}

// each does op to each of keys, and replies how many there were.
func (c *conn) each(keys [][]byte, op kv.Op) {
	if !c.several(keys) {
		return
	}
	for _, k := range keys {
		c.batch.step(kv.Command{Op: op, Key: string(k)})
	}
	c.batch.op(len(keys), replyCount)
}

// deleteIf deletes a key that holds value.
func (c *conn) deleteIf(key, value []byte) {
	if k, ok := c.key(key); ok {
		c.one(kv.Command{Op: kv.OpUnlink, Key: k, Mode: kv.ModeEqual, Test: value}, replyCount)
	}
}

// delex is DEL of one key, or with IFEQ only if it holds a value.
func delex(c *conn, args [][]byte) {
	switch {
	case len(args) == 2:
		c.each(args[1:], kv.OpUnlink)
	case len(args) == 4 && strings.EqualFold(string(args[2]), "ifeq"):
		c.deleteIf(args[1], args[3])
	default:
		c.fail(errSyntax)
	}
}

func typeOf(c *conn, args [][]byte) {
	if key, ok := c.key(args[1]); ok {
		c.one(kv.Command{Op: kv.OpMeasure, Key: key}, func(w *proto.Writer, _ *op, results []result) {
			switch {
			case refused(w, results):
			case results[0].count == 0:
				w.Simple("none")
			default:
				w.Simple("string")
			}
		})
	}
}

func (c *conn) rename(args [][]byte, mode kv.Mode, reply replyFunc) {
	from, ok := c.key(args[1])
	if !ok {
		return
	}
	if to, ok := c.key(args[2]); ok {
		c.one(kv.Command{Op: kv.OpMove, Key: from, NewKey: to, Mode: mode}, reply)
	}
}

func replyRenamed(w *proto.Writer, _ *op, results []result) {
	switch {
	case refused(w, results):
	case results[0].code == kv.CodeMissing:
		w.Error(errNoKey)
	case results[0].code == kv.CodeCondition:
		w.Error("ERR one of the keys is locked by a session: nothing was changed")
	default:
		w.OK()
	}
}

func replyRenamedIf(w *proto.Writer, o *op, results []result) {
	switch r := results[0]; {
	case r.code == kv.CodeDone:
		w.Int(1)
	case r.code == kv.CodeCondition && r.count == 1:
		w.Int(0)
	default:
		replyRenamed(w, o, results)
	}
}

func persist(c *conn, args [][]byte) {
	if key, ok := c.key(args[1]); ok {
		c.one(kv.Command{Op: kv.OpRetime, Key: key, Mode: kv.ModePresent}, replyCount)
	}
}

// ttl replies what is left of a key's time to live in units, or with at when it ends.
func (c *conn) ttl(args [][]byte, unit time.Duration, at bool) {
	key, ok := c.key(args[1])
	if !ok {
		return
	}
	c.one(kv.Command{Op: kv.OpMeasure, Key: key}, func(w *proto.Writer, _ *op, results []result) {
		r := results[0]
		switch {
		case refused(w, results):
		case r.count == 0:
			w.Int(-2)
		case r.ttl == 0:
			w.Int(-1)
		default:
			left := c.left(key, r.ttl)
			if at {
				left = time.Duration(time.Now().Add(left).UnixNano())
			}
			w.Int(int64((left + unit/2) / unit))
		}
	})
}
