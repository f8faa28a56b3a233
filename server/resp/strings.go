package resp

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"

	"tenure/kv"
	"tenure/server/resp/proto"
)

var stringCommands = []command{
	{name: "set", arity: -3, acts: true, steps: set},
	{name: "setnx",
		arity: 3, acts: true, steps: func(b *batch, a [][]byte) { b.put(a[1], a[2], kv.ModeAbsent, 0, replyWritten) }},
	{name: "setex", arity: 4, acts: true, steps: func(b *batch, a [][]byte) { setFor(b, a, time.Second) }},
	{name: "psetex", arity: 4, acts: true, steps: func(b *batch, a [][]byte) { setFor(b, a, time.Millisecond) }},
	{name: "get", arity: 2, steps: get},
	{name: "getset",
		arity: 3, acts: true, steps: func(b *batch, a [][]byte) { b.put(a[1], a[2], kv.ModeReturn, 0, replyValue) }},
	{name: "getdel", arity: 2, acts: true, steps: getdel},
	{name: "getex", arity: -2, acts: true, steps: getex},
	{name: "mget", arity: -2, steps: mget},
	{name: "mset", arity: -3, acts: true, steps: func(b *batch, a [][]byte) { b.putPairs(a, 0, replyOK) }},
	{name: "msetnx",
		arity: -3, acts: true, steps: func(b *batch, a [][]byte) { b.putPairs(a, kv.ModeAbsent, replyWritten) }},
	{name: "strlen", arity: 2, steps: strlen},
	{name: "append", arity: 3, acts: true, steps: appendTo},
	{name: "getrange", arity: 4, steps: getrange},
	{name: "substr", arity: 4, steps: getrange},
	{name: "incr", arity: 2, acts: true, steps: func(b *batch, a [][]byte) { b.increment(a[1], 1) }},
	{name: "decr", arity: 2, acts: true, steps: func(b *batch, a [][]byte) { b.increment(a[1], -1) }},
	{name: "incrby", arity: 3, acts: true, steps: func(b *batch, a [][]byte) { incrBy(b, a, false) }},
	{name: "decrby", arity: 3, acts: true, steps: func(b *batch, a [][]byte) { incrBy(b, a, true) }},
}

// put adds a command that writes one key.
func (b *batch) put(key, value []byte, mode kv.Mode, ttl time.Duration, reply replyFunc) {
	if k, ok := b.key(key); ok {
		b.one(kv.Command{Op: kv.OpSet, Key: k, Value: value, Mode: mode, TTL: ttl}, reply)
	}
}

// setting is what SET was told beside key and value.
type setting struct {
	mode kv.Mode
	ttl  time.Duration
	test []byte
	gone bool // the time at which it expires has passed
}

func set(b *batch, args [][]byte) {
	if len(args) == 3 {
		b.put(args[1], args[2], 0, 0, replyOK)
		return
	}
	s, refusal := parseSetting(args[3:], "set")
	if refusal != "" {
		b.fail(refusal)
		return
	}
	key, ok := b.key(args[1])
	if !ok {
		return
	}
	reply := replySet
	if s.mode&kv.ModeReturn != 0 {
		reply = replyValue
	}
	// A time that has passed deletes the key. A copy that is parsed later must have the same steps, so behind TENURE.ONCE
	// the key is written, and expires at once.
	if s.gone && b.once {
		s.gone, s.ttl = false, shortest
	}
	switch n := len(args[2]) + len(s.test); {
	case n > kv.MaxValueBytes:
		b.fail(fmt.Sprintf("ERR the value and the one after IFEQ have %d bytes together: at most %d are accepted", n,
			kv.MaxValueBytes))
		return
	case s.gone:
		b.setGone(key, s, reply)
		return
	}
	b.one(kv.Command{Op: kv.OpSet, Key: key, Value: args[2], Mode: s.mode, TTL: s.ttl, Test: s.test}, reply)
}

