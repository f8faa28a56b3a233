package resp

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// There is no Lua here. The lock scripts of well-known libraries are recognized by their hashes, which clients send
// anyway, and are carried out by equivalent steps. compat computes the hashes from the libraries.
var scriptCommands = []command{
	{name: "script", arity: -2, run: script},
	{name: "evalsha", arity: -3, acts: true, alone: true, releases: unlocks, run: evalsha},
	{name: "eval", arity: -3, acts: true, alone: true, releases: unlocks, run: eval},
}

// lockScript is a known script, with the least numbers of its keys and arguments.
type lockScript struct {
	keys, args int
	run        func(c *conn, keys []string, args [][]byte)
	unlocks    bool
}

// lockScripts is the scripts by the SHA-1 of their texts.
var lockScripts = map[string]lockScript{
	// redsync 4
	"e950836ed1e694540c503ef9972b8de518044d3b": {1, 1, unlockTold, true},
	"d75bb8b5bd13532ddedd17762e772346e39b321e": {1, 2, prolong, false},
	"b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79": {1, 2, prolongOrLock, false},
	// redislock 0.9
	"80a1b5f2cfccec3b7119ba7721d2127682b691a7": {1, 3, obtain, false},
	"a7aba3bc5d6e99b3003da8b9d80a63b9f4092ecf": {1, 2, prolong, false},
	"cf0e94b2e9ffc7e04395cf88f7583fc309985910": {1, 1, unlockAll, true},
	"6484da7d58920897fdc22b7f9afd1a3d47524ea8": {1, 1, lockTTL, false},
	// redis-py 4 to 7
	"c3f8721cbb97f72bc19e972846bd7aaf91901658": {1, 1, unlockAll, true},
	"1cac51482acf5858da00f6d685d68f886cd6b6b2": {1, 2, prolong, false},
	"a4e8783852e6b949f9ef3a97212805108459a890": {1, 3, extend, false},
	// node-redlock 4 and 5
	"e5a322e2634ef59a516e8ea150cb085afafee684": {1, 2, lockAll, false},
	"96da70f7716f27d278a5218544df37fd8b0a5e4c": {1, 2, lockAll, false},
	"ce46f80993d5dac20dd066eb301a4e37994bdbed": {1, 2, prolongAll, false},
	"aed6f382e410db8ba7926d4e5e9aab410bf2a78a": {1, 2, prolongAll, false},
	"0f0f23b9048b36752b5be114f357ba083449f908": {1, 1, unlockAll, true},
	"e4612211c9f8f51c257e26e056b0a654b3187242": {1, 1, unlockAll, true},
}

const (
	errNoScript = "NOSCRIPT No matching script. Please use EVAL."
	errNoLua    = "ERR there is no Lua here: of scripts, only those are carried out with which redsync, redislock, redis-py and " +
		"redlock hold their locks: see docs/redis.md"
)

// unlocks reports whether EVAL or EVALSHA has a script that gives a lock back.
func unlocks(args [][]byte) bool {
	switch text := args[1]; {
	case len(text) == 2*sha1.Size:
		return lockScripts[strings.ToLower(string(text))].unlocks
	case len(text) <= maxUnlockBytes:
		return lockScripts[scriptHash(text)].unlocks
	}
	return false
}

// maxUnlockBytes is more than any of the scripts that unlock has.
const maxUnlockBytes = 2 << 10

func scriptHash(text []byte) string {
	sum := sha1.Sum(text)
	return hex.EncodeToString(sum[:])
}

func script(c *conn, args [][]byte) {
	switch sub := strings.ToLower(string(args[1])); {
	case sub == "load" && len(args) == 3:
		hash := scriptHash(args[2])
		if _, known := lockScripts[hash]; !known {
			c.fail(errNoLua)
			return
		}
		c.batch.reply(func(w *proto.Writer) { w.Text(hash) })
	case sub == "exists" && len(args) > 2:
		c.batch.reply(func(w *proto.Writer) {
			w.Array(len(args) - 2)
			for _, a := range args[2:] {
				_, known := lockScripts[strings.ToLower(string(a))]
				n := int64(0)
				if known {
					n = 1
				}
				w.Int(n)
			}
		})
	case sub == "flush" && len(args) <= 3:
		c.batch.reply((*proto.Writer).OK)
	default:
		c.fail("ERR unknown subcommand or wrong number of arguments for '" + string(args[1]) + "'. Try SCRIPT HELP.")
	}
}

