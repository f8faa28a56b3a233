package resp

import (
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/proto"
)

var keyCommands = []command{
	{name: "del", arity: -2, acts: true, steps: func(b *batch, a [][]byte) { b.each(a[1:], kv.OpDelete) }},
	{name: "unlink", arity: -2, acts: true, steps: func(b *batch, a [][]byte) { b.each(a[1:], kv.OpDelete) }},
	{name: "delifeq", arity: 3, acts: true, releases: ifHeld,
		steps: func(b *batch, a [][]byte) { b.deleteIf(a[1], a[2]) }},
	{name: "delex", arity: -2, acts: true, releases: ifHeld, steps: delex},
	{name: "exists", arity: -2, steps: func(b *batch, a [][]byte) { b.each(a[1:], kv.OpMeasure) }},
	{name: "touch", arity: -2, steps: func(b *batch, a [][]byte) { b.each(a[1:], kv.OpMeasure) }},
	{name: "type", arity: 2, steps: typeOf},
	{name: "rename", arity: 3, acts: true, steps: func(b *batch, a [][]byte) { b.rename(a, 0, replyRenamed) }},
	{name: "renamenx",
		arity: 3, acts: true, steps: func(b *batch, a [][]byte) { b.rename(a, kv.ModeAbsent, replyRenamedIf) }},
	{name: "persist", arity: 2, acts: true, steps: persist},
	{name: "ttl", arity: 2, steps: func(b *batch, a [][]byte) { b.ttl(a, time.Second, false) }},
	{name: "pttl", arity: 2, steps: func(b *batch, a [][]byte) { b.ttl(a, time.Millisecond, false) }},
	{name: "expiretime", arity: 2, steps: func(b *batch, a [][]byte) { b.ttl(a, time.Second, true) }},
	{name: "pexpiretime", arity: 2, steps: func(b *batch, a [][]byte) { b.ttl(a, time.Millisecond, true) }},
}

// each does op to each of keys, and replies how many there were.
func (b *batch) each(keys [][]byte, op kv.Op) {
	if !b.several(keys) {
		return
	}
	for _, k := range keys {
		b.step(kv.Command{Op: op, Key: string(k)})
	}
	b.op(len(keys), replyCount)
}

// deleteIf deletes a key that holds value.
func (b *batch) deleteIf(key, value []byte) {
	if k, ok := b.key(key); ok {
		b.one(kv.Command{Op: kv.OpDelete, Key: k, Mode: kv.ModeEqual, Test: value}, replyCount)
	}
}

// ifHeld reports whether DELIFEQ or DELEX has these arguments to delete a key if it holds a value, as clients do to
// release a lock.
func ifHeld(args [][]byte) bool {
	return len(args) == 3 || len(args) == 4 && strings.EqualFold(string(args[2]), "ifeq")
}

// delex is DEL of one key, or with IFEQ only if it holds a value.
func delex(b *batch, args [][]byte) {
	switch {
	case len(args) == 2:
		b.each(args[1:], kv.OpDelete)
	case len(args) == 4 && strings.EqualFold(string(args[2]), "ifeq"):
		b.deleteIf(args[1], args[3])
	default:
		b.fail(errSyntax)
	}
}

func typeOf(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpMeasure, Key: key}, func(w *proto.Writer, _ *op, results []result) {
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

func (b *batch) rename(args [][]byte, mode kv.Mode, reply replyFunc) {
	from, ok := b.key(args[1])
	if !ok {
		return
	}
	if to, ok := b.key(args[2]); ok {
		b.one(kv.Command{Op: kv.OpRename, Key: from, NewKey: to, Mode: mode}, reply)
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

func persist(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpSetTTL, Key: key, Mode: kv.ModePresent}, replyCount)
	}
}

// ttl replies what is left of a key's time to live in units, or with at when it ends.
func (b *batch) ttl(args [][]byte, unit time.Duration, at bool) {
	key, ok := b.key(args[1])
	if !ok {
		return
	}
	b.timed = true
	b.one(kv.Command{Op: kv.OpMeasure, Key: key}, func(w *proto.Writer, _ *op, results []result) {
		r := results[0]
		switch {
		case refused(w, results):
		case r.count == 0:
			w.Int(-2)
		case r.ttl == 0:
			w.Int(-1)
		default:
			left := b.left(key, r.ttl)
			if at {
				left = time.Duration(time.Now().Add(left).UnixNano())
			}
			w.Int(int64((left + unit/2) / unit))
		}
	})
}