// setGone is a SET whose time has passed: if its condition holds, the key is gone.
func (b *batch) setGone(key string, s setting, reply replyFunc) {
	returns := s.mode & kv.ModeReturn
	switch {
	case s.mode&kv.ModeAbsent != 0 && returns != 0:
		b.one(kv.Command{Op: kv.OpFetch, Key: key}, reply)
	case s.mode&(kv.ModeAbsent|kv.ModePresent) == 0 || returns != 0:
		b.one(kv.Command{Op: kv.OpDelete, Key: key, Mode: s.mode & (kv.ModeEqual | kv.ModeReturn), Test: s.test}, reply)
	case s.mode&kv.ModeAbsent != 0:
		b.one(kv.Command{Op: kv.OpMeasure, Key: key}, replyOKIf(false))
	default:
		b.one(kv.Command{Op: kv.OpDelete, Key: key}, replyOKIf(true))
	}
}

// replyOKIf replies OK if the key was there, or was not, and else nothing.
func replyOKIf(there bool) replyFunc {
	return func(w *proto.Writer, _ *op, results []result) {
		switch {
		case refused(w, results):
		case (results[0].count > 0) == there:
			w.OK()
		default:
			w.Null()
		}
	}
}

// parseSetting reads the options of SET. As in Redis an option may be repeated, and the last time counts.
func parseSetting(args [][]byte, name string) (s setting, refusal string) {
	unit, at := "", []byte(nil)
	for i := 0; i < len(args); i++ {
		mode, word := kv.Mode(0), strings.ToLower(string(args[i][:min(len(args[i]), 8)]))
		switch word {
		case "nx":
			mode = kv.ModeAbsent
		case "xx":
			mode = kv.ModePresent
		case "get":
			mode = kv.ModeReturn
		case "keepttl":
			mode = kv.ModeKeep
		case "ifeq":
			mode = kv.ModeEqual
		}
		switch last := i+1 == len(args); {
		case mode != 0 && mode != kv.ModeEqual: // an option without an argument
		case last:
			return s, errSyntax
		case mode == kv.ModeEqual:
			i++
			s.test = args[i]
		case isUnit(word) && (unit == "" || unit == word):
			i++
			unit, at = word, args[i]
		default:
			return s, errSyntax
		}
		s.mode |= mode
	}
	if s.conditions() > 1 || unit != "" && s.mode&kv.ModeKeep != 0 {
		return s, errSyntax
	}
	if unit != "" {
		s.ttl, s.gone, refusal = parseTime(unit, at, name)
	}
	return s, refusal
}

// conditions returns how many conditions on the key there are.
func (s *setting) conditions() int {
	return bits.OnesCount(uint(s.mode & (kv.ModeAbsent | kv.ModePresent | kv.ModeEqual)))
}

// isUnit reports whether word is one that parseTime knows.
func isUnit(word string) bool { return slices.Contains([]string{"ex", "px", "exat", "pxat"}, word) }

// parseTime reads a time to live of a unit: ex and px are for so long, exat and pxat until then. gone: that has passed.
func parseTime(unit string, arg []byte, name string) (ttl time.Duration, gone bool, refusal string) {
	scale, at := time.Second, strings.HasSuffix(unit, "at")
	if strings.HasPrefix(unit, "p") {
		scale = time.Millisecond
	}
	n, ok := integer(arg)
	if !ok {
		return 0, false, errNotInteger
	}
	if n <= 0 || n > math.MaxInt64/int64(scale) {
		return 0, false, invalidExpire(name, n, scale)
	}
	if ttl = time.Duration(n) * scale; at {
		ttl = time.Until(time.Unix(0, int64(ttl)))
	}
	if ttl > kv.MaxTTL {
		return 0, false, invalidExpire(name, n, scale)
	}
	if ttl <= 0 {
		return 0, true, ""
	}
	return ttl, false, ""
}

// integer reads a decimal int64 as Redis does.
func integer(b []byte) (int64, bool) { return kv.ParseDecimal(b) }

func setFor(b *batch, args [][]byte, scale time.Duration) {
	unit := "ex"
	if scale == time.Millisecond {
		unit = "px"
	}
	ttl, _, refusal := parseTime(unit, args[2], strings.ToLower(string(args[0])))
	if refusal != "" {
		b.fail(refusal)
		return
	}
	b.put(args[1], args[3], 0, ttl, replyOK)
}

