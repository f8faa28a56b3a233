package resp

import (
	"errors"
	"fmt"
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
func (x *executor) read() error {
	return x.readPart(x.batch.steps)
}

// readFirst carries out the first command of a batch, which reads more values than a sequence can return. A command that
// writes cannot be that: its steps have space at the beginning of a sequence.
func (x *executor) readFirst() error {
	steps := x.batch.steps[:x.batch.firstSteps()]
	if slices.ContainsFunc(steps, func(c kv.Command) bool { return writes(&c) }) {
		return fmt.Errorf("%w: a sequence has ended within its first command", kv.ErrBody)
	}
	return x.readPart(steps)
}

// firstSteps returns how many steps the first command has that has any.
func (b *batch) firstSteps() int {
	return b.ops[slices.IndexFunc(b.ops, func(o op) bool { return o.steps > 0 })].steps
}

// readPart reads as many of steps, the first of the batch, as are in a part.
func (x *executor) readPart(steps []kv.Command) error {
	n := x.batch.firstSteps()
	err := x.readSteps(steps, n, partBytes)
	if errors.Is(err, errLargeRead) { // that is no reason to refuse the commands behind it
		x.dropResults(0)
		x.results = append(x.results, slices.Repeat([]result{{err: err}}, n)...)
		return nil
	}
	x.dropResults(x.batch.wholeOps(len(x.results)))
	return err
}

// readWhole carries out a batch of reads in one state. If it would be larger than maxReadBytes the error is
// errLargeRead.
func (x *executor) readWhole() error { return x.readSteps(x.batch.steps, len(x.batch.steps), 0) }

// readSteps reads the first n of steps, and those behind them until all have so many bytes. If the first n have more than
// maxReadBytes the error is errLargeRead; it wraps service.ErrOverloaded if too much waits on this node.
func (x *executor) readSteps(steps []kv.Command, n, bytes int) error {
	keys := make([]string, len(steps))
	for i := range keys {
		keys[i] = steps[i].Key
	}
	var passed, kept int
	fits := true
	_, err := x.to.GetMany(keys, func(i int, e kv.Entry) bool {
		if i == 0 { // it may begin again
			x.dropResults(0)
			passed, kept = 0, 0
		}
		r := result{code: kv.CodeDone}
		if e.ModifyIndex != 0 {
			r.count, r.ttl = 1+uint64(len(e.Value)), e.TTL
			if steps[i].Op == kv.OpFetch {
				r.body = asText(e.Value)
			}
		}
		x.results = append(x.results, r)
		passed, kept = passed+len(e.Value), kept+len(r.body)
		fits = x.held.hold(len(r.body))
		return fits && kept <= maxReadBytes && (len(x.results) < n || passed < bytes)
	})
	switch {
	case err != nil:
		return err
	case !fits:
		return x.tooMuchUnread()
	case kept > maxReadBytes && len(x.results) <= n:
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

// answering counts what was read and is about to be sent, until taken is called. The error wraps service.ErrOverloaded:
// it must not be sent, since too much to this client's address is on its way. What a batch with writes came to is told
// in any case.
func (x *executor) answering() (taken func(), err error) {
	bytes := len(x.batch.ready)
	for i := range x.results {
		bytes += len(x.results[i].body)
	}
	if x.batch.writes > 0 {
		bytes = 0
	}
	return x.to.Bounds.Answer(bytes)
}