func eval(c *conn, args [][]byte) { c.runScript(scriptHash(args[1]), errNoLua, args) }

func evalsha(c *conn, args [][]byte) {
	c.runScript(strings.ToLower(string(args[1])), errNoScript, args)
}

// runScript runs the script of a hash, or replies why not.
func (c *conn) runScript(hash, unknown string, args [][]byte) {
	n, ok := integer(args[2])
	if !ok {
		c.fail(errNotInteger)
		return
	}
	rest := args[3:]
	switch s, known := lockScripts[hash]; {
	case n < 0:
		c.fail("ERR Number of keys can't be negative")
	case n > int64(len(rest)):
		c.fail("ERR Number of keys can't be greater than number of args")
	case !known:
		c.fail(unknown)
	case int(n) < s.keys || len(rest)-int(n) < s.args:
		c.fail("ERR the script of a lock needs more keys or arguments than it was given")
	case c.batch.several(rest[:n]):
		keys := make([]string, n)
		for i := range keys {
			keys[i] = string(rest[i])
		}
		s.run(c, keys, rest[n:])
	}
}

// milliseconds reads a time to live; if it is none it replies why.
func (b *batch) milliseconds(arg []byte) (time.Duration, bool) {
	n, ok := integer(arg)
	if !ok || n < 1 || n > kv.MaxTTL.Milliseconds() {
		b.fail("ERR invalid expire time in the script of a lock")
		return 0, false
	}
	return time.Duration(n) * time.Millisecond, true
}

// unlockTold deletes a key that holds a value: 1, 0 if it holds another, -1 if there is none.
func unlockTold(c *conn, keys []string, args [][]byte) {
	step := kv.Command{Op: kv.OpDelete, Key: keys[0], Mode: kv.ModeEqual, Test: args[0]}
	c.batch.one(step, func(w *proto.Writer, _ *op, results []result) {
		switch r := results[0]; {
		case refused(w, results):
		case r.code == kv.CodeCondition:
			w.Int(0)
		case r.count == 0:
			w.Int(-1)
		default:
			w.Int(1)
		}
	})
}

// unlockAll deletes those of the keys that hold a value, and replies how many did.
func unlockAll(c *conn, keys []string, args [][]byte) {
	for _, k := range keys {
		c.batch.step(kv.Command{Op: kv.OpDelete, Key: k, Mode: kv.ModeEqual, Test: args[0]})
	}
	c.batch.op(len(keys), replyCount)
}

// prolong gives a key that holds a value another time to live: 1, or 0 if it does not hold it.
func prolong(c *conn, keys []string, args [][]byte) {
	if ttl, ok := c.batch.milliseconds(args[1]); ok {
		c.batch.one(kv.Command{Op: kv.OpSetTTL, Key: keys[0], TTL: ttl, Mode: kv.ModeEqual, Test: args[0]}, replyCount)
	}
}

// prolongOrLock prolongs, or locks a key that is free.
func prolongOrLock(c *conn, keys []string, args [][]byte) {
	ttl, ok := c.batch.milliseconds(args[1])
	if !ok {
		return
	}
	c.batch.step(kv.Command{Op: kv.OpSetTTL, Key: keys[0], TTL: ttl, Mode: kv.ModeEqual, Test: args[0]})
	c.batch.step(kv.Command{Op: kv.OpSet, Key: keys[0], Value: args[0], TTL: ttl, Mode: kv.ModeAbsent})
	c.batch.op(2, func(w *proto.Writer, _ *op, results []result) {
		prolonged, locked := results[0], results[1]
		switch {
		case refused(w, results[:1]):
		case prolonged.code == kv.CodeDone && prolonged.count == 1:
			w.Int(1)
		case refused(w, results[1:]): // that alone would have changed something
		case locked.code == kv.CodeDone:
			w.Int(1)
		default:
			w.Int(0)
		}
	})
}

// lockAll locks all keys, if all are free, and replies how many, or 0.
func lockAll(c *conn, keys []string, args [][]byte) {
	c.batch.lockEach(keys, args, kv.Command{Mode: kv.ModeAbsent})
}

// prolongAll locks all keys anew, if all hold the value.
func prolongAll(c *conn, keys []string, args [][]byte) {
	c.batch.lockEach(keys, args, kv.Command{Mode: kv.ModeEqual, Test: args[0]})
}