func get(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpFetch, Key: key}, replyValue)
	}
}

func getdel(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpDelete, Key: key, Mode: kv.ModeReturn}, replyValue)
	}
}

func getex(b *batch, args [][]byte) {
	key, ok := b.key(args[1])
	if !ok {
		return
	}
	persist, unit, at := false, "", []byte(nil)
	for i := 2; i < len(args); i++ {
		switch word := strings.ToLower(string(args[i][:min(len(args[i]), 8)])); {
		case word == "persist":
			persist = true
		case isUnit(word) && i+1 < len(args) && (unit == "" || unit == word):
			i++
			unit, at = word, args[i]
		default:
			b.fail(errSyntax)
			return
		}
	}
	switch {
	case persist && unit != "":
		b.fail(errSyntax)
	case persist:
		b.one(kv.Command{Op: kv.OpSetTTL, Key: key, Mode: kv.ModePresent | kv.ModeReturn}, replyValue)
	case unit == "":
		b.one(kv.Command{Op: kv.OpFetch, Key: key}, replyValue)
	default:
		b.getAndRetime(key, unit, at)
	}
}

// getAndRetime adds a GETEX with a time of a unit.
func (b *batch) getAndRetime(key, unit string, at []byte) {
	ttl, gone, refusal := parseTime(unit, at, "getex")
	if gone && b.once {
		gone, ttl = false, shortest
	}
	switch {
	case refusal != "": // Redis looks at the key before the time
		b.one(kv.Command{Op: kv.OpMeasure, Key: key}, replyIfThere(refusal))
	case gone:
		b.one(kv.Command{Op: kv.OpDelete, Key: key, Mode: kv.ModeReturn}, replyValue)
	default:
		b.one(kv.Command{Op: kv.OpSetTTL, Key: key, TTL: ttl, Mode: kv.ModeReturn}, replyValue)
	}
}

// replyIfThere replies an error if the key is there, and else nothing.
func replyIfThere(refusal string) replyFunc {
	return func(w *proto.Writer, _ *op, results []result) {
		switch {
		case refused(w, results):
		case results[0].count == 0:
			w.Null()
		default:
			w.Error(refusal)
		}
	}
}

func mget(b *batch, args [][]byte) {
	if !b.several(args[1:]) {
		return
	}
	for _, a := range args[1:] {
		b.step(kv.Command{Op: kv.OpFetch, Key: string(a)})
	}
	b.op(len(args)-1, func(w *proto.Writer, _ *op, results []result) {
		if err := results[0].err; err != nil { // of all of them: together they are too large
			w.Error(errorText(err))
			return
		}
		w.Array(len(results))
		for _, r := range results {
			replyValue(w, nil, []result{r})
		}
	})
}

func strlen(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpMeasure, Key: key}, replyLength)
	}
}

func appendTo(b *batch, args [][]byte) {
	if key, ok := b.key(args[1]); ok {
		b.one(kv.Command{Op: kv.OpAppend, Key: key, Value: args[2], Num: int64(b.maxValueBytes)}, replyLength)
	}
}

func getrange(b *batch, args [][]byte) {
	from, ok1 := integer(args[2])
	to, ok2 := integer(args[3])
	if !ok1 || !ok2 {
		b.fail(errNotInteger)
		return
	}
	if key, ok := b.key(args[1]); ok {
		o := b.one(kv.Command{Op: kv.OpFetch, Key: key}, replyRange)
		o.from, o.to = int(from), int(to)
	}
}

func (b *batch) increment(key []byte, by int64) {
	if k, ok := b.key(key); ok {
		b.one(kv.Command{Op: kv.OpAdd, Mode: kv.ModeCreate, Key: k, Num: by}, replyNumber)
	}
}

func incrBy(b *batch, args [][]byte, down bool) {
	n, ok := integer(args[2])
	switch {
	case !ok:
		b.fail(errNotInteger)
	case down && n == math.MinInt64:
		b.fail("ERR decrement would overflow")
	case down:
		b.increment(args[1], -n)
	default:
		b.increment(args[1], n)
	}
}
