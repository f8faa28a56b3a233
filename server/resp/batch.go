package resp

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"tenure/kv"
	"tenure/server/resp/proto"
	"tenure/server/service"
)

// batch is what one connection has asked for and what was not carried out yet, in order. Values in it may be those in
// the connection's read buffer: it is carried out before more is read.
type batch struct {
	steps  []kv.Command
	ops    []op
	writes int    // of the steps
	bytes  int    // of keys and values in the steps
	ready  []byte // replies that are known already
	name   string // of the command that is being run
	failed string // the error that was replied last
	timed  bool   // a reply is about the time to live of a key

	// once: the commands are behind TENURE.ONCE. A copy of them may be parsed later, and must have as many steps and the
	// same replies then. So a moment that has passed gives the shortest time to live instead of a deletion.
	once bool

	v3            bool // how ready replies are written
	noFlush       bool // no command may delete all keys
	maxValueBytes int  // that APPEND makes
	// left returns about what is left of a key's time to live.
	left func(key string, ttl time.Duration) time.Duration
}

// op is one command of a batch.
type op struct {
	name     string
	reply    replyFunc // nil: the reply is ready[from:to]
	steps    int       // that it has
	from, to int       // with a reply of its own: whatever that needs
}

// replyFunc replies to a command whose steps came to results.
type replyFunc func(w *proto.Writer, o *op, results []result)

// result is what a step came to. Body is shared with the state.
type result struct {
	code  kv.Code
	count uint64
	body  string
	ttl   time.Duration // of a key that was looked at; 0: none
	err   error         // why the step was not carried out, while others of its batch were
}

// step adds a step to the command that is being run.
func (b *batch) step(c kv.Command) {
	if writes(&c) {
		b.writes++
	}
	b.bytes += len(c.Key) + len(c.Value) + len(c.Test) + len(c.NewKey)
	b.steps = append(b.steps, c)
}

// writes reports whether a step may change something.
func writes(step *kv.Command) bool { return !step.Op.OnlyReads() }

// op ends a command: reply is called with the results of its steps, which are the last n.
func (b *batch) op(n int, reply replyFunc) *op {
	b.ops = append(b.ops, op{name: b.name, reply: reply, steps: n})
	return &b.ops[len(b.ops)-1]
}

// reply ends a command whose reply is known at once.
func (b *batch) reply(make func(w *proto.Writer)) {
	w := proto.Writer{V3: b.v3}
	make(&w)
	from := len(b.ready)
	b.ready = append(b.ready, w.Bytes()...)
	b.ops = append(b.ops, op{name: b.name, from: from, to: len(b.ready)})
}

// fail replies an error to the command that is being run.
func (b *batch) fail(text string) {
	b.failed = text
	b.reply(func(w *proto.Writer) { w.Error(text) })
}

// tryOut returns the steps of a command, without adding it to b, or why it would be refused. It returns nothing for a
// command that makes no steps.
func (b *batch) tryOut(cmd *command, args [][]byte) (steps []kv.Command, refusal string) {
	if cmd.steps == nil {
		return nil, ""
	}
	alone := batch{noFlush: b.noFlush, maxValueBytes: b.maxValueBytes}
	cmd.steps(&alone, args)
	if refusal = alone.failed; refusal == "" && len(alone.steps) > 0 {
		if err := validate(alone.steps); err != nil {
			refusal = errorText(err)
		}
	}
	return alone.steps, refusal
}

// stepsOf returns the steps that a command would have, as far as its arguments say: none for one of another number.
func (b *batch) stepsOf(cmd *command, args [][]byte) []kv.Command {
	if !cmd.takes(len(args)) || cmd.isAlone(args) {
		return nil
	}
	steps, _ := b.tryOut(cmd, args)
	return steps
}

// key returns a key that an argument names; if none can be named so it replies why.
func (b *batch) key(arg []byte) (string, bool) {
	key := string(arg)
	if refusal := keyRefusal(key); refusal != "" {
		b.fail(refusal)
		return "", false
	}
	return key, true
}