// lockEach writes a value with a time to live to all keys, if the condition of step holds for all.
func (b *batch) lockEach(keys []string, args [][]byte, step kv.Command) {
	ttl, ok := b.milliseconds(args[1])
	if !ok {
		return
	}
	step.Op, step.TTL = kv.OpPutAll, ttl
	for _, k := range keys {
		step.Value = kv.AppendPair(step.Value, k, args[0])
	}
	if refusal := pairsRefusal(&step); refusal != "" {
		b.fail(refusal)
		return
	}
	b.one(step, func(w *proto.Writer, _ *op, results []result) {
		switch {
		case refused(w, results):
		case results[0].code == kv.CodeDone:
			w.Int(int64(len(keys)))
		default:
			w.Int(0)
		}
	})
}

// lockTTL replies what is left of the time to live of a key that holds a value, else -3.
func lockTTL(c *conn, keys []string, args [][]byte) {
	value := string(args[0])
	c.batch.timed = true
	c.batch.step(kv.Command{Op: kv.OpFetch, Key: keys[0]})
	c.batch.step(kv.Command{Op: kv.OpMeasure, Key: keys[0]})
	c.batch.op(2, func(w *proto.Writer, _ *op, results []result) {
		held, seen := results[0], results[1]
		switch {
		case refused(w, results):
		case held.count == 0 || held.body != value:
			w.Int(-3)
		case seen.ttl == 0:
			w.Int(-1)
		default:
			w.Int(c.to.left(keys[0], seen.ttl).Milliseconds())
		}
	})
}

// tries bounds how often a script that looks before it writes begins again, because the key has changed in between.
const tries = 8

// obtain locks a key for value, if it is free or held by a value with the same beginning, and replies OK or nothing.
func obtain(c *conn, keys []string, args [][]byte) {
	value := args[0]
	same, ok := integer(args[1])
	ttl, timed := time.Duration(0), false
	if ok {
		ttl, timed = c.batch.milliseconds(args[2])
	} else {
		c.fail(errNotInteger)
	}
	if !timed {
		return
	}
	same = max(0, min(same, int64(len(value))))
	write := kv.Command{Op: kv.OpSet, Key: keys[0], Value: value, TTL: ttl}
	c.changing(keys[0], func(e kv.Entry) (step kv.Command, reply func(*proto.Writer)) {
		if e.ModifyIndex != 0 && (int64(len(e.Value)) < same || string(e.Value[:same]) != string(value[:same])) {
			return kv.Command{}, (*proto.Writer).Null
		}
		return write, (*proto.Writer).OK
	})
}

// extend adds to the time to live of a key that holds a value, or sets it: 1, or 0.
func extend(c *conn, keys []string, args [][]byte) {
	more, ok := c.batch.milliseconds(args[1])
	if !ok {
		return
	}
	value, replace := string(args[0]), string(args[2]) != "0"
	zero := func(w *proto.Writer) { w.Int(0) }
	c.changing(keys[0], func(e kv.Entry) (step kv.Command, reply func(*proto.Writer)) {
		if e.ModifyIndex == 0 || string(e.Value) != value || e.TTL == 0 {
			return kv.Command{}, zero
		}
		ttl := more
		if !replace {
			ttl += c.to.left(keys[0], e.TTL)
		}
		return kv.Command{Op: kv.OpSetTTL, Key: keys[0], TTL: min(ttl, kv.MaxTTL)}, func(w *proto.Writer) { w.Int(1) }
	})
}

// changing looks at a key and carries out the step that decide returns for it, if the key has not changed by then; else
// it begins again. Without a step it replies at once.
func (c *conn) changing(key string, decide func(kv.Entry) (kv.Command, func(*proto.Writer))) {
	for range tries {
		var seen kv.Entry
		revision, err := c.to.GetMany([]string{key}, func(_ int, e kv.Entry) bool {
			seen = e
			return true
		})
		if err != nil {
			if service.IsDenied(err) {
				c.trail.command(c.batch.name, []kv.Command{{Op: kv.OpSet, Key: key}}, nil, err)
			}
			c.fail(errorText(err))
			return
		}
		step, reply := decide(seen)
		if step.Op == 0 {
			c.batch.reply(reply)
			return
		}
		b := &c.batch
		b.steps = append(b.steps, watched{key: key, revision: revision}.check())
		b.step(step)
		err = c.exec.atomically(1)
		b.reset()
		switch {
		case errors.Is(err, errChanged):
			continue
		case err != nil:
			c.out.Error(errorText(err))
		case !refused(&c.out.Writer, c.exec.results):
			reply(&c.out.Writer)
		}
		return
	}
	c.fail("TRYAGAIN not applied: the key changes all the time")
}