// one adds a command of one step.
func (b *batch) one(step kv.Command, reply replyFunc) *op {
	b.step(step)
	return b.op(1, reply)
}

// several reports whether all of keys can be; if not it replies why not.
func (b *batch) several(keys [][]byte) bool {
	refusal := severalKeys(keys)
	if refusal != "" {
		b.fail(refusal)
	}
	return refusal == ""
}

// severalKeys returns why keys cannot be those of one command, or "".
func severalKeys(keys [][]byte) (refusal string) {
	if len(keys) > maxKeys {
		return fmt.Sprintf("ERR too many keys in one command: it has at most %d: send them in several", maxKeys)
	}
	for _, k := range keys {
		if refusal = keyRefusal(asText(k)); refusal != "" {
			return refusal
		}
	}
	return ""
}

// maxKeys bounds the keys that one command names.
const maxKeys = kv.MaxSteps / 2

// keyRefusal returns why a key cannot be, or "".
func keyRefusal(key string) string {
	if err := kv.ValidateKey(key); err != nil {
		return "ERR " + err.Error() + ": keys are 1 to 1024 bytes of UTF-8"
	}
	return ""
}

// full reports whether the batch takes no other command. It ends with one that deletes all keys: the log refuses a
// sequence that does so again and again.
func (b *batch) full() bool {
	if n := len(b.steps); n > 0 && b.steps[n-1].Op == kv.OpPrune {
		return true
	}
	return len(b.ops) >= maxSteps || len(b.steps) >= maxSteps || b.bytes >= maxBatchBytes || len(b.ready) >= partBytes
}

// fits reports whether a command with these arguments can be one sequence with what is in b.
func (b *batch) fits(args [][]byte) bool {
	steps, bytes := len(b.steps)+len(args), b.bytes
	for _, a := range args {
		bytes += len(a)
	}
	return steps <= kv.MaxSteps && bytes+steps*kv.StepOverhead <= kv.MaxPartsBytes
}

// asOne returns steps as one command of the log: the only one that writes as it is, others as a sequence.
func asOne(steps []kv.Command) kv.Command {
	if len(steps) == 1 && writes(&steps[0]) {
		return steps[0]
	}
	return kv.Command{Op: kv.OpSequence, Parts: steps}
}

// validate reports why the log would not take steps as one command.
func validate(steps []kv.Command) error {
	c := asOne(steps)
	return c.Validate()
}

// reset empties b for the next batch.
func (b *batch) reset() {
	clear(b.steps)
	clear(b.ops)
	b.steps, b.ops, b.writes, b.bytes, b.timed = kept(b.steps), kept(b.ops), 0, 0, false
	if b.ready = b.ready[:0]; cap(b.ready) > largeReply {
		b.ready = nil
	}
}

// replies writes the replies to the commands that have results, and returns how many those are. With err, which is why
// there are no results, those are all commands.
func (b *batch) replies(w *proto.Writer, results []result, err error) (ops int) {
	for i := range b.ops {
		o := &b.ops[i]
		switch {
		case err != nil && (o.steps > 0 || o.to-o.from >= largeReply && errors.Is(err, service.ErrOverloaded)):
			w.Error(errorText(err))
		case o.reply == nil:
			w.Raw(b.ready[o.from:o.to])
		case err == nil && o.steps > len(results):
			return i
		default:
			o.reply(w, o, results[:o.steps])
			results = results[o.steps:]
		}
	}
	return len(b.ops)
}

// drop takes the first n commands out, which were answered.
func (b *batch) drop(n int) {
	steps := 0
	for _, o := range b.ops[:n] {
		steps += o.steps
	}
	for i := 0; i < steps && b.writes > 0; i++ {
		if writes(&b.steps[i]) {
			b.writes--
		}
	}
	b.ops, b.steps = slices.Delete(b.ops, 0, n), slices.Delete(b.steps, 0, steps)
}

// asText returns b as a string. The bytes of entries are never changed.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
